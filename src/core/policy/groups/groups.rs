//! Members by level, locality or zone, with how healthy each part is.

use std::collections::BTreeMap;

use super::Refusals;
use crate::core::view::Scope;
use crate::core::{Attempted, Candidate, Eligibility, Exclusions, PickError, Prepared, Rng, View};
use crate::sync::{AtomicU64, Ordering};

/// How many parts are drawn before the others are asked in order: as many as fit into the memory of a pick.
const DRAWS: usize = 8;

/// Holds the parts of one membership, each with a `T` of the policy that divides it.
#[derive(Debug)]
pub(in crate::core::policy) struct Groups<T> {
    all: Box<[Group<T>]>,
    /// The part of each slot, and its slot there.
    homes: Box<[(u32, u32)]>,
    /// Counts flips, so that of several threads that plan anew the last one has seen all.
    flips: AtomicU64,
}

/// Holds one part.
#[derive(Debug)]
pub(in crate::core::policy) struct Group<T> {
    pub(in crate::core::policy) tag: T,
    pub(in crate::core::policy) scope: Scope,
    weights: Box<[u32]>,
    total: u64,
    healthy: AtomicU64,
}

/// What is known of the health of a part, in weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::core::policy) struct Health {
    pub(in crate::core::policy) healthy: u64,
    pub(in crate::core::policy) total: u64,
}

impl<T> Groups<T> {
    /// Divides the slots of `view` by `key`, in the order of the keys. `part` makes what the policy keeps of a part, and
    /// prepares the inner policy for its positions.
    pub(in crate::core::policy) fn new<'a, C: Candidate, K: Ord>(
        view: &View<'a, C>,
        key: impl Fn(&'a C) -> K,
        mut part: impl FnMut(K, &[u32]) -> Result<(T, Prepared), PickError>,
    ) -> Result<Self, PickError> {
        let mut by_key: BTreeMap<K, Vec<u32>> = BTreeMap::new();
        for (index, slot) in (0..view.len()).zip(0u32..) {
            let candidate = view.candidate(index).ok_or(PickError::InconsistentTopology)?;
            by_key.entry(key(candidate)).or_default().push(slot);
        }
        let mut homes = vec![(0, 0); view.len()].into_boxed_slice();
        let mut all = Vec::with_capacity(by_key.len());
        for (group, (key, slots)) in (0u32..).zip(by_key) {
            for (local, slot) in (0u32..).zip(&slots) {
                homes[*slot as usize] = (group, local);
            }
            all.push(Group::new(view, &slots, |positions| part(key, positions))?);
        }
        Ok(Self { all: all.into(), homes, flips: AtomicU64::new(0) })
    }

    /// Returns the parts in the order of their keys.
    #[inline]
    pub(in crate::core::policy) fn all(&self) -> &[Group<T>] {
        &self.all
    }

    /// Flips the member at `slot`, and then plans anew if that was news.
    pub(in crate::core::policy) fn set_eligible(
        &self,
        slot: usize,
        eligible: bool,
        plan: impl Fn(&[Group<T>]),
    ) {
        let Some((group, local)) = self.homes.get(slot).copied() else { return };
        if self.all[group as usize].set_eligible(local as usize, eligible) {
            // Released with the new weight, so that whoever plans after this count has seen it.
            self.flips.fetch_add(1, Ordering::AcqRel);
            self.settle(plan);
        }
    }

    /// Plans until no flip has come in between.
    pub(in crate::core::policy) fn settle(&self, plan: impl Fn(&[Group<T>])) {
        loop {
            let seen = self.flips.load(Ordering::Acquire);
            plan(&self.all);
            // Whoever flips afterwards plans too; whoever flipped meanwhile may have been overwritten here. A
            // read-modify-write sees the last count, where a load may see an old one, and by releasing it puts the plan
            // above before that of whoever flips next.
            let last = self.flips.compare_exchange(seen, seen, Ordering::AcqRel, Ordering::Relaxed);
            if last.is_ok() {
                return;
            }
        }
    }

    /// Asks parts until one of them has somebody: `certain` first, if it is known that it gets everything. Each other is drawn
    /// in proportion to `share`; when nobody is left who has a share, in proportion to `reserve`; and when there is nothing to
    /// go by, the others are asked in order.
    #[inline]
    pub(in crate::core::policy) fn serve<R>(
        &self,
        rng: &Rng,
        certain: Option<usize>,
        share: impl Fn(&Group<T>) -> f64,
        reserve: impl Fn(&Group<T>) -> f64,
        mut pick: impl FnMut(usize, &Group<T>) -> Result<R, PickError>,
    ) -> Result<R, PickError> {
        let Some(at) = certain.or_else(|| self.draw_any(rng, &share)) else {
            return self.serve_beyond(rng, None, (share, reserve), pick);
        };
        match pick(at, &self.all[at]) {
            Ok(found) => Ok(found),
            Err(error) => self.serve_beyond(rng, Some((at, error)), (share, reserve), pick),
        }
    }

