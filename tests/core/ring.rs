//! What the ring promises: points by weight, no movement between others, and placement by identity alone.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use poise::core::policy::{Maglev, Replicas, RingHash, RingHashError, RingMembers, RingReport};
use poise::core::{
    Backend, Exclusion, PickError, Policy, Prehashed, PrehashedBuildHasher, Prepare, Prepared, Selection,
    StableBuildHasher, View,
};
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::support::by_hand::beside;
use crate::support::case::{Case, for_all};
use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::ring;
use crate::support::weighted::{reweight, weight, weighted};

const KEYS: u64 = 20_000;

fn prepare(members: &[Member], previous: Option<&Prepared>) -> Prepared {
    RingHash::new().prepare(&View::new(members), previous).expect("the members fit")
}

fn points(prepared: &Prepared) -> usize {
    RingReport::of(prepared).expect("a ring").points
}

/// Reads the identity of the owner of each of some keys.
fn owners(members: &[Member], prepared: &Prepared) -> Vec<u64> {
    let view = View::new(members).prepared(prepared);
    let owner = |key| members[RingHash::new().pick_from(&view, &key).expect("somebody can serve").index()].id;
    (0..KEYS).map(owner).collect()
}

fn fresh(members: &[Member]) -> Vec<u64> {
    owners(members, &prepare(members, None))
}

/// Pairs the owners of the keys that moved.
fn moved(before: &[u64], after: &[u64]) -> Vec<(u64, u64)> {
    before.iter().copied().zip(after.iter().copied()).filter(|(before, after)| before != after).collect()
}

fn part(moved: &[(u64, u64)]) -> f64 {
    moved.len() as f64 / KEYS as f64
}

#[test]
fn the_owner_and_its_replicas_are_the_first_eligible_along_a_ring_made_by_hand() {
    fn law(case: Case) {
        let policy = RingHash::new().with_max_points(4_000).expect("in range");
        let make = |places: &[(u64, u32)]| ring::ring(places, 4_000);
        beside(&case, &policy, 10, make, |view, ring, key| {
            let walk = ring::from(ring, StableBuildHasher::default().hash_one(key));
            let mut expected: Vec<usize> = Vec::new();
            for slot in walk.into_iter().filter(|slot| view.exclusions_at(*slot).is_empty()) {
                if !expected.contains(&view.position(slot)) {
                    expected.push(view.position(slot));
                }
            }
            assert_replicas(&policy, view, key, &expected);
        });
    }
    for_all(100, law);
}

/// Asserts that a pick is the first of `expected`, and that the replicas are as many as there is room for.
fn assert_replicas(policy: &RingHash, view: &View<'_, Member>, key: u64, expected: &[usize]) {
    let pick = policy.pick_from(view, &key);
    assert_eq!(pick.ok().map(Selection::index), expected.first().copied());
    for room in [0, 1, 3, 12, 300] {
        let mut into = vec![Selection::new(usize::MAX); room];
        looks(view.candidates());
        let found = policy.pick_replicas(view, &key, &mut into);
        assert!(looks(view.candidates()).most <= 1, "nobody is looked at twice");
        let found = found.unwrap_or_else(|error| {
            assert_eq!(Err(error), pick, "replicas fail as a pick does");
            0
        });
        let found: Vec<_> = into[..found].iter().map(|selection| selection.index()).collect();
        assert_eq!(found, expected[..room.min(expected.len())], "{room} replicas");
    }
}

#[test]
fn replicas_of_a_table_are_the_owners_that_follow_when_the_first_are_excluded() {
    fn follow<P: Replicas<Member, u64>>(policy: &P, members: &[Member]) {
        let prepared = policy.prepare(&View::new(members), None).expect("they fit");
        for hinted in [false, true] {
            for key in 0..50 {
                let view =
                    || if hinted { View::new(members).prepared(&prepared) } else { View::new(members) };
                let mut replicas = [Selection::new(0); 5];
                assert_eq!(policy.pick_replicas(&view(), &key, &mut replicas), Ok(5));
                for replica in replicas {
                    assert_eq!(policy.pick_from(&view(), &key), Ok(replica));
                    members[replica.index()].exclude(Exclusion::Circuit);
                    prepared.set_eligible(replica.index(), false);
                }
                members.iter().for_each(Member::restore);
                (0..members.len()).for_each(|slot| prepared.set_eligible(slot, true));
            }
        }
        let mut all = [Selection::new(0); 30];
        assert_eq!(policy.pick_replicas(&View::new(members), &1, &mut all), Ok(20), "all that there are");
        assert_eq!(policy.pick_replicas(&View::new(&members[..0]), &1, &mut all), Err(PickError::Empty));
    }
    let members = Member::many(20);
    let boxed: Box<dyn Replicas<Member, u64>> = Box::new(RingHash::new());
    follow(&boxed, &members);
    follow(&&RingHash::new(), &members);
    follow(&Arc::new(RingHash::new()), &members);
    follow(&RingHash::new(), &members);
    follow(&Maglev::new(), &members);
}

