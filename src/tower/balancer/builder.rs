//! How a balancer is made.

use std::error::Error;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use tower_service::Service;

use super::balancer::Balancer;
use super::cluster::Cluster;
use super::contain::join;
use super::driver::{Driver, Driving};
use super::pool::Member;
use super::reconcile::{ServiceFactory, Workshop};
use super::repeats::Repeating;
use super::settings::{AnyTimer, Classify, ClassifyBy, KeyedPolicy, Settings};
use crate::core::policy::PowerOfTwoChoices;
use crate::core::{LoadMetric, LoadTracker, Outcome, PeakEwma, Policy};
use crate::discovery::SnapshotReader;
use crate::health::{BudgetConfig, CircuitConfig, ExclusionBudget};
use crate::tower::{
    BorrowedKey, BoxError, ComputedKey, Hedge, Hook, Idempotent, NoContext, RequestContext, Retry, Timer,
};

/// Asks for the source of members: the first step of a [`Builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct Discoverer {
    fail_fast: Duration,
}

impl Discoverer {
    pub(super) fn new() -> Self {
        Self { fail_fast: Duration::from_secs(3) }
    }

    /// Takes members from `reader`, and their services from `service`.
    ///
    /// `service` is called once for each allocation of a backend. A service is cloned for each request, and is `Send` and
    /// `Sync` (of tower's boxes, `BoxCloneSyncService`); a key is `Display`, which names the endpoint. A panic in `service` is contained; the member is left out and
    /// tried again with growing pauses.
    pub fn discover<K, B, S, R>(
        self,
        reader: SnapshotReader<K, B>,
        mut service: impl FnMut(&K, &B) -> S + Send + 'static,
    ) -> Builder<K, B, S, R, PeakEwma, PowerOfTwoChoices, NoContext>
    where
        S: Service<R>,
    {
        self.try_discover(reader, move |key, backend| Ok::<_, BoxError>(service(key, backend)))
    }

    /// Takes members from `reader`, and their services from `service`, which may fail.
    ///
    /// A member whose service cannot be built holds up nobody else: it is left out, or goes on with the service of its
    /// previous allocation, and is tried again with growing pauses, from one second to thirty.
    pub fn try_discover<K, B, S, R, E>(
        self,
        reader: SnapshotReader<K, B>,
        mut service: impl FnMut(&K, &B) -> Result<S, E> + Send + 'static,
    ) -> Builder<K, B, S, R, PeakEwma, PowerOfTwoChoices, NoContext>
    where
        S: Service<R>,
        E: Into<BoxError>,
    {
        Builder {
            load: Box::new(PeakEwma::new),
            policy: PowerOfTwoChoices::new().choices_when_busy(4),
            context: NoContext,
            rest: Rest {
                reader,
                service: Box::new(move |key, backend| service(key, backend).map_err(Into::into)),
                classifier: None,
                timer: None,
                hooks: Vec::new(),
                circuit: default_circuit(),
                budget: BudgetConfig::default(),
                attempt_timeout: None,
                fail_fast: self.fail_fast,
                repeating: Repeating::none(),
            },
        }
    }
}

/// Returns 5 failures, and a second that grows to a minute, give or take a fifth.
fn default_circuit() -> Option<CircuitConfig> {
    let circuit = CircuitConfig::new(5, Duration::from_secs(1)).ok()?;
    circuit.with_growth(Duration::from_secs(60)).ok()?.with_jitter(0.2).ok()
}

/// Configures a [`Balancer`].
///
/// | setting | default | why |
/// |---|---|---|
/// | [`policy`](Self::policy) | [`PowerOfTwoChoices`], [four when busy](PowerOfTwoChoices::choices_when_busy) | close to the least loaded of all, for two samples while there is little to do, and it does not herd |
/// | [`load`](Self::load) | [`PeakEwma`] | sees slow, failing and hung endpoints |
/// | [`key`](Self::key) | none | |
/// | [`classify`](Self::classify) | `Ok` succeeds, `Err` fails | knows no protocol |
/// | [`circuit`](Self::circuit) | 5 failures in a row, 1 s growing to 60 s, jitter 20 % | trips on what is broken, asks again soon, and not all at once |
/// | [`exclusions`](Self::exclusions) | circuits take out at most half of the members, one always stays | a pool that fails as a whole goes on |
/// | [`fail_fast`](Self::fail_fast) | 3 s | bridges a restart, and does not pile up requests |
/// | [`attempt_timeout`](Self::attempt_timeout) | none | only the user knows how long an answer may take |
/// | [`retry`](Self::retry), [`hedge`](Self::hedge) | none | only the user knows what may be sent twice |
/// | [`idempotent`](Self::idempotent) | all requests | whoever asks for retries or hedges means it |
/// | [`hook`](Self::hook) | none | |
///
/// Every setting is checked when its value is made, so that a builder fails only for what is missing.
#[must_use = "a builder does nothing until it is built"]
pub struct Builder<K, B, S, R, L, P, X> {
    load: Box<dyn FnMut() -> L + Send>,
    policy: P,
    context: X,
    rest: Rest<K, B, S, R>,
}

