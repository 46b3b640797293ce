//! From a stream to a directory.

use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::stream::Stream;

use super::{Intake, Update};
use crate::core::Now;
use crate::discovery::Directory;

/// Tells the time and waits, for whoever drives a source.
///
/// Two closures are one: the first tells the current instant, the second makes a future that is ready from an instant on.
/// With the feature `tokio`, `poise::tokio::TokioTimer` is one too.
pub trait SourceClock {
    /// Waits until an instant.
    type Sleep: Future<Output = ()>;

    /// Returns the current instant.
    fn now(&self) -> Instant;

    /// Makes a future that is ready from `deadline` on.
    fn sleep_until(&self, deadline: Instant) -> Self::Sleep;
}

impl<N, W, S> SourceClock for (N, W)
where
    N: Fn() -> Instant,
    W: Fn(Instant) -> S,
    S: Future<Output = ()>,
{
    type Sleep = S;

    fn now(&self) -> Instant {
        self.0()
    }

    fn sleep_until(&self, deadline: Instant) -> S {
        self.1(deadline)
    }
}

/// How many answers are taken in one poll before others get a turn.
const ANSWERS_PER_POLL: u32 = 32;

/// Keeps a directory as the answers of a source say, on any executor.
///
/// An error of the stream is an answer like any other: the last good set stays, [`Intake::status`] shows it, and what
/// comes later applies. A stream of changes follows each error that it yields by a full set; it is not told when its changes
/// are refused, which [`SourceReport::is_synced`](super::SourceReport::is_synced) shows. The future ends when the stream does, or with the first answer that nobody can read any more, and
/// gives the directory back: whoever drops that closes its readers, who keep the last state.
///
/// # Cancel safety
///
/// Dropping the future drops the directory; every answer that it took is published.
///
/// # Examples
///
/// ```
/// use futures_util::{FutureExt, stream};
/// use poise::core::Backend;
/// use poise::discovery::{Directory, Intake, SourcePolicy, Update, drive};
/// use std::{future, io, time::Instant};
///
/// let directory = Directory::new();
/// let reader = directory.reader();
/// let intake = Intake::new(directory, SourcePolicy::default(), Backend::is_same_endpoint);
/// let status = intake.status();
///
/// let answers = stream::iter([
///     Ok(Update::full([("a", Backend::new("10.0.0.1:80"))])),
///     Err(io::Error::other("unreachable")),
/// ]);
/// let no_wait = |_| future::pending();
/// # #[expect(clippy::disallowed_methods, reason = "stands for the clock of a program")]
/// let directory = drive(intake, answers, (Instant::now, no_wait)).now_or_never();
/// assert!(directory.is_some(), "the stream has ended");
/// assert_eq!(reader.load().len(), 1);
/// assert_eq!((status.report().updates(), status.report().errors()), (1, 1));
/// ```
pub async fn drive<K, B, E, F, S, C>(mut intake: Intake<K, B, E, F>, answers: S, clock: C) -> Directory<K, B>
where
    K: Clone + Eq + Hash,
    F: FnMut(&B, &B) -> bool,
    S: Stream<Item = Result<Update<K, B>, E>>,
    C: SourceClock,
{
    let mut answers = pin!(answers);
    let mut in_a_row = 0;
    loop {
        let sleep = pin!(intake.due().map(|due| clock.sleep_until(due)));
        let event = next(answers.as_mut(), sleep, &mut in_a_row).await;
        let now = Now::at(clock.now());
        // What fails is in the status.
        match event {
            Event::Answer(answer) if intake.directory().has_readers() => {
                let _ = intake.answer(answer, &now);
            }
            Event::Due => {}
            Event::Answer(_) | Event::End => return intake.into_directory(),
        }
        // An answer goes first: it may be what takes an empty one back whose grace is over by now.
        let _ = intake.tick(&now);
    }
}

enum Event<T> {
    Answer(T),
    Due,
    End,
}

async fn next<S: Stream>(
    mut answers: Pin<&mut S>,
    mut sleep: Pin<&mut Option<impl Future<Output = ()>>>,
    in_a_row: &mut u32,
) -> Event<S::Item> {
    poll_fn(|context| {
        if let Poll::Ready(answer) = poll_in_turn(answers.as_mut(), in_a_row, context) {
            return Poll::Ready(answer.map_or(Event::End, Event::Answer));
        }
        match sleep.as_mut().as_pin_mut() {
            Some(sleep) => sleep.poll(context).map(|()| Event::Due),
            None => Poll::Pending,
        }
    })
    .await
}

fn poll_in_turn<S: Stream>(
    answers: Pin<&mut S>,
    in_a_row: &mut u32,
    context: &mut Context<'_>,
) -> Poll<Option<S::Item>> {
    if *in_a_row == ANSWERS_PER_POLL {
        *in_a_row = 0;
        context.waker().wake_by_ref();
        return Poll::Pending;
    }
    let polled = answers.poll_next(context);
    *in_a_row = if polled.is_ready() { *in_a_row + 1 } else { 0 };
    polled
}
