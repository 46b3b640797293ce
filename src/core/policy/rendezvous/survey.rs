//! One sample of every load.

use std::cell::Cell;

use super::identity::{Identify, Weigh};
use super::order::{ByWeight, Order};
use crate::core::{AdditiveLoad, Candidate, ExclusionCounts, Exclusions, PickError, View};

/// What one pick knows of one candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) slot: usize,
    pub(super) load: u64,
    identity: u64,
    /// Zero for a candidate that is excluded, which therefore never has room.
    pub(super) weight: u32,
    exclusions: Exclusions,
}

impl Sample {
    #[inline]
    fn of<C: Candidate<Load: AdditiveLoad>>(view: &View<'_, C>, slot: usize, members: &impl Weigh) -> Self {
        let exclusions = view.exclusions_at(slot);
        match view.candidate(slot).filter(|_| exclusions.is_empty()) {
            Some(candidate) => Self {
                slot,
                load: candidate.load().count(),
                identity: members.identity(slot),
                weight: members.weight(slot),
                exclusions,
            },
            None => Self { slot, load: 0, identity: 0, weight: 0, exclusions },
        }
    }
}

/// Samples of the candidates that were looked at, and their sums.
pub(super) struct Survey<'a> {
    samples: &'a [Sample],
    pub(super) total: u64,
    pub(super) weights: u64,
    /// Of those that are not excluded.
    lightest: u32,
    heaviest: u32,
}

impl<'a> Survey<'a> {
    /// Looks at everybody who is believed to be eligible, and at all others if nobody is. Overwrites `samples`.
    pub(super) fn new<C: Candidate<Load: AdditiveLoad>>(
        view: &View<'_, C>,
        members: &impl Weigh,
        samples: &'a mut Vec<Sample>,
    ) -> Result<Self, PickError> {
        samples.clear();
        samples.reserve(view.len());
        match view.hint() {
            Some(hint) => samples.extend(hint.slots().map(|slot| Sample::of(view, slot, members))),
            None => samples.extend((0..view.len()).map(|slot| Sample::of(view, slot, members))),
        }
        if samples.iter().all(|sample| sample.weight == 0) {
            look_at_others(view, members, samples);
        }
        Self::add_up(samples).ok_or_else(|| refusal(view, samples))
    }

    /// Returns nothing when everybody is excluded.
    fn add_up(samples: &'a [Sample]) -> Option<Self> {
        let (mut total, mut weights, mut lightest, mut heaviest) = (0u64, 0u64, u32::MAX, 0);
        for sample in samples {
            total = total.saturating_add(sample.load);
            weights = weights.saturating_add(sample.weight.into());
            heaviest = heaviest.max(sample.weight);
            // One less than nothing is the most: who is excluded does not count.
            lightest = lightest.min(sample.weight.wrapping_sub(1));
        }
        Some(Self { samples, total, weights, lightest: lightest.saturating_add(1), heaviest })
            .filter(|survey| survey.heaviest > 0)
    }

    /// Returns the first of those that `admits` lets in, in the order of `key`.
    pub(super) fn first(&self, key: u64, admits: impl Fn(&Sample) -> bool) -> Option<Sample> {
        let order = ByWeight { key, members: self };
        let first = order.first(0..self.samples.len(), |at| admits(&self.samples[at]));
        first.map(|at| self.samples[at])
    }
}

/// Looks at those who are missing among the samples.
#[cold]
fn look_at_others<C: Candidate<Load: AdditiveLoad>>(
    view: &View<'_, C>,
    members: &impl Weigh,
    samples: &mut Vec<Sample>,
) {
    let known = samples.len();
    let mut next = 0;
    for slot in 0..view.len() {
        if next < known && samples[next].slot == slot {
            next += 1;
        } else {
            samples.push(Sample::of(view, slot, members));
        }
    }
}

fn refusal<C: Candidate>(view: &View<'_, C>, samples: &[Sample]) -> PickError {
    let mut counts = ExclusionCounts::default();
    for sample in samples {
        counts.add(sample.exclusions);
    }
    view.refusal(counts)
}

/// Counts samples instead of slots.
impl Identify for Survey<'_> {
    #[inline]
    fn identity(&self, at: usize) -> u64 {
        self.samples[at].identity
    }
}

impl Weigh for Survey<'_> {
    #[inline]
    fn weight(&self, at: usize) -> u32 {
        self.samples[at].weight
    }

    fn lightest(&self) -> u32 {
        self.lightest
    }

    fn heaviest(&self) -> u32 {
        self.heaviest
    }

    fn known_sum(&self) -> u64 {
        self.weights
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
