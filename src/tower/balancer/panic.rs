//! What happens when too few members are healthy.

use std::error::Error;
use std::fmt;

/// Says what becomes of requests while too few members are healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PanicPolicy {
    /// They go to all members, whatever health says: where nearly all look unwell, it is likelier that whoever looks is wrong,
    /// and the few that are left could not bear the load of all.
    Route,
    /// They fail at once, with [`PanicRejected`](crate::tower::BalancerErrorKind::PanicRejected): what is left is not to be
    /// overrun.
    FailFast,
}

/// Says when too few members are healthy, and what happens then.
///
/// Of those members that neither the membership nor an operator takes out, a part is eligible; probes, circuits and outliers
/// together take out the others. Below the threshold the balancer is in panic, and it is until that part is no longer below it.
/// Members that are [denied](crate::health::UnknownPolicy::Deny) requests until a first probe has answered do not count.
///
/// | parameter | range | default |
/// |---|---|---|
/// | policy | [`PanicPolicy`] | given |
/// | [threshold](Self::with_threshold) | fraction of the members, above 0 to 1 | 0.5 |
///
/// The default is Envoy's.
///
/// # Examples
///
/// ```
/// use poise::tower::{PanicMode, PanicPolicy};
///
/// let mode = PanicMode::fail_fast().with_threshold(0.3)?;
/// assert_eq!((mode.policy(), mode.threshold()), (PanicPolicy::FailFast, 0.3));
/// # Ok::<(), poise::tower::PanicModeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PanicMode {
    policy: PanicPolicy,
    threshold: f64,
}

impl PanicMode {
    /// Routes to all members when fewer than half of them are healthy.
    #[must_use]
    pub const fn route() -> Self {
        Self { policy: PanicPolicy::Route, threshold: 0.5 }
    }

    /// Lets requests fail at once when fewer than half of the members are healthy.
    #[must_use]
    pub const fn fail_fast() -> Self {
        Self { policy: PanicPolicy::FailFast, threshold: 0.5 }
    }

    /// Sets below which part of the members that is.
    ///
    /// # Errors
    ///
    /// [`PanicModeError::InvalidThreshold`] when it is not above 0 and at most 1.
    pub fn with_threshold(self, threshold: f64) -> Result<Self, PanicModeError> {
        if threshold > 0.0 && threshold <= 1.0 {
            Ok(Self { threshold, ..self })
        } else {
            Err(PanicModeError::InvalidThreshold)
        }
    }

    /// Returns what becomes of requests.
    #[must_use]
    pub const fn policy(&self) -> PanicPolicy {
        self.policy
    }

    /// Returns below which part of the members it begins.
    #[must_use]
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Tells whether so many eligible ones are too few of so many members.
    #[expect(clippy::cast_precision_loss, reason = "exact for any number of members that there may be")]
    pub(super) fn is_reached(&self, eligible: usize, members: usize) -> bool {
        // 29 are not below 0.29 of 100, although the product of the floating-point numbers is another.
        eligible as f64 + 1e-9 < self.threshold * members as f64
    }
}

/// Says what is wrong with a [`PanicMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PanicModeError {
    /// The threshold is not a fraction above 0 and up to 1.
    InvalidThreshold,
}

impl fmt::Display for PanicModeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the threshold of panic is not a fraction above 0 and up to 1")
    }
}

impl Error for PanicModeError {}

/// Which mode was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum PanicChoice {
    /// To route, if members are probed: a budget caps all else.
    Default,
    Never,
    Given(PanicMode),
}

impl PanicChoice {
    pub(super) fn mode(self, are_probed: bool) -> Option<PanicMode> {
        match self {
            Self::Default => are_probed.then(PanicMode::route),
            Self::Never => None,
            Self::Given(mode) => Some(mode),
        }
    }
}
