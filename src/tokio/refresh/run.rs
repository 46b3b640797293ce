//! The loop of a refresh.

use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

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
        (refreshed, run(self, source, intake, inbox))
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
    mut source: S,
    mut intake: Intake<K, B, E, F>,
    inbox: Arc<Inbox<K, B>>,
) where
    K: Clone + Eq + Hash,
    S: FnMut() -> A,
    A: Future<Output = Result<FullSet<K, B>, E>>,
    F: FnMut(&B, &B) -> bool,
{
    let timeout = config.timeout;
    let mut schedule = Schedule::new(config, now());
    let mut flight = pin!(None);
    let mut give_up = None;
    while intake.directory().has_readers() {
        if schedule.is_due(now()) {
            give_up = schedule.start(now());
            flight.set(Some(source()));
        }
        let wake = [schedule.next(), give_up, intake.due()].into_iter().flatten().min();
        let answer = answer_or_wake(flight.as_mut(), &inbox, wake).await;
        let at = now();
        // What fails is in the status.
        if let Some(pushed) = inbox.take() {
            // What is in flight was asked for before, and may be older: it ends unseen.
            flight.set(None);
            give_up = None;
            let _ = intake.answer(Ok(Update::Full(pushed)), &Now::at(at));
            schedule.succeeded(at);
        } else if let Some(answer) = answer {
            flight.set(None);
            give_up = None;
            let failed = answer.is_err();
            let taken = intake.answer(answer.map(Update::Full), &Now::at(at));
            if failed || taken.is_err() { schedule.failed(at) } else { schedule.succeeded(at) }
        } else if give_up.is_some_and(|deadline| deadline <= at) {
            flight.set(None);
            give_up = None;
            let _ = intake.fail(SourceError::TimedOut(timeout), &Now::at(at));
            schedule.failed(at);
        }
        if inbox.signal.take_hint() {
            schedule.hint(at, flight.is_some());
        }
        let _ = intake.tick(&Now::at(at));
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
