//! What one pick sees.

use std::fmt;
use std::sync::{Arc, Weak};

use super::contain::attempt;
use super::endpoint::Endpoint;
use super::operator::Standing;
use crate::core::{
    Attempted, Candidate, Eligibility, Exclusion, Exclusions, LoadTracker, Locality, Now, Prepared, Status,
    View, Weight,
};
use crate::discovery::{Discovered, Revision};
use crate::sync::{AtomicUsize, Ordering};

/// Shows policies one member of a [`Balancer`](crate::tower::Balancer).
///
/// Its identity is the key of discovery, its data the backend, its load the tracker of the balancer. What an operator says,
/// the verdicts of health and its limit are among its exclusions; its status is what the membership says.
// It begins a line of the cache, and is no more than that with a small key: a pick looks at a few of many, here and there.
#[repr(align(64))]
pub struct Member<K, B, S, R, L: LoadTracker> {
    discovered: Discovered<K, B>,
    endpoint: Arc<Endpoint<S, R, L>>,
}

impl<K, B, S, R, L: LoadTracker> Member<K, B, S, R, L> {
    pub(super) fn new(discovered: Discovered<K, B>, endpoint: Arc<Endpoint<S, R, L>>) -> Self {
        Self { discovered, endpoint }
    }

    pub(super) fn endpoint(&self) -> &Arc<Endpoint<S, R, L>> {
        &self.endpoint
    }

    pub(super) fn discovered(&self) -> &Discovered<K, B> {
        &self.discovered
    }

    /// Tells whether it is eligible by what changes with transitions only.
    pub(super) fn is_eligible_slowly(&self, now: &Now) -> bool {
        self.exclusions(now).only(Exclusions::SLOW).is_empty()
    }

    /// Tells whether it would be eligible so if it were healthy, by what excludes it. That nothing is known of it yet is no
    /// verdict.
    fn is_fit(&self, exclusions: Exclusions) -> bool {
        let others = exclusions.only(Exclusions::SLOW).without(Exclusions::HEALTH);
        others.is_empty() && !self.endpoint.signals().is_awaited()
    }
}

impl<K, B, S, R, L: LoadTracker> Candidate for Member<K, B, S, R, L> {
    type Id = K;
    type Data = B;
    type Load = L;

    fn id(&self) -> &K {
        self.discovered.key()
    }

    fn data(&self) -> &B {
        self.discovered.backend()
    }

    fn load(&self) -> &L {
        self.endpoint.load()
    }

    fn weight(&self) -> Weight {
        self.discovered.weight()
    }

    fn status(&self) -> Status {
        self.discovered.status()
    }

    fn priority(&self) -> u32 {
        self.discovered.priority()
    }

    fn locality(&self) -> Option<&Locality> {
        self.discovered.locality()
    }

    fn ramp(&self, now: &Now) -> f32 {
        self.endpoint.ramp(now)
    }

    fn exclusions(&self, now: &Now) -> Exclusions {
        self.status().exclusions() | self.endpoint.exclusions(now)
    }
}

impl<K, B, S, R, L: LoadTracker> fmt::Debug for Member<K, B, S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

pub(super) type Members<K, B, S, R, L> = Box<[Member<K, B, S, R, L>]>;

/// Holds one membership with what was prepared for it.
pub(super) struct Pool<K, B, S, R, L: LoadTracker> {
    pub(super) revision: Revision,
    pub(super) members: Members<K, B, S, R, L>,
    /// Members of the membership who have no endpoint yet.
    pub(super) absent: Box<[Arc<Standing>]>,
    pub(super) prepared: Prepared,
    pub(super) eligibility: Eligibility,
    /// Who counts when it is asked whether too few are healthy: who would be eligible if it were.
    pub(super) fit: Eligibility,
    pub(super) table_panics: AtomicUsize,
}

impl<K, B, S, R, L: LoadTracker> Pool<K, B, S, R, L> {
    pub(super) fn empty() -> Self {
        Self {
            revision: Revision::ZERO,
            members: Box::default(),
            absent: Box::default(),
            prepared: Prepared::none(),
            eligibility: Eligibility::new(0, |_| false),
            fit: Eligibility::new(0, |_| false),
            table_panics: AtomicUsize::new(0),
        }
    }

