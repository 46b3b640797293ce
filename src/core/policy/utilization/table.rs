//! The turns of one membership.

use std::sync::Arc;

use super::record::Record;
use super::stride::{LARGEST, scale, takes};
use super::{UtilizationConfig, UtilizationReports};
use crate::core::policy::identity::Identity;
use crate::core::view::{DRAWS, Memo};
use crate::core::{Candidate, Rng, Table, View};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// How many turns of members that cannot be chosen are passed over before chance decides.
const MISSES: usize = 8;

/// The weights of one membership as they were read last, and whose turn is next.
#[derive(Debug)]
pub(crate) struct Turns {
    /// By slot.
    records: Box<[Arc<Record>]>,
    weights: Box<[AtomicU32]>,
    /// The offer of a turn that is next.
    next: AtomicU64,
    /// When weights were read last.
    read: AtomicU64,
}

impl Turns {
    /// Offers turns to `members`, which have the slots `0..members.len()`, from the offer `start` on.
    pub(super) fn new(members: &[Identity], reports: &UtilizationReports, start: u64, now: u64) -> Self {
        let mut records: Vec<_> = members.iter().map(|member| (member.slot, member.hashes[0])).collect();
        records.sort_unstable();
        let records: Box<[_]> =
            records.into_iter().map(|(_, identity)| reports.record_of(identity)).collect();
        let weights = records.iter().map(|_| AtomicU32::new(0)).collect();
        let turns = Self { records, weights, next: AtomicU64::new(start), read: AtomicU64::new(now) };
        turns.update(reports.config(), now);
        turns
    }

    /// Returns the offer that is next, for the table that follows.
    pub(super) fn position(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Reads the weights again if it is time to. Of threads that come at the same time one does it.
    #[inline]
    pub(super) fn refresh(&self, config: &UtilizationConfig, now: u64) {
        let read = self.read.load(Ordering::Relaxed);
        let period = i64::try_from(config.update_period().as_nanos()).unwrap_or(i64::MAX);
        let passed = now.wrapping_sub(read).cast_signed();
        // A clock that went back further than a period starts a new one.
        if passed.unsigned_abs() >= period.unsigned_abs()
            && self.read.compare_exchange(read, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.update(config, now);
        }
    }

    #[cold]
    fn update(&self, config: &UtilizationConfig, now: u64) {
        let known = self.records.iter().map(|record| record.weight(config, now));
        for (place, weight) in self.weights.iter().zip(scale(known)) {
            place.store(u32::try_from(weight).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
    }

    /// Returns the weight of a slot: at least one, and at most [`LARGEST`].
    #[inline]
    pub(super) fn weight(&self, slot: usize) -> u64 {
        self.weights[slot].load(Ordering::Relaxed).into()
    }

    /// Serves the next one that takes its turn and can be chosen, or `None` after a few that could not. Threads that serve
    /// at the same time share one walk.
    #[inline]
    pub(super) fn serve<C: Candidate>(
        &self,
        view: &View<'_, C>,
        rng: &Rng,
        memo: &mut Memo<DRAWS>,
    ) -> Option<usize> {
        let mut before = self.next.load(Ordering::Relaxed);
        loop {
            let (slot, after) = self.walk(view, rng, memo, before)?;
            // No ordering beyond the word itself: the position publishes nothing else.
            match self.next.compare_exchange_weak(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(slot),
                Err(meanwhile) => before = meanwhile,
            }
        }
    }

    fn walk<C: Candidate>(
        &self,
        view: &View<'_, C>,
        rng: &Rng,
        memo: &mut Memo<DRAWS>,
        start: u64,
    ) -> Option<(usize, u64)> {
        let members = self.weights.len() as u64;
        let mut misses = 0;
        let mut offer = start;
        // The one with the largest weight takes every turn, so a round finds somebody, mostly well before its end.
        for _ in 0..2 * members {
            let (place, generation) = (offer % members, offer / members);
            offer = offer.wrapping_add(1);
            let slot = usize::try_from(place).unwrap_or(0);
            if !takes(self.weight(slot), place, generation) {
                continue;
            }
            if view.is_promising(slot)
                && !memo.is_full()
                && view.try_slot(slot, memo)
                && view.takes_turn(slot, || 1.0 - rng.unit())
            {
                return Some((slot, offer));
            }
            misses += 1;
            if misses == MISSES {
                break;
            }
        }
        None
    }

    /// Tells, by chance, whether a slot is accepted in proportion to its weight.
    pub(super) fn accepts(&self, rng: &Rng, slot: usize) -> bool {
        rng.unit() * (LARGEST as f64) < self.weight(slot) as f64
    }
}

impl Table for Turns {}
