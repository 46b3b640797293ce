//! A candidate that is passed over while it is full.

use super::delegate::delegate_candidate;
use super::{Candidate, Exclusion, Exclusions, LoadTracker, Now};

/// Excludes a candidate while its load is at a limit, before it is chosen rather than when it refuses.
///
/// While [`LoadTracker::is_full`] is true, [`Exclusion::Capacity`] is added to what the candidate says. Everything else is
/// the candidate's, so wrappers nest. A load without a limit is never full.
///
/// Between a pick and the start of the attempt another thread may take the last place: [`LoadTracker::start`] refuses then,
/// and the caller picks again. A pool of this crate sees limits by itself and needs no such wrapper.
///
/// # Examples
///
/// ```
/// use poise::core::policy::RoundRobin;
/// use poise::core::{Backend, Candidate, Exclusion, InFlight, Limited, Now, PickError, Policy, Tracked};
///
/// let backends = [
///     Limited::new(Backend::new("a").with_load(InFlight::with_limit(1)?)),
///     Limited::new(Backend::new("b").with_load(InFlight::with_limit(1)?)),
/// ];
/// let policy = RoundRobin::starting_at(0);
///
/// let first = Tracked::start(backends[0].load(), &Now::lazy())?;
/// assert_eq!(policy.pick(&backends, &())?.index(), 1, "the first one is full");
///
/// let second = Tracked::start(backends[1].load(), &Now::lazy())?;
/// let Err(PickError::NoEligible(counts)) = policy.pick(&backends, &()) else { panic!("both are full") };
/// assert_eq!(counts.of(Exclusion::Capacity), 2);
///
/// drop(first);
/// assert_eq!(policy.pick(&backends, &())?.index(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited<C> {
    candidate: C,
}

impl<C> Limited<C> {
    /// Wraps `candidate`.
    pub const fn new(candidate: C) -> Self {
        Self { candidate }
    }

    /// Returns the candidate.
    pub const fn candidate(&self) -> &C {
        &self.candidate
    }

    /// Unwraps the candidate.
    pub fn into_inner(self) -> C {
        self.candidate
    }
}

impl<C: Candidate<Load: LoadTracker>> Candidate for Limited<C> {
    type Id = C::Id;
    type Data = C::Data;
    type Load = C::Load;

    delegate_candidate!(self => self.candidate, except: exclusions);

    fn exclusions(&self, now: &Now) -> Exclusions {
        self.candidate.exclusions(now).with_if(Exclusion::Capacity, self.load().is_full())
    }
}
