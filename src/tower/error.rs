//! Why a request got no response.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{BalancerErrorKind, Phase};

/// Any error that can be sent between threads.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Reports that a request got no response, and why.
///
/// [`Display`](fmt::Display) names the obstacle and, when there was an attempt, the endpoint, the phase and the number of the last
/// one. What the endpoint said is not in it: that is the [`source`](Error::source), when there was an error of the endpoint.
pub struct BalancerError(Box<Parts>);

/// Apart, so that a response is all that a request usually moves.
struct Parts {
    kind: BalancerErrorKind,
    phase: Option<Phase>,
    attempts: u32,
    handed: bool,
    endpoint: Option<Arc<str>>,
    source: Option<BoxError>,
}

impl BalancerError {
    pub(crate) fn new(kind: BalancerErrorKind, attempts: u32) -> Self {
        let (phase, endpoint, source) = (None, None, None);
        Self(Box::new(Parts { kind, phase, attempts, handed: false, endpoint, source }))
    }

    pub(crate) fn at(mut self, endpoint: Arc<str>, phase: Phase) -> Self {
        self.0.endpoint = Some(endpoint);
        self.0.phase = Some(phase);
        self
    }

    pub(crate) fn caused_by(mut self, source: BoxError) -> Self {
        self.0.source = Some(source);
        self
    }

    /// Says whether somebody may have had the request, in this attempt or in one before.
    pub(crate) fn after_handing(mut self, handed: bool) -> Self {
        self.0.handed = handed;
        self
    }

    /// Returns the kind of obstacle.
    #[must_use]
    pub fn kind(&self) -> &BalancerErrorKind {
        &self.0.kind
    }

    /// Returns how far the last attempt had come, when there was one.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.0.phase
    }

    /// Returns how many attempts were made, those included whose endpoint did not become ready.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Returns the name of the endpoint of the last attempt, when there was one.
    #[must_use]
    pub fn endpoint(&self) -> Option<&str> {
        self.0.endpoint.as_deref()
    }

    /// Returns the error of the endpoint by value, when there was one.
    #[must_use]
    pub fn into_source(self) -> Option<BoxError> {
        self.0.source
    }

    /// Tells whether nobody had the request in any attempt, so that trying it again is safe whatever it does.
    ///
    /// That is certain when no endpoint was handed the request. Of one that was, only what
    /// [`Builder::unsent`](super::Builder::unsent) was told of its errors can say so.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        let is_lasting = matches!(
            self.0.kind,
            BalancerErrorKind::Closed | BalancerErrorKind::Policy(_) | BalancerErrorKind::InvalidSelection(_)
        );
        !self.0.handed && !is_lasting
    }
}

impl fmt::Debug for BalancerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, phase, attempts, handed, endpoint, source } = &*self.0;
        f.debug_struct("BalancerError")
            .field("kind", kind)
            .field("phase", phase)
            .field("attempts", attempts)
            .field("handed", handed)
            .field("endpoint", endpoint)
            .field("source", source)
            .finish()
    }
}

impl fmt::Display for BalancerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.kind.fmt(f)?;
        if let (Some(endpoint), Some(phase)) = (&self.0.endpoint, self.0.phase) {
            write!(f, " (endpoint {endpoint}, {phase}, attempt {})", self.0.attempts)?;
        }
        Ok(())
    }
}

impl Error for BalancerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Reports that an attempt took longer than it may; the [`source`](Error::source) of a [`BalancerErrorKind::Deadline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("timed out")
    }
}

impl Error for TimedOut {}
