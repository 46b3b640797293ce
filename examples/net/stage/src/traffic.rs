//! The traffic: a steady rate of requests, bounded in number and in how many are under way.

use std::fmt;
use std::future::Future;
use std::iter::Sum;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use poise::core::policy::PowerOfTwoChoices;
use poise::core::{Exclusion, PeakEwma};
use poise::discovery::SnapshotReader;
use poise::tower::{Balancer, BoxError, Builder, Event, Hook, MemberReport, NoContext, Retry, RetryError};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::{Client, Endpoint, Get, Teller, eventually};

const PER_SECOND: u32 = 100;
const AT_MOST: u32 = PER_SECOND * 120;
const CONCURRENT: u32 = 200;
/// How long the attempt at one server may take.
const ATTEMPT: Duration = Duration::from_secs(2);
/// How long a client waits, whatever the balancer does.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many failures are told one by one.
const TOLD: u64 = 5;

/// A balancer that may still be given another policy.
pub type Unfinished<K> = Builder<K, Endpoint, Client, Get, PeakEwma, PowerOfTwoChoices, NoContext>;

/// Configures the balancer over members that discovery finds: an attempt takes 2 s at most, and a request that fails
/// is tried once more elsewhere.
///
/// # Errors
///
/// None that a caller can cause.
pub fn balancer<K>(
    teller: Teller,
    who: &'static str,
    reader: SnapshotReader<K, Endpoint>,
) -> Result<Unfinished<K>, RetryError> {
    Ok(Balancer::builder()
        .try_discover(reader, |_key, server: &Endpoint| Client::to(*server.id()))
        .attempt_timeout(ATTEMPT)
        .retry(Retry::attempts(2)?)
        .hook(Circuits { teller, who }))
}

/// Tells what circuits do.
struct Circuits {
    teller: Teller,
    who: &'static str,
}

impl Hook for Circuits {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::Tripped { endpoint, .. } => {
                self.teller.note(self.who, format_args!("! the circuit of {endpoint} opens"));
            }
            Event::Recovered { endpoint, .. } => {
                self.teller.note(self.who, format_args!("! the circuit of {endpoint} closes"));
            }
            _ => {}
        }
    }
}

/// What the clients saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The requests that ended.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests={} failed={}", self.requests, self.failed)
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, tally| Self {
            requests: sum.requests + tally.requests,
            failed: sum.failed + tally.failed,
        })
    }
}

#[derive(Debug, Default)]
struct Counts {
    stop: AtomicBool,
    requests: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    fn tally(&self) -> Tally {
        let failed = self.failed.load(Ordering::Relaxed);
        Tally { requests: self.requests.load(Ordering::Relaxed), failed }
    }
}

/// Sends requests through a balancer, from its start until it is told to finish.
#[derive(Debug)]
pub struct Traffic<S = Client, R = Get> {
    teller: Teller,
    who: &'static str,
    balancer: Balancer<S, R>,
    counts: Arc<Counts>,
    sender: JoinHandle<()>,
}

impl Traffic {
    /// Starts to send, 100 requests in a second.
    #[must_use]
    pub fn start(teller: Teller, who: &'static str, balancer: Balancer<Client, Get>) -> Self {
        Self::getting(teller, who, balancer, AT_MOST)
    }

    /// As [`start`](Self::start), for as long as the process lives or until it is told to finish.
    #[must_use]
    pub fn endless(teller: Teller, who: &'static str, balancer: Balancer<Client, Get>) -> Self {
        // That takes more than a year.
        Self::getting(teller, who, balancer, u32::MAX)
    }

    fn getting(teller: Teller, who: &'static str, balancer: Balancer<Client, Get>, at_most: u32) -> Self {
        let asked = balancer.clone();
        let ask = move || {
            let response = asked.send(Get);
            async move { Ok(response.await.map(drop)?) }
        };
        Self::asking_at_most(teller, who, balancer, ask, at_most)
    }
}

impl<S, R> Traffic<S, R> {
    /// As [`start`](Traffic::start), with requests that `ask` sends: through `balancer`, whatever stands before it.
    pub fn asking<F>(
        teller: Teller,
        who: &'static str,
        balancer: Balancer<S, R>,
        ask: impl Fn() -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self::asking_at_most(teller, who, balancer, ask, AT_MOST)
    }

