//! One place of a pool.

use crate::sync::{AtomicU64, Ordering, fence};

const RIF_BITS: u32 = 24;
const USED_BITS: u32 = 16;
const LARGEST_RIF: u64 = (1 << RIF_BITS) - 1;
const MOST_USED: u64 = (1 << USED_BITS) - 1;
const PRESENT: u64 = 1 << (RIF_BITS + USED_BITS);
const VERSION: u64 = PRESENT << 1;

/// Holds one answer, for readers that never wait and one writer at a time.
///
/// 1. What changes while an answer is used stands in one word with a version, and changes only by exchange: of the uses
///    that race each counts, and one that was meant for the answer before fails.
/// 2. What does not change is written while the word says that nothing is present, under the next version. A reader that
///    finds the same version before and after has read one answer. After 2^23 answers in one place between two reads of one
///    reader it may take another for it, which would choose a member that was asked more recently.
#[derive(Debug)]
pub(super) struct Entry {
    /// From the highest bit: the version, whether an answer is present, uses so far, requests in flight.
    state: AtomicU64,
    identity: AtomicU64,
    received: AtomicU64,
    latency: AtomicU64,
}

/// What a reader saw of one answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(super) place: usize,
    state: u64,
    pub(crate) identity: u64,
    pub(super) received: u64,
    pub(crate) latency: u64,
}

impl Sample {
    pub(crate) fn rif(&self) -> u64 {
        self.state & LARGEST_RIF
    }

    /// Returns for how many queries the answer was used.
    pub(super) fn used(&self) -> u64 {
        self.state >> RIF_BITS & MOST_USED
    }
}

impl Entry {
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            identity: AtomicU64::new(0),
            received: AtomicU64::new(0),
            latency: AtomicU64::new(0),
        }
    }

    /// Reads the answer, unless there is none or it is being replaced.
    #[inline]
    pub(super) fn read(&self, place: usize) -> Option<Sample> {
        // Acquire: what belongs to the answer was written before its word.
        let before = self.state.load(Ordering::Acquire);
        if before & PRESENT == 0 {
            return None;
        }
        let identity = self.identity.load(Ordering::Relaxed);
        let received = self.received.load(Ordering::Relaxed);
        let latency = self.latency.load(Ordering::Relaxed);
        // With the writer's fence: who read anything of the next answer sees here that the one before is gone.
        fence(Ordering::Acquire);
        let state = self.state.load(Ordering::Relaxed);
        let same = state & PRESENT != 0 && state / VERSION == before / VERSION;
        same.then_some(Sample { place, state, identity, received, latency })
    }

    /// Replaces the answer. Callers hold the lock of the pool.
    pub(super) fn write(&self, identity: u64, received: u64, latency: u64, rif: u64) {
        let mut state = self.state.load(Ordering::Relaxed);
        // A use that comes in between is exchanged away.
        while let Err(meanwhile) = self.exchange(state, absent(state)) {
            state = meanwhile;
        }
        fence(Ordering::Release);
        self.identity.store(identity, Ordering::Relaxed);
        self.received.store(received, Ordering::Relaxed);
        self.latency.store(latency, Ordering::Relaxed);
        let version = (state / VERSION).wrapping_add(1).wrapping_mul(VERSION);
        self.state.store(version | PRESENT | rif.min(LARGEST_RIF), Ordering::Release);
    }

    /// Counts a use: the server has one more request. Returns what is left to see, unless the answer changed meanwhile.
    #[inline]
    pub(super) fn spend(&self, sample: &Sample) -> Option<Sample> {
        let rif = (sample.rif() + 1).min(LARGEST_RIF);
        let used = (sample.used() + 1).min(MOST_USED);
        let state = sample.state & !(LARGEST_RIF | MOST_USED << RIF_BITS) | used << RIF_BITS | rif;
        self.exchange(sample.state, state).ok().map(|()| Sample { state, ..*sample })
    }

    /// Throws the answer away, unless it changed meanwhile.
    #[inline]
    pub(super) fn clear(&self, sample: &Sample) {
        // Whoever was faster has used or replaced it.
        let _ = self.exchange(sample.state, absent(sample.state));
    }

    fn exchange(&self, from: u64, to: u64) -> Result<(), u64> {
        // No ordering: the word alone is exchanged, and what belongs to it is not touched.
        self.state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).map(drop)
    }
}

/// Keeps the version and nothing else.
fn absent(state: u64) -> u64 {
    state / VERSION * VERSION
}

#[cfg(all(test, loom))]
mod models {
    use super::Entry;
    use std::sync::Arc;

    #[test]
    fn loom_a_reader_sees_one_answer_and_never_parts_of_two() {
        loom::model(|| {
            let entry = Arc::new(Entry::new());
            entry.write(1, 1, 1, 1);
            let reader = {
                let entry = Arc::clone(&entry);
                loom::thread::spawn(move || {
                    if let Some(sample) = entry.read(0) {
                        let seen = [sample.identity, sample.received, sample.latency, sample.rif()];
                        assert!(seen == [1; 4] || seen == [2; 4], "{seen:?}");
                    }
                })
            };
            entry.write(2, 2, 2, 2);
            reader.join().unwrap();
        });
    }

    #[test]
    fn loom_a_use_of_an_answer_that_was_replaced_leaves_the_next_one_alone() {
        loom::model(|| {
            let entry = Arc::new(Entry::new());
            entry.write(1, 1, 1, 1);
            let user = {
                let entry = Arc::clone(&entry);
                loom::thread::spawn(move || {
                    let sample = entry.read(0)?;
                    entry.spend(&sample).map(|left| left.identity)
                })
            };
            entry.write(2, 2, 2, 2);
            let used = user.join().unwrap();
            let rif = entry.read(0).unwrap().rif();
            assert_eq!(rif, if used == Some(2) { 3 } else { 2 });
        });
    }
}
