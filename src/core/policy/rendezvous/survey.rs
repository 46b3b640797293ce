//! One sample of every load.

use std::cell::Cell;

use super::order::WeightedRank;
use crate::core::{AdditiveLoad, Candidate, ExclusionCounts, PickError, View};

/// What one pick knows of one candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) slot: usize,
    pub(super) load: u64,
    identity: u64,
    /// Zero for a candidate that is excluded, which therefore never has room.
    pub(super) weight: u32,
}

/// Samples of the candidates that were looked at, by ascending slot, and their sums.
pub(super) struct Survey<'a> {
    key: u64,
    samples: &'a mut Vec<Sample>,
    pub(super) total: u64,
    pub(super) weights: u64,
    first: Option<(usize, WeightedRank)>,
    counts: ExclusionCounts,
}

impl<'a> Survey<'a> {
    /// Looks at everybody who is believed to be eligible, and at all others if nobody is. `members` gives the hash of the
    /// identity and the weight at a slot; `samples` are overwritten.
    pub(super) fn new<C: Candidate<Load: AdditiveLoad>>(
        view: &View<'_, C>,
        key: u64,
        members: impl Fn(usize) -> (u64, u32),
        samples: &'a mut Vec<Sample>,
    ) -> Result<Self, PickError> {
        samples.clear();
        let counts = ExclusionCounts::default();
        let mut survey = Self { key, samples, total: 0, weights: 0, first: None, counts };
        match view.few() {
            Some(few) => few.for_each(|slot| survey.look(view, slot, &members)),
            None => (0..view.len())
                .filter(|slot| view.is_promising(*slot))
                .for_each(|slot| survey.look(view, slot, &members)),
        }
        if survey.first.is_none() {
            survey.look_at_others(view, &members);
        }
        if survey.first.is_none() { Err(view.refusal(survey.counts)) } else { Ok(survey) }
    }

    #[inline]
    fn look<C: Candidate<Load: AdditiveLoad>>(
        &mut self,
        view: &View<'_, C>,
        slot: usize,
        members: &impl Fn(usize) -> (u64, u32),
    ) {
        let exclusions = view.exclusions_at(slot);
        let Some(candidate) = view.candidate(slot).filter(|_| exclusions.is_empty()) else {
            self.counts.add(exclusions);
            self.samples.push(Sample { slot, load: 0, identity: 0, weight: 0 });
            return;
        };
        let (identity, weight) = members(slot);
        let sample = Sample { slot, load: candidate.load().count(), identity, weight };
        self.total = self.total.saturating_add(sample.load);
        self.weights = self.weights.saturating_add(u64::from(weight));
        if let Some(rank) = sample.better(self.key, self.first) {
            self.first = Some((self.samples.len(), rank));
        }
        self.samples.push(sample);
    }

    fn look_at_others<C: Candidate<Load: AdditiveLoad>>(
        &mut self,
        view: &View<'_, C>,
        members: &impl Fn(usize) -> (u64, u32),
    ) {
        let known = self.samples.len();
        let mut next = 0;
        for slot in 0..view.len() {
            if next < known && self.samples[next].slot == slot {
                next += 1;
            } else {
                self.look(view, slot, members);
            }
        }
    }

    /// Returns the first of all, which is always there.
    pub(super) fn owner(&self) -> Sample {
        self.samples[self.first.map_or(0, |(at, _)| at)]
    }

    /// Returns the first of those that have room.
    pub(super) fn first_with(&self, has_room: impl Fn(&Sample) -> bool) -> Option<Sample> {
        let mut first = None;
        for (at, sample) in self.samples.iter().enumerate() {
            if let Some(rank) = sample.better(self.key, first)
                && has_room(sample)
            {
                first = Some((at, rank));
            }
        }
        first.map(|(at, _)| self.samples[at])
    }
}

impl Sample {
    #[inline]
    fn better(&self, key: u64, best: Option<(usize, WeightedRank)>) -> Option<WeightedRank> {
        match best {
            Some((_, floor)) => WeightedRank::above(key, self.identity, self.weight, floor),
            None => Some(WeightedRank::of(key, self.identity, self.weight)),
        }
    }
}

/// Lends the memory of the thread. A policy that picks within a pick finds it taken, and gets other memory.
pub(super) fn with_scratch<R>(use_it: impl FnOnce(&mut Vec<Sample>) -> R) -> R {
    thread_local! {
        static SCRATCH: Cell<Vec<Sample>> = const { Cell::new(Vec::new()) };
    }
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    let result = use_it(&mut scratch);
    // A thread that is ending has no use for it any more.
    let _ = SCRATCH.try_with(|place| place.set(scratch));
    result
}
