//! How a balancer is made.

use std::error::Error;
use std::fmt;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tower_service::Service;

use super::balancer::Balancer;
use super::cluster::Cluster;
use super::conduct::{AnyTimer, Classify, ClassifyBy, Conduct};
use super::contain::join;
use super::driver::{Driver, Driving, Factory, OnDrained, PollReady, Probe, Workshop, backoff};
use super::panic::PanicChoice;
use super::pool::Member;
use super::repeating::Repeating;
use super::settings::{KeyedPolicy, Settings};
use super::signals::HealthSettings;
use crate::core::{LoadMetric, LoadTracker, Outcome, Policy};
use crate::discovery::SnapshotReader;
use crate::health::{ActiveHealthConfig, BudgetConfig, ExclusionBudget};
use crate::tower::{BorrowedKey, ComputedKey, Hook, RequestContext, Timer};

/// Configures a [`Balancer`].
///
/// | setting | default | why |
/// |---|---|---|
/// | [`policy`](Self::policy) | [`PowerOfTwoChoices`](crate::core::policy::PowerOfTwoChoices), [four when busy](crate::core::policy::PowerOfTwoChoices::choices_when_busy) | close to the least loaded of all, for two samples while there is little to do, and it does not herd |
/// | [`load`](Self::load) | [`PeakEwma`](crate::core::PeakEwma) | sees slow, failing and hung endpoints |
/// | [`key`](Self::key) | none | only the user knows which requests belong together |
/// | [`classify`](Self::classify) | `Ok` succeeds, `Err` fails | knows no protocol |
/// | [`circuit`](Self::circuit) | 5 failures in a row, 1 s growing to 60 s, jitter 20 % | trips on what is broken, asks again soon, and not all at once |
/// | [`outliers`](Self::outliers) | compared every 10 s; whoever is 1.9 deviations and 10 points below the others in the share of successes is left out for 30 s, more each time | finds what fails now and then, which no circuit does |
/// | [`probe`](Self::probe) | none | only the user knows what to ask |
/// | [`probe_config`](Self::probe_config) | every 10 s for at most 5 s; unhealthy after 3 failures in a row, healthy after 2 successes, or the first of all; unknown is eligible | probes that do not work empty no pool |
/// | [`probing_at_once`](Self::probing_at_once) | 16 members | no burst of probes |
/// | [`exclusions`](Self::exclusions) | circuits take out at most half of the members and outliers a tenth, or one where that is none; one always stays | a pool that fails as a whole goes on |
/// | [`panic`](Self::panic) | with [probes](Self::probe): below half of the members healthy, requests go to all; else none | nothing caps what probes take out, and a prober that errs should not stop all traffic; circuits and outliers have their caps |
/// | [`slow_start`](Self::slow_start) | none | a policy by load holds a newcomer back already, as its load is taken for that of the others |
/// | [`fail_fast`](Self::fail_fast) | 3 s | bridges a restart, and does not pile up requests |
/// | [`attempt_timeout`](Self::attempt_timeout) | none | only the user knows how long an answer may take |
/// | [`retry`](Self::retry), [`hedge`](Self::hedge) | none | only the user knows what may be sent twice |
/// | [`idempotent`](Self::idempotent) | all requests | whoever asks for retries or hedges means it |
/// | [`unsent`](Self::unsent) | no error | only the user knows which errors say that nobody had the request |
/// | [`connect_timeout`](Self::connect_timeout) | 10 s | as long as most clients try to connect |
/// | [`connecting_at_once`](Self::connecting_at_once) | 32 members | a large membership is connected soon, and not all at once |
/// | [`drain_deadline`](Self::drain_deadline) | 30 s | what most schedulers grant a server that is to stop |
/// | [`on_drained`](Self::on_drained) | none | only a program with a directory of its own needs it |
/// | [`hook`](Self::hook) | none | who wants to hear of it says so |
/// | [`timer`](Self::timer) | none; `spawn` takes Tokio's | time belongs to whoever runs it |
/// | services that cannot be built | tried again after 1 s, growing to 30 s | bridges a restart, and does not hammer what is down |
///
/// What stands in a value has its defaults there: [`PeakEwma`](crate::core::PeakEwma) (10 s to fall to 1/e),
/// [`CircuitConfig`](crate::health::CircuitConfig), [`BudgetConfig`](crate::health::BudgetConfig),
/// [`Retry`](crate::tower::Retry) and its [`RetryBudget`](crate::tower::RetryBudget), [`Hedge`](crate::tower::Hedge). The [guide](crate::tower::guide) has settings for
/// several kinds of traffic.
///
/// Every setting is checked when its value is made, so that a builder fails only for what is missing.
///
/// `spawn` and `probe_with` take the feature `tokio`, `observe` that of its name.
#[must_use = "a builder does nothing until it is built"]
pub struct Builder<K, B, S, R, L, P, X> {
    load: Box<dyn FnMut() -> L + Send>,
    policy: P,
    context: X,
    rest: Rest<K, B, S, R>,
}

