//! Why a candidate takes no new work.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Names one reason for which a candidate is passed over.
///
/// The order is the precedence: administrative state, active probe, circuit, outlier, then what changes from pick to
/// pick. Of several reasons, the first is said to [decide](Exclusions::deciding).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Exclusion {
    /// The member finishes what it has.
    Draining,
    /// The member was taken out by its owner.
    Unavailable,
    /// Active probes found it unhealthy.
    Probe,
    /// Its circuit is open, or half open with every permit taken.
    Circuit,
    /// It fares worse than its peers and was ejected for a time.
    Outlier,
    /// It is at its limit of concurrent work.
    Capacity,
    /// It lies outside of the scope of this pick.
    OutOfScope,
    /// Its service is not ready.
    NotReady,
    /// This request has tried it already.
    Attempted,
    /// A reason of the user's own.
    Custom,
}

impl Exclusion {
    /// Every reason, in the order of precedence.
    pub const ALL: [Self; 10] = [
        Self::Draining,
        Self::Unavailable,
        Self::Probe,
        Self::Circuit,
        Self::Outlier,
        Self::Capacity,
        Self::OutOfScope,
        Self::NotReady,
        Self::Attempted,
        Self::Custom,
    ];

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Draining => "draining",
            Self::Unavailable => "unavailable",
            Self::Probe => "probe",
            Self::Circuit => "circuit",
            Self::Outlier => "outlier",
            Self::Capacity => "capacity",
            Self::OutOfScope => "out of scope",
            Self::NotReady => "not ready",
            Self::Attempted => "attempted",
            Self::Custom => "custom",
        })
    }
}

/// Holds every reason for which a candidate is passed over, in one word.
///
/// An empty set means that the candidate is eligible. Wrappers add their reasons to those of what they wrap and hide
/// nobody's, so an operator sees all of them.
///
/// ```
/// use poise::core::{Exclusion, Exclusions};
///
/// let both = Exclusions::from(Exclusion::Circuit) | Exclusion::Draining.into();
/// assert_eq!(both.deciding(), Some(Exclusion::Draining));
/// assert_eq!(both.to_string(), "draining, circuit");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Exclusions(u16);

impl Exclusions {
    /// No reason: the candidate is eligible.
    pub const NONE: Self = Self(0);

    /// What panic mode overrides: the verdicts of probes, circuits and outlier detection.
    pub const HEALTH: Self =
        Self(Exclusion::Probe.bit() | Exclusion::Circuit.bit() | Exclusion::Outlier.bit());

    /// What changes by transitions only, and is therefore kept in an [`Eligibility`](crate::core::Eligibility): the
    /// administrative state and the verdicts of health.
    pub const SLOW: Self = Self(Exclusion::Draining.bit() | Exclusion::Unavailable.bit() | Self::HEALTH.0);

    /// What may have changed since a policy looked at a member of the same pool.
    #[allow(dead_code, reason = "for whoever dispatches")]
    pub(crate) const VOLATILE: Self = Self::HEALTH.with_if(Exclusion::Capacity, true);

    /// Tells whether there is no reason.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Tells whether `reason` is among them.
    #[must_use]
    #[inline]
    pub const fn contains(self, reason: Exclusion) -> bool {
        self.0 & reason.bit() != 0
    }

    /// Adds `reason` when `condition` holds.
    #[must_use]
    #[inline]
    pub const fn with_if(self, reason: Exclusion, condition: bool) -> Self {
        if condition { Self(self.0 | reason.bit()) } else { self }
    }

    /// Keeps only the reasons that are in `mask` too.
    #[must_use]
    #[inline]
    pub const fn only(self, mask: Self) -> Self {
        Self(self.0 & mask.0)
    }

    /// Drops the reasons that are in `mask`.
    #[must_use]
    #[inline]
    pub const fn without(self, mask: Self) -> Self {
        Self(self.0 & !mask.0)
    }

    /// Returns the reason that decides: the first in the order of [`Exclusion`].
    #[must_use]
    pub fn deciding(self) -> Option<Exclusion> {
        self.iter().next()
    }

    /// Lists the reasons in the order of precedence.
    pub fn iter(self) -> impl Iterator<Item = Exclusion> {
        Exclusion::ALL.into_iter().filter(move |reason| self.contains(*reason))
    }
}

impl From<Exclusion> for Exclusions {
    fn from(reason: Exclusion) -> Self {
        Self(reason.bit())
    }
}

impl BitOr for Exclusions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Exclusions {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl FromIterator<Exclusion> for Exclusions {
    fn from_iter<I: IntoIterator<Item = Exclusion>>(reasons: I) -> Self {
        reasons.into_iter().fold(Self::NONE, |set, reason| set | reason.into())
    }
}

impl fmt::Debug for Exclusions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Exclusions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (place, reason) in self.iter().enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{reason}")?;
        }
        Ok(())
    }
}

/// Counts, for each reason, the candidates that it excludes.
///
/// A candidate with two reasons counts under both, so the counts may add up to more than the number of candidates.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ExclusionCounts {
    candidates: u32,
    by_reason: [u32; Exclusion::ALL.len()],
}

impl ExclusionCounts {
    /// Counts one more candidate and its reasons.
    pub fn add(&mut self, exclusions: Exclusions) {
        self.candidates += 1;
        // One step per reason, not per possible reason: scans over many excluded candidates come here.
        let mut left = exclusions.0;
        while left != 0 {
            if let Some(count) = self.by_reason.get_mut(left.trailing_zeros() as usize) {
                *count += 1;
            }
            left &= left - 1;
        }
    }

    /// Adds the counts of another set of candidates.
    pub fn merge(&mut self, other: &Self) {
        self.candidates += other.candidates;
        for (mine, theirs) in self.by_reason.iter_mut().zip(other.by_reason) {
            *mine += theirs;
        }
    }

    /// Returns how many candidates were looked at.
    #[must_use]
    pub fn candidates(&self) -> u32 {
        self.candidates
    }

    /// Returns how many candidates `reason` excludes.
    #[must_use]
    pub fn of(&self, reason: Exclusion) -> u32 {
        self.by_reason[reason as usize]
    }

    /// Lists the reasons that exclude somebody, with their counts, in the order of precedence.
    pub fn iter(&self) -> impl Iterator<Item = (Exclusion, u32)> {
        Exclusion::ALL.into_iter().zip(self.by_reason).filter(|(_, count)| *count > 0)
    }
}

impl fmt::Debug for ExclusionCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl fmt::Display for ExclusionCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} candidate{}", self.candidates, if self.candidates == 1 { "" } else { "s" })?;
        for (place, (reason, count)) in self.iter().enumerate() {
            write!(f, "{}{count} {reason}", if place == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}
