//! How much of the traffic each level gets.

use super::PriorityConfig;
use crate::core::policy::groups::Health;

/// What a level gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Percent of the traffic.
    pub(super) load: u32,
    pub(super) panic: bool,
}

/// Divides the traffic between levels, in the order in which they are to be used. None of them is empty.
pub(super) fn plan(levels: &[Health], config: &PriorityConfig) -> Vec<Share> {
    let covered = covers_everything(levels, config.overprovisioning());
    let panics: Vec<bool> = levels
        .iter()
        .map(|level| {
            let short = scaled(level.healthy, 100) < scaled(level.total, config.panic_threshold());
            !covered && short
        })
        .collect();
    let loads = if panics.iter().all(|panic| *panic) { by_weight(levels) } else { by_health(levels, config) };
    loads.into_iter().zip(panics).map(|(load, panic)| Share { load, panic }).collect()
}

fn scaled(value: u64, by: u32) -> u128 {
    u128::from(value) * u128::from(by)
}

/// Tells, without rounding, whether the healthy parts together can do all the work: whether the sum of
/// `min(100, overprovisioning * healthy / total)` reaches 100.
fn covers_everything(levels: &[Health], overprovisioning: u32) -> bool {
    let mut whole = 0u128;
    let mut rest = Fraction { numerator: 0, denominator: 1 };
    for level in levels {
        let (provided, total) = (scaled(level.healthy, overprovisioning), u128::from(level.total));
        whole += provided / total;
        rest = rest.plus(Fraction { numerator: provided % total, denominator: total });
        if whole + rest.floor() >= 100 {
            return true;
        }
    }
    false
}

/// An exact sum of remainders, as long as the common denominator fits.
#[derive(Clone, Copy)]
struct Fraction {
    numerator: u128,
    denominator: u128,
}

impl Fraction {
    fn plus(self, other: Self) -> Self {
        let divisor = gcd(self.denominator, other.denominator);
        let sum = || {
            let by = (other.denominator / divisor, self.denominator / divisor);
            let numerator =
                self.numerator.checked_mul(by.0)?.checked_add(other.numerator.checked_mul(by.1)?)?;
            Some(Self { numerator, denominator: self.denominator.checked_mul(by.0)? })
        };
        sum().map_or_else(|| self.plus_rounded(other), Self::reduced)
    }

    /// Adds in parts of 2^-64, for denominators whose product does not fit; rounding up favours serving over panic.
    fn plus_rounded(self, other: Self) -> Self {
        let parts = |fraction: Self| {
            let whole = (fraction.numerator / fraction.denominator) << 64;
            let (rest, of) = (fraction.numerator % fraction.denominator, fraction.denominator);
            let scale = of.leading_zeros().min(64);
            whole + ((rest << scale).div_ceil(of) << (64 - scale))
        };
        Self { numerator: parts(self) + parts(other), denominator: 1 << 64 }
    }

    fn reduced(self) -> Self {
        let divisor = gcd(self.numerator, self.denominator);
        Self { numerator: self.numerator / divisor, denominator: self.denominator / divisor }
    }

