//! What the highest score promises: exact shares, no needless movement, and placement by identity alone.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use poise::core::policy::{Rendezvous, Replicas, WeightedRendezvous};
use poise::core::{
    Backend, Eligibility, Exclusion, Now, PickError, Policy, Prehashed, PrehashedBuildHasher, Prepare,
    Selection, Status, View, Weight,
};

use crate::support::case::{Case, Hint, for_all};
use crate::support::chance::{assert_even, draws_for};
use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::ranks::{ranked, value};
use crate::support::tally::tally;

type Any = Box<dyn Replicas<Member, u64>>;
type Value = fn(u64, u32) -> f64;

/// Each policy, with the value by which it ranks; where all are equal scores decide.
fn policies() -> [(&'static str, Any, Value); 2] {
    [
        ("rendezvous", Box::new(Rendezvous::new()), |_, _| 0.0),
        ("weighted rendezvous", Box::new(WeightedRendezvous::new()), value),
    ]
}

fn weighted(weights: &[u32]) -> Vec<Member> {
    let mut members = Member::many(weights.len() as u64);
    for (member, weight) in members.iter_mut().zip(weights) {
        member.weight = Weight::new(*weight).expect("positive");
    }
    members
}

/// Lists the identities of the owners of the first `keys` keys, under a view with everything that is prepared for it.
fn owners(policy: &dyn Replicas<Member, u64>, members: &[Member], keys: u64) -> Vec<u64> {
    let prepared = policy.prepare(&View::new(members), None).expect("identities are distinct");
    let eligibility = Eligibility::of(members, &Now::lazy());
    let view = View::new(members).prepared(&prepared).eligibility(&eligibility);
    let owner = |key| members[policy.pick_from(&view, &key).expect("somebody is eligible").index()].id;
    (0..keys).map(owner).collect()
}

fn shares(owners: &[u64], members: usize) -> Vec<u32> {
    tally(members, owners.iter().map(|id| usize::try_from(*id).expect("small")))
}

#[test]
fn the_owner_is_the_eligible_member_with_the_highest_rank() {
    fn law(case: Case) {
        let misinformed =
            matches!(case.eligibility, Hint::Stale | Hint::Wrong) || case.prepared == Hint::Wrong;
        if misinformed {
            return;
        }
        for (name, policy, value) in policies() {
            let (members, attempted) = (case.members(), case.attempted());
            let eligibility = case.eligibility(&members);
            let prepared = policy.prepare(&case.bare(&members), None).expect("identities are distinct");
            let prepared = Some(&prepared).filter(|_| case.prepared != Hint::Absent);
            case.change(&members);
            case.tell(&members, prepared, eligibility.as_ref());
            for key in case.seed..case.seed.saturating_add(20) {
                let view = case.view(&members, &attempted, prepared, eligibility.as_ref());
                let owner = ranked(&view, key, value).first().copied();
                let pick = policy.pick_from(&view, &key);
                assert_eq!(pick.ok().map(Selection::index), owner, "{name}, key {key}");
            }
        }
    }
    for_all(400, law);
}

#[test]
fn replicas_are_the_first_eligible_members_in_order_and_each_is_looked_at_once() {
    fn law(case: Case) {
        for (name, policy, value) in policies() {
            let (members, attempted) = (case.members(), case.attempted());
            let eligibility = case.eligibility(&members);
            let prepared = policy.prepare(&case.bare(&members), None).expect("identities are distinct");
            let prepared = Some(&prepared).filter(|_| matches!(case.prepared, Hint::Right | Hint::Stale));
            case.change(&members);
            let view = case.view(&members, &attempted, prepared, eligibility.as_ref());
            for places in [1, 2, 3, 7, 300] {
                let ranked = ranked(&view, case.seed, value);
                looks(&members);
                let mut into = vec![Selection::new(usize::MAX); places];
                match policy.pick_replicas(&view, &case.seed, &mut into) {
                    Ok(found) => {
                        let most = looks(&members).most;
                        assert_eq!(found, ranked.len().min(places), "{name}: as many as there are");
                        let named: Vec<_> = into[..found].iter().map(|replica| replica.index()).collect();
                        assert_eq!(named, ranked[..found], "{name}: in order");
                        assert!(into[..found].iter().all(|replica| replica.is_panic() == view.is_panic()));
                        assert!(most <= 1, "{name}: {most} looks at one member");
                    }
                    Err(error) => {
                        assert_eq!(error, view.refuse(), "{name}: precisely why");
                        assert!(ranked.is_empty(), "{name}: somebody is eligible");
                    }
                }
            }
            assert_eq!(
                policy.pick_replicas(&view, &case.seed, &mut []),
                Ok(0),
                "{name}: nobody was asked for"
            );
        }
    }
    for_all(300, law);
}

#[test]
fn a_pick_mostly_asks_only_the_owner() {
    for (name, policy, _) in policies() {
        let members = Member::many(512);
        members[..50].iter().for_each(|member| member.exclude(Exclusion::Circuit));
        let prepared = policy.prepare(&View::new(&members), None).expect("identities are distinct");
        let eligibility = Eligibility::of(&members, &Now::lazy());
        members[50].exclude(Exclusion::NotReady);
        looks(&members);
        for key in 0..2_000 {
            let view = View::new(&members).prepared(&prepared).eligibility(&eligibility);
            let owner = policy.pick_from(&view, &key).expect("most are eligible").index();
            let expected = 1 + u32::from(members[50].sampled.load(std::sync::atomic::Ordering::Relaxed) > 0);
            assert_eq!(looks(&members).total, expected, "{name}: {owner}");
        }
    }
}

#[test]
fn members_get_equal_shares_also_of_keys_that_are_counters() {
    let draws = draws_for(0.1, 0.03).into();
    for start in [0, 1_000, 1 << 40] {
        let members: Vec<_> = (start..start + 10).map(Member::new).collect();
        let policy = &Rendezvous::new();
        let hashed = owners(policy, &members, draws).into_iter().map(|id| id - start).collect::<Vec<_>>();
        assert_even(&shares(&hashed, 10), 0.03, "hashed keys");
        let raw = Rendezvous::new().with_hasher(PrehashedBuildHasher);
        let prepared = Prepare::prepare(&raw, &View::new(&members), None).expect("identities are distinct");
        let view = View::new(&members).prepared(&prepared);
        let pick = |key| raw.pick_from(&view, &Prehashed(key)).expect("all are eligible").index();
        assert_even(&tally(10, (0..draws).map(pick)), 0.03, "keys that are their own hash");
    }
}

#[test]
fn shares_are_proportional_to_the_weights() {
    let weights = [1, 2, 3, 10, 84];
    let draws = draws_for(0.01, 0.1);
    let found = shares(&owners(&WeightedRendezvous::new(), &weighted(&weights), draws.into()), 5);
    for (weight, found) in weights.into_iter().zip(found) {
        let p = f64::from(weight) / 100.0;
        let (share, deviation) = (p * f64::from(draws), (p * (1.0 - p) * f64::from(draws)).sqrt());
        let off = (f64::from(found) - share).abs();
        assert!(off < 4.0 * deviation, "weight {weight}: {found} keys, not {share} +- {deviation}");
    }
}

#[test]
fn the_heaviest_beside_the_lightest_get_what_they_weigh() {
    let members = weighted(&[u32::MAX, 1, u32::MAX, 1_000_000_000]);
    let found = shares(&owners(&WeightedRendezvous::new(), &members, 40_000), 4);
    assert_eq!(found[1], 0, "one of ten billion");
    let [heavy, light] = [f64::from(u32::MAX), 1e9].map(|weight| weight / 9_589_934_590.0 * 40_000.0);
    for (at, share) in [(0, heavy), (2, heavy), (3, light)] {
        assert!((f64::from(found[at]) / share - 1.0).abs() < 0.07, "{found:?}, member {at} of {share}");
    }
}

#[test]
fn equal_weights_place_keys_as_no_weights_do() {
    let members = weighted(&[7; 50]);
    let plain = owners(&Rendezvous::new(), &members, 20_000);
    assert_eq!(owners(&WeightedRendezvous::new(), &members, 20_000), plain);
}

/// Asserts that exactly the keys of `id` differ, and that it had or has about this part of them.
fn assert_only_moved(id: u64, one: &[u64], other: &[u64], part: f64, what: &str) {
    let moved: Vec<_> = one.iter().zip(other).filter(|(one, other)| one != other).collect();
    assert!(moved.iter().all(|(one, other)| **one == id || **other == id), "{what}: a key of another moved");
    let found = moved.len() as f64 / one.len() as f64;
    assert!((found / part - 1.0).abs() < 0.15, "{what}: {found} of the keys moved, not {part}");
}

#[test]
fn a_change_moves_only_the_keys_that_must() {
    for (name, policy, _) in policies() {
        let mut members = weighted(&[5; 20]);
        let all = owners(&*policy, &members, 40_000);
        let one = all.iter().filter(|owner| **owner == 7).count() as f64 / 40_000.0;

        members[7].exclude(Exclusion::Circuit);
        let excluded = owners(&*policy, &members, 40_000);
        assert_only_moved(7, &all, &excluded, one, name);
        assert!(!excluded.contains(&7));

        let leaver = members.remove(7);
        assert_eq!(owners(&*policy, &members, 40_000), excluded, "{name}: leaving is like being excluded");
        let heirs = all.iter().zip(&excluded).filter(|(before, _)| **before == 7).map(|(_, after)| *after);
        let heirs = shares(&heirs.collect::<Vec<_>>(), 20);
        let inherits = |(at, share): (usize, &u32)| at == 7 || (50..170).contains(share);
        assert!(heirs.iter().enumerate().all(inherits), "{name}: 105 each, {heirs:?}");

        leaver.restore();
        members.insert(0, leaver);
        assert_eq!(owners(&*policy, &members, 40_000), all, "{name}: coming back");
        members.push(Member::new(20));
        members[20].weight = members[0].weight;
        assert_only_moved(20, &all, &owners(&*policy, &members, 40_000), 1.0 / 21.0, name);
    }
}

#[test]
fn a_new_weight_moves_keys_only_to_or_from_its_member() {
    let policy = &WeightedRendezvous::new();
    let before = owners(policy, &weighted(&[100; 10]), 200_000);
    for (weight, part) in [(110, 110.0 / 1010.0 - 0.1), (50, 0.1 - 50.0 / 950.0), (1, 0.1 - 1.0 / 901.0)] {
        let mut members = weighted(&[100; 10]);
        members[4].weight = Weight::new(weight).expect("positive");
        let after = owners(policy, &members, 200_000);
        assert_only_moved(4, &before, &after, part, &format!("100 to {weight}"));
        let gains = before.iter().zip(&after).any(|(before, after)| *before != 4 && *after == 4);
        let loses = before.iter().zip(&after).any(|(before, after)| *before == 4 && *after != 4);
        assert_eq!((gains, loses), (weight > 100, weight < 100), "keys move one way only");
    }
}

#[test]
fn the_order_of_the_members_changes_no_placement() {
    for (name, policy, _) in policies() {
        let mut members = weighted(&[1, 9, 4, 4, 2, 65_537, 3, 1, 1, 100]);
        let before = owners(&*policy, &members, 20_000);
        members.reverse();
        members.swap(1, 6);
        assert_eq!(owners(&*policy, &members, 20_000), before, "{name}");
        let picks = (0..20_000).map(|key| members[policy.pick(&members, &key).expect("all").index()].id);
        assert_eq!(picks.collect::<Vec<_>>(), before, "{name}, on a plain slice");
    }
}

#[test]
fn placement_is_the_same_in_every_process() {
    let weights = [1, 1, 1, 2, 3];
    let caches: Vec<_> = ["cache-a", "cache-b", "cache-c", "cache-d", "cache-e"]
        .into_iter()
        .zip(weights)
        .map(|(id, weight)| Backend::new(id).with_weight(Weight::new(weight).expect("positive")))
        .collect();
    let keys = ["user:1", "user:2", "user:3", "user:42", "", "a longer key than the others"];
    let name = |pick: Result<Selection, PickError>| *caches[pick.expect("all are ready").index()].id();
    let plain = keys.map(|key| name(Rendezvous::new().pick(&caches, key)));
    let heavy = keys.map(|key| name(WeightedRendezvous::new().pick(&caches, key)));
    assert_eq!(plain, ["cache-d", "cache-c", "cache-e", "cache-e", "cache-d", "cache-c"]);
    assert_eq!(heavy, ["cache-d", "cache-d", "cache-e", "cache-e", "cache-d", "cache-c"]);
}

#[test]
fn twins_are_a_typed_error_when_prepared_and_one_member_on_a_plain_slice() {
    let twin = |status| Backend::new("twin").with_status(status);
    let other = Backend::new("other");
    let members = [other, twin(Status::Draining), twin(Status::Ready), twin(Status::Ready)];
    let twice = Some(PickError::DuplicateIdentity { first: 1, second: 2 });
    assert_eq!(Prepare::prepare(&Rendezvous::new(), &View::new(&members), None).err(), twice);
    assert_eq!(Prepare::prepare(&WeightedRendezvous::new(), &View::new(&members), None).err(), twice);
    for key in 0..100 {
        let alone = Rendezvous::new().pick(&members[..3], &key).map(Selection::index);
        assert_eq!(Rendezvous::new().pick(&members, &key).map(Selection::index), alone, "the first of them");
        assert_eq!(WeightedRendezvous::new().pick(&members, &key).map(Selection::index), alone);
        assert_ne!(alone, Ok(1), "the first eligible one");
    }
    let mut into = [Selection::new(0); 4];
    assert_eq!(Rendezvous::new().pick_replicas(&View::new(&members), &1, &mut into), Ok(3));
}

#[test]
fn seventy_thousand_members_are_scanned_right() {
    for (name, policy, value) in policies() {
        let mut members = Member::many(70_000);
        members.iter_mut().step_by(3).for_each(|member| member.weight = Weight::MAX);
        let prepared = policy.prepare(&View::new(&members), None).expect("identities are distinct");
        for key in 0..5 {
            let view = View::new(&members).prepared(&prepared);
            let pick = policy.pick_from(&view, &key).map(Selection::index).ok();
            assert_eq!(pick, ranked(&view, key, value).first().copied(), "{name}");
        }
    }
}
