//! A ring on which gaps are nearly equal.

/// Reaches this far to either side for a mean.
const REACH: usize = 64;
/// A mean is of so many places.
const SPAN: usize = 2 * REACH + 1;

/// Where a member stands by its hash, in parts of 2^-64 of a turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) position: usize,
}

/// Holds members in the order of their hashes, each at the mean of the places around it.
pub(super) struct Ring {
    places: Vec<Place>,
}

impl Ring {
    pub(super) fn new(mut places: Vec<Place>) -> Self {
        places.sort_unstable();
        Self { places }
    }

    /// Returns the position of everybody, once around, from the first that stands at `point` or behind it.
    pub(super) fn from(&self, point: u64) -> impl Iterator<Item = usize> {
        let count = self.places.len();
        let first = if count == 0 { 0 } else { self.first(point) };
        (first..first + count).map(move |at| self.places[at % count].position)
    }

    /// Looks for the first member at `point` or behind it, `turns` later than the beginning, so that a mean can reach
    /// back.
    fn first(&self, point: u64) -> usize {
        let count = self.places.len();
        let turns = SPAN / count + 1;
        let target = (turn(turns) + u128::from(point)) * SPAN as u128;
        // All around `before` stand before that turn, and all around `behind` at its end or later, wherever `point` is.
        let mut before = turns * count - REACH - 1;
        let mut behind = (turns + 1) * count + REACH;
        while behind - before > 1 {
            let middle = before.midpoint(behind);
            if self.sum(middle) < target { before = middle } else { behind = middle }
        }
        behind % count
    }

    /// Returns the mean of the places around this one, times their number.
    fn sum(&self, middle: usize) -> u128 {
        (middle - REACH..=middle + REACH).map(|at| self.unrolled(at)).sum()
    }

    /// Returns a place on the line that the ring makes when it rolls on.
    fn unrolled(&self, at: usize) -> u128 {
        let count = self.places.len();
        turn(at / count) + u128::from(self.places[at % count].at)
    }
}

const fn turn(turns: usize) -> u128 {
    (turns as u128) << 64
}

#[cfg(test)]
mod tests {
    use super::{Place, REACH, Ring, SPAN, turn};

    fn ring(places: &[u64]) -> Ring {
        let places = places.iter().enumerate().map(|(position, at)| Place { at: *at, position });
        Ring::new(places.collect())
    }

    /// Looks at the mean of everybody, one after the other.
    fn first_by_scan(ring: &Ring, point: u64) -> usize {
        let count = ring.places.len();
        let turns = SPAN / count + 2;
        let target = (turn(turns) + u128::from(point)) * SPAN as u128;
        let mut line = REACH..=(turns + 1) * count + REACH;
        line.find(|at| ring.sum(*at) >= target).expect("the last stands behind all points") % count
    }

    #[test]
    fn the_search_finds_what_a_scan_finds() {
        let mut numbers = fastrand::Rng::with_seed(7);
        for count in [1, 2, 3, 64, 65, 128, 129, 130, 131, 300] {
            let widest = if count % 2 == 0 { u64::MAX } else { 1 << 40 };
            let places: Vec<_> = std::iter::repeat_with(|| numbers.u64(..widest)).take(count).collect();
            let ring = ring(&places);
            for point in [0, 1, u64::MAX].into_iter().chain((0..20).map(|_| numbers.u64(..))) {
                assert_eq!(ring.first(point), first_by_scan(&ring, point), "{count} members, from {point}");
            }
        }
    }

    #[test]
    fn even_places_stay_where_they_are() {
        let ring = ring(&(0..256).map(|at| at << 56).collect::<Vec<_>>());
        let starts = [0, 1, 1 << 56, (1 << 56) + 1, u64::MAX];
        assert_eq!(starts.map(|point| ring.from(point).next()), [0, 1, 1, 2, 0].map(Some));
    }

    #[test]
    fn everybody_comes_once_and_in_order() {
        let ring = ring(&[40 << 56, 20 << 56, 200 << 56]);
        let mut around: Vec<_> = ring.from(0).collect();
        let first = around.iter().position(|position| *position == 1).expect("the second is there");
        around.rotate_left(first);
        assert_eq!(around, [1, 0, 2]);
        assert_eq!(self::ring(&[]).from(7).count(), 0);
    }
}
