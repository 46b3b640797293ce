//! A membership that is asked for again and again.

use std::collections::VecDeque;
use std::error::Error;
use std::future::{Future, ready};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use poise::core::{Backend, Status};
use poise::discovery::{EmptyAnswer, FullSet, Revision, SourceError, SourcePolicy};
use poise::tokio::{Refresh, RefreshError, RefreshHint, Refreshed, wait_for_revision};
use tokio::time::{Instant, sleep};

type Fallible = Result<(), Box<dyn Error>>;
type Endpoint = Backend<&'static str>;
type Members = Refreshed<&'static str, Endpoint, io::Error>;
type Answer = Result<FullSet<&'static str, Endpoint>, io::Error>;
/// The keys of a set, or an error.
type Scripted = Result<Vec<&'static str>, ()>;

const SECOND: Duration = Duration::from_secs(1);

fn set(keys: &[&'static str]) -> FullSet<&'static str, Endpoint> {
    keys.iter().map(|key| (*key, Backend::new(*key))).collect()
}

fn error() -> Answer {
    Err(io::Error::other("unreachable"))
}

/// Answers with a script and then with its last entry, and notes when it was asked.
#[derive(Clone)]
struct Source(Arc<State>);

struct State {
    script: Mutex<VecDeque<(Duration, Scripted)>>,
    asked: Mutex<Vec<Duration>>,
    start: Instant,
    running: AtomicU32,
    most: AtomicU32,
}

/// Counts a call as running until it has ended or was given up.
struct Running(Source);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Source {
    fn new(script: impl IntoIterator<Item = (Duration, Scripted)>) -> Self {
        Self(Arc::new(State {
            script: Mutex::new(script.into_iter().collect()),
            asked: Mutex::default(),
            start: Instant::now(),
            running: AtomicU32::new(0),
            most: AtomicU32::new(0),
        }))
    }

    fn at_once(script: impl IntoIterator<Item = Scripted>) -> Self {
        Self::new(script.into_iter().map(|answer| (Duration::ZERO, answer)))
    }

    async fn ask(self) -> Answer {
        let running = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(running, Ordering::SeqCst);
        let _running = Running(self.clone());
        self.0.asked.lock().unwrap().push(self.0.start.elapsed());
        let (takes, answer) = {
            let mut script = self.0.script.lock().unwrap();
            if script.len() > 1 { script.pop_front() } else { script.front().cloned() }.unwrap()
        };
        sleep(takes).await;
        answer.map(|keys| set(&keys)).or_else(|()| error())
    }

    fn spawn(&self, refresh: Refresh) -> Members {
        let source = self.clone();
        refresh.spawn(move || source.clone().ask(), Endpoint::is_same_endpoint).unwrap()
    }

    /// Returns after how many seconds it was asked.
    fn asked(&self) -> Vec<f64> {
        self.0.asked.lock().unwrap().iter().map(Duration::as_secs_f64).collect()
    }

    fn most_at_once(&self) -> u32 {
        self.0.most.load(Ordering::SeqCst)
    }
}

/// Asks every ten seconds, to the point.
fn exact() -> Refresh {
    let refresh = Refresh::every(10 * SECOND).unwrap().with_jitter(0.0).unwrap();
    refresh.with_policy(SourcePolicy::default().with_drain(Duration::MAX))
}

fn serving(members: &Members) -> Vec<&'static str> {
    let snapshot = members.reader().load();
    let ready = snapshot.iter().filter(|member| member.attributes().status() == Status::Ready);
    ready.map(|member| *member.key()).collect()
}

fn allocation(members: &Members, key: &'static str) -> Arc<Endpoint> {
    Arc::clone(members.reader().load().get(&key).unwrap().backend())
}

fn close_to(times: &[f64], expected: &[f64]) -> bool {
    times.len() == expected.len() && times.iter().zip(expected).all(|(time, at)| (time - at).abs() < 0.05)
}

#[tokio::test(start_paused = true)]
async fn a_source_that_shuffles_repeats_fails_and_empties_never_rebuilds_who_stays() -> Fallible {
    let source = Source::at_once([
        Ok(vec!["b", "a", "b"]),
        Ok(vec!["c", "b", "c"]),
        Err(()),
        Ok(vec![]),
        Ok(vec!["c", "c"]),
    ]);
    let members = source.spawn(exact());
    wait_for_revision(members.reader(), Revision::new(1)).await?;
    let b = allocation(&members, "b");
    assert_eq!(serving(&members), ["b", "a"]);
    sleep(11 * SECOND).await;
    assert_eq!((members.reader().revision().value(), serving(&members)), (2, vec!["b", "c"]));
    sleep(11 * SECOND).await;
    assert_eq!(members.status().report().errors(), 1);
    assert_eq!(members.status().report().empty_kept_off(), 1, "asked again a second after the error");
    assert_eq!((members.reader().revision().value(), serving(&members)), (2, vec!["b", "c"]));
    sleep(10 * SECOND).await;
    assert_eq!((members.reader().revision().value(), serving(&members)), (3, vec!["c"]));
    assert!(Arc::ptr_eq(&b, &allocation(&members, "b")), "b was never rebuilt");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_believed_after_a_minute_of_nothing_else() {
    let source = Source::at_once([Ok(vec!["a"]), Ok(vec![])]);
    let members = source.spawn(exact());
    sleep(9 * SECOND + EmptyAnswer::DEFAULT_GRACE).await;
    assert_eq!(serving(&members), ["a"]);
    sleep(2 * SECOND).await;
    assert!(serving(&members).is_empty());
}

#[tokio::test(start_paused = true)]
async fn it_asks_at_once_and_then_once_per_interval_however_long_an_answer_takes() {
    let source = Source::new([(3 * SECOND, Ok(vec!["a"]))]);
    let _members = source.spawn(exact());
    sleep(35 * SECOND).await;
    assert!(close_to(&source.asked(), &[0.0, 10.0, 20.0, 30.0]), "{:?}", source.asked());
}

#[tokio::test(start_paused = true)]
async fn intervals_are_jittered_to_both_sides_and_the_same_for_the_same_seed() {
    let pauses = async |seed| {
        let source = Source::at_once([Ok(vec!["a"])]);
        let refresh = Refresh::every(10 * SECOND).unwrap().with_jitter(0.5).unwrap().with_seed(seed);
        let _members = source.spawn(refresh);
        sleep(2_000 * SECOND).await;
        let asked = source.asked();
        asked.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    let one = pauses(1).await;
    assert!(one.iter().all(|pause| (4.99..=15.01).contains(pause)), "{one:?}");
    assert!(one.iter().any(|pause| *pause < 7.5) && one.iter().any(|pause| *pause > 12.5), "{one:?}");
    assert!(close_to(&one, &pauses(1).await));
    assert!(!close_to(&one, &pauses(2).await));
}

#[tokio::test(start_paused = true)]
async fn errors_are_followed_by_pauses_that_double_up_to_a_cap_until_an_answer_is_good() {
    let script = [Err(()), Err(()), Err(()), Err(()), Err(()), Ok(vec!["a"]), Err(()), Ok(vec!["a"])];
    let source = Source::at_once(script);
    let _members = source.spawn(exact().with_backoff(SECOND, 4 * SECOND).unwrap());
    sleep(30 * SECOND).await;
    assert!(close_to(&source.asked(), &[0.0, 1.0, 3.0, 7.0, 11.0, 15.0, 25.0, 26.0]), "{:?}", source.asked());
}

#[tokio::test(start_paused = true)]
async fn a_jittered_pause_is_never_above_the_cap() {
    let source = Source::at_once([Err(())]);
    let refresh = exact().with_jitter(1.0).unwrap().with_backoff(SECOND, 4 * SECOND).unwrap();
    let _members = source.spawn(refresh.with_seed(7));
    sleep(1_000 * SECOND).await;
    let asked = source.asked();
    assert!(asked.windows(2).all(|pair| pair[1] - pair[0] < 4.01), "{asked:?}");
    assert!(asked.len() > 300, "half of four seconds on average: {}", asked.len());
}

#[tokio::test(start_paused = true)]
async fn an_error_keeps_the_last_good_set_and_what_comes_later_wakes_who_waits() -> Fallible {
    let source = Source::at_once([Ok(vec!["a"]), Err(()), Err(()), Ok(vec!["a", "b"])]);
    let members = source.spawn(exact());
    sleep(12 * SECOND).await;
    assert_eq!(serving(&members), ["a"]);
    assert_eq!(members.status().report().errors_in_a_row(), 2);
    let snapshot = wait_for_revision(members.reader(), Revision::new(2)).await?;
    assert_eq!(snapshot.len(), 2);
    assert_eq!(members.status().report().errors_in_a_row(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_too_long_is_given_up_and_never_seen() {
    let source = Source::new([(100 * SECOND, Ok(vec!["old"])), (SECOND, Ok(vec!["new"]))]);
    let members = source.spawn(exact().with_timeout(5 * SECOND).unwrap());
    sleep(6 * SECOND).await;
    let report = members.status().report();
    assert!(
        matches!(report.last_error().map(|error| &**error), Some(SourceError::TimedOut(_))),
        "{report:?}"
    );
    sleep(200 * SECOND).await;
    assert_eq!((members.reader().revision().value(), serving(&members)), (1, vec!["new"]));
    assert_eq!(source.most_at_once(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_first_answer_never_overwrites_a_newer_set_that_was_pushed() {
    let source = Source::new([(5 * SECOND, Ok(vec!["old"])), (Duration::ZERO, Ok(vec!["new"]))]);
    let members = source.spawn(exact());
    sleep(2 * SECOND).await;
    members.pusher().push(set(&["stale"]));
    members.pusher().push(set(&["new"]));
    sleep(SECOND).await;
    assert_eq!(serving(&members), ["new"], "of several pushes the last counts, and at once");
    sleep(60 * SECOND).await;
    assert_eq!((members.reader().revision().value(), serving(&members)), (1, vec!["new"]));
    assert!(source.asked().len() >= 6, "it goes on asking: {:?}", source.asked());
}

#[tokio::test(start_paused = true)]
async fn a_hint_makes_it_ask_at_once_and_many_hints_no_more_often_than_the_spacing() {
    let source = Source::at_once([Ok(vec!["a"])]);
    let refresh = Refresh::every(1_000 * SECOND).unwrap().with_jitter(0.0).unwrap();
    let members = source.spawn(refresh.with_hint_spacing(2 * SECOND));
    sleep(100 * SECOND).await;
    let hint = members.hint();
    for _ in 0..500 {
        hint.hint();
        sleep(SECOND / 100).await;
    }
    sleep(100 * SECOND).await;
    assert!(close_to(&source.asked(), &[0.0, 100.0, 102.0, 104.0, 106.0]), "{:?}", source.asked());
}

#[tokio::test(start_paused = true)]
async fn a_hint_while_an_answer_is_under_way_makes_it_ask_once_more_and_not_twice_at_once() {
    let source = Source::new([(4 * SECOND, Ok(vec!["a"])), (4 * SECOND, Ok(vec!["b"]))]);
    let members = source.spawn(Refresh::every(1_000 * SECOND).unwrap().with_jitter(0.0).unwrap());
    sleep(2 * SECOND).await;
    members.hint().hint();
    sleep(100 * SECOND).await;
    assert!(close_to(&source.asked(), &[0.0, 4.0]), "{:?}", source.asked());
    assert_eq!(source.most_at_once(), 1);
    assert_eq!(serving(&members), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn hints_do_not_shorten_the_pause_after_an_error() {
    let source = Source::at_once([Err(()), Err(()), Err(()), Ok(vec!["a"])]);
    let members = source.spawn(exact().with_backoff(4 * SECOND, 8 * SECOND).unwrap());
    for _ in 0..21 {
        members.hint().hint();
        sleep(SECOND).await;
    }
    let asked = source.asked();
    assert!(close_to(&asked[..4], &[0.0, 4.0, 12.0, 20.0]), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn it_goes_on_for_any_reader_and_ends_with_the_last_one() {
    let source = Source::at_once([Ok(vec!["a"])]);
    let asking = source.clone();
    let (members, running) = exact().build(move || asking.clone().ask(), Endpoint::is_same_endpoint);
    let task = tokio::spawn(running);
    let (stream, hint, status) = (members.reader().changes(), members.hint(), members.status().clone());
    drop(members);
    sleep(25 * SECOND).await;
    assert!(!task.is_finished(), "the stream still reads");
    drop(stream);
    hint.hint();
    sleep(SECOND / 10).await;
    assert!(task.is_finished());
    assert_eq!(source.asked().len(), 3, "nobody was asked for nobody");
    assert_eq!(status.report().updates(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_leaves_its_readers_the_last_state() {
    let calls = AtomicU32::new(0);
    let source = move || {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            assert!(call == 0, "broken");
            Ok::<_, io::Error>(set(&["a"]))
        }
    };
    let members = exact().spawn(source, Endpoint::is_same_endpoint).unwrap();
    sleep(20 * SECOND).await;
    assert!(members.reader().is_closed());
    assert_eq!(serving(&members), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hints_at_itself_without_spacing_leaves_others_a_turn() {
    let (hint, asked) = (Arc::new(OnceLock::<RefreshHint>::new()), Arc::new(AtomicU32::new(0)));
    let (hints, asks) = (Arc::clone(&hint), Arc::clone(&asked));
    let source = move || {
        asks.fetch_add(1, Ordering::SeqCst);
        hints.get().map(RefreshHint::hint);
        ready::<Answer>(Ok(set(&["a"])))
    };
    let members =
        exact().with_hint_spacing(Duration::ZERO).spawn(source, Endpoint::is_same_endpoint).unwrap();
    hint.set(members.hint()).unwrap();
    sleep(SECOND).await;
    let asked = asked.load(Ordering::SeqCst);
    assert!((100..=1_001).contains(&asked), "once per millisecond at most: {asked}");
}

#[test]
fn what_makes_no_sense_is_refused_and_so_is_a_spawn_without_a_runtime() {
    assert_eq!(Refresh::every(Duration::ZERO), Err(RefreshError::ZeroInterval));
    for jitter in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(exact().with_jitter(jitter), Err(RefreshError::Jitter));
    }
    assert_eq!(exact().with_backoff(Duration::ZERO, SECOND), Err(RefreshError::Backoff));
    assert_eq!(exact().with_backoff(2 * SECOND, SECOND), Err(RefreshError::Backoff));
    assert_eq!(exact().with_timeout(Duration::ZERO), Err(RefreshError::ZeroTimeout));
    let spawned = exact().spawn(async || Ok::<_, io::Error>(set(&[])), Endpoint::is_same_endpoint);
    assert_eq!(spawned.unwrap_err(), RefreshError::NoRuntime);
}

#[tokio::test(start_paused = true)]
async fn extreme_times_are_no_reason_to_panic() {
    let source = Source::at_once([Ok(vec!["a"]), Err(())]);
    let refresh = Refresh::every(Duration::MAX).unwrap().with_jitter(1.0).unwrap();
    let refresh = refresh.with_timeout(Duration::MAX).unwrap().with_hint_spacing(Duration::MAX);
    let refresh = refresh.with_backoff(Duration::MAX, Duration::MAX).unwrap();
    let members = source.spawn(refresh);
    for _ in 0..3 {
        sleep(SECOND).await;
        members.hint().hint();
    }
    assert_eq!((source.asked().len(), serving(&members)), (1, vec!["a"]));
    assert!(!members.reader().is_closed());
}

/// A handle may cross threads, and the future too.
#[test]
fn handle_and_future_may_be_sent_and_shared() {
    fn shared<T: Send + Sync>(_: &T) {}
    fn sent<T: Future + Send>(_: &T) {}
    let (members, running) = exact().build(async || Ok::<_, io::Error>(set(&[])), Endpoint::is_same_endpoint);
    shared(&members);
    shared(&members.pusher());
    shared(&members.hint());
    sent(&running);
}
