//! Whose turn it is.

use super::rotation::Line;
use crate::core::policy::circle::Looks;
use crate::core::{Candidate, PickError};
use crate::sync::{AtomicU64, Ordering};

/// Says that nobody is owed a turn.
const NOBODY: u32 = u32::MAX;

/// Where the turn stands, for all threads.
#[derive(Debug)]
pub(super) struct Cursor(
    /// The next place in the low half and the place that is owed a turn in the high half. Keeping both in one word makes
    /// each pick one step of one order, however many threads pick.
    AtomicU64,
);

impl Cursor {
    pub(super) fn new(turn: Turn) -> Self {
        Self(AtomicU64::new(turn.pack()))
    }

    pub(super) fn turn(&self) -> Turn {
        Turn::unpack(self.0.load(Ordering::Relaxed))
    }

    /// Returns the slot that would be served.
    pub(super) fn peek<C, L>(&self, line: &Line<'_, '_, C, L>) -> Result<usize, PickError>
    where
        C: Candidate,
        L: Fn(usize) -> f64,
    {
        match clamp(line.len()) {
            0 => Err(PickError::Empty),
            members => Ok(self.turn().take(line, members)?.0),
        }
    }

    /// Serves one of `line`, and returns its slot.
    #[inline]
    pub(super) fn serve<C, L>(&self, line: &Line<'_, '_, C, L>) -> Result<usize, PickError>
    where
        C: Candidate,
        L: Fn(usize) -> f64,
    {
        let members = clamp(line.len());
        if members == 0 {
            return Err(PickError::Empty);
        }
        let mut before = self.0.load(Ordering::Relaxed);
        loop {
            let (slot, after) = Turn::unpack(before).take(line, members)?;
            // No ordering beyond the word itself: the cursor publishes nothing else.
            match self.0.compare_exchange_weak(before, after.pack(), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(slot),
                Err(meanwhile) => before = meanwhile,
            }
        }
    }
}

/// The place that is next, and the one that is owed a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    next: u32,
    owed: u32,
}

impl Turn {
    /// Begins at a place.
    pub(super) fn at(next: usize) -> Self {
        Self { next: clamp(next), owed: NOBODY }
    }

    pub(super) fn owing(self, owed: Option<usize>) -> Self {
        Self { owed: owed.map_or(NOBODY, clamp), ..self }
    }

    /// Returns the next one of this many places.
    pub(super) fn next(self, places: usize) -> usize {
        self.next as usize % places.max(1)
    }

    /// Returns the place that is owed a turn.
    pub(super) fn owed(self) -> Option<usize> {
        Some(self.owed as usize).filter(|_| self.owed != NOBODY)
    }

    #[inline]
    fn pack(self) -> u64 {
        u64::from(self.owed) << 32 | u64::from(self.next)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the word")]
    #[inline]
    fn unpack(word: u64) -> Self {
        Self { next: word as u32, owed: (word >> 32) as u32 }
    }

    /// Serves one candidate: the one that is owed a turn, or the next one.
    #[inline]
    fn take<C, L>(self, line: &Line<'_, '_, C, L>, members: u32) -> Result<(usize, Self), PickError>
    where
        C: Candidate,
        L: Fn(usize) -> f64,
    {
        let next = if self.next < members { self.next } else { self.next % members };
        let (found, owed) = if self.owed < members && line.is_promising(self.owed as usize) {
            let mut memo = Looks::new();
            let owed = match line.try_place(self.owed as usize, &mut memo) {
                Some(slot) if line.takes(self.owed as usize, slot) => {
                    return Ok((slot, Self { next, owed: NOBODY }));
                }
                // Who ramps up and passes its turn on is owed nothing.
                Some(_) => NOBODY,
                None => self.owed,
            };
            (line.first_beyond(next as usize, memo)?, owed)
        } else {
            (line.first_from(next as usize)?, self.owed)
        };
        let served = clamp(found.entry);
        let owed = found.missed.map_or(owed, clamp);
        Ok((found.slot, Self { next: if served + 1 == members { 0 } else { served + 1 }, owed }))
    }
}

/// Cursors are 32 bits wide, which is more than any membership.
#[inline]
fn clamp(place: usize) -> u32 {
    u32::try_from(place).map_or(NOBODY - 1, |place| place.min(NOBODY - 1))
}
