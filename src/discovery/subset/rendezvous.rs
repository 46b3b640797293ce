//! The members with the highest scores for a client.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::num::NonZeroUsize;

use super::error::at_least_one;
use super::{Contender, Subset, SubsetError};
use crate::core::StableBuildHasher;
use crate::core::policy::rendezvous::score::{score, spread};

/// Chooses the `k` members with the highest scores for the name of a client.
///
/// Every pair of a client and a member has a score of its own, so
///
/// - a member that joins displaces one member of each subset that it enters, and enters `k/n` of them; one that goes is
///   replaced by one in each subset in which it was; no other connection moves, which is the least that is possible;
/// - one more place is one more member, and the others stay;
/// - a member's connections are spread as if each client drew at random. With `c` clients it has `c k/n` of them on
///   average, and a standard deviation of about the root of that: at two each, one in seven has none and some have nine.
///   [`LotSubset`](super::LotSubset) is for those who mind.
///
/// Source: D. Thaler, C. Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on
/// Networking 6(1), 1998. Scores are those of [`Rendezvous`](crate::core::policy::Rendezvous) with the name as the key, so
/// where nobody drains the subset is what
/// [`pick_replicas`](crate::core::policy::Replicas::pick_replicas) finds for the client.
///
/// # Complexity
///
/// O(n) whatever `k` is, with one hash of each key.
///
/// # Examples
///
/// ```
/// use poise::discovery::subset::{Contender, RendezvousSubset, Subset};
///
/// let scheme = RendezvousSubset::new("client-7", 2)?;
/// let before = ["a", "b", "c", "d"];
/// let kept = scheme.choose(&before.map(|name| Contender::new(name)));
/// assert_eq!(kept.len(), 2);
///
/// let gone = before[kept[0]];
/// let after: Vec<_> = before.into_iter().filter(|name| *name != gone).collect();
/// let contenders: Vec<_> = after.iter().map(|name| Contender::new(*name)).collect();
/// let stays = scheme.choose(&contenders).into_iter().any(|position| after[position] == before[kept[1]]);
/// assert!(stays, "only who is gone was replaced");
/// # Ok::<(), poise::discovery::subset::SubsetError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RendezvousSubset {
    key: u64,
    size: NonZeroUsize,
}

impl RendezvousSubset {
    /// Makes the scheme of the client with this name, for subsets of `size` members.
    ///
    /// # Errors
    ///
    /// [`SubsetError::NoMembers`] when `size` is 0.
    pub fn new<C: Hash + ?Sized>(client: &C, size: usize) -> Result<Self, SubsetError> {
        let key = spread(StableBuildHasher::default().hash_one(client));
        Ok(Self { key, size: at_least_one(size)? })
    }

    /// Returns how many members a subset has, beside those that drain.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size.get()
    }
}

impl Subset for RendezvousSubset {
    fn choose(&self, contenders: &[Contender]) -> Vec<usize> {
        let ranks: Vec<_> = contenders
            .iter()
            .enumerate()
            .map(|(position, contender)| (score(self.key, contender.identity()), position))
            .collect();
        let staying = ranks.iter().copied().filter(|(_, position)| !contenders[*position].is_draining());
        let last = nth_highest(staying.collect(), self.size());
        let in_front = ranks.into_iter().filter(|rank| last.is_none_or(|last| *rank >= last));
        in_front.map(|(_, position)| position).collect()
    }
}

/// Returns nothing where there are fewer than `n`.
fn nth_highest(mut ranks: Vec<(u64, usize)>, n: usize) -> Option<(u64, usize)> {
    let at = ranks.len().checked_sub(n)?;
    Some(*ranks.select_nth_unstable(at).1)
}

impl fmt::Debug for RendezvousSubset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RendezvousSubset").field("size", &self.size).finish_non_exhaustive()
    }
}
