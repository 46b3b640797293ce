//! Where members and their services come from.

use std::future::Future;
use std::num::NonZeroUsize;
use std::task::{Context, Poll};
use std::time::Duration;

use tower_service::Service;

use super::builder::{Builder, Rest};
use super::driver::Factory;
use super::panic::PanicChoice;
use super::repeating::Repeating;
use super::signals::HealthSettings;
use crate::core::PeakEwma;
use crate::core::policy::PowerOfTwoChoices;
use crate::discovery::{Discovered, SnapshotReader};
use crate::health::{ActiveHealthConfig, BudgetConfig, CircuitConfig, EjectorConfig};
use crate::tower::{BoxError, NoContext};

/// Asks for the source of members: the first step of a [`Builder`], on which all else is set.
///
/// ```compile_fail,E0599
/// # use std::time::Duration;
/// # use poise::tower::Balancer;
/// // There is nothing to set before there is a source.
/// let _ = Balancer::builder().fail_fast(Duration::from_secs(1));
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct Discoverer {
    /// The default of [`Builder::fail_fast`]. Were it called so, the compiler would answer who sets that too early that it is
    /// private, and not that there is no such method yet.
    patience: Duration,
}

/// What a source of members and services makes, with the defaults of all else.
type Started<K, B, S, R> = Builder<K, B, S, R, PeakEwma, PowerOfTwoChoices, NoContext>;

impl Discoverer {
    pub(super) fn new() -> Self {
        Self { patience: Duration::from_secs(3) }
    }

    /// Takes members from `reader`, and their services from `service`.
    ///
    /// `service` is called once for each allocation of a backend. A service is cloned for each request, and is `Send` and
    /// `Sync` (of tower's boxes, `BoxCloneSyncService`); a key is `Display`, which names the endpoint. A panic in `service` is
    /// contained; the member is left out and tried again with growing pauses.
    ///
    /// A new member takes requests at once, and is made ready beside that, also with no request; with a new allocation of a key,
    /// the service of the old one goes on until the new one has been ready once, or
    /// [for as long as that may take](Builder::connect_timeout).
    pub fn discover<K, B, S, R>(
        self,
        reader: SnapshotReader<K, B>,
        mut service: impl FnMut(&K, &B) -> S + Send + 'static,
    ) -> Started<K, B, S, R>
    where
        S: Service<R>,
    {
        self.try_discover(reader, move |key, backend| Ok::<_, BoxError>(service(key, backend)))
    }

    /// Takes members from `reader`, and their services from `service`, which may fail.
    ///
    /// A member whose service cannot be built holds up nobody else: it is left out, or goes on with the service of its
    /// previous allocation, and is tried again with growing pauses, from one second to thirty, less up to a fifth. A newer
    /// revision is tried at once. In all else this is [`discover`](Self::discover).
    pub fn try_discover<K, B, S, R, E>(
        self,
        reader: SnapshotReader<K, B>,
        mut service: impl FnMut(&K, &B) -> Result<S, E> + Send + 'static,
    ) -> Started<K, B, S, R>
    where
        S: Service<R>,
        E: Into<BoxError>,
    {
        let make = move |key: &K, backend: &B| service(key, backend).map_err(Into::into);
        self.started(reader, Factory::AtOnce(Box::new(make)))
    }

    /// Takes members from `reader`, and their services from `connect`, which may take its time and fail.
    ///
    /// The [`Driver`](super::Driver) connects ahead of requests, to [several](Builder::connecting_at_once) members at the same
    /// time. A member takes requests once it is connected; nobody waits for it meanwhile, unless there is nobody else. An attempt
    /// that fails, panics or takes [too long](Builder::connect_timeout) is made again with growing pauses, from one second to
    /// thirty, less up to a fifth; a newer revision is tried at once, and first those that have failed the least. A
    /// member that drains is not connected to.
    ///
    /// With a new allocation of a key, the service of the old one goes on until the new one is connected and has been ready
    /// once, or has not become so in the time for an attempt. When a member leaves, or gets another
    /// allocation, the future of its attempt is dropped.
    ///
    /// # Cancel safety
    ///
    /// Futures are polled by the driver only, and are dropped with it.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::discovery::{Directory, Discovered};
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    /// use std::io;
    /// use std::time::Duration;
    /// use tower::Service;
    ///
    /// type Member = Discovered<String, Backend<&'static str>>;
    ///
    /// /// Stands for a client that has to shake hands.
    /// async fn connect(
    ///     member: Member,
    /// ) -> io::Result<impl Service<u32, Response = String, Error = Infallible, Future: Send> + Clone + Send + Sync> {
    ///     tokio::time::sleep(Duration::from_millis(20)).await;
    ///     let address = *member.backend().id();
    ///     Ok(tower::service_fn(move |request: u32| async move { Ok(format!("{request} by {address}")) }))
    /// }
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a".to_owned(), Backend::new("10.0.0.1:80"))?;
    ///
    /// let balancer = Balancer::builder().connect_with(directory.reader(), connect).spawn()?;
    /// assert_eq!(balancer.send(7).await?, "7 by 10.0.0.1:80");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn connect_with<K, B, S, R, F, E>(
        self,
        reader: SnapshotReader<K, B>,
        mut connect: impl FnMut(Discovered<K, B>) -> F + Send + 'static,
    ) -> Started<K, B, S, R>
    where
        S: Service<R>,
        F: Future<Output = Result<S, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let connect = move |member: Discovered<K, B>| {
            let connecting = connect(member);
            Box::pin(async move { connecting.await.map_err(Into::into) }) as _
        };
        self.started(reader, Factory::Ahead(Box::new(connect)))
    }

    fn started<K, B, S: Service<R>, R>(
        self,
        reader: SnapshotReader<K, B>,
        factory: Factory<K, B, S>,
    ) -> Started<K, B, S, R> {
        let rest = Rest {
            reader,
            factory,
            poll_ready: poll_ready::<S, R>,
            classifier: None,
            unsent: None,
            timer: None,
            hooks: Vec::new(),
            health: HealthSettings {
                circuit: default_circuit(),
                probes: None,
                outliers: Some(EjectorConfig::default()),
                slow_start: None,
            },
            probe: None,
            probe_config: ActiveHealthConfig::default().with_fast_start(),
            probing: NonZeroUsize::MIN.saturating_add(15),
            panic: PanicChoice::Default,
            budget: BudgetConfig::default().with_at_least_one(),
            attempt_timeout: None,
            fail_fast: self.patience,
            connect_timeout: Duration::from_secs(10),
            connecting: NonZeroUsize::MIN.saturating_add(31),
            drain_deadline: Duration::from_secs(30),
            on_drained: None,
            repeating: Repeating::none(),
        };
        Builder::new(Box::new(PeakEwma::new), PowerOfTwoChoices::new().choices_when_busy(4), NoContext, rest)
    }
}

/// Returns 5 failures, and a second that grows to a minute, give or take a fifth.
fn default_circuit() -> Option<CircuitConfig> {
    let circuit = CircuitConfig::new(5, Duration::from_secs(1)).ok()?;
    circuit.with_growth(Duration::from_secs(60)).ok()?.with_jitter(0.2).ok()
}

fn poll_ready<S: Service<R>, R>(service: &mut S, cx: &mut Context<'_>) -> Poll<bool> {
    service.poll_ready(cx).map(|ready| ready.is_ok())
}
