//! How many requests servers had in flight of late.

/// How many answers are remembered.
const WINDOW: usize = 128;

/// The last answers, in the order in which they came and in that of their size.
#[derive(Debug)]
pub(super) struct Recent {
    ring: [u32; WINDOW],
    sorted: [u32; WINDOW],
    len: usize,
    next: usize,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { ring: [0; WINDOW], sorted: [0; WINDOW], len: 0, next: 0 }
    }

    /// Remembers one answer, and forgets the oldest when there are too many.
    pub(super) fn add(&mut self, rif: u32) {
        if self.len == WINDOW {
            let gone = self.sorted.partition_point(|at| *at < self.ring[self.next]);
            self.sorted.copy_within(gone + 1.., gone);
            self.len -= 1;
        }
        let place = self.sorted[..self.len].partition_point(|at| *at < rif);
        self.sorted.copy_within(place..self.len, place + 1);
        self.sorted[place] = rif;
        self.len += 1;
        self.ring[self.next] = rif;
        self.next = (self.next + 1) % WINDOW;
    }

    /// Returns the number of requests in flight from which on a server is hot: more than the quantile. At the quantile 0
    /// all are hot, at 1 none, and none while nothing is known.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place among a few")]
    pub(super) fn hot_from(&self, quantile: f64) -> u64 {
        let place = (quantile * self.len as f64).ceil() as usize;
        if quantile <= 0.0 {
            0
        } else if quantile >= 1.0 || place == 0 {
            u64::MAX
        } else {
            u64::from(self.sorted[place.min(self.len) - 1]) + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Recent, WINDOW};

    #[test]
    fn the_quantile_is_that_of_the_last_answers_in_order() {
        let mut recent = Recent::new();
        assert_eq!([0.0, 0.5, 1.0].map(|quantile| recent.hot_from(quantile)), [0, u64::MAX, u64::MAX]);
        let mut all = Vec::new();
        for step in 0..1_000_u32 {
            let rif = step.wrapping_mul(2_654_435_761) >> 27;
            recent.add(rif);
            all.push(rif);
            let mut last = all[all.len().saturating_sub(WINDOW)..].to_vec();
            last.sort_unstable();
            assert_eq!(recent.sorted[..recent.len], last);
            for (quantile, percent) in [(0.25, 25), (0.5, 50), (0.84, 84)] {
                let place = (last.len() * percent).div_ceil(100);
                assert_eq!(recent.hot_from(quantile), u64::from(last[place - 1]) + 1);
            }
        }
    }
}