#[test]
fn one_percent_more_weight_for_one_of_ten_moves_keys_to_it_alone() {
    let mut members = weighted(&[100; 10]);
    let first = prepare(&members, None);
    let before = owners(&members, &first);
    members[4].weight = weight(101);
    let second = prepare(&members, Some(&first));
    let after = owners(&members, &second);
    let moves = moved(&before, &after);
    assert!(moves.iter().all(|(_, to)| *to == 4), "{moves:?}");
    assert!(!moves.is_empty() && part(&moves) <= 0.03, "{} keys moved", moves.len());
    assert_eq!((points(&first), points(&second)), (2_000, 2_002));
    assert!(RingReport::of(&second).is_some_and(|report| !report.rescaled));
    members[4].weight = weight(100);
    assert_eq!(owners(&members, &prepare(&members, Some(&second))), before, "and back");
}

#[test]
fn joining_moves_keys_to_the_newcomer_alone_and_leaving_those_of_the_leaver() {
    let mut members = Member::many(50);
    let first = prepare(&members, None);
    let before = owners(&members, &first);
    members.insert(20, Member::new(77));
    let second = prepare(&members, Some(&first));
    let moves = moved(&before, &owners(&members, &second));
    assert!(moves.iter().all(|(_, to)| *to == 77));
    assert!((0.01..0.03).contains(&part(&moves)), "a fiftieth joined: {}", part(&moves));
    members.remove(20);
    members.remove(9);
    let moves = moved(&before, &owners(&members, &prepare(&members, Some(&second))));
    assert!(moves.iter().all(|(from, _)| *from == 9));
    assert!((0.01..0.03).contains(&part(&moves)), "a fiftieth left: {}", part(&moves));
}

#[test]
fn a_ring_that_grew_out_of_others_is_the_one_that_is_built_at_once() {
    fn law(cases: Vec<Case>) {
        let policy = RingHash::new().with_max_points(5_000).expect("in range");
        let mut previous = None;
        for case in cases {
            let members = case.members();
            let view = case.bare(&members);
            let grown = policy.prepare(&view, previous.as_ref()).expect("200 members fit");
            let built = policy.prepare(&view, None).expect("200 members fit");
            let reports =
                [&grown, &built].map(RingReport::of).map(|report| report.map(|report| report.points));
            assert_eq!(reports[0], reports[1]);
            for key in 0..200 {
                let view = || case.bare(&members).in_panic();
                let by = |prepared| policy.pick_from(&view().prepared(prepared), &key);
                assert_eq!(by(&grown), by(&built), "key {key}");
            }
            previous = Some(grown);
        }
    }
    quickcheck::QuickCheck::new()
        .rng(quickcheck::Gen::from_size_and_seed(6, 3))
        .tests(60)
        .quickcheck(law as fn(Vec<Case>));
}

#[test]
fn shares_follow_the_weights() {
    let weights = [100, 200, 300, 400];
    let owners = fresh(&weighted(&weights));
    for (at, weight) in (0..).zip(weights) {
        let share = owners.iter().filter(|owner| **owner == at).count() as f64 / KEYS as f64;
        let ideal = f64::from(weight) / 1_000.0;
        // With m points the deviation is a share of one in the root of m; 128 or more have four of them at 36 %.
        assert!((share / ideal - 1.0).abs() < 0.36, "weight {weight}: {share}, ideally {ideal}");
    }
}

#[test]
fn neither_order_nor_leaving_and_coming_back_changes_a_placement() {
    let mut members = weighted(&[3, 1, 4, 1, 5, 9, 2, 6]);
    let before = fresh(&members);
    members.reverse();
    members.swap(1, 5);
    assert_eq!(fresh(&members), before, "another order");
    let leaver = members.remove(2);
    let without = prepare(&members, None);
    members.push(leaver);
    assert_eq!(owners(&members, &prepare(&members, Some(&without))), before, "after coming back");
}

#[test]
fn placement_is_the_same_in_every_process() {
    let caches = ["cache-a", "cache-b", "cache-c", "cache-d", "cache-e"].map(Backend::new);
    let owner = |key: &str| RingHash::new().pick(&caches, key).map(|owner| *caches[owner.index()].id());
    let owners = ["user:1", "user:2", "user:3", "user:42", "", "a longer key than the others"].map(owner);
    let expected = ["cache-e", "cache-e", "cache-c", "cache-a", "cache-e", "cache-b"];
    assert_eq!(owners, expected.map(Ok));
}

