//! How many turns each member has in a cycle.

use crate::core::PickError;
use crate::core::policy::quotas::quotas;

/// Cycles up to this length are exact whatever the number of members.
const SHORT: usize = 65_536;
/// Cycles up to this many turns for each member are exact.
const PER_MEMBER: usize = 64;
/// No cycle is longer, so that a few of them can be counted in 32 bits.
const LONGEST: u32 = 1 << 29;

/// The turns of each member, at least one, and their sum.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) each: Vec<u32>,
    pub(super) cycle: u32,
    /// The largest difference between shares of turns and shares of weight.
    pub(super) error: f64,
}

impl Turns {
    /// Divides a cycle by weight: the shortest one that is exact, if that is short enough.
    pub(super) fn by_weight(weights: &[u32]) -> Result<Self, PickError> {
        let members = weights.len();
        let limit = narrow(members.saturating_mul(PER_MEMBER).max(SHORT)).min(LONGEST);
        if members > limit as usize {
            return Err(PickError::CapacityExceeded { candidates: members, places: limit as usize });
        }
        let divisor =
            weights.iter().fold(0, |divisor, weight| greatest_common_divisor(*weight, divisor)).max(1);
        let exact: u64 = weights.iter().map(|weight| u64::from(*weight / divisor)).sum();
        match u32::try_from(exact) {
            Ok(cycle) if cycle <= limit => {
                let each = weights.iter().map(|weight| *weight / divisor).collect();
                Ok(Self { each, cycle, error: 0.0 })
            }
            _ => Ok(Self::rounded(weights, limit)),
        }
    }

    fn rounded(weights: &[u32], cycle: u32) -> Self {
        let each = quotas(weights, cycle);
        let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        let off = |(weight, turns): (&u32, &u32)| {
            (f64::from(*turns) / f64::from(cycle) - f64::from(*weight) / total).abs()
        };
        let error = weights.iter().zip(&each).map(off).fold(0.0, f64::max);
        Self { each, cycle, error }
    }
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Turns;

    #[test]
    fn short_cycles_are_exact_and_as_short_as_they_can_be() {
        for (weights, cycle) in
            [(&[5, 1, 1][..], 7), (&[300, 200], 5), (&[u32::MAX; 3], 3), (&[65_535, 1], 65_536)]
        {
            let turns = Turns::by_weight(weights).unwrap();
            assert_eq!((turns.cycle, turns.error), (cycle, 0.0), "{weights:?}");
            assert_eq!(turns.each.iter().sum::<u32>(), cycle);
        }
    }

    #[test]
    fn longer_cycles_are_rounded_and_leave_nobody_out() {
        let turns = Turns::by_weight(&[65_536, 1]).unwrap();
        assert_eq!(turns.each, [65_535, 1]);
        assert!(turns.error > 0.0 && turns.error < 1e-9, "{}", turns.error);
        let turns = Turns::by_weight(&[u32::MAX, 1, u32::MAX]).unwrap();
        assert_eq!((turns.each[1], turns.cycle), (1, 65_536));
        assert!((1e-5..2e-5).contains(&turns.error), "one turn of 65,536 too many: {}", turns.error);
    }
}
