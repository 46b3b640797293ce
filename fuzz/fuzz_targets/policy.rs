//! Every policy under views made of bytes: a pick is in bounds and eligible, or the error counts each reason exactly.

#![no_main]

use libfuzzer_sys::fuzz_target;
use poise::core::policy::{
    LeastLoaded, Maglev, PowerOfTwoChoices, PriorityConfig, PriorityFailover, Random, RoundRobin,
};
use poise::core::{
    Attempted, Candidate, Eligibility, Exclusion, ExclusionCounts, Exclusions, Now, PickError, Policy, Status, View,
    Weight,
};

/// Members are few enough for a walk by hand and many enough for every fallback.
const MOST: usize = 70;

struct Member {
    id: u8,
    status: Status,
    health: Exclusions,
    weight: Weight,
    priority: u32,
    load: f64,
}

impl Member {
    fn decode(id: u8, bytes: [u8; 3]) -> Self {
        let [kind, weight, load] = bytes;
        let reasons = [Exclusion::Probe, Exclusion::Circuit, Exclusion::Outlier, Exclusion::Capacity];
        Self {
            id,
            status: [Status::Ready, Status::Ready, Status::Draining, Status::Unavailable][usize::from(kind % 4)],
            health: if kind & 4 == 0 { Exclusions::NONE } else { reasons[usize::from(kind >> 3) % 4].into() },
            weight: Weight::new(if weight == 0 { u32::MAX } else { weight.into() }).unwrap_or(Weight::ONE),
            priority: u32::from(kind >> 6),
            load: if load == 255 { f64::NAN } else { f64::from(load) - 1.0 },
        }
    }
}

impl Candidate for Member {
    type Id = u8;
    type Data = ();
    type Load = f64;

    fn id(&self) -> &u8 {
        &self.id
    }
    fn data(&self) -> &() {
        &()
    }
    fn load(&self) -> &f64 {
        &self.load
    }
    fn weight(&self) -> Weight {
        self.weight
    }
    fn status(&self) -> Status {
        self.status
    }
    fn priority(&self) -> u32 {
        self.priority
    }
    fn exclusions(&self, _: &Now) -> Exclusions {
        self.status.exclusions() | self.health
    }
}

fn policies(seed: u64) -> Vec<Box<dyn Policy<Member, u8>>> {
    let calm = PriorityConfig::default().with_panic_threshold_percent(0).expect("zero is in range");
    let maglev = Maglev::new().with_table_size(251).expect("a prime");
    vec![
        Box::new(RoundRobin::starting_at(usize::try_from(seed).unwrap_or(0))),
        Box::new(Random::seeded(seed)),
        Box::new(PowerOfTwoChoices::seeded(seed)),
        Box::new(LeastLoaded::seeded(seed)),
        Box::new(PriorityFailover::new(maglev.clone()).with_config(calm).with_seed(seed)),
        Box::new(PriorityFailover::new(RoundRobin::new()).with_seed(seed)),
        Box::new(maglev),
    ]
}

/// What a scan by hand finds: the number of eligible members, and why the others are not.
fn by_hand(view: &View<'_, Member>, positions: &[u32]) -> (usize, ExclusionCounts) {
    let mut counts = ExclusionCounts::default();
    let mut eligible = 0;
    for position in positions {
        let exclusions = view.exclusions(*position as usize);
        if exclusions.is_empty() {
            eligible += 1;
        } else {
            counts.add(exclusions);
        }
    }
    (eligible, counts)
}

fuzz_target!(|bytes: &[u8]| {
    let [shape, seed, avoid, stale, rest @ ..] = bytes else { return };
    let members: Vec<Member> = rest
        .chunks_exact(3)
        .take(MOST)
        .zip(0u8..)
        .map(|(bytes, id)| Member::decode(id, [bytes[0], bytes[1], bytes[2]]))
        .collect();
    let attempted: Attempted = (0..usize::from(avoid % 9)).map(|at| at * usize::from(*seed | 1) % MOST).collect();
    let scope: Vec<u32> = (0..).take(members.len()).filter(|at| shape & 1 == 0 || at % 3 != 0).collect();
    let hint = Eligibility::new(scope.len(), |slot| {
        members[scope[slot] as usize].exclusions(&Now::lazy()).only(Exclusions::SLOW).is_empty()
    });
    // Hints may be wrong.
    if *stale > 200 && !scope.is_empty() {
        hint.set(usize::from(*stale) % scope.len(), shape & 2 == 0);
    }
    for policy in policies(u64::from(*seed)) {
        let base = || {
            let view = View::new(&members).within(&scope).avoiding(&attempted);
            if shape & 4 == 0 { view } else { view.in_panic() }
        };
        let prepared = policy.prepare(&base(), None).expect("distinct members that fit");
        let view = base().eligibility(&hint).prepared(&prepared);
        let view = if shape & 8 == 0 { view } else { base() };
        let (eligible, counts) = by_hand(&view, &scope);
        for key in [*seed, *avoid] {
            match policy.pick_from(&view, &key) {
                Ok(selection) => {
                    let chosen = view.validate(selection).expect("what was chosen is offered");
                    assert!(scope.contains(&u32::from(chosen.id)), "the choice is within the scope");
                }
                Err(PickError::Empty) => assert!(scope.is_empty(), "empty only when there is nobody"),
                Err(PickError::NoEligible(found)) => {
                    assert_eq!(eligible, 0, "somebody is eligible");
                    if !view.is_panic() {
                        assert_eq!(found.candidates(), counts.candidates(), "everybody is counted once");
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
});