/// The settings that no type parameter of their own depends on.
struct Rest<K, B, S, R> {
    reader: SnapshotReader<K, B>,
    service: Box<ServiceFactory<K, B, S>>,
    classifier: Option<Box<dyn Classify<S, R>>>,
    timer: Option<Arc<dyn AnyTimer>>,
    hooks: Vec<Arc<dyn Hook>>,
    circuit: Option<CircuitConfig>,
    budget: BudgetConfig,
    attempt_timeout: Option<Duration>,
    fail_fast: Duration,
    repeating: Repeating<R>,
}

impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    /// Chooses by another policy.
    ///
    /// A policy by key needs a [`key`](Self::key): without one all requests have the same, and go to the same member. A
    /// policy that finds nobody among the eligible makes the request wait, as if nobody were. A panic in it reaches the caller.
    ///
    /// A policy of one's own sees the key of discovery as [`id`](crate::core::Candidate::id) and the backend as
    /// [`data`](crate::core::Candidate::data).
    pub fn policy<Q>(self, policy: Q) -> Builder<K, B, S, R, L, Q, X> {
        Builder { policy, load: self.load, context: self.context, rest: self.rest }
    }

    /// Gives the policy a key that is borrowed from the request: `.key(|request| &request.user)`.
    pub fn key<F, Key>(self, key: F) -> Builder<K, B, S, R, L, P, BorrowedKey<F>>
    where
        F: for<'a> Fn(&'a R) -> &'a Key,
        Key: ?Sized,
    {
        self.context(BorrowedKey::new(key))
    }

    /// Gives the policy a key that is computed from the request, such as a header:
    /// `.computed_key(|request| request.headers().get("x-user").cloned())`.
    pub fn computed_key<F, Key>(self, key: F) -> Builder<K, B, S, R, L, P, ComputedKey<F>>
    where
        F: Fn(&R) -> Key,
    {
        self.context(ComputedKey::new(key))
    }

    /// Gives the policy its keys by a [`RequestContext`].
    pub fn context<Y>(self, context: Y) -> Builder<K, B, S, R, L, P, Y> {
        Builder { context, load: self.load, policy: self.policy, rest: self.rest }
    }

    /// Tracks load in another way; `load` makes the tracker of one endpoint.
    ///
    /// With a limit, `|| InFlight::from(limit)` of a `NonZeroU32`, say, an endpoint that is full is passed over; when all are,
    /// requests fail at once. The third parameter of the balancer's type is the tracker.
    pub fn load<M>(self, load: impl FnMut() -> M + Send + 'static) -> Builder<K, B, S, R, M, P, X>
    where
        M: LoadTracker + LoadMetric,
    {
        Builder { load: Box::new(load), policy: self.policy, context: self.context, rest: self.rest }
    }

    /// Classifies answers in another way than `Ok` and `Err`.
    ///
    /// A panic in the classifier is contained: the answer reaches the caller, and the attempt counts as cancelled.
    pub fn classify(
        mut self,
        classify: impl Fn(Result<&S::Response, &S::Error>) -> Outcome + Send + Sync + 'static,
    ) -> Self
    where
        S: Service<R>,
    {
        self.rest.classifier = Some(Box::new(ClassifyBy(classify)));
        self
    }

    /// Sets when circuits open and for how long.
    pub fn circuit(mut self, circuit: CircuitConfig) -> Self {
        self.rest.circuit = Some(circuit);
        self
    }

    /// Goes without circuits.
    pub fn without_circuit(mut self) -> Self {
        self.rest.circuit = None;
        self
    }

    /// Sets how many members may be excluded at the same time.
    pub fn exclusions(mut self, budget: BudgetConfig) -> Self {
        self.rest.budget = budget;
        self
    }

    /// Sets for how long nobody may be eligible until requests fail at once. [`Duration::MAX`] waits for ever.
    ///
    /// No request waits for an endpoint for longer than that, also when others are served meanwhile.
    pub fn fail_fast(mut self, after: Duration) -> Self {
        self.rest.fail_fast = after;
        self
    }

    /// Limits the time of one attempt, from its start to the head of its response. An attempt that takes longer is a failure of
    /// the endpoint. It starts anew when another endpoint takes over because one did not become ready.
    ///
    /// It costs an allocation per attempt that is not over when it is first polled.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.rest.attempt_timeout = Some(limit);
        self
    }

    /// Makes failed attempts again, on other endpoints as long as there are some that were not tried, under one budget.
    ///
    /// What counts as a failure is what [`classify`](Self::classify) says, and an attempt that took too long. When there may
    /// be no more attempts, the last answer or error is what the caller gets. Only ask for it when requests may be sent
    /// twice.
    pub fn retry(mut self, retry: Retry) -> Self
    where
        R: Clone,
    {
        self.rest.repeating.retry = Some(retry);
        self.rest.repeating.clone = Some(R::clone);
        self
    }

    /// Sends requests that take long to a second endpoint too, under the budget of the retries, and takes the first success.
    ///
    /// Only ask for it when requests may be sent twice. It costs a clone of each request, an allocation for the timer of each
    /// attempt that is not over when it is first polled, and one more for each hedge.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::{Backend, Now};
    /// use poise::discovery::Directory;
    /// use poise::tower::{Balancer, Hedge};
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("slow", Backend::new(1_000))?;
    /// directory.upsert("fast", Backend::new(1))?;
    ///
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, backend| {
    ///         let latency = Duration::from_millis(*backend.id());
    ///         tower::service_fn(move |request: u32| async move {
    ///             tokio::time::sleep(latency).await;
    ///             Ok::<_, Infallible>(request)
    ///         })
    ///     })
    ///     .hedge(Hedge::after(Duration::from_millis(10)))
    ///     .spawn()?;
    /// for request in 0..100 {
    ///     let start = tokio::time::Instant::now();
    ///     balancer.send(request).await?;
    ///     assert!(start.elapsed() < Duration::from_millis(20));
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn hedge(mut self, hedge: Hedge) -> Self
    where
        R: Clone,
    {
        self.rest.repeating.hedge = Some(hedge);
        self.rest.repeating.clone = Some(R::clone);
        self
    }

    /// Retries and hedges only the requests that may be sent twice: `.idempotent(|request: &Request| request.is_read())`.
    /// Without it, all of them may.
    ///
    /// Whether a request may is asked once, before its first attempt; it makes no difference for one that nobody has had. A
    /// panic in it is contained, and the request is sent once.
    pub fn idempotent(mut self, idempotent: impl Idempotent<R> + Send + Sync + 'static) -> Self {
        self.rest.repeating.idempotent = Some(Box::new(idempotent));
        self
    }

    /// Tells `hook` what happens, beside those that are told already.
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.rest.hooks.push(Arc::new(hook));
        self
    }

    /// Waits by this timer.
    pub fn timer(mut self, timer: impl Timer) -> Self {
        self.rest.timer = Some(Arc::new(timer));
        self
    }

    /// Makes the balancer and its driver, which must be polled for the balancer to learn of changes.
    ///
    /// The current membership takes effect at once.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoTimer`] without a [`timer`](Self::timer).
    pub fn build(self) -> Result<(Balancer<S, R, L>, Driver), BuildError>
    where
        K: Eq + Hash + fmt::Display + Send + Sync + 'static,
        B: Send + Sync + 'static,
        S: Clone + Send + Sync + 'static,
        R: Send + 'static,
        L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
        P: Policy<Member<K, B, S, R, L>, X::Key> + Send + Sync + 'static,
        X: RequestContext<R> + Send + Sync + 'static,
    {
        let Rest {
            reader,
            service,
            classifier,
            timer,
            hooks,
            circuit,
            budget,
            attempt_timeout,
            fail_fast,
            repeating,
        } = self.rest;
        let timer = timer.ok_or(BuildError::NoTimer)?;
        let repeats = repeating.into_repeats(timer.now());
        let is_heard = !hooks.is_empty();
        let hook = join(hooks);
        let picker = Box::new(KeyedPolicy { policy: self.policy, context: self.context });
        let settings =
            Settings { picker, classifier, timer, hook, is_heard, attempt_timeout, fail_fast, repeats };
        let cluster = Arc::new(Cluster::new(settings, ExclusionBudget::new(budget)));
        let workshop = Workshop { service, load: self.load, circuit };
        let driving = Driving::start(Arc::clone(&cluster), workshop, &reader);
        Ok((Balancer::new(cluster), driving.into_driver()))
    }
}

impl<K, B, S, R, L, P, X> fmt::Debug for Builder<K, B, S, R, L, P, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("circuit", &self.rest.circuit)
            .field("attempt_timeout", &self.rest.attempt_timeout)
            .field("fail_fast", &self.rest.fail_fast)
            .finish_non_exhaustive()
    }
}

/// Reports what a balancer cannot be built without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// No timer was given.
    NoTimer,
    /// There is no runtime here to spawn the driver on.
    NoRuntime,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTimer => "a balancer needs a timer",
            Self::NoRuntime => "there is no runtime to spawn the driver on",
        })
    }
}

impl Error for BuildError {}
