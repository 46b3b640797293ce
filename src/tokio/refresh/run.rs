//! The loop of a refresh.

use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use ::tokio::runtime::Handle;
use ::tokio::time;

use super::schedule::Schedule;
use super::signal::Inbox;
use super::{Refresh, RefreshError, Refreshed};
use crate::core::Now;
use crate::discovery::{Directory, FullSet, Intake, SourceError, Update};

impl Refresh {
    /// Makes the handle of the membership and the future that keeps it, which asks `source` and is to be spawned.
    ///
    /// `same` tells whether two backends of one key are the same endpoint, as for
    /// [`Directory::replace`]. There is at most one call of `source` at a time. The future ends when
    /// nobody can read any more; it must be polled within a Tokio runtime with a timer. When it is dropped, or `source`
    /// panics in it, readers keep the last state.
    #[must_use = "nothing is refreshed unless the future is polled"]
    pub fn build<K, B, E, S, A, F>(
        self,
        source: S,
        same: F,
    ) -> (Refreshed<K, B, E>, impl Future<Output = ()> + use<K, B, E, S, A, F>)
    where
        K: Clone + Eq + Hash,
        S: FnMut() -> A,
        A: Future<Output = Result<FullSet<K, B>, E>>,
        F: FnMut(&B, &B) -> bool,
    {
        let directory = Directory::new();
        let (reader, inbox) = (directory.reader(), Arc::new(Inbox::new()));
        let intake = Intake::new(directory, self.policy, same);
        let refreshed = Refreshed::new(reader, Arc::clone(&inbox), intake.status());
        (refreshed, run(self, intake, inbox, source))
    }

    /// As [`build`](Self::build), and spawns the future on the current runtime.
    ///
    /// # Errors
    ///
    /// [`RefreshError::NoRuntime`] outside of a Tokio runtime.
    pub fn spawn<K, B, E, S, A, F>(self, source: S, same: F) -> Result<Refreshed<K, B, E>, RefreshError>
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
        B: Send + Sync + 'static,
        E: Send + Sync + 'static,
        S: FnMut() -> A + Send + 'static,
        A: Future<Output = Result<FullSet<K, B>, E>> + Send + 'static,
        F: FnMut(&B, &B) -> bool + Send + 'static,
    {
        let runtime = Handle::try_current().map_err(|_| RefreshError::NoRuntime)?;
        let (refreshed, running) = self.build(source, same);
        // The task is not joined: it ends by itself, and whoever wants to see that builds and spawns on their own.
        drop(runtime.spawn(running));
        Ok(refreshed)
    }
}

async fn run<K, B, E, S, A, F>(
    config: Refresh,
    intake: Intake<K, B, E, F>,
    inbox: Arc<Inbox<K, B>>,
    mut source: S,
) where
    K: Clone + Eq + Hash,
    S: FnMut() -> A,
    A: Future<Output = Result<FullSet<K, B>, E>>,
    F: FnMut(&B, &B) -> bool,
{
    let mut refreshing = Refreshing::new(config, intake, inbox);
    let mut flight = pin!(None);
    while refreshing.intake.directory().has_readers() {
        if refreshing.starts(now()) {
            flight.set(Some(source()));
        }
        let answer = answer_or_wake(flight.as_mut(), &refreshing.inbox, refreshing.wake()).await;
        if refreshing.settle(answer, now()) {
            flight.set(None);
        }
        refreshing.follow_up(now());
    }
}

/// What a refresh knows beside the answer that it waits for.
struct Refreshing<K, B, E, F> {
    intake: Intake<K, B, E, F>,
    inbox: Arc<Inbox<K, B>>,
    schedule: Schedule,
    timeout: Duration,
    flight: Option<Flight>,
}

/// An answer that is waited for.
struct Flight {
    /// When it is given up, if ever.
    until: Option<Instant>,
}

/// What fails in these is in the status.
impl<K, B, E, F> Refreshing<K, B, E, F>
where
    K: Clone + Eq + Hash,
    F: FnMut(&B, &B) -> bool,
{
    fn new(config: Refresh, intake: Intake<K, B, E, F>, inbox: Arc<Inbox<K, B>>) -> Self {
        let timeout = config.timeout;
        Self { intake, inbox, schedule: Schedule::new(config, now()), timeout, flight: None }
    }

    /// Tells whether the source is to be asked now, and notes that it is.
    fn starts(&mut self, now: Instant) -> bool {
        let due = self.schedule.is_due(now);
        if due {
            self.schedule.start(now);
            self.flight = Some(Flight { until: now.checked_add(self.timeout) });
        }
        due
    }

    /// Returns when something is to be done, whatever comes from outside.
    fn wake(&self) -> Option<Instant> {
        match &self.flight {
            Some(flight) => flight.until,
            None => self.schedule.next().into_iter().chain(self.intake.due()).min(),
        }
    }

    /// Takes what has come, and tells whether the flight is over with that.
    fn settle(&mut self, answer: Option<Result<FullSet<K, B>, E>>, now: Instant) -> bool {
        let given_up = self.flight.as_ref().and_then(|flight| flight.until).is_some_and(|until| until <= now);
        if let Some(pushed) = self.inbox.take() {
            // What is in flight was asked for before, and may be older: it ends unseen.
            self.take(Ok(pushed), now);
        } else if let Some(answer) = answer {
            self.take(answer, now);
        } else if given_up {
            self.intake.fail(SourceError::TimedOut(self.timeout), &Now::at(now));
            self.schedule.failed(now);
        } else {
            return false;
        }
        self.flight = None;
        true
    }

    fn take(&mut self, answer: Result<FullSet<K, B>, E>, now: Instant) {
        match self.intake.answer(answer.map(Update::Full), &Now::at(now)) {
            Ok(_) => self.schedule.succeeded(now),
            Err(_) => self.schedule.failed(now),
        }
    }

    fn follow_up(&mut self, now: Instant) {
        if self.inbox.signal.take_hint() {
            self.schedule.hint(now, self.flight.is_some());
        }
        // Whoever is asked, or is to be asked now, is heard first: an answer may take back that there is nobody.
        if self.flight.is_none() && !self.schedule.is_due(now) {
            let _ = self.intake.tick(&Now::at(now));
        }
    }
}

/// Waits until the flight ends, somebody calls from outside, or an instant has come; only the first has an answer.
async fn answer_or_wake<A: Future, K, B>(
    mut flight: Pin<&mut Option<A>>,
    inbox: &Inbox<K, B>,
    wake: Option<Instant>,
) -> Option<A::Output> {
    let mut sleep = pin!(wake.map(|wake| time::sleep_until(wake.into())));
    let mut arrived = pin!(inbox.signal.arrived());
    poll_fn(|context| {
        if let Some(flight) = flight.as_mut().as_pin_mut()
            && let Poll::Ready(answer) = flight.poll(context)
        {
            return Poll::Ready(Some(answer));
        }
        let woken = arrived.as_mut().poll(context).is_ready()
            || sleep.as_mut().as_pin_mut().is_some_and(|sleep| sleep.poll(context).is_ready());
        if woken { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

fn now() -> Instant {
    time::Instant::now().into_std()
}