    fn asking_at_most<F>(
        teller: Teller,
        who: &'static str,
        balancer: Balancer<S, R>,
        ask: impl Fn() -> F + Send + 'static,
        at_most: u32,
    ) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let counts = Arc::new(Counts::default());
        let sender = tokio::spawn(send(teller, who, ask, at_most, Arc::clone(&counts)));
        Self { teller, who, balancer, counts, sender }
    }

    /// Returns what the clients have seen so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.counts.tally()
    }

    /// Waits until a member serves.
    ///
    /// # Errors
    ///
    /// It does not come to that.
    pub async fn serves(&self, member: impl fmt::Display) -> Result<(), BoxError> {
        let member = member.to_string();
        let before = self.member(&member).map_or(0, |member| member.successes);
        // A member that left and came back counts anew.
        let serves = |report: MemberReport| report.exclusions.is_empty() && report.successes != before;
        self.comes(&format!("{member} serves"), || self.member(&member).is_some_and(serves)).await
    }

    /// Waits until a member drains and has nothing in flight any more.
    ///
    /// # Errors
    ///
    /// It does not come to that.
    pub async fn drained(&self, member: impl fmt::Display) -> Result<(), BoxError> {
        let member = member.to_string();
        let is_idle =
            |report: MemberReport| report.exclusions.contains(Exclusion::Draining) && report.in_flight == 0;
        self.comes(&format!("{member} has drained"), || self.member(&member).is_some_and(is_idle)).await
    }

    /// Waits until somebody is no member any more.
    ///
    /// # Errors
    ///
    /// It does not come to that.
    pub async fn gone(&self, member: impl fmt::Display) -> Result<(), BoxError> {
        let member = member.to_string();
        self.comes(&format!("{member} is gone"), || self.member(&member).is_none()).await
    }

    /// Waits until an attempt at a member fails, from which the balancer learns that it is dead.
    ///
    /// # Errors
    ///
    /// It does not come to that.
    pub async fn notices(&self, member: impl fmt::Display) -> Result<(), BoxError> {
        let member = member.to_string();
        let before = self.member(&member).map_or(0, |member| member.failures);
        let has_failed = |report: MemberReport| report.failures > before;
        self.comes(&format!("{member} fails"), || self.member(&member).is_some_and(has_failed)).await
    }

    /// Looks on for some time, and demands that traffic goes on in each second of it.
    ///
    /// # Errors
    ///
    /// For a second, no request succeeded.
    pub async fn goes_on(&self, seconds: u32) -> Result<(), BoxError> {
        let start = self.counts.tally();
        let mut before = start;
        for _ in 0..seconds {
            sleep(Duration::from_secs(1)).await;
            let now = self.counts.tally();
            if now.requests - before.requests == now.failed - before.failed {
                return Err(format!("{}: traffic has come to a halt", self.who).into());
            }
            before = now;
        }
        let (requests, failed) = (before.requests - start.requests, before.failed - start.failed);
        self.teller
            .note(self.who, format_args!("{requests} requests in {seconds} s, {failed} of them failed"));
        Ok(())
    }

    /// Returns how many requests a member has served since it joined.
    #[must_use]
    pub fn served_by(&self, member: impl fmt::Display) -> u64 {
        self.member(&member.to_string()).map_or(0, |member| member.successes)
    }

    /// Stops sending, waits for what is under way, and prints how every member did.
    ///
    /// # Errors
    ///
    /// The sender has panicked.
    pub async fn finish(self) -> Result<Tally, BoxError> {
        self.counts.stop.store(true, Ordering::Relaxed);
        self.sender.await?;
        println!("\n{}: {}", self.who, self.balancer.report());
        Ok(self.counts.tally())
    }

    /// Waits until something holds, or says how the balancer stands instead.
    async fn comes(&self, what: &str, holds: impl FnMut() -> bool) -> Result<(), BoxError> {
        eventually(what, holds).await.map_err(|error| format!("{error}\n{}", self.balancer.report()).into())
    }

    fn member(&self, name: &str) -> Option<MemberReport> {
        self.balancer.report().member(name).cloned()
    }
}

async fn send<F>(teller: Teller, who: &'static str, ask: impl Fn() -> F, at_most: u32, counts: Arc<Counts>)
where
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(CONCURRENT as usize));
    let start = Instant::now();
    for number in 0..at_most {
        sleep_until(start + Duration::from_secs(1) * number / PER_SECOND).await;
        if counts.stop.load(Ordering::Relaxed) {
            break;
        }
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let (answer, counts) = (timeout(PATIENCE, ask()), Arc::clone(&counts));
        tokio::spawn(async move {
            if let Err(error) = answer.await.unwrap_or_else(|elapsed| Err(elapsed.into()))
                && counts.failed.fetch_add(1, Ordering::Relaxed) < TOLD
            {
                teller.note(who, format_args!("x a request failed: {error}"));
            }
            counts.requests.fetch_add(1, Ordering::Relaxed);
            drop(place);
        });
    }
    // Whoever has all the places knows that nobody is under way.
    drop(places.acquire_many(CONCURRENT).await);
}
