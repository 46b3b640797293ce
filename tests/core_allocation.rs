//! A pick on a prepared view allocates nothing, also when the first members that it meets cannot be chosen.

#[path = "support/allocations.rs"]
mod allocations;
#[path = "support/member.rs"]
mod member;
#[path = "support/policies.rs"]
#[expect(dead_code, reason = "only some of the policies are of interest here")]
mod policies;

use poise::core::policy::{
    Fallback, LeastRequests, LocalityWeighted, Maglev, PowerOfTwoChoices, Random, Sticky, StickyKey,
    WeightedRandom, ZoneAware,
};
use poise::core::{Eligibility, Exclusion, Locality, Now, Policy, View, Weight};

use crate::allocations::{ALLOCATOR, allocations};
use crate::member::Member;
use crate::policies::{prequal, reported};

/// Makes 600 members in three zones, of which every seventh is sick and every third is full.
fn members() -> Vec<Member> {
    let zones = ["a", "b", "c"].map(|zone| Locality::new("eu", zone));
    let mut members = Member::many(600);
    for (at, member) in members.iter_mut().enumerate() {
        member.weight = Weight::new(u32::try_from(at % 9).expect("small") + 1).expect("positive");
        member.locality = Some(zones[at / 200].clone());
        member.ramp = if at % 5 == 0 { 0.5 } else { 1.0 };
        member.load.set(at as f64);
        if at % 7 == 0 {
            member.exclude(Exclusion::Circuit);
        }
        // The first zone has nobody to offer, though no hint says so.
        if at % 3 == 0 || at < 200 {
            member.exclude(Exclusion::Capacity);
        }
    }
    members
}

fn allocated_by<K: ?Sized>(members: &[Member], policy: &dyn Policy<Member, K>, key: &K) -> usize {
    let start = ALLOCATOR.stats();
    let prepared = policy.prepare(&View::new(members), None).expect("600 members fit");
    let eligibility = Eligibility::of(members, &Now::lazy());
    let before = ALLOCATOR.stats();
    assert!(before.allocations > start.allocations, "what is prepared is seen");
    allocations(|| {
        for _ in 0..500 {
            let view = View::new(members).prepared(&prepared).eligibility(&eligibility);
            assert!(policy.pick_from(&view, key).is_ok());
        }
    })
}

#[test]
fn no_policy_allocates_for_a_pick() {
    let members = members();
    let zone = Locality::new("eu", "a");
    let policies: [(&str, &dyn Policy<Member, u64>); 10] = [
        ("prequal", &prequal(3)),
        ("utilization", &reported(3)),
        ("weighted random", &WeightedRandom::new()),
        ("least requests", &LeastRequests::new()),
        ("sixteen choices", &PowerOfTwoChoices::new().choices(16)),
        ("locality over weighted random", &LocalityWeighted::new(WeightedRandom::new())),
        ("zone over random", &ZoneAware::new(Random::new(), zone.clone())),
        ("zone over maglev", &ZoneAware::new(Maglev::new(), zone.clone())),
        ("no zone over maglev", &ZoneAware::new(Maglev::new(), None)),
        ("fallback of maglev and random", &Fallback::new(Maglev::new(), Random::new())),
    ];
    for (name, policy) in policies {
        assert_eq!(allocated_by(&members, policy, &7), 0, "{name}");
    }
    let sticky = Sticky::new(LocalityWeighted::new(Random::new()));
    for earlier in [0, 201, 9_999] {
        assert_eq!(allocated_by(&members, &sticky, &StickyKey::new(&7_u64).with_earlier(&earlier)), 0);
    }
    members.iter().for_each(Member::restore);
    assert_eq!(
        allocated_by(&members, &ZoneAware::new(WeightedRandom::new(), zone), &7_u64),
        0,
        "all can serve"
    );
}
