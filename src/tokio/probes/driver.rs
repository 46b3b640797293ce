//! The driver.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, Hash};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::tokio::sync::Notify;
use ::tokio::task::yield_now;

use super::ProbeDriverCounts;
use crate::core::{Changes, Now, ProbeAnswer, ProbePool, StableBuildHasher, ZeroLimit};
use crate::sync::{AtomicBool, Mutex, Ordering, Weak, lock};
use crate::tokio::contain::{Panicked, contain, contain_until};
use crate::tokio::flights::Flights;
use crate::tokio::wait::{now, sleep_until};

/// Sends the probes of a [`ProbePool`], by Tokio's clock.
///
/// Queries make probes due, by the [rate](crate::core::ProbeConfig::with_probes_per_query) of the pool; the driver sleeps
/// until they do. It draws that many members, none of them twice, and probes them beside each other. What they answer goes into
/// the pool; where a probe fails, takes too long or panics, what the pool knew of that member goes out of it.
///
/// | setting | range | default |
/// |---|---|---|
/// | [timeout](Self::with_timeout) of a probe | any | the [age limit](crate::core::ProbeConfig::with_max_age) of the pool |
/// | [limit](Self::with_limit) of the probes under way | 1 and more | 64 |
///
/// No more than two probes of the same member are under way, so that one that hangs keeps the places of others free. A probe
/// that is due when there is no place is skipped: the next query makes another one due.
///
/// The driver does not keep the pool alive. Its futures end when the pool is gone, for example with the last clone
/// of the `tower::Balancer` whose policy has it; keep no clone of the pool or of the policy in the
/// closures. A pool has one driver: a second one takes the place of the first, whose futures end.
///
/// # Examples
///
/// Servers count their load in a [`ServerLoad`](crate::core::ServerLoad), for example with
/// `tower::ServerLoadLayer`, and tell it to whoever probes them. A balancer chooses by that:
///
#[cfg_attr(all(feature = "tower", feature = "discovery", feature = "health"), doc = "```")]
#[cfg_attr(not(all(feature = "tower", feature = "discovery", feature = "health")), doc = "```ignore")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use poise::core::policy::Prequal;
/// use poise::core::{Backend, ProbeAnswer, ProbePool};
/// use poise::discovery::Directory;
/// use poise::tokio::ProbeDriver;
/// use poise::tower::Balancer;
/// use std::convert::Infallible;
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// /// Asks the server that listens on a port.
/// async fn ask(port: u16) -> Result<ProbeAnswer, Infallible> {
///     let millis = if port == 8_003 { 5 } else { 50 };
///     Ok(ProbeAnswer::new(1, Duration::from_millis(millis)))
/// }
///
/// let mut directory = Directory::new();
/// for port in [8_001_u16, 8_002, 8_003] {
///     directory.upsert(port, Backend::new(port))?;
/// }
/// let pool = Arc::new(ProbePool::new());
/// let driver = ProbeDriver::new(&pool);
/// let probing = tokio::spawn(driver.follow(directory.reader(), |port, _backend| ask(*port)));
///
/// let balancer = Balancer::builder()
///     .discover(directory.reader(), |port, _backend| {
///         let port = *port;
///         tower::service_fn(move |()| async move { Ok::<_, Infallible>(port) })
///     })
///     .policy(Prequal::over(pool))
///     .spawn()?;
/// balancer.send(()).await?;
/// tokio::time::sleep(Duration::from_millis(1)).await;
/// assert_eq!(balancer.send(()).await?, 8_003, "all have answered, and this one is the quickest");
///
/// drop(balancer);
/// probing.await?;
/// assert_eq!(driver.counts().failed, 0);
/// # Ok(())
/// # }
/// ```
pub struct ProbeDriver {
    shared: Arc<Shared>,
    timeout: Duration,
    limit: usize,
}

struct Shared {
    /// The pool keeps what wakes the driver, so the driver must not keep the pool.
    pool: Weak<ProbePool>,
    gate: Arc<Gate>,
    counts: Mutex<ProbeDriverCounts>,
}

/// Tells the driver that probes are due, or that it is over.
#[derive(Default)]
struct Gate {
    called: Notify,
    is_closed: AtomicBool,
}

/// Closes the gate when the pool lets go of it.
struct Line(Arc<Gate>);

impl Drop for Line {
    fn drop(&mut self) {
        // Release: whoever sees it closed sees what was done before.
        self.0.is_closed.store(true, Ordering::Release);
        self.0.called.notify_one();
    }
}

const LIMIT: usize = 64;
const LIMIT_PER_MEMBER: usize = 2;

impl ProbeDriver {
    /// Makes the driver of a pool, in the place of the one that it had.
    #[must_use]
    pub fn new(pool: &Arc<ProbePool>) -> Self {
        let gate = Arc::new(Gate::default());
        let line = Line(Arc::clone(&gate));
        pool.watch_due(Changes::new(Arc::new(move || line.0.called.notify_one())));
        let shared = Shared { pool: Arc::downgrade(pool), gate, counts: Mutex::default() };
        Self { shared: Arc::new(shared), timeout: pool.config().max_age(), limit: LIMIT }
    }

    /// Sets how long a probe may take; with zero only those count that answer at once.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sets how many probes may be under way.
    ///
    /// # Errors
    ///
    /// [`ZeroLimit`] for zero.
    pub fn with_limit(self, limit: usize) -> Result<Self, ZeroLimit> {
        if limit == 0 { Err(ZeroLimit) } else { Ok(Self { limit, ..self }) }
    }

    /// Returns how the probes came to their ends.
    #[must_use]
    pub fn counts(&self) -> ProbeDriverCounts {
        *lock(&self.shared.counts)
    }

