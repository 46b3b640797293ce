//! How members are found to be unwell.

use std::future::Future;
use std::num::NonZeroUsize;

use super::builder::Builder;
use super::panic::{PanicChoice, PanicMode};
use crate::discovery::Discovered;
use crate::health::{
    ActiveHealthConfig, BudgetConfig, CircuitConfig, EjectorConfig, ProbeOutcome, SlowStartConfig,
};

/// # Health
impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    /// Sets when circuits open and for how long.
    pub fn circuit(mut self, circuit: CircuitConfig) -> Self {
        self.rest_mut().health.circuit = Some(circuit);
        self
    }

    /// Goes without circuits.
    pub fn without_circuit(mut self) -> Self {
        self.rest_mut().health.circuit = None;
        self
    }

    /// Sets who is an outlier, and for how long it is left out.
    ///
    /// The [`Driver`](super::Driver) compares what became of the attempts of each member since it last did. Who is ejected
    /// takes no requests until its time is over, as [`Exclusion::Outlier`](crate::core::Exclusion::Outlier), whatever a circuit
    /// or a probe finds meanwhile; then nothing is held against it. A new allocation of a member is a new one.
    ///
    /// How many are out at once is limited by [`exclusions`](Self::exclusions), together with the circuits.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::{Backend, Exclusion};
    /// use poise::discovery::Directory;
    /// use poise::health::EjectorConfig;
    /// use poise::tower::Balancer;
    /// use std::time::Duration;
    ///
    /// let mut directory = Directory::new();
    /// for name in ["a", "b", "c", "d", "e", "f"] {
    ///     directory.upsert(name, Backend::new(name))?;
    /// }
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |key, _backend| {
    ///         let name = *key;
    ///         // Every other request to `a` fails, so that there are never many failures in a row.
    ///         tower::service_fn(move |request: u32| async move {
    ///             if name == "a" && request % 2 == 0 { Err("broken") } else { Ok(name) }
    ///         })
    ///     })
    ///     .policy(poise::core::policy::Random::seeded(1))
    ///     .outliers(EjectorConfig::default().with_interval(Duration::from_secs(1))?)
    ///     .spawn()?;
    ///
    /// for request in 0..2_000 {
    ///     tokio::time::sleep(Duration::from_millis(1)).await;
    ///     let _answer = balancer.send(request).await;
    /// }
    /// let report = balancer.report();
    /// assert!(report.member("a").is_some_and(|a| a.exclusions.contains(Exclusion::Outlier)));
    /// assert_eq!(report.eligible(), 5);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn outliers(mut self, outliers: EjectorConfig) -> Self {
        self.rest_mut().health.outliers = Some(outliers);
        self
    }

    /// Compares nobody.
    pub fn without_outliers(mut self) -> Self {
        self.rest_mut().health.outliers = None;
        self
    }

    /// Probes members apart from the traffic: `probe` makes the future that asks one of them how it is.
    ///
    /// The [`Driver`](super::Driver) polls it, [several](Self::probing_at_once) at the same time, whether or not requests flow.
    /// The first probe of a member starts within a second of its joining, evenly drawn. A probe that has not
    /// answered [in time](Self::probe_config) is dropped, and found its member unhealthy; it holds up nobody else's. One that
    /// panics is contained and found nothing out. When a member leaves or gets another allocation, its probe is dropped.
    ///
    /// Who is found unhealthy takes no requests, as [`Exclusion::Probe`](crate::core::Exclusion::Probe), until probes find it
    /// healthy, and whoever waits is woken then. No circuit and no ejection ends earlier for it. Probes are
    /// under no budget: when they exclude too many, that is [panic](Self::panic).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::{Backend, Exclusion};
    /// use poise::discovery::Directory;
    /// use poise::health::ProbeOutcome;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    /// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |key, _backend| {
    ///         let name = *key;
    ///         tower::service_fn(move |_request: ()| async move { Ok::<_, Infallible>(name) })
    ///     })
    ///     .probe(|member| {
    ///         let address = *member.backend().id();
    ///         // A real one would connect to the address, or send a request there.
    ///         async move { ProbeOutcome::of(if address == "10.0.0.2:80" { Ok(()) } else { Err("refused") }) }
    ///     })
    ///     .spawn()?;
    ///
    /// tokio::time::sleep(Duration::from_secs(25)).await;
    /// let report = balancer.report();
    /// assert!(report.member("a").is_some_and(|a| a.exclusions.contains(Exclusion::Probe)));
    /// assert_eq!(balancer.send(()).await?, "b");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn probe<F>(mut self, mut probe: impl FnMut(&Discovered<K, B>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ProbeOutcome> + Send + 'static,
    {
        self.rest_mut().probe = Some(Box::new(move |member| Box::pin(probe(member))));
        self
    }

    /// Sets how often members are probed, how long a probe may take, and what it takes to change a verdict.
    ///
    /// It replaces the whole of the default, which has a [fast start](ActiveHealthConfig::with_fast_start). It does nothing
    /// without a [`probe`](Self::probe).
    pub fn probe_config(mut self, config: ActiveHealthConfig) -> Self {
        self.rest_mut().probe_config = config;
        self
    }

    /// Limits how many members are probed at the same time.
    pub fn probing_at_once(mut self, limit: NonZeroUsize) -> Self {
        self.rest_mut().probing = limit;
        self
    }

    /// Sets how many members may be excluded at the same time by circuits and as outliers.
    pub fn exclusions(mut self, budget: BudgetConfig) -> Self {
        self.rest_mut().budget = budget;
        self
    }

    /// Lets members take their share little by little, from when they first serve, and from when they return: by the verdict of
    /// probes, the closing of their circuit, the end of an ejection or the word of an operator.
    ///
    /// It goes through [`ramp`](crate::core::Candidate::ramp), which policies take as a part of the weight. A new allocation
    /// starts anew.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::health::SlowStartConfig;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, _backend| {
    ///         tower::service_fn(|request: u32| async move { Ok::<_, Infallible>(request) })
    ///     })
    ///     .slow_start(SlowStartConfig::new(Duration::from_secs(10))?)
    ///     .spawn()?;
    ///
    /// tokio::time::sleep(Duration::from_secs(60)).await;
    /// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
    /// tokio::time::sleep(Duration::from_secs(5)).await;
    /// let report = balancer.report();
    /// let ramp = |name| report.member(name).map(|member| member.ramp);
    /// assert_eq!(ramp("a"), Some(1.0));
    /// assert!(ramp("b").is_some_and(|ramp| (0.49..0.51).contains(&ramp)));
    /// # balancer.send(7).await?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn slow_start(mut self, slow_start: SlowStartConfig) -> Self {
        self.rest_mut().health.slow_start = Some(slow_start);
        self
    }

    /// Sets what happens when too few members are eligible over probes, circuits and outliers together: requests go to all of
    /// them, or fail at once.
    ///
    /// Nobody who drains, is unavailable, or was [excluded](super::Balancer::exclude) by an operator is revived. An attempt at a
    /// member whose circuit is open is a guest of the circuit, which learns nothing from it; probes and sweeps go on, and so the
    /// panic ends by itself. [`Event::Panic`](crate::tower::Event::Panic) tells when it begins and ends, and whoever waits is woken by both.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::tower::{Balancer, BalancerErrorKind, PanicMode};
    /// use std::convert::Infallible;
    ///
    /// let mut directory = Directory::new();
    /// for name in ["a", "b", "c"] {
    ///     directory.upsert(name, Backend::new(name))?;
    /// }
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |key, _backend| {
    ///         let name = *key;
    ///         tower::service_fn(move |_request: ()| async move { Ok::<_, Infallible>(name) })
    ///     })
    ///     .panic(PanicMode::fail_fast())
    ///     .spawn()?;
    ///
    /// balancer.force_open("a")?;
    /// assert!(balancer.send(()).await.is_ok(), "two of three are enough");
    /// balancer.force_open("b")?;
    /// let error = balancer.send(()).await.unwrap_err();
    /// assert!(matches!(error.kind(), BalancerErrorKind::PanicRejected(counts) if counts.candidates() == 3));
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn panic(mut self, mode: PanicMode) -> Self {
        self.rest_mut().panic = PanicChoice::Given(mode);
        self
    }

    /// Goes by health however few members are healthy.
    pub fn without_panic(mut self) -> Self {
        self.rest_mut().panic = PanicChoice::Never;
        self
    }
}