    /// The part of [`serve`](Self::serve) for when the first part that was drawn had nobody.
    #[cold]
    fn serve_beyond<R>(
        &self,
        rng: &Rng,
        refused: Option<(usize, PickError)>,
        (share, reserve): (impl Fn(&Group<T>) -> f64, impl Fn(&Group<T>) -> f64),
        mut pick: impl FnMut(usize, &Group<T>) -> Result<R, PickError>,
    ) -> Result<R, PickError> {
        let mut refusals = Refusals::default();
        let mut tried = Attempted::new();
        if let Some((at, error)) = refused {
            if let Some(found) = refusals.take(Err(error))? {
                return Ok(found);
            }
            tried.insert(at);
        }
        while tried.len() < DRAWS {
            let skip = |at| tried.contains(at);
            let drawn = self.draw(rng, skip, &share).or_else(|| self.draw(rng, skip, &reserve));
            let Some(at) = drawn else { break };
            if let Some(found) = refusals.take(pick(at, &self.all[at]))? {
                return Ok(found);
            }
            tried.insert(at);
        }
        for (at, group) in self.all.iter().enumerate().filter(|(at, _)| !tried.contains(*at)) {
            if let Some(found) = refusals.take(pick(at, group))? {
                return Ok(found);
            }
        }
        Err(refusals.into_error())
    }

    /// Draws a part in proportion to `share`, if any has one.
    #[inline]
    fn draw_any(&self, rng: &Rng, share: impl Fn(&Group<T>) -> f64) -> Option<usize> {
        let total: f64 = self.all.iter().map(&share).sum();
        let drawn = rng.unit() * total;
        // Adding up is faster than stopping at the right part, which no branch predictor foresees.
        let (mut at, mut up_to) = (0, 0.0);
        for group in &self.all {
            up_to += share(group);
            at += usize::from(up_to <= drawn);
        }
        if at < self.all.len() { Some(at) } else { self.draw(rng, |_| false, share) }
    }

    /// Draws a part in proportion to `share`, if any that is not skipped has one.
    #[cold]
    fn draw(
        &self,
        rng: &Rng,
        skip: impl Fn(usize) -> bool,
        share: impl Fn(&Group<T>) -> f64,
    ) -> Option<usize> {
        let share = |(at, group): (usize, &Group<T>)| if skip(at) { 0.0 } else { share(group) };
        let shares = || self.all.iter().enumerate().map(&share);
        let total: f64 = shares().sum();
        if total <= 0.0 {
            return None;
        }
        let mut left = rng.unit() * total;
        let mut last = None;
        for (at, share) in shares().enumerate().filter(|(_, share)| *share > 0.0) {
            if left < share {
                return Some(at);
            }
            left -= share;
            last = Some(at);
        }
        // Rounding, or a plan that changed in between, may leave a crumb.
        last
    }
}

impl<T> Group<T> {
    fn new<C: Candidate>(
        view: &View<'_, C>,
        slots: &[u32],
        part: impl FnOnce(&[u32]) -> Result<(T, Prepared), PickError>,
    ) -> Result<Self, PickError> {
        let position = |slot: &u32| u32::try_from(view.position(*slot as usize)).unwrap_or(u32::MAX);
        let weight =
            |slot: &u32| view.candidate(*slot as usize).map_or(1, |candidate| candidate.weight().value());
        let positions: Box<[u32]> = slots.iter().map(position).collect();
        let weights: Box<[u32]> = slots.iter().map(weight).collect();
        let eligibility = Eligibility::new(slots.len(), |local| {
            view.exclusions_at(slots[local] as usize).only(Exclusions::SLOW).is_empty()
        });
        let healthy = (0..slots.len()).filter(|local| eligibility.contains(*local));
        let healthy = healthy.map(|local| u64::from(weights[local])).sum();
        let (tag, prepared) = part(&positions)?;
        Ok(Self {
            tag,
            scope: Scope { positions, eligibility, prepared },
            total: weights.iter().map(|weight| u64::from(*weight)).sum(),
            weights,
            healthy: AtomicU64::new(healthy),
        })
    }

    /// Returns how healthy this part is.
    #[inline]
    pub(in crate::core::policy) fn health(&self) -> Health {
        // The order in which flips become visible is that of `Groups::flips`.
        Health { healthy: self.healthy.load(Ordering::Relaxed), total: self.total }
    }

    fn set_eligible(&self, local: usize, eligible: bool) -> bool {
        let news = self.scope.set_eligible(local, eligible);
        let weight = u64::from(self.weights[local]);
        if news && eligible {
            self.healthy.fetch_add(weight, Ordering::Relaxed);
        } else if news {
            self.healthy.fetch_sub(weight, Ordering::Relaxed);
        }
        news
    }
}
