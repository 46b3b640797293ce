//! Clients in lots that share the members evenly.

use std::hash::BuildHasher;
use std::num::NonZeroUsize;

use super::error::at_least_one;
use super::ring::{Place, Ring};
use super::{Contender, Subset, SubsetError};
use crate::core::StableBuildHasher;
use crate::core::policy::rendezvous::score::{mixed, spread};

/// Spreads the connections of numbered clients evenly over the members.
///
/// Clients `0, 1, 2 …` form lots of `L`, 16 by default:
///
/// 1. Each lot has a ring of its own, on which members stand by the hash of lot and member. So what is uneven on the ring
///    of one lot is so elsewhere on that of another, and clients of different lots have independent subsets.
/// 2. On the ring, the place of a member is moved to the mean of its own, of the 64 before it and of the 64 behind it.
///    Members keep their order, and gaps become nearly equal: their standard deviation falls to an eleventh. Up to 129
///    members stand evenly, or nearly so.
/// 3. The clients of a lot stand at multiples of `1/L`, in the order of the van der Corput sequence: 0, 1/2, 1/4, 3/4 …
///    So a lot that is not full is nearly even too, and who is added moves nobody.
/// 4. A client takes the next `k` members from its place on.
///
/// # Spread
///
/// A full lot gives each member `f = L k/n` connections, with a variance of about `f²/129 + 1/6`: what is left of the gaps,
/// and whole numbers. With `t` connections of each member from all lots, the relative variance is `(f/129 + 1/(6 f))/t`;
/// that of [`RendezvousSubset`](super::RendezvousSubset) is `1/t`. It is least at `f` between 4 and 5, and not much more at
/// 2: so take for `L` **a power of two between `2 n/k` and `4 n/k`**. In larger lots more clients have nearly the same
/// subset.
///
/// # Churn
///
/// - While there are at least 129 members, one that joins or goes changes at most one place of each subset. Means move by
///   less than the gap to the next member, and towards the one that goes. So whoever had it starts where it did or one
///   member earlier, and anybody else at most one member earlier or later.
/// - With fewer members it may change two, as a mean reaches around the ring.
/// - On average it is one place in at most about `(k + 32)/n` of the subsets: `k` for those inside, 32 for means that move.
/// - Clients that join or go move nobody else's connections. A client keeps its subset as long as it keeps its number.
///
/// Clients must agree on `L`, and another `L` moves everything.
///
/// Source: P. Ward, P. Wankadia, K. Guliani, "Reinventing backend subsetting", ACM Queue 20(5), 2022: lots of clients with
/// a ring each, and places by the binary van der Corput sequence. There, members have numbers as well. Here they have
/// names, so that their order does not count; step 2 makes up for what evenness that costs.
///
/// # Complexity
///
/// O(n log n), with one hash of each key.
///
/// # Examples
///
/// Eight clients with two of four members each; every member has four connections:
///
/// ```
/// use poise::discovery::subset::{Contender, LotSubset, Subset};
///
/// let contenders = ["a", "b", "c", "d"].map(|name| Contender::new(name));
/// let mut connections = [0; 4];
/// for client in 0..8 {
///     let scheme = LotSubset::new(client, 2)?.with_lot_size(8)?;
///     scheme.choose(&contenders).into_iter().for_each(|position| connections[position] += 1);
/// }
/// assert_eq!(connections, [4; 4]);
/// # Ok::<(), poise::discovery::subset::SubsetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LotSubset {
    client: u64,
    lot_size: u64,
    size: NonZeroUsize,
}

impl LotSubset {
    /// Makes the scheme of the client with this number, for subsets of `size` members and with lots of 16 clients.
    ///
    /// # Errors
    ///
    /// [`SubsetError::NoMembers`] when `size` is 0.
    pub fn new(client: u64, size: usize) -> Result<Self, SubsetError> {
        Ok(Self { client, lot_size: 16, size: at_least_one(size)? })
    }

    /// Sets how many clients a lot has.
    ///
    /// # Errors
    ///
    /// [`SubsetError::NoPowerOfTwo`] when clients would not stand evenly.
    pub fn with_lot_size(self, lot_size: u64) -> Result<Self, SubsetError> {
        if lot_size.is_power_of_two() {
            Ok(Self { lot_size, ..self })
        } else {
            Err(SubsetError::NoPowerOfTwo { lot_size })
        }
    }

    /// Returns the number of the client.
    #[must_use]
    pub fn client(&self) -> u64 {
        self.client
    }

    /// Returns how many clients a lot has.
    #[must_use]
    pub fn lot_size(&self) -> u64 {
        self.lot_size
    }

    /// Returns how many members a subset has, beside those that drain.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size.get()
    }

    fn ring(&self, contenders: &[Contender]) -> Ring {
        let key = spread(StableBuildHasher::default().hash_one(self.client / self.lot_size));
        let places = contenders
            .iter()
            .enumerate()
            .map(|(position, contender)| Place { at: mixed(key, contender.identity()), position });
        Ring::new(places.collect())
    }

    /// Returns where the client stands, in parts of 2^-64.
    fn point(&self) -> u64 {
        (self.client % self.lot_size).reverse_bits()
    }
}

impl Subset for LotSubset {
    fn choose(&self, contenders: &[Contender]) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(self.size().min(contenders.len()));
        let mut room = self.size();
        for position in self.ring(contenders).from(self.point()) {
            chosen.push(position);
            room -= usize::from(!contenders[position].is_draining());
            if room == 0 {
                break;
            }
        }
        chosen
    }
}
