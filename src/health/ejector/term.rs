//! Whether a member is out, and until when, readable without a lock.

use std::time::{Duration, Instant};

use crate::core::Now;
use crate::sync::{AtomicU64, Ordering};

/// Names the states that a word can hold. Whether a time is over is not in it: that follows from the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    In,
    Ejected,
    ForcedOut,
    ForcedIn,
}

/// Shares the state, its epoch, and when an ejection ends.
///
/// The lower two bits of the word are the kind, the others the epoch. All is written under the lock of the ejection, the end
/// before the word. A reader that finds a later end than belongs to its word finds another word, too, when it looks again.
#[derive(Debug)]
pub(super) struct Term {
    word: AtomicU64,
    /// In nanoseconds as [`Now`] counts them.
    end: AtomicU64,
}

const KIND_BITS: u32 = 2;

impl Term {
    /// The longest ejection: half of what signed differences of nanoseconds can tell.
    const LONGEST: Duration = Duration::from_nanos(1 << 62);

    pub(super) fn new() -> Self {
        Self { word: AtomicU64::new(Kind::In as u64), end: AtomicU64::new(0) }
    }

    #[inline]
    pub(super) fn kind(&self) -> Kind {
        kind(self.load())
    }

    pub(super) fn epoch(&self) -> u64 {
        self.load() >> KIND_BITS
    }

    /// Tells whether the member is in, whatever the time.
    #[inline]
    pub(super) fn is_in(&self) -> bool {
        self.kind() == Kind::In
    }

    /// Tells whether the member is out at this time.
    #[inline]
    pub(super) fn is_out(&self, now: &Now) -> bool {
        // Nearly all are in, and each pick asks.
        !self.is_in() && self.is_still_out(now)
    }

    #[cold]
    fn is_still_out(&self, now: &Now) -> bool {
        match self.kind() {
            Kind::In | Kind::ForcedIn => false,
            Kind::ForcedOut => true,
            Kind::Ejected => self.remaining(now).is_some(),
        }
    }

    /// Returns how long an ejection goes on, if there is one that is not over.
    pub(super) fn remaining(&self, now: &Now) -> Option<Duration> {
        let mut word = self.load();
        while kind(word) == Kind::Ejected {
            // Acquire: who reads the end of a later ejection sees the word that came before it.
            let end = self.end.load(Ordering::Acquire);
            let again = self.load();
            if again == word {
                let left = end.wrapping_sub(now.nanos()).cast_signed();
                return u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_nanos);
            }
            word = again;
        }
        None
    }

    /// Starts the next epoch, under the lock.
    pub(super) fn enter(&self, kind: Kind) {
        let next = (self.epoch() + 1) << KIND_BITS | kind as u64;
        // Release: publishes the end that was stored before.
        self.word.store(next, Ordering::Release);
    }

    /// Starts an ejection, under the lock, and returns when it ends.
    pub(super) fn eject(&self, length: Duration, now: &Now) -> Option<Instant> {
        let length = length.min(Self::LONGEST);
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        // Release: the other half of what `remaining` acquires.
        self.end.store(now.nanos().wrapping_add(nanos), Ordering::Release);
        self.enter(Kind::Ejected);
        now.instant().checked_add(length)
    }

    /// Acquire: whoever sees an ejection sees its end.
    #[inline]
    fn load(&self) -> u64 {
        self.word.load(Ordering::Acquire)
    }
}

#[inline]
fn kind(word: u64) -> Kind {
    match word & ((1 << KIND_BITS) - 1) {
        0 => Kind::In,
        1 => Kind::Ejected,
        2 => Kind::ForcedOut,
        _ => Kind::ForcedIn,
    }
}
