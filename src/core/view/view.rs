//! The view and its parts.

use std::fmt;
use std::time::Instant;

use super::Scope;
use crate::core::policy::tables::OwnTable;
use crate::core::{
    Attempted, Candidate, Eligibility, Exclusion, Exclusions, InvalidSelection, Now, Prepared, Selection,
    Table,
};

/// Joins the candidates of one pick with everything that limits the choice among them.
///
/// ```
/// use poise::core::policy::Random;
/// use poise::core::{Attempted, Backend, Policy, View};
///
/// let backends = ["a", "b"].map(Backend::new);
/// let tried = Attempted::from_iter([0]);
/// let view = View::new(&backends).avoiding(&tried);
/// assert_eq!(Random::new().pick_from(&view, &())?.index(), 1);
/// # Ok::<(), poise::core::PickError>(())
/// ```
pub struct View<'a, C> {
    candidates: &'a [C],
    scope: Option<&'a [u32]>,
    /// Of the scope, or of the candidates.
    len: usize,
    attempted: Option<&'a Attempted>,
    prepared: Option<&'a Prepared>,
    /// For as many slots as the view has, and never in panic, where it is of no use.
    eligibility: Option<&'a Eligibility>,
    known: Option<&'a [Exclusions]>,
    time: Time<'a>,
    lane: Lane,
    panic: bool,
    /// Whether candidates alone decide who is eligible: nobody was tried, nothing is known, no verdict is overridden.
    plain: bool,
}

/// How many parts of a membership a policy tells apart.
pub(crate) const LANES: usize = 16;

/// A part of a membership, below [`LANES`]. Takes a byte, as views are moved about.
#[derive(Clone, Copy)]
struct Lane(u8);

impl Lane {
    /// Returns the lane of a part of this part. Five has an inverse modulo sixteen, so few of them coincide.
    #[expect(clippy::cast_possible_truncation, reason = "below the number of lanes")]
    #[inline]
    const fn of(self, part: usize) -> Self {
        Self(((self.0 as usize * 5 + 1 + part) % LANES) as u8)
    }
}

