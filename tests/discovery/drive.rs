//! A directory that is driven from a stream, on no runtime.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::{StreamExt, stream};
use poise::discovery::{SourcePolicy, drive};

use crate::support::answers::{SECOND, changes, error, intake, ready, set, undrained, upsert};
use crate::support::clock::Clock;

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_error_followed_by_an_update_wakes_who_waits_for_the_directory() {
    let (clock, mut intake) = (Clock::new(), intake(undrained()));
    let (woken, mut changes) = (Arc::new(Woken::default()), intake.directory().reader().changes());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    assert!(changes.poll_next_snapshot(&mut context).is_pending());
    assert!(intake.answer(error(), &clock.at(SECOND)).is_err());
    assert_eq!(woken.0.load(Ordering::SeqCst), 0, "an error is no change");
    assert!(intake.answer(set(&["a"]), &clock.at(SECOND)).is_ok());
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(changes.poll_next_snapshot(&mut context).is_ready());
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_stream_that_ends_gives_the_directory_back_as_it_last_was() {
    let (clock, intake) = (Clock::new(), intake(undrained()));
    let (reader, status) = (intake.directory().reader(), intake.status());
    let answers = stream::iter([set(&["a", "b"]), error(), changes([upsert("c")]), set(&["b"])]);
    let timing = (move || clock.instant(SECOND), |_| pending());
    let Poll::Ready(directory) = poll_once(drive(intake, answers, timing)) else {
        panic!("the stream has ended");
    };
    assert_eq!(ready(&directory.snapshot()), ["b"]);
    assert!(!reader.is_closed());
    assert_eq!((status.report().updates(), status.report().errors()), (2, 2));
}

#[test]
fn a_stream_that_is_always_ready_leaves_others_a_turn() {
    let (clock, intake) = (Clock::new(), intake(undrained()));
    let (_reader, status) = (intake.directory().reader(), intake.status());
    let timing = (move || clock.instant(SECOND), |_| pending());
    let mut driven = pin!(drive(intake, stream::repeat_with(|| set(&["a"])), timing));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    assert!(driven.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(woken.0.load(Ordering::SeqCst), 1, "it goes on by itself");
    let first = status.report().updates();
    assert!(first > 0);
    assert!(driven.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(status.report().updates(), 2 * first);
}

#[test]
fn a_source_that_nobody_reads_is_given_up_with_its_next_answer() {
    let (clock, intake) = (Clock::new(), intake(undrained()));
    let timing = (move || clock.instant(SECOND), |_| pending());
    let driven = drive(intake, stream::repeat_with(|| set(&["a"])), timing);
    let Poll::Ready(directory) = poll_once(driven) else { panic!("nobody reads") };
    assert!(directory.is_empty(), "what nobody sees is not made");
}

#[test]
fn a_driven_source_applies_what_is_due_while_its_stream_is_silent() {
    let (clock, intake) = (Clock::new(), intake(SourcePolicy::default()));
    let reader = intake.directory().reader();
    let answers = stream::iter([set(&["a"]), set(&[])]).chain(stream::pending());
    let shows = Arc::new(AtomicU32::new(1));
    let (now, sleep) = (Arc::clone(&shows), Arc::clone(&shows));
    let tell = move || clock.instant(now.load(Ordering::SeqCst) * SECOND);
    let wait = move |until| {
        let shows = Arc::clone(&sleep);
        std::future::poll_fn(move |_| {
            let reached = clock.instant(shows.load(Ordering::SeqCst) * SECOND) >= until;
            if reached { Poll::Ready(()) } else { Poll::Pending }
        })
    };
    let mut driven = pin!(drive(intake, answers, (tell, wait)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(driven.as_mut().poll(&mut context).is_pending());
    assert_eq!(ready(&reader.load()), ["a"]);
    shows.store(61, Ordering::SeqCst);
    assert!(driven.as_mut().poll(&mut context).is_pending());
    assert_eq!((ready(&reader.load()).len(), reader.load().len()), (0, 1), "it drains");
    shows.store(91, Ordering::SeqCst);
    assert!(driven.as_mut().poll(&mut context).is_pending());
    assert!(reader.load().is_empty());
}

#[test]
fn a_late_answer_beats_an_empty_one_whose_grace_is_over_by_then() {
    let clock = Clock::new();
    let intake = intake(undrained());
    let mut directories = intake.directory().reader().changes();
    let times = Arc::new(AtomicU32::new(0));
    let tell = move || clock.instant(100 * times.fetch_add(1, Ordering::SeqCst) * SECOND);
    let answers = stream::iter([set(&["a"]), set(&[]), set(&["a"])]);
    let driven = poll_once(drive(intake, answers, (tell, |_| pending())));
    let Poll::Ready(directory) = driven else { panic!("the stream has ended") };
    assert_eq!(directory.revision().value(), 1, "a never left");
    assert!(directories.poll_next_snapshot(&mut Context::from_waker(Waker::noop())).is_ready());
}
