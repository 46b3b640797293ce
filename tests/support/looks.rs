//! How often a pick looks at a candidate.

use std::sync::atomic::Ordering;

use super::member::Member;

/// How often candidates were looked at.
pub(crate) struct Looks {
    pub(crate) total: u32,
    /// For the one that was looked at most.
    pub(crate) most: u32,
}

/// Counts the looks at each member since the last call: at its eligibility, or at its load if those are more.
pub(crate) fn looks(members: &[Member]) -> Looks {
    let mut looks = Looks { total: 0, most: 0 };
    for member in members {
        let measured = member.load.measured.swap(0, Ordering::Relaxed);
        let found = member.sampled.swap(0, Ordering::Relaxed).max(measured);
        looks.total += found;
        looks.most = looks.most.max(found);
    }
    looks
}