    /// Makes the future that sends the probes: `targets` draws so many members at random, or fewer where there are no more,
    /// by the identities that the policy knows them by, and `probe` makes the probe of one.
    ///
    /// For members that discovery finds `follow` is simpler; this is for a fixed set, or one that somebody else keeps, as the
    /// owner of a `tower::Balance` does. It ends with the pool.
    ///
    /// Add the failures that the client has seen to an answer, [`ProbeAnswer::with_failures`], where it knows of them.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: probes under way are dropped. The driver can then be run again.
    ///
    /// # Panics
    ///
    /// It panics when it is polled outside of a runtime with a timer. What panics in the closures is contained and counted.
    #[must_use = "nothing is probed unless the future is polled"]
    pub fn run<K, T, I, P, F, E>(
        &self,
        mut targets: T,
        probe: P,
    ) -> impl Future<Output = ()> + use<K, T, I, P, F, E>
    where
        K: Hash,
        T: FnMut(usize) -> I,
        I: IntoIterator<Item = K>,
        P: Fn(&K) -> F,
        F: Future<Output = Result<ProbeAnswer, E>>,
    {
        let draw = move |probes| targets(probes).into_iter().take(probes).collect();
        self.drive(draw, |key| key, probe)
    }

    /// Probes targets, which stand in the pool by what `identity` finds in them.
    pub(super) fn drive<T, K, D, N, P, F, E>(
        &self,
        draw: D,
        identity: N,
        probe: P,
    ) -> impl Future<Output = ()> + use<T, K, D, N, P, F, E>
    where
        K: Hash,
        D: FnMut(usize) -> Vec<T>,
        N: Fn(&T) -> &K,
        P: Fn(&T) -> F,
        F: Future<Output = Result<ProbeAnswer, E>>,
    {
        drive(Arc::clone(&self.shared), (self.timeout, self.limit), draw, identity, probe)
    }
}

impl fmt::Debug for ProbeDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeDriver")
            .field("timeout", &self.timeout)
            .field("limit", &self.limit)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

async fn drive<T, K, D, N, P, F, E>(
    shared: Arc<Shared>,
    (timeout, limit): (Duration, usize),
    mut draw: D,
    identity: N,
    probe: P,
) where
    K: Hash,
    D: FnMut(usize) -> Vec<T>,
    N: Fn(&T) -> &K,
    P: Fn(&T) -> F,
    F: Future<Output = Result<ProbeAnswer, E>>,
{
    let mut flights = Flights::default();
    // Whom the probes under way ask.
    let mut asked: Vec<u64> = Vec::new();
    loop {
        let Some(due) = shared.take_due() else { return };
        for target in shared.draw(due, &mut draw) {
            let member = StableBuildHasher::default().hash_one(identity(&target));
            let same = asked.iter().filter(|other| **other == member).count();
            if asked.len() >= limit || same >= LIMIT_PER_MEMBER {
                lock(&shared.counts).skipped += 1;
                continue;
            }
            asked.push(member);
            flights.start(fly(&shared, target, member, timeout, &identity, &probe));
        }
        let mut ended = pin!(flights.next());
        let mut waiting = pin!(shared.next_turn(due > 0));
        let ended = poll_fn(|context| match ended.as_mut().poll(context) {
            Poll::Ready(member) => Poll::Ready(Some(member)),
            Poll::Pending => waiting.as_mut().poll(context).map(|()| None),
        });
        if let Some(place) = ended.await.and_then(|member| asked.iter().position(|other| *other == member)) {
            asked.swap_remove(place);
        }
    }
}

/// Sends one probe, and returns whom it asked.
async fn fly<T, K: Hash, F: Future<Output = Result<ProbeAnswer, E>>, E>(
    shared: &Shared,
    target: T,
    member: u64,
    timeout: Duration,
    identity: impl Fn(&T) -> &K,
    probe: impl Fn(&T) -> F,
) -> u64 {
    let ended = contain_until(|| probe(&target), sleep_until(now().checked_add(timeout))).await;
    let count = |of: fn(&mut ProbeDriverCounts) -> &mut u64| *of(&mut lock(&shared.counts)) += 1;
    let answer = match ended {
        Ok(Some(Ok(answer))) => {
            count(|counts| &mut counts.answered);
            Some(answer)
        }
        Ok(Some(Err(_))) => {
            count(|counts| &mut counts.failed);
            None
        }
        Ok(None) => {
            count(|counts| &mut counts.timed_out);
            None
        }
        Err(Panicked) => {
            count(|counts| &mut counts.panicked);
            None
        }
    };
    if let Some(pool) = shared.pool.upgrade() {
        match answer {
            Some(answer) => pool.insert(identity(&target), answer, &Now::at(now())),
            None => pool.forget(identity(&target)),
        }
    }
    member
}

impl Shared {
    /// Takes the probes that are due; nothing when the driver is over.
    fn take_due(&self) -> Option<usize> {
        let pool = self.pool.upgrade().filter(|_| !self.gate.is_closed.load(Ordering::Acquire));
        pool.map(|pool| pool.take_due())
    }

    fn draw<T>(&self, due: usize, draw: &mut impl FnMut(usize) -> Vec<T>) -> Vec<T> {
        if due == 0 {
            return Vec::new();
        }
        contain(|| draw(due)).unwrap_or_else(|Panicked| {
            lock(&self.counts).panicked += 1;
            Vec::new()
        })
    }

    /// Waits until the pool may have something to do. After probes were due that is soon: it tells only whoever found none.
    async fn next_turn(&self, is_soon: bool) {
        if is_soon { yield_now().await } else { self.gate.called.notified().await }
    }
}
