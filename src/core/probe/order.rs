//! Hot and cold: which of two answers is better.

use super::ProbeAnswer;

/// Orders answers by the rule of hot and cold, lexicographically.
///
/// A server is hot when it has more requests in flight than a quantile of what servers had of late. A cold one is better
/// than a hot one; of cold ones the quicker is better, and of hot ones the one with less in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(super) hot_from: u64,
}

/// The smaller, the better.
pub(crate) type Rank = (bool, u64, u64);

impl Order {
    #[inline]
    pub(crate) fn rank(self, rif: u64, latency: u64) -> Rank {
        if rif >= self.hot_from { (true, rif, latency) } else { (false, latency, rif) }
    }

    pub(crate) fn rank_of(self, answer: ProbeAnswer) -> Rank {
        self.rank(answer.penalised_rif(), answer.penalised_latency())
    }
}