/// The settings that no type parameter of their own depends on.
pub(super) struct Rest<K, B, S, R> {
    pub(super) reader: SnapshotReader<K, B>,
    pub(super) factory: Factory<K, B, S>,
    pub(super) poll_ready: PollReady<S>,
    pub(super) classifier: Option<Box<dyn Classify<S, R, Outcome>>>,
    pub(super) unsent: Option<Box<dyn Classify<S, R, bool>>>,
    pub(super) timer: Option<Arc<dyn AnyTimer>>,
    pub(super) hooks: Vec<Arc<dyn Hook>>,
    pub(super) health: HealthSettings,
    pub(super) probe: Option<Box<Probe<K, B>>>,
    pub(super) probe_config: ActiveHealthConfig,
    pub(super) probing: NonZeroUsize,
    pub(super) panic: PanicChoice,
    pub(super) budget: BudgetConfig,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) fail_fast: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) connecting: NonZeroUsize,
    pub(super) drain_deadline: Duration,
    pub(super) on_drained: Option<Box<OnDrained<K, B>>>,
    pub(super) repeating: Repeating<R>,
}

impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    pub(super) fn new(
        load: Box<dyn FnMut() -> L + Send>,
        policy: P,
        context: X,
        rest: Rest<K, B, S, R>,
    ) -> Self {
        Self { load, policy, context, rest }
    }

    pub(super) fn rest_mut(&mut self) -> &mut Rest<K, B, S, R> {
        &mut self.rest
    }

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
    /// Each retry has this time too, and waits for an endpoint are not in it. A limit for a request as a whole goes around the
    /// balancer, such as tower's or Tokio's `timeout`: it drops the future, which gives back all that it holds and is no failure
    /// of the endpoint.
    ///
    /// It costs an allocation per attempt that is not over when it is first polled.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.rest.attempt_timeout = Some(limit);
        self
    }

    /// Tells `hook` what happens, beside those that are told already.
    ///
    /// It gets each [`Event`](crate::tower::Event) as it is, and needs no feature. With `observe`, a `Recorder`, metrics, tracing or an
    /// `Observer` of one's own, which has one method for each kind of event, goes into `observe` instead.
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
            factory,
            poll_ready,
            classifier,
            unsent,
            timer,
            hooks,
            mut health,
            probe,
            probe_config,
            probing,
            panic,
            budget,
            attempt_timeout,
            fail_fast,
            connect_timeout,
            connecting,
            drain_deadline,
            on_drained,
            repeating,
        } = self.rest;
        let timer = timer.ok_or(BuildError::NoTimer)?;
        let repeats = repeating.into_repeats(timer.now());
        let is_heard = !hooks.is_empty();
        let hook = join(hooks);
        let picker = Box::new(KeyedPolicy { policy: self.policy, context: self.context });
        let conduct = Conduct { classifier, unsent, timer, hook, is_heard, attempt_timeout, repeats };
        let settings = Settings {
            picker,
            conduct: Arc::new(conduct),
            fail_fast,
            drain_deadline,
            panic: panic.mode(probe.is_some()),
        };
        let cluster = Arc::new(Cluster::new(settings, ExclusionBudget::new(budget)));
        let (load, backoff) = (self.load, backoff());
        health.probes = probe.is_some().then_some(probe_config);
        let (probes, outliers) = ((probe, probing), health.outliers);
        let workshop = Workshop { factory, poll_ready, load, health, connect_timeout, connecting, backoff };
        let driving = Driving::start(Arc::clone(&cluster), workshop, &reader, on_drained, probes, outliers);
        Ok((Balancer::new(cluster), driving.into_driver()))
    }
}

impl<K, B, S, R, L, P, X> fmt::Debug for Builder<K, B, S, R, L, P, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("health", &self.rest.health)
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
            Self::NoTimer => "a balancer needs a timer: set one with `timer`, or `spawn` it on Tokio",
            Self::NoRuntime => {
                "there is no Tokio runtime here to spawn the driver on: call `spawn` within one, or `build` and poll the driver"
            }
        })
    }
}

impl Error for BuildError {}
