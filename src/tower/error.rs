//! Why a request got no response.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{BalancerErrorKind, Phase};

/// Any error that can be sent between threads.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Reports that a request got no response, and why.
///
/// [`source`](Error::source) is the error of the endpoint, when there was one.
#[derive(Debug)]
pub struct BalancerError {
    kind: BalancerErrorKind,
    phase: Option<Phase>,
    attempts: u32,
    handed: bool,
    endpoint: Option<Arc<str>>,
    source: Option<BoxError>,
}

impl BalancerError {
    pub(crate) fn new(kind: BalancerErrorKind, attempts: u32) -> Self {
        Self { kind, phase: None, attempts, handed: false, endpoint: None, source: None }
    }

    pub(crate) fn at(self, endpoint: Arc<str>, phase: Phase) -> Self {
        Self { endpoint: Some(endpoint), phase: Some(phase), ..self }
    }

    pub(crate) fn caused_by(self, source: BoxError) -> Self {
        Self { source: Some(source), ..self }
    }

    /// Says whether a service has had the request, in this attempt or in one before.
    pub(crate) fn after_handing(self, handed: bool) -> Self {
        Self { handed, ..self }
    }

    /// Returns the kind of obstacle.
    #[must_use]
    pub fn kind(&self) -> &BalancerErrorKind {
        &self.kind
    }

    /// Returns how far the last attempt had come, when there was one.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.phase
    }

    /// Returns how many attempts were made, those included whose endpoint did not become ready.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the name of the endpoint of the last attempt, when there was one.
    #[must_use]
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref()
    }

    /// Returns the error of the endpoint by value, when there was one.
    #[must_use]
    pub fn into_source(self) -> Option<BoxError> {
        self.source
    }

    /// Tells whether the request was certainly not handed to an endpoint, so that trying it again is safe whatever it does.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        let is_lasting = matches!(
            self.kind,
            BalancerErrorKind::Closed | BalancerErrorKind::Policy(_) | BalancerErrorKind::InvalidSelection(_)
        );
        !self.handed && !is_lasting
    }
}

impl fmt::Display for BalancerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if let (Some(endpoint), Some(phase)) = (&self.endpoint, self.phase) {
            write!(f, " (endpoint {endpoint}, {phase}, attempt {})", self.attempts)?;
        }
        Ok(())
    }
}

impl Error for BalancerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
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