#[test]
fn a_median_across_a_power_of_two_is_reported() {
    let mut members = weighted(&[255; 3]);
    let before = prepare(&members, None);
    reweight(&mut members, 256);
    let after = prepare(&members, Some(&before));
    let report = |prepared| RingReport::of(prepared).expect("a ring");
    assert_eq!((report(&before).points_per_weight, report(&before).rescaled), (Some(1.0), false));
    assert_eq!((report(&after).points_per_weight, report(&after).rescaled), (Some(0.5), true));
    let policy = RingHash::new().with_points_per_weight(2.0).expect("positive");
    let fixed = policy.prepare(&View::new(&members), None).expect("they fit");
    assert_eq!((report(&fixed).points, report(&fixed).points_per_weight), (3 * 512, Some(2.0)));
}

#[test]
fn odd_and_large_weights_build_rings_of_ordinary_size() {
    let thousands: Vec<u32> = (1_000..1_010).collect();
    assert!((1_280..=2_560).contains(&points(&prepare(&weighted(&thousands), None))));

    let mut weights = vec![1; 9_999];
    weights.push(10_000);
    assert_eq!(points(&prepare(&weighted(&weights), None)), 19_999 * 128);

    let weights: Vec<u32> = (0..70_000).map(|at| [1, 7, u32::MAX][at % 3]).collect();
    let members = weighted(&weights);
    let policy = RingHash::new().with_max_points(200_000).expect("in range");
    let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
    assert!((70_000..=200_000).contains(&points(&prepared)));
    let view = View::new(&members).prepared(&prepared);
    let heavy = (0..1_000).filter(|key| {
        let owner = policy.pick_from(&view, key).expect("all can serve").index();
        members[owner].weight.value() == u32::MAX
    });
    assert!(heavy.count() > 400, "most points are those of the heavy ones");
}

#[test]
fn memberships_and_settings_that_do_not_fit_are_typed_errors() {
    let twins = [4, 7, 4].map(Member::new);
    let twice = PickError::DuplicateIdentity { first: 0, second: 2 };
    assert_eq!(RingHash::new().pick(&twins, &1), Err(twice));
    assert_eq!(RingHash::new().prepare(&View::new(&twins), None).err(), Some(twice));

    let members = Member::many(8);
    let full = PickError::CapacityExceeded { candidates: 8, places: 7 };
    assert_eq!(RingHash::new().with_max_points(7).expect("in range").pick(&members, &1), Err(full));
    let heavy = RingHash::new().with_points_per_weight(2e6).expect("positive");
    assert_eq!(heavy.pick(&members, &1), Err(PickError::WeightOverflow));

    for points in [0.0, -1.0, f64::INFINITY] {
        let refused = RingHash::new().with_points_per_weight(points).err();
        assert_eq!(refused, Some(RingHashError::PointsPerWeight { points }));
    }
    assert!(RingHash::new().with_points_per_weight(f64::NAN).is_err());
    for points in [0, 8_388_609] {
        assert_eq!(RingHash::new().with_max_points(points).err(), Some(RingHashError::MaxPoints { points }));
    }
}

#[test]
fn points_of_ones_own_decide_whatever_they_are() {
    let pick = |points: fn(u64) -> Vec<u64>, hash| {
        let of = move |member: &Member, _: &RingMembers, into: &mut Vec<u64>| into.extend(points(member.id));
        let policy = RingHash::new().with_points(of).with_hasher(PrehashedBuildHasher);
        policy.pick(&Member::many(3), &Prehashed(hash)).map(Selection::index)
    };
    for hash in [0, 1, 9, u64::MAX] {
        assert_eq!(pick(|_| Vec::new(), hash), Err(PickError::InconsistentTopology), "nobody has a point");
        assert_eq!(pick(|id| vec![5; usize::from(id == 2)], hash), Ok(2), "one has");
    }
    // Three that crowd at the lower end, in the order of their points.
    let crowd = |id| vec![10 + id, 20 - id, 15];
    assert_eq!(
        [0, 10, 11, 12, 13, 18, 19, 20].map(|hash| pick(crowd, hash).ok())[..4],
        [0, 0, 1, 2].map(Some)
    );
    assert_eq!([16, 18, 19, 20, 21].map(|hash| pick(crowd, hash)), [2, 2, 1, 0, 0].map(Ok));
    assert_eq!([13, 14, 15].map(|hash| pick(crowd, hash)), [pick(crowd, 15); 3], "of equals always the same");
    let all = |_: &Member, all: &RingMembers, into: &mut Vec<u64>| into.push(all.count as u64 + all.weight);
    let policy = RingHash::new().with_points(all).with_hasher(PrehashedBuildHasher);
    assert!(policy.pick(&weighted(&[3, 4]), &Prehashed(9)).is_ok());
}

#[test]
fn a_member_without_points_serves_when_nobody_else_can() {
    let of =
        |member: &Member, _: &RingMembers, into: &mut Vec<u64>| into.extend((member.id == 0).then_some(7));
    let policy = RingHash::new().with_points(of);
    let members = Member::many(2);
    assert_eq!(policy.pick(&members, &1).map(Selection::index), Ok(0));
    members[0].exclude(Exclusion::Probe);
    assert_eq!(policy.pick(&members, &1).map(Selection::index), Ok(1));
}
