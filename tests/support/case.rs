//! Generated memberships, and the views of them.

use poise::core::{Attempted, Eligibility, Exclusion, Exclusions, Locality, Prepared, View, Weight};
use quickcheck::{Arbitrary, Gen, QuickCheck};

use super::member::Member;

/// How right a hint or a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    Absent,
    /// Told of every transition.
    Right,
    /// Made before the members changed, and told of nothing.
    Stale,
    /// Made for other members.
    Wrong,
}

impl Arbitrary for Hint {
    fn arbitrary(g: &mut Gen) -> Self {
        *g.choose(&[Self::Absent, Self::Right, Self::Right, Self::Stale, Self::Wrong]).expect("not empty")
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) weight: u32,
    pub(crate) priority: u32,
    pub(crate) load: f64,
    /// What excludes the member while tables are made, and afterwards.
    pub(crate) before: Vec<Exclusion>,
    pub(crate) after: Vec<Exclusion>,
}

/// A membership and what limits a pick from it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) specs: Vec<Spec>,
    pub(crate) scope: Option<Vec<u32>>,
    pub(crate) tried: Vec<usize>,
    pub(crate) panic: bool,
    pub(crate) prepared: Hint,
    pub(crate) eligibility: Hint,
    pub(crate) seed: u64,
}

fn below(g: &mut Gen, bound: usize) -> usize {
    usize::arbitrary(g) % bound.max(1)
}

fn reasons(g: &mut Gen, excluded: usize) -> Vec<Exclusion> {
    let mut found = Vec::new();
    while below(g, 100) < excluded && found.len() < 3 {
        found.push(*g.choose(&Exclusion::ALL).expect("not empty"));
    }
    found
}

impl Arbitrary for Spec {
    fn arbitrary(g: &mut Gen) -> Self {
        let weight = [1, 1, 1, 2, 7, 100, 65_537, u32::MAX];
        let load = [0.0, 0.0, 1.0, 2.5, 1e300, f64::INFINITY, f64::NAN, -3.0];
        Self {
            weight: *g.choose(&weight).expect("not empty"),
            priority: *g.choose(&[0, 0, 1, u32::MAX]).expect("not empty"),
            load: *g.choose(&load).expect("not empty"),
            before: reasons(g, 40),
            after: Vec::new(),
        }
    }
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let size = *g.choose(&[0, 1, 2, 3, 5, 9, 30, 64, 65, 200]).expect("not empty");
        let excluded = *g.choose(&[0, 10, 50, 90, 99]).expect("not empty");
        let mut specs: Vec<Spec> = (0..size).map(|_| Spec::arbitrary(g)).collect();
        for spec in &mut specs {
            spec.after = reasons(g, excluded);
        }
        let scope = bool::arbitrary(g).then(|| (0u32..).take(size).filter(|_| bool::arbitrary(g)).collect());
        let tried = (0..below(g, 12)).map(|_| below(g, size + 2)).collect();
        let (panic, seed) = (below(g, 4) == 0, u64::arbitrary(g));
        let (prepared, eligibility) = (Hint::arbitrary(g), Hint::arbitrary(g));
        Self { specs, scope, tried, panic, prepared, eligibility, seed }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let case = self.clone();
        let positions = 0..case.specs.len();
        Box::new(positions.rev().map(move |at| {
            let mut smaller = case.clone();
            smaller.specs.remove(at);
            let fits = |position: &u32| (*position as usize) < smaller.specs.len();
            smaller.scope = smaller.scope.take().map(|scope| scope.into_iter().filter(fits).collect());
            smaller
        }))
    }
}

impl Case {
    /// Makes the members as they were before anything changed.
    pub(crate) fn members(&self) -> Vec<Member> {
        let localities = [None, Some(Locality::new("eu", "a")), Some(Locality::new("eu", "b"))];
        let member = |(id, spec): (u64, &Spec)| {
            let mut member = Member::new(id);
            member.weight = Weight::new(spec.weight).expect("specs have positive weights");
            member.priority = spec.priority;
            member.locality.clone_from(&localities[(id % 3) as usize]);
            member.load.set(spec.load);
            spec.before.iter().for_each(|reason| member.exclude(*reason));
            member
        };
        (0..).zip(&self.specs).map(member).collect()
    }

    /// Changes the members to what they are when picks happen.
    pub(crate) fn change(&self, members: &[Member]) {
        for (member, spec) in members.iter().zip(&self.specs) {
            member.restore();
            spec.after.iter().for_each(|reason| member.exclude(*reason));
        }
    }

    /// Returns a view of the scope, with nothing else.
    pub(crate) fn bare<'a>(&'a self, members: &'a [Member]) -> View<'a, Member> {
        let view = View::new(members);
        match &self.scope {
            Some(scope) => view.within(scope),
            None => view,
        }
    }

    /// Makes the eligibility that the case asks for; `members` are as before the change.
    pub(crate) fn eligibility(&self, members: &[Member]) -> Option<Eligibility> {
        let view = self.bare(members);
        let slow = |slot: usize| view.exclusions_at(slot).only(Exclusions::SLOW).is_empty();
        match self.eligibility {
            Hint::Absent => None,
            Hint::Right | Hint::Stale => Some(Eligibility::new(view.len(), slow)),
            Hint::Wrong => Some(Eligibility::new(view.len(), |slot| slot % 3 == 0)),
        }
    }

    /// Tells tables and hints what changed, if they are of the kind that is told.
    pub(crate) fn tell(
        &self,
        members: &[Member],
        prepared: Option<&Prepared>,
        eligibility: Option<&Eligibility>,
    ) {
        let view = self.bare(members);
        for slot in 0..view.len() {
            let eligible = view.exclusions_at(slot).only(Exclusions::SLOW).is_empty();
            if let Some(prepared) = prepared.filter(|_| self.prepared == Hint::Right) {
                prepared.set_eligible(slot, eligible);
            }
            if let Some(eligibility) = eligibility.filter(|_| self.eligibility == Hint::Right) {
                eligibility.set(slot, eligible);
            }
        }
    }

    pub(crate) fn attempted(&self) -> Attempted {
        self.tried.iter().copied().collect()
    }

    /// Joins everything that limits a pick.
    pub(crate) fn view<'a>(
        &'a self,
        members: &'a [Member],
        attempted: &'a Attempted,
        prepared: Option<&'a Prepared>,
        eligibility: Option<&'a Eligibility>,
    ) -> View<'a, Member> {
        let mut view = self.bare(members).avoiding(attempted);
        if let Some(prepared) = prepared {
            view = view.prepared(prepared);
        }
        if let Some(eligibility) = eligibility {
            view = view.eligibility(eligibility);
        }
        if self.panic { view.in_panic() } else { view }
    }
}

/// Runs `law` on this many generated cases, the same ones each time.
pub(crate) fn for_all(cases: u64, law: fn(Case)) {
    QuickCheck::new().rng(Gen::from_size_and_seed(100, cases)).tests(cases).quickcheck(law);
}
