//! The least cost of all.

use std::hint::select_unpredictable;

use super::View;
use crate::core::{Candidate, Eligibility, ExclusionCounts, Now, PickError, Rng, Selection};

impl<'a, C: Candidate> View<'a, C> {
    /// Finds the eligible candidate for which `cost` is least; ties are broken by chance. Not-a-number counts as infinite.
    ///
    /// `cost` is called once for each eligible candidate.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    ///
    /// # Complexity
    ///
    /// One scan; over those that the eligibility names where they are few.
    #[inline]
    pub fn least(&self, rng: &Rng, mut cost: impl FnMut(&'a C) -> f64) -> Result<Selection, PickError> {
        // Going from bit to bit pays only where most are unset.
        let few = self.hint().filter(|hint| hint.count() < self.len() / 4);
        let (None, Some(candidates)) = (few, self.plain()) else {
            return self.copied().least_among(self.candidates(), few, rng, cost);
        };
        let (mut least, mut counts) = (Least::default(), ExclusionCounts::default());
        let slot = if candidates.len() <= BLOCK {
            least.offer_block(0, candidates, self.now(), &mut cost, rng, &mut counts);
            least.slot(rng)
        } else {
            least_of_blocks(candidates, self.now(), &mut cost, rng, &mut counts)
        };
        match slot {
            Some(slot) => Ok(self.select(slot)),
            None => Err(self.refusal(counts)),
        }
    }

    /// The part of [`least`](Self::least) for when not only candidates decide who is eligible, or when `few` are believed to be.
    #[inline(never)]
    fn least_among<'c>(
        &self,
        candidates: &'c [C],
        few: Option<&Eligibility>,
        rng: &Rng,
        mut cost: impl FnMut(&'c C) -> f64,
    ) -> Result<Selection, PickError> {
        let (mut least, mut counts) = (Least::default(), ExclusionCounts::default());
        let mut look = |least: &mut Least, counts: &mut ExclusionCounts, block: usize, slots: u64| {
            let mut rest = slots & (u64::MAX >> (BLOCK - (self.len() - block * BLOCK).min(BLOCK)));
            while rest != 0 {
                let at = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let slot = block * BLOCK + at;
                let exclusions = self.exclusions_at(slot);
                match candidates.get(self.position(slot)).filter(|_| exclusions.is_empty()) {
                    Some(candidate) => least.offer(at, cost(candidate)),
                    None => counts.add(exclusions),
                }
            }
            least.close(block, rng);
        };
        let blocks = 0..self.len().div_ceil(BLOCK);
        // What the hints said in one pass, in a number that another answer does not have.
        let mut pass = |least: &mut Least, counts: &mut ExclusionCounts, of: fn(u64) -> u64| {
            blocks.clone().fold(0, |said: u64, block| {
                let word = few.map_or(u64::MAX, |few| few.word(block));
                look(least, counts, block, of(word));
                (said ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            })
        };
        let said = pass(&mut least, &mut counts, |believed| believed);
        if least.drawn == 0 && few.is_some() {
            let said_again = pass(&mut least, &mut counts, |believed| !believed);
            if least.drawn == 0 && said_again != said {
                // They changed meanwhile, so somebody was not asked, or twice.
                counts = ExclusionCounts::default();
                pass(&mut least, &mut counts, |_| u64::MAX);
            }
        }
        match least.slot(rng) {
            Some(slot) => Ok(self.select(slot)),
            None => Err(self.refusal(counts)),
        }
    }
}

/// Kept apart from its callers, so that all that is needed for few stays in registers.
#[inline(never)]
fn least_of_blocks<'c, C: Candidate>(
    candidates: &'c [C],
    now: &Now,
    cost: &mut impl FnMut(&'c C) -> f64,
    rng: &Rng,
    counts: &mut ExclusionCounts,
) -> Option<usize> {
    let mut least = Least::default();
    for (block, members) in candidates.chunks(BLOCK).enumerate() {
        least.offer_block(block, members, now, cost, rng, counts);
    }
    least.slot(rng)
}

/// How many slots are looked at before those that tie are counted: as many as a word has bits.
const BLOCK: usize = 64;

/// The least cost so far, and who has it.
///
/// Of several that tie, each is to be taken with the same chance. A draw for each of them would be a branch in the midst of a
/// scan that no predictor foresees, so the ties of one block are kept as bits. A block takes the place of those before it with
/// the chance that its ties have among all, and in the end one draw decides within the block.
struct Least {
    cost: f64,
    /// Those of the block that is being looked at.
    ties: u64,
    /// The block that was drawn of those before it.
    block: usize,
    /// Who has the least cost in it. Nobody while all before the open block cost more.
    drawn: u64,
    /// How many had the least cost when the last of several blocks was drawn; zero while there was one.
    count: usize,
}

impl Default for Least {
    #[inline]
    fn default() -> Self {
        Self { cost: f64::INFINITY, ties: 0, block: 0, drawn: 0, count: 0 }
    }
}

impl Least {
    /// Takes in those of a block that are eligible, and counts the others.
    #[expect(clippy::inline_always, reason = "a loop of which all is to stay in registers")]
    #[inline(always)]
    fn offer_block<'c, C: Candidate>(
        &mut self,
        block: usize,
        members: &'c [C],
        now: &Now,
        cost: &mut impl FnMut(&'c C) -> f64,
        rng: &Rng,
        counts: &mut ExclusionCounts,
    ) {
        for (at, candidate) in members.iter().enumerate() {
            let exclusions = candidate.exclusions(now);
            if exclusions.is_empty() {
                self.offer(at, cost(candidate));
            } else {
                counts.add(exclusions);
            }
        }
        self.close(block, rng);
    }

    /// Takes one in unless it costs more. `at` is its place in the block.
    #[expect(clippy::inline_always, reason = "all that is done for most candidates, in a few instructions")]
    #[inline(always)]
    fn offer(&mut self, at: usize, cost: f64) {
        if cost > self.cost {
            return;
        }
        let cost = sane(cost);
        if cost > self.cost {
            return;
        }
        let is_less = cost < self.cost;
        self.ties = select_unpredictable(is_less, 0, self.ties) | 1 << at;
        self.drawn = select_unpredictable(is_less, 0, self.drawn);
        self.cost = cost;
    }

    /// Ends a block.
    #[inline]
    fn close(&mut self, block: usize, rng: &Rng) {
        if self.ties == 0 {
            return;
        }
        let is_drawn;
        (self.count, is_drawn) = match (self.drawn, self.count) {
            (0, _) => (0, true),
            (drawn, 0) => drawn_of(drawn.count_ones() as usize, self.ties, rng),
            (_, count) => drawn_of(count, self.ties, rng),
        };
        if is_drawn {
            (self.block, self.drawn) = (block, self.ties);
        }
        self.ties = 0;
    }

    /// Returns the one that was taken, if anybody was offered. All blocks have ended.
    #[inline]
    fn slot(&self, rng: &Rng) -> Option<usize> {
        let ties = self.drawn;
        if ties == 0 {
            return None;
        }
        let one = if ties.is_power_of_two() { ties } else { one_of(ties, rng) };
        Some(self.block * BLOCK + one.trailing_zeros() as usize)
    }
}

/// Draws whether `ties` take the place of so many before them, and returns how many all of them are.
#[cold]
fn drawn_of(before: usize, ties: u64, rng: &Rng) -> (usize, bool) {
    let here = ties.count_ones() as usize;
    (before + here, rng.below(before + here) < here)
}

/// Returns bits of which the lowest one is drawn.
#[cold]
fn one_of(bits: u64, rng: &Rng) -> u64 {
    (0..rng.below(bits.count_ones() as usize)).fold(bits, |bits, _| bits & (bits - 1))
}

/// Makes a cost comparable.
#[inline]
pub(super) fn sane(cost: f64) -> f64 {
    if cost.is_nan() { f64::INFINITY } else { cost }
}