    #[inline]
    pub(super) fn view<'a>(&'a self, now: &'a Now) -> View<'a, Member<K, B, S, R, L>> {
        View::new(&self.members).prepared(&self.prepared).eligibility(&self.eligibility).with_now(now)
    }

    /// Finds an endpoint: where it says that it is, or by a search.
    pub(super) fn position_of(&self, endpoint: &Endpoint<S, R, L>) -> Option<usize> {
        let is = |member: &Member<K, B, S, R, L>| std::ptr::eq(&raw const **member.endpoint(), endpoint);
        let hint = endpoint.position();
        if self.members.get(hint).is_some_and(is) { Some(hint) } else { self.members.iter().position(is) }
    }

    /// Finds the endpoints that a request has tried, and those of these names.
    pub(super) fn positions_of(&self, tried: &[Weak<Endpoint<S, R, L>>], avoided: &[Box<str>]) -> Attempted {
        let mut positions: Attempted =
            tried.iter().filter_map(|endpoint| self.position_of(&*endpoint.upgrade()?)).collect();
        if !avoided.is_empty() {
            for (position, member) in self.members.iter().enumerate() {
                if avoided.iter().any(|avoided| **avoided == **member.endpoint.name()) {
                    positions.insert(position);
                }
            }
        }
        positions
    }

    /// Returns what an operator, and not the membership, says of a member: that may come about at any time.
    pub(super) fn said_of(&self, position: usize) -> Exclusions {
        let member = self.members.get(position);
        member.map_or(Exclusions::NONE, |member| member.endpoint.said().without(member.status().exclusions()))
    }

    /// Gives an endpoint a first estimate of its load, from that of the others.
    pub(super) fn seed(&self, endpoint: &Endpoint<S, R, L>, now: &Now) {
        let others = self.members.iter().map(Member::endpoint).map(|member| &**member);
        let others = others.filter(|other| !std::ptr::eq(*other, endpoint));
        endpoint.load().seed(&mut others.map(Endpoint::load), now);
    }

    /// Tells whether there is a member that nothing but its limit excludes, or what panic overrides.
    pub(super) fn is_short_of_places(&self, in_panic: bool, now: &Now) -> bool {
        let overridden = if in_panic { Exclusions::HEALTH } else { Exclusions::NONE };
        let mut exclusions = self.members.iter().map(|member| member.exclusions(now).without(overridden));
        exclusions.any(|exclusions| exclusions == Exclusion::Capacity.into())
    }

    /// Looks at a member again after a transition of it, and tells whether it is eligible.
    ///
    /// The table is told also when the eligibility was right already: it may have been prepared before the transition, and
    /// the eligibility after it.
    pub(super) fn transition(&self, position: usize, now: &Now) -> bool {
        let (eligible, news) = self.refresh(position, now);
        if !news {
            self.flip(position, eligible);
        }
        eligible
    }

    /// Looks at a member again, flips its eligibility, and tells whether it is eligible and whether that is news.
    pub(super) fn refresh(&self, position: usize, now: &Now) -> (bool, bool) {
        let member = &self.members[position];
        let exclusions = member.exclusions(now);
        let eligible = exclusions.only(Exclusions::SLOW).is_empty();
        member.endpoint().note(exclusions, now);
        member.endpoint().signals().observe(eligible, now);
        self.fit.set(position, member.is_fit(exclusions));
        let news = self.eligibility.set(position, eligible);
        if news {
            self.flip(position, eligible);
        }
        (eligible, news)
    }

    /// Tells the table, which may be the user's.
    pub(super) fn flip(&self, position: usize, eligible: bool) {
        // Without the flip its hints are wrong, and what a policy makes of them is validated. That it panicked is told later,
        // when no lock is held.
        if attempt(|| self.prepared.set_eligible(position, eligible)).is_none() {
            self.table_panics.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how often the table has panicked since this was last asked.
    pub(super) fn take_table_panics(&self) -> usize {
        match self.table_panics.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.table_panics.swap(0, Ordering::Relaxed),
        }
    }
}
