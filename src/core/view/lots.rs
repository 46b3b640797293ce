//! The lots by which candidates that ramp up take their turns or pass them on.

use std::cell::Cell;

use crate::core::Rng;
use crate::core::policy::rendezvous::ln::ln;
use crate::core::policy::rendezvous::score::{mixed, spread, unit};

/// Draws the lots of one pick by chance. Who is met twice has the same lot both times, so a pick may search in several ways
/// and never contradicts itself.
pub(crate) struct Lots<'r> {
    rng: &'r Rng,
    /// Is drawn with the first lot, as nearly all picks need none.
    key: Cell<Option<u64>>,
}

impl<'r> Lots<'r> {
    #[inline]
    pub(crate) fn new(rng: &'r Rng) -> Self {
        Self { rng, key: Cell::new(None) }
    }

    /// Returns the lot of the turn at `place`.
    pub(crate) fn at(&self, place: usize) -> f64 {
        let key = self.key.get().unwrap_or_else(|| self.rng.next_u64());
        self.key.set(Some(key));
        lot(key, place as u64)
    }
}

/// Returns the lot for a key of the turn with this mark, between zero and one: the same in every process and at any time.
pub(crate) fn lot(key: u64, mark: u64) -> f64 {
    unit(mixed(spread(key), spread(mark)))
}

/// Orders those who passed their turns on for when nobody takes one; the least is first, with a chance by its part, as of
/// exponential variables with the parts as rates.
pub(crate) fn patience(lot: f64, part: f64) -> f64 {
    if part > 0.0 { -ln(1.0 - lot) / part } else { f64::INFINITY }
}
