//! One sample of every load.

use std::cell::Cell;

use super::by_weight::ByWeight;
use super::identity::{Identify, Weigh};
use super::order::Order;
use super::scan::Slots;
use crate::core::view::part;
use crate::core::{AdditiveLoad, Candidate, ExclusionCounts, Exclusions, PickError, View};

/// What one pick knows of one candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) slot: usize,
    pub(super) load: u64,
    identity: u64,
    /// Zero for a candidate that is excluded, which therefore never has room.
    pub(super) weight: u32,
    /// The part of the weight that it gets, as the candidate says it.
    ramp: f32,
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
                ramp: candidate.ramp(view.now()),
                exclusions,
            },
            None => Self { slot, load: 0, identity: 0, weight: 0, ramp: 1.0, exclusions },
        }
    }
}

/// Samples of the candidates that were looked at, and their sums.
pub(super) struct Survey<'a> {
    samples: &'a [Sample],
    /// The hashes of the identities, if each slot has a sample at its own place.
    row: Option<&'a [u64]>,
    pub(super) total: u64,
    /// The sum of the weights.
    weights: u64,
    /// Of those that are not excluded.
    lightest: u32,
    heaviest: u32,
    /// Once somebody ramps up, the sum of all [`share`](Self::share)s.
    shares: Option<u64>,
}

impl<'a> Survey<'a> {
    /// Looks at everybody who is believed to be eligible, and at all others if nobody is. Overwrites `samples`.
    pub(super) fn new<C: Candidate<Load: AdditiveLoad>>(
        view: &View<'_, C>,
        members: &'a impl Weigh,
        samples: &'a mut Vec<Sample>,
    ) -> Result<Self, PickError> {
        samples.clear();
        samples.reserve(view.len());
        match view.hint() {
            Some(hint) => samples.extend(hint.slots().map(|slot| Sample::of(view, slot, members))),
            None => samples.extend((0..view.len()).map(|slot| Sample::of(view, slot, members))),
        }
        // Others come after those that are believed to be eligible.
        let is_in_order = samples.is_empty() || samples.len() == view.len();
        if samples.iter().all(|sample| sample.weight == 0) {
            look_at_others(view, members, samples);
        }
        let row = members.in_a_row().filter(|row| is_in_order && row.len() == samples.len());
        Self::add_up(samples, row).ok_or_else(|| refusal(view, samples))
    }

    /// Returns nothing when everybody is excluded.
    fn add_up(samples: &'a [Sample], row: Option<&'a [u64]>) -> Option<Self> {
        let (mut total, mut weights, mut lightest, mut heaviest) = (0u64, 0u64, u32::MAX, 0);
        let mut all_whole = true;
        for sample in samples {
            all_whole &= sample.ramp >= 1.0;
            total = total.saturating_add(sample.load);
            weights = weights.saturating_add(sample.weight.into());
            heaviest = heaviest.max(sample.weight);
            // One less than nothing is the most: who is excluded does not count.
            lightest = lightest.min(sample.weight.wrapping_sub(1));
        }
        let lightest = lightest.saturating_add(1);
        let mut survey = Some(Self { samples, row, total, weights, lightest, heaviest, shares: None })
            .filter(|survey| survey.heaviest > 0)?;
        if !all_whole {
            let shares = samples.iter().map(|sample| u64::from(survey.scaled(sample)));
            survey.shares = Some(shares.fold(0, u64::saturating_add));
        }
        Some(survey)
    }

    /// Returns the share of a candidate in the sum of all shares: its weight, and while somebody ramps up the part of it that
    /// it gets, in a unit that is fine enough for parts.
    #[inline]
    pub(super) fn share(&self, sample: &Sample) -> (u32, u64) {
        match self.shares {
            None => (sample.weight, self.weights),
            Some(shares) => (self.scaled(sample), shares),
        }
    }

    /// Nobody who is eligible is left without a share.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of what fits, at least zero"
    )]
    fn scaled(&self, sample: &Sample) -> u32 {
        let whole = sample.weight * (u32::MAX / self.heaviest);
        if sample.ramp >= 1.0 {
            whole
        } else {
            ((f64::from(whole) * part(sample.ramp)) as u32).clamp(whole.min(1), whole)
        }
    }

    /// Returns the first of those that `admits` lets in, in the order of `key`.
    pub(super) fn first(&self, key: u64, admits: impl Fn(&Sample) -> bool) -> Option<Sample> {
        let order = ByWeight { key, members: self };
        let places = Slots::all(self.samples.len());
        let admits = |at: usize| admits(&self.samples[at]);
        let first = match self.shares {
            None => order.first(places, admits),
            Some(_) => order.first_by_part(places, |at| admits(at).then(|| part(self.samples[at].ramp))),
        };
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

    #[inline]
    fn in_a_row(&self) -> Option<&[u64]> {
        self.row
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
