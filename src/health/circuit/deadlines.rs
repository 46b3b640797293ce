//! When the current epoch ends by itself, readable without a lock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::sync::{AtomicU64, Ordering};

/// Holds the two instants that belong to an epoch that is open or half open.
///
/// They are written under the circuit's lock and before the word of their epoch. There are two places, for odd and even
/// epochs, so a reader of the current epoch is not disturbed by who prepares the next. The one after that overwrites what
/// it reads, but only after the word has moved on: the reader looks at the word once more, and starts again if it has.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// What the numbers count from: the time of the first trip.
    origin: OnceLock<Instant>,
    places: [Place; 2],
}

#[derive(Debug)]
struct Place {
    turn: AtomicU64,
    again: AtomicU64,
}

/// Stands for the origin, so that instants before it, from a clock that went back, keep their order.
const ZERO: u64 = 1 << 63;

/// Stands for an instant that cannot be told, or lies more than 292 years after the origin.
const NEVER: u64 = u64::MAX;

impl Deadlines {
    pub(super) fn new() -> Self {
        let place = || Place { turn: AtomicU64::new(NEVER), again: AtomicU64::new(NEVER) };
        Self { origin: OnceLock::new(), places: [place(), place()] }
    }

    /// Returns when the cooldown ends while open, and when the round ends while half open; never is `None`.
    pub(super) fn turn(&self, epoch: u64) -> Option<Instant> {
        self.read(&self.place(epoch).turn)
    }

    /// Returns when the cooldown ends that follows a round without a decision.
    pub(super) fn again(&self, epoch: u64) -> Option<Instant> {
        self.read(&self.place(epoch).again)
    }

    /// Sets both for the epoch whose word is stored next.
    pub(super) fn set(&self, epoch: u64, now: Instant, turn: Option<Instant>, again: Option<Instant>) {
        let origin = *self.origin.get_or_init(|| now);
        let place = self.place(epoch);
        // Release: who reads these numbers sees the word of the epoch before, which is how a late reader notices.
        place.turn.store(encode(origin, turn), Ordering::Release);
        place.again.store(encode(origin, again), Ordering::Release);
    }

    fn place(&self, epoch: u64) -> &Place {
        &self.places[usize::from(epoch % 2 == 1)]
    }

    /// Acquire: the other half of what [`set`](Self::set) releases.
    fn read(&self, number: &AtomicU64) -> Option<Instant> {
        let origin = *self.origin.get()?;
        match number.load(Ordering::Acquire) {
            NEVER => None,
            number @ ZERO.. => origin.checked_add(Duration::from_nanos(number - ZERO)),
            number => origin.checked_sub(Duration::from_nanos(ZERO - number)),
        }
    }
}

fn encode(origin: Instant, instant: Option<Instant>) -> u64 {
    let Some(instant) = instant else { return NEVER };
    if instant >= origin {
        ZERO.saturating_add(nanos(instant - origin))
    } else {
        ZERO.saturating_sub(nanos(origin - instant))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Deadlines;
    use crate::core::Now;
    use std::time::Duration;

    #[test]
    fn instants_on_both_sides_of_the_origin_come_back_exactly() {
        let origin = Now::lazy().instant();
        let step = Duration::from_nanos(1_000_000_001);
        let deadlines = Deadlines::new();
        deadlines.set(1, origin, Some(origin + step), origin.checked_sub(step));
        assert_eq!(deadlines.turn(1), Some(origin + step));
        assert_eq!(deadlines.again(1), origin.checked_sub(step));
    }

    #[test]
    fn what_lies_beyond_all_numbers_is_never() {
        let origin = Now::lazy().instant();
        let deadlines = Deadlines::new();
        deadlines.set(1, origin, origin.checked_add(Duration::from_secs(300 * 366 * 86_400)), None);
        assert_eq!((deadlines.turn(1), deadlines.again(1)), (None, None));
    }
}
