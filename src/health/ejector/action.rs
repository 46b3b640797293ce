//! What an ejector did.

use std::time::Instant;

use crate::health::OutlierCause;

/// Says what an [`Ejector`](crate::health::Ejector) did to a member, why, in which epoch and when.
///
/// `member` is the position among the members that were given to [`advance`](crate::health::Ejector::advance); `epoch` that
/// of its [`Ejection`](crate::health::Ejection) after the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EjectorAction {
    /// The member is out.
    Eject {
        /// Which member.
        member: usize,
        /// What it stands out by.
        cause: OutlierCause,
        /// The epoch that this started.
        epoch: u64,
        /// When this happened.
        since: Instant,
        /// When it returns; `None` is never.
        until: Option<Instant>,
        /// How often it was ejected of late, this time included.
        repeats: u32,
    },
    /// The member stands out, but the budget has no slot left: it stays in, and the next sweep asks again.
    Withheld {
        /// Which member.
        member: usize,
        /// What it stands out by.
        cause: OutlierCause,
        /// The epoch, which goes on.
        epoch: u64,
        /// When this happened.
        since: Instant,
    },
    /// The member's time is over and it is in again. What its windows hold is from before: they should be
    /// [cleared](crate::health::OutcomeWindow::clear).
    Return {
        /// Which member.
        member: usize,
        /// What it was ejected for.
        cause: OutlierCause,
        /// The epoch that this started.
        epoch: u64,
        /// When this happened.
        since: Instant,
    },
}

impl EjectorAction {
    /// Returns the position of the member.
    #[must_use]
    pub const fn member(&self) -> usize {
        match self {
            Self::Eject { member, .. } | Self::Withheld { member, .. } | Self::Return { member, .. } => {
                *member
            }
        }
    }

    /// Returns what the member stands out by, or did.
    #[must_use]
    pub const fn cause(&self) -> OutlierCause {
        match self {
            Self::Eject { cause, .. } | Self::Withheld { cause, .. } | Self::Return { cause, .. } => *cause,
        }
    }

    /// Returns the epoch of the member.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        match self {
            Self::Eject { epoch, .. } | Self::Withheld { epoch, .. } | Self::Return { epoch, .. } => *epoch,
        }
    }

    /// Returns when this happened.
    #[must_use]
    pub const fn since(&self) -> Instant {
        match self {
            Self::Eject { since, .. } | Self::Withheld { since, .. } | Self::Return { since, .. } => *since,
        }
    }
}