    fn floor(self) -> u128 {
        self.numerator / self.denominator
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn by_health(levels: &[Health], config: &PriorityConfig) -> Vec<u32> {
    let healths: Vec<u32> = levels
        .iter()
        .map(|level| {
            let provided = scaled(level.healthy, config.overprovisioning()) / u128::from(level.total);
            let floor = u128::from(level.healthy > 0);
            u32::try_from(provided.clamp(floor, 100)).unwrap_or(100)
        })
        .collect();
    let sum: u32 = healths.iter().sum();
    if sum == 0 {
        return vec![0; levels.len()];
    }
    let total = sum.min(100);
    let mut left = 100;
    let mut loads = Vec::with_capacity(levels.len());
    for health in &healths {
        let load = left.min(health * 100 / total);
        left -= load;
        loads.push(load);
    }
    if let Some(first) = healths.iter().position(|health| *health > 0) {
        loads[first] += left;
    }
    loads
}

fn by_weight(levels: &[Health]) -> Vec<u32> {
    let total: u128 = levels.iter().map(|level| u128::from(level.total)).sum();
    let share = |level: &Health| u32::try_from(scaled(level.total, 100) / total.max(1)).unwrap_or(100);
    let mut loads: Vec<u32> = levels.iter().map(share).collect();
    let left = 100 - loads.iter().sum::<u32>().min(100);
    if let Some(first) = loads.first_mut() {
        *first += left;
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::{Health, PriorityConfig, plan};

    fn loads(levels: &[(u64, u64)]) -> (Vec<u32>, Vec<bool>) {
        let levels: Vec<_> =
            levels.iter().map(|(healthy, total)| Health { healthy: *healthy, total: *total }).collect();
        let shares = plan(&levels, &PriorityConfig::default());
        (shares.iter().map(|share| share.load).collect(), shares.iter().map(|share| share.panic).collect())
    }

    #[test]
    fn the_published_tables_come_out() {
        for (percents, expected) in [
            (vec![100, 100], vec![100, 0]),
            (vec![72, 72], vec![100, 0]),
            (vec![71, 71], vec![99, 1]),
            (vec![50, 50], vec![70, 30]),
            (vec![25, 100], vec![35, 65]),
            (vec![72, 72, 100], vec![100, 0, 0]),
            (vec![71, 71, 100], vec![99, 1, 0]),
            (vec![50, 50, 100], vec![70, 30, 0]),
            (vec![25, 100, 100], vec![35, 65, 0]),
        ] {
            let levels: Vec<_> = percents.iter().map(|percent| (*percent, 100)).collect();
            assert_eq!(loads(&levels), (expected, vec![false; percents.len()]), "{percents:?} % healthy");
        }
        assert_eq!(loads(&[(25, 100), (25, 100)]), (vec![50, 50], vec![true; 2]));
        assert_eq!(loads(&[(1, 5), (1, 5), (1, 5)]), (vec![34, 33, 33], vec![true; 3]));
        assert_eq!(loads(&[(0, 5), (2, 6), (1, 3)]), (vec![37, 42, 21], vec![true; 3]));
    }

    #[test]
    fn three_thirds_are_a_whole() {
        let thirds = [Health { healthy: 1, total: 3 }; 3];
        let config = PriorityConfig::default().with_overprovisioning_percent(100).unwrap();
        let shares = plan(&thirds, &config);
        assert!(shares.iter().all(|share| !share.panic), "exactly enough is enough");
        assert_eq!(shares.iter().map(|share| share.load).collect::<Vec<_>>(), [34, 33, 33]);
    }

    #[test]
    fn one_live_member_among_millions_gets_something() {
        let levels = [Health { healthy: 1, total: 2_000_001 }];
        let config = PriorityConfig::default().with_panic_threshold_percent(0).unwrap();
        assert_eq!(plan(&levels, &config)[0].load, 100);
    }

    #[test]
    fn a_level_with_anybody_left_gets_its_percent() {
        assert_eq!(loads(&[(50, 100), (1, 1_000)]), (vec![99, 1], vec![false, true]));
        assert_eq!(loads(&[(0, 100), (1, 1_000), (50, 100)]), (vec![0, 2, 98], vec![true, true, false]));
    }

    #[test]
    fn huge_weights_do_not_overflow() {
        let primes = [u64::MAX - 58, u64::MAX - 82, u64::MAX - 94, u64::MAX - 188];
        let levels: Vec<_> =
            primes.iter().map(|total| Health { healthy: total / 6, total: *total }).collect();
        let shares = plan(&levels, &PriorityConfig::default());
        assert_eq!(shares.iter().map(|share| share.load).sum::<u32>(), 100);
        assert!(shares.iter().all(|share| share.panic), "four times 23 % is not enough");
    }
}
