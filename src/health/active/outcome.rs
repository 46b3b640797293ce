//! What a probe found, and what that did.

use std::fmt;

/// Says how a probe ended.
///
/// ```
/// use poise::health::ProbeOutcome;
///
/// assert_eq!(ProbeOutcome::of::<_, &str>(Ok(())), ProbeOutcome::Healthy);
/// assert_eq!(ProbeOutcome::of::<(), _>(Err("refused")), ProbeOutcome::Unhealthy);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeOutcome {
    /// The endpoint is well.
    Healthy,
    /// The endpoint is not.
    Unhealthy,
    /// The probe found nothing out: it was given up, or failed for reasons of its own.
    Cancelled,
}

impl ProbeOutcome {
    /// Classifies a result in the plain way: `Ok` is healthy, `Err` unhealthy.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand on the result of borrows that they matched"
    )]
    pub fn of<T, E>(result: Result<T, E>) -> Self {
        if result.is_ok() { Self::Healthy } else { Self::Unhealthy }
    }
}

impl fmt::Display for ProbeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
            Self::Cancelled => "cancelled",
        })
    }
}

/// Says what the end of a probe did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProbeCompletion {
    /// The result was counted and changed no state.
    Counted,
    /// The result made the endpoint healthy.
    TurnedHealthy,
    /// The result made the endpoint unhealthy.
    TurnedUnhealthy,
    /// The probe was given up: nothing is decided, and another one follows.
    Cancelled,
    /// The reservation of the probe held no more: the state was forced, or the next probe was due. Nothing happened.
    Ignored,
}

impl ProbeCompletion {
    /// Tells whether the result was taken notice of.
    #[must_use]
    pub const fn is_applied(self) -> bool {
        !matches!(self, Self::Ignored | Self::Cancelled)
    }
}

impl fmt::Display for ProbeCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Counted => "counted",
            Self::TurnedHealthy => "turned healthy",
            Self::TurnedUnhealthy => "turned unhealthy",
            Self::Cancelled => "cancelled",
            Self::Ignored => "ignored",
        })
    }
}
