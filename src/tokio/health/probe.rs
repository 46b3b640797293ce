//! What a probe is.

use std::future::Future;

use crate::health::ProbeOutcome;

/// Asks one endpoint how it is.
///
/// A closure that returns a future of a [`ProbeOutcome`] is a probe, and so is a type with an `async fn probe`. What it
/// sends and which answer is good is its own business; how long it may take is not, so it needs no timeout.
///
/// # Examples
///
/// ```
/// use poise::health::ProbeOutcome;
/// use poise::tokio::TokioProbe;
///
/// struct Connects(std::net::SocketAddr);
///
/// impl TokioProbe for Connects {
///     async fn probe(&self) -> ProbeOutcome {
///         ProbeOutcome::of(tokio::net::TcpStream::connect(self.0).await)
///     }
/// }
///
/// let always_well = || std::future::ready(ProbeOutcome::Healthy);
/// fn is_probe(_: impl TokioProbe) {}
/// is_probe(always_well);
/// is_probe(Connects(([127, 0, 0, 1], 80).into()));
/// ```
pub trait TokioProbe {
    /// Makes the future of one probe.
    ///
    /// It is dropped when the time is over: it should then leave nothing behind.
    fn probe(&self) -> impl Future<Output = ProbeOutcome> + Send;
}

impl<P, F> TokioProbe for P
where
    P: Fn() -> F,
    F: Future<Output = ProbeOutcome> + Send,
{
    fn probe(&self) -> impl Future<Output = ProbeOutcome> + Send {
        self()
    }
}

/// Says what a probe means that has not answered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeoutPolicy {
    /// The endpoint did not answer, which counts as unhealthy.
    Unhealthy,
    /// Nothing was found out: the probe is cancelled and another one follows. An endpoint that hangs is then not found.
    Cancel,
}

impl TimeoutPolicy {
    pub(super) fn outcome(self) -> ProbeOutcome {
        match self {
            Self::Unhealthy => ProbeOutcome::Unhealthy,
            Self::Cancel => ProbeOutcome::Cancelled,
        }
    }
}