/// Views are moved about, which up to this size takes no call.
const _: () = assert!(size_of::<View<'_, ()>>() <= 128);

/// A time of its own, or the one that the dispatcher shares with all parts of one attempt.
enum Time<'a> {
    Own(Now),
    Shared(&'a Now),
}

impl<'a, C> View<'a, C> {
    /// Makes a view of all candidates, at a time that is read when it is first needed.
    #[must_use]
    #[inline]
    pub const fn new(candidates: &'a [C]) -> Self {
        Self {
            candidates,
            scope: None,
            len: candidates.len(),
            attempted: None,
            prepared: None,
            eligibility: None,
            known: None,
            time: Time::Own(Now::lazy()),
            lane: Lane(0),
            panic: false,
            plain: true,
        }
    }

    /// Limits the view to the candidates at these positions, which ascend.
    ///
    /// What was prepared for another set of candidates is dropped. A position that is out of range counts as
    /// [`OutOfScope`](Exclusion::OutOfScope); policies that prepare a table refuse the view instead, as they do when a
    /// position stands there twice and identities matter.
    #[must_use]
    pub fn within(self, positions: &'a [u32]) -> Self {
        Self { scope: Some(positions), len: positions.len(), prepared: None, eligibility: None, ..self }
    }

    /// Avoids what the request has tried already.
    #[must_use]
    #[inline]
    pub fn avoiding(self, attempted: &'a Attempted) -> Self {
        // A first attempt has nobody to avoid.
        let attempted = Some(attempted).filter(|attempted| !attempted.is_empty());
        Self { attempted, plain: attempted.is_none() && self.known.is_none() && !self.panic, ..self }
    }

    /// Fixes the time.
    #[must_use]
    pub fn at(self, instant: Instant) -> Self {
        Self { time: Time::Own(Now::at(instant)), ..self }
    }

    /// Shares the time of the caller.
    #[must_use]
    #[inline]
    pub fn with_now(self, now: &'a Now) -> Self {
        Self { time: Time::Shared(now), ..self }
    }

    /// Adds what the policy prepared for exactly these candidates.
    #[must_use]
    #[inline]
    pub fn prepared(self, prepared: &'a Prepared) -> Self {
        Self { prepared: Some(prepared), ..self }
    }

    /// Adds where to look for eligible candidates.
    #[must_use]
    #[inline]
    pub fn eligibility(self, eligibility: &'a Eligibility) -> Self {
        let useful = !self.panic && eligibility.len() == self.len();
        Self { eligibility: Some(eligibility).filter(|_| useful), ..self }
    }

    /// Overrides the verdicts of health: whoever is neither draining nor unavailable may be chosen.
    #[must_use]
    #[inline]
    pub fn in_panic(self) -> Self {
        Self { panic: true, plain: false, eligibility: None, ..self }
    }

    /// Returns all candidates, also those out of the scope.
    #[must_use]
    #[inline]
    pub const fn candidates(&self) -> &'a [C] {
        self.candidates
    }

    /// Returns the number of slots: of candidates in the scope.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Tells whether there is nobody to choose from.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time of this pick.
    #[must_use]
    #[inline]
    pub fn now(&self) -> &Now {
        match &self.time {
            Time::Own(now) => now,
            Time::Shared(now) => now,
        }
    }

    /// Tells whether the verdicts of health are overridden.
    #[must_use]
    #[inline]
    pub const fn is_panic(&self) -> bool {
        self.panic
    }

    /// Returns all candidates when they alone decide who is eligible, and slots are positions.
    #[inline]
    pub(crate) fn plain(&self) -> Option<&'a [C]> {
        if self.plain && self.scope.is_none() { Some(self.candidates) } else { None }
    }

    /// Returns the position of the candidate at `slot`.
    ///
    /// # Panics
    ///
    /// When `slot` is not below [`len`](Self::len) and the view has a scope.
    #[must_use]
    #[inline]
    pub fn position(&self, slot: usize) -> usize {
        self.scope.map_or(slot, |positions| positions[slot] as usize)
    }

    /// Returns the candidate at `slot`, if the scope names one that exists.
    #[must_use]
    #[inline]
    pub fn candidate(&self, slot: usize) -> Option<&'a C> {
        let position = match self.scope {
            Some(positions) => *positions.get(slot)? as usize,
            None => slot,
        };
        self.candidates.get(position)
    }

    /// Returns the table that was prepared for this view, when it is a `T`.
    #[must_use]
    #[inline]
    pub fn table<T: Table>(&self) -> Option<&'a T> {
        self.prepared?.table(self.len())
    }

    /// As [`table`](Self::table), of a policy of this crate.
    #[inline]
    pub(crate) fn own_table<T: OwnTable>(&self) -> Option<&'a T> {
        self.prepared?.own(self.len())
    }

    /// Returns where to look, unless panic makes that useless.
    #[inline]
    pub(crate) fn hint(&self) -> Option<&'a Eligibility> {
        self.eligibility
    }

    /// Tells whether it is worth a look if the candidate at `slot` is eligible.
    #[inline]
    pub(crate) fn is_promising(&self, slot: usize) -> bool {
        self.hint().is_none_or(|hint| hint.contains(slot))
    }

    /// Looks at one part of the membership, under everything else that limits this view. `lane` tells the parts apart, and
    /// `panic` overrides the verdicts of health in this one.
    #[inline]
    pub(crate) fn inner<'b>(&'b self, scope: &'b Scope, lane: usize, panic: bool) -> View<'b, C> {
        View {
            candidates: self.candidates,
            scope: Some(&scope.positions),
            len: scope.positions.len(),
            attempted: self.attempted,
            prepared: Some(&scope.prepared),
            eligibility: if self.panic || panic { None } else { Some(&scope.eligibility) },
            known: self.known,
            time: Time::Shared(self.now()),
            lane: self.lane.of(lane),
            panic: self.panic || panic,
            plain: self.plain && !panic,
        }
    }

    /// Shows one part of the membership to an inner policy that prepares for it.
    pub(crate) fn part<'b>(&'b self, positions: &'b [u32]) -> View<'b, C> {
        View::new(self.candidates).within(positions).with_now(self.now())
    }

    /// Looks at the same members for an inner policy, which prepared a table of its own.
    #[inline]
    pub(crate) fn for_inner<'b>(&'b self, prepared: &'b Prepared, lane: usize) -> View<'b, C> {
        View { prepared: Some(prepared), time: Time::Shared(self.now()), lane: self.lane.of(lane), ..*self }
    }

    /// Looks at the same slots as if nothing excluded anybody. `nothing` is as long as there are candidates.
    pub(crate) fn with_everybody<'b>(&'b self, nothing: &'b [Exclusions]) -> View<'b, C> {
        let time = Time::Shared(self.now());
        View {
            attempted: None,
            known: Some(nothing),
            eligibility: None,
            time,
            panic: true,
            plain: false,
            ..*self
        }
    }

    /// Copies the view for what is rarely called, so that on the common path nothing but registers needs to hold it: a view of
    /// which a reference goes elsewhere is written to memory first, all of it. A time that was not read yet is read.
    #[expect(clippy::inline_always, reason = "a call would be such a reference")]
    #[inline(always)]
    pub(crate) fn copied(&self) -> View<'_, C> {
        let time = match &self.time {
            Time::Own(now) => Time::Own(Now::at(now.instant())),
            Time::Shared(now) => Time::Shared(now),
        };
        View { time, ..*self }
    }

    /// Tells which of several cursors of a policy serves this view, below [`LANES`]: an inner policy sees the parts of a
    /// membership in turns, and what it remembers of one part says nothing of another.
    #[inline]
    pub(crate) const fn lane(&self) -> usize {
        self.lane.0 as usize
    }
}

