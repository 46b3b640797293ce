//! Several distinct candidates of one pick.

use super::View;
use super::least::sane;
use super::memo::Memo;
use crate::core::{Candidate, Eligibility, ExclusionCounts, Exclusions, PickError, Rng, Selection};

/// How many candidates one pick draws at most.
pub(crate) const MOST: usize = 16;

/// How many samples are kept: the drawn ones, and as many misses.
const SAMPLES: usize = 2 * MOST;

/// Holds the slots that were drawn.
struct Drawn {
    slots: [usize; MOST],
    len: usize,
}

impl Drawn {
    fn none() -> Self {
        Self { slots: [0; MOST], len: 0 }
    }

    fn push(&mut self, slot: usize) {
        self.slots[self.len] = slot;
        self.len += 1;
    }

    fn all(&self) -> &[usize] {
        &self.slots[..self.len]
    }
}

impl<'a, C: Candidate> View<'a, C> {
    /// Draws `choices` distinct eligible candidates, all sets of so many with the same chance, and finds the one for which
    /// `cost` is least; ties are broken by chance. Not-a-number counts as infinite.
    ///
    /// At least one and at most sixteen are drawn, and all when fewer are eligible. `cost` is called once for each of them.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    ///
    /// # Complexity
    ///
    /// With an eligibility, the number of choices, squared for telling them apart. Otherwise the same while a fair part of
    /// the candidates is eligible, and one scan when as many draws missed as there are choices.
    pub fn least_of(
        &self,
        choices: usize,
        rng: &Rng,
        mut cost: impl FnMut(&'a C) -> f64,
    ) -> Result<Selection, PickError> {
        let drawn = self.draw_several(choices.clamp(1, MOST), rng)?;
        let mut best: Option<(usize, f64)> = None;
        let mut ties = 1;
        for slot in drawn.all() {
            let Some(candidate) = self.candidate(*slot) else { continue };
            let found = sane(cost(candidate));
            match best {
                Some((_, least)) if found > least => {}
                Some((_, least)) if found < least => (best, ties) = (Some((*slot, found)), 1),
                Some(_) => {
                    ties += 1;
                    if rng.below(ties) == 0 {
                        best = Some((*slot, found));
                    }
                }
                None => best = Some((*slot, found)),
            }
        }
        best.map(|(slot, _)| self.select(slot)).ok_or_else(|| self.refuse())
    }

    /// Draws `choices` distinct eligible candidates, all sets of so many with the same chance; all when there are fewer. At
    /// least one and at most sixteen are drawn.
    pub(crate) fn several(
        &self,
        choices: usize,
        rng: &Rng,
    ) -> Result<impl Iterator<Item = Selection> + use<'_, 'a, C>, PickError> {
        let drawn = self.draw_several(choices.clamp(1, MOST), rng)?;
        Ok(drawn.slots.into_iter().take(drawn.len).map(|slot| self.select(slot)))
    }

    /// Draws `wanted` distinct eligible slots, or all when there are fewer.
    #[inline]
    fn draw_several(&self, wanted: usize, rng: &Rng) -> Result<Drawn, PickError> {
        let mut drawn = Drawn::none();
        let believed = self.hint().map_or(self.len(), Eligibility::count);
        while drawn.len < wanted && wanted < believed {
            let Some(slot) = self.draw_slot(rng).filter(|slot| !drawn.all().contains(slot)) else { break };
            let exclusions = self.exclusions_at(slot);
            if !exclusions.is_empty() {
                return self.draw_beyond(wanted, rng, Memo::of(slot, exclusions), drawn);
            }
            drawn.push(slot);
        }
        if drawn.len == wanted { Ok(drawn) } else { self.draw_beyond(wanted, rng, Memo::new(), drawn) }
    }

    /// The part of [`draw_several`](Self::draw_several) for when a draw missed, or when there may be too few.
    #[cold]
    fn draw_beyond(
        &self,
        wanted: usize,
        rng: &Rng,
        mut memo: Memo<SAMPLES>,
        mut drawn: Drawn,
    ) -> Result<Drawn, PickError> {
        drawn.all().iter().for_each(|slot| memo.keep(*slot, Exclusions::NONE));
        let believed = self.hint().map_or(self.len(), Eligibility::count);
        let complete = if believed > wanted {
            self.draw_distinct(wanted, rng, &mut memo, &mut drawn)
        } else {
            self.hint().is_some() && self.take_believed(wanted, believed, &mut memo, &mut drawn)
        };
        if !complete {
            self.fill_by_scan(wanted, rng, &memo, &mut drawn)?;
        }
        Ok(drawn)
    }

    /// Draws until enough were found, and tells whether they were before too many draws missed.
    fn draw_distinct(&self, wanted: usize, rng: &Rng, memo: &mut Memo<SAMPLES>, drawn: &mut Drawn) -> bool {
        let mut misses = 0;
        while drawn.len < wanted {
            let Some(slot) = self.draw_slot(rng).filter(|_| misses < SAMPLES && !memo.is_full()) else {
                return false;
            };
            if memo.get(slot).is_some() || !self.try_slot(slot, memo) {
                misses += 1;
            } else {
                drawn.push(slot);
            }
        }
        true
    }

    /// Takes the few that are believed to be eligible, and tells whether all of them were.
    fn take_believed(
        &self,
        wanted: usize,
        believed: usize,
        memo: &mut Memo<SAMPLES>,
        drawn: &mut Drawn,
    ) -> bool {
        let Some(hint) = self.hint().filter(|_| believed > 0) else { return false };
        (0..believed).map(|place| hint.nth(place)).fold(true, |complete, slot| {
            // Two places of a permutation that is being changed may show the same slot for a moment.
            let found = drawn.len < wanted && memo.get(slot).is_none() && self.try_slot(slot, memo);
            if found {
                drawn.push(slot);
            }
            complete && found
        })
    }

    /// Draws what is missing from those that were not sampled yet.
    fn fill_by_scan(
        &self,
        wanted: usize,
        rng: &Rng,
        memo: &Memo<SAMPLES>,
        drawn: &mut Drawn,
    ) -> Result<(), PickError> {
        let mut counts = ExclusionCounts::default();
        let known = drawn.len;
        let missing = wanted - known;
        let mut seen = 0;
        for slot in 0..self.len() {
            let exclusions = self.sample(slot, memo);
            if !exclusions.is_empty() {
                counts.add(exclusions);
                continue;
            }
            if memo.get(slot).is_some() {
                continue;
            }
            seen += 1;
            if seen <= missing {
                drawn.push(slot);
            } else if let Some(place) = Some(rng.below(seen)).filter(|place| *place < missing) {
                drawn.slots[known + place] = slot;
            }
        }
        if drawn.len == 0 { Err(self.refusal(counts)) } else { Ok(()) }
    }
}