impl<'a, C: Candidate> View<'a, C> {
    /// Returns every reason not to choose the candidate at `position`.
    #[must_use]
    #[inline]
    pub fn exclusions(&self, position: usize) -> Exclusions {
        let in_scope = self.scope.is_none_or(|positions| holds(positions, position));
        match self.candidates.get(position) {
            Some(candidate) => self.weigh(position, candidate).with_if(Exclusion::OutOfScope, !in_scope),
            None => Exclusion::OutOfScope.into(),
        }
    }

    /// Returns every reason not to choose the candidate at `slot`; a slot that names nobody is out of scope.
    #[must_use]
    #[inline]
    pub fn exclusions_at(&self, slot: usize) -> Exclusions {
        let position = match self.scope {
            Some(positions) => positions.get(slot).map_or(usize::MAX, |position| *position as usize),
            None => slot,
        };
        match self.candidates.get(position) {
            Some(candidate) => self.weigh(position, candidate),
            None => Exclusion::OutOfScope.into(),
        }
    }

    /// Samples every candidate in scope, once; the result is by position.
    pub(crate) fn sample_all(&self) -> Vec<Exclusions> {
        let mut known = vec![Exclusions::NONE; self.candidates.len()];
        for slot in 0..self.len() {
            let position = self.position(slot);
            if let Some((place, candidate)) = known.get_mut(position).zip(self.candidates.get(position)) {
                *place = self.found(position, candidate);
            }
        }
        known
    }

    /// Takes the exclusions of candidates from an earlier sample of all, so that one pick that looks at them more than once
    /// sees the same.
    pub(crate) fn knowing<'b>(&'b self, known: &'b [Exclusions]) -> View<'b, C> {
        View { known: Some(known), time: Time::Shared(self.now()), plain: false, ..*self }
    }

    /// Checks a selection, and returns the candidate that it names.
    ///
    /// # Errors
    ///
    /// [`InvalidSelection`] when there is no such candidate, or when it is excluded under this view. A selection that was
    /// made in panic mode is not refused for the verdicts of health.
    #[inline]
    pub fn validate(&self, selection: Selection) -> Result<&'a C, InvalidSelection> {
        let index = selection.index();
        let Some(candidate) = self.candidates.get(index) else {
            return Err(InvalidSelection::OutOfRange { index, candidates: self.candidates.len() });
        };
        let found = self.exclusions(index);
        let exclusions = if selection.is_panic() { found.without(Exclusions::HEALTH) } else { found };
        if exclusions.is_empty() {
            Ok(candidate)
        } else {
            Err(InvalidSelection::Excluded { index, exclusions })
        }
    }

    #[inline]
    fn weigh(&self, position: usize, candidate: &C) -> Exclusions {
        if self.plain { candidate.exclusions(self.now()) } else { self.weigh_all(position, candidate) }
    }

    #[inline(never)]
    fn weigh_all(&self, position: usize, candidate: &C) -> Exclusions {
        let found = self.found(position, candidate);
        let found = if self.panic { found.without(Exclusions::HEALTH) } else { found };
        let tried = self.attempted.is_some_and(|attempted| attempted.contains(position));
        found.with_if(Exclusion::Attempted, tried)
    }

    #[inline]
    fn found(&self, position: usize, candidate: &C) -> Exclusions {
        let known = self.known.and_then(|known| known.get(position));
        known.copied().unwrap_or_else(|| candidate.exclusions(self.now()))
    }
}

/// Positions ascend, but nothing breaks when they do not.
fn holds(positions: &[u32], position: usize) -> bool {
    u32::try_from(position)
        .is_ok_and(|position| positions.binary_search(&position).is_ok() || positions.contains(&position))
}

impl<C> fmt::Debug for View<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("candidates", &self.candidates.len())
            .field("scope", &self.scope.map(<[u32]>::len))
            .field("attempted", &self.attempted)
            .field("prepared", &self.prepared)
            .field("eligibility", &self.eligibility)
            .field("panic", &self.panic)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{LANES, Lane};

    #[test]
    fn the_parts_of_a_membership_have_lanes_of_their_own_and_not_all_that_of_the_whole() {
        let lanes: std::collections::BTreeSet<_> = (0..LANES).map(|part| Lane(0).of(part).0).collect();
        assert_eq!(lanes.len(), LANES);
        assert_ne!(Lane(0).of(0).0, 0);
    }
}
