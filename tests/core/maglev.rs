//! What the lookup table promises: shares, little movement, and placement by identity alone.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

use poise::core::policy::{Maglev, PriorityFailover, RingHash};
use poise::core::{
    Backend, Eligibility, Exclusion, Now, PickError, Policy, Prepare, Prepared, Selection, StableBuildHasher,
    Status, View, Weight,
};

use crate::support::by_hand::beside;
use crate::support::case::{Case, for_all};
use crate::support::counted::Counted;
use crate::support::member::Member;
use crate::support::owners;

const SIZE: u64 = 65_537;

/// Takes a `u64` for its own hash, so that the keys below the size of a table are its entries.
#[derive(Clone, Debug, Default)]
struct Entry(u64);

impl Hasher for Entry {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are words");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl BuildHasher for Entry {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

fn policy() -> Maglev<Entry> {
    Maglev::new().with_hasher(Entry(0))
}

/// Reads the identity of the owner of each of the first `size` entries.
fn table<P: Policy<Member, u64>>(policy: &P, members: &[Member], prepared: &Prepared, size: u64) -> Vec<u64> {
    let owner = |entry| {
        let view = View::new(members).prepared(prepared);
        members[policy.pick_from(&view, &entry).expect("somebody is eligible").index()].id
    };
    (0..size).map(owner).collect()
}

fn fresh(policy: &Maglev<Entry>, members: &[Member], size: u64) -> Vec<u64> {
    let prepared = policy.prepare(&View::new(members), None).expect("the members fit");
    table(policy, members, &prepared, size)
}

fn weighted(weights: &[u32]) -> Vec<Member> {
    let mut members = Member::many(weights.len() as u64);
    for (member, weight) in members.iter_mut().zip(weights) {
        member.weight = Weight::new(*weight).expect("positive");
    }
    members
}

fn shares(owners: &[u64], members: usize) -> Vec<u32> {
    let mut shares = vec![0; members];
    for owner in owners {
        shares[usize::try_from(*owner).expect("small")] += 1;
    }
    shares
}

#[test]
fn the_owner_is_the_first_eligible_one_along_a_table_made_by_hand() {
    fn law(case: Case) {
        let policy = Maglev::new().with_table_size(211).expect("a prime");
        let make = |places: &[(u64, u32)]| {
            if places.is_empty() { Vec::new() } else { owners::maglev(places, 211) }
        };
        beside(&case, &policy, 20, make, |view, owners, key| {
            let start = StableBuildHasher::default().hash_one(key) % 211;
            let start = usize::try_from(start).expect("small").min(owners.len());
            let mut walk = owners[start..].iter().chain(&owners[..start]);
            let owner = walk.find(|slot| view.exclusions_at(**slot).is_empty());
            let owner = owner.map(|slot| view.position(*slot));
            assert_eq!(policy.pick_from(view, &key).ok().map(Selection::index), owner);
        });
    }
    for_all(150, law);
}

#[test]
fn equal_members_differ_by_one_entry_at_most() {
    for count in [1, 2, 3, 10, 1_000] {
        let shares =
            shares(&fresh(&policy(), &Member::many(count), SIZE), usize::try_from(count).expect("small"));
        let (least, most) = (shares.iter().min(), shares.iter().max());
        assert!(
            most.zip(least).is_some_and(|(most, least)| most - least <= 1),
            "{count}: {least:?}..{most:?}"
        );
    }
}

#[test]
fn weighted_shares_are_within_one_entry_of_the_ideal() {
    let weights: Vec<u32> = (1..=100).map(|at| at * at).collect();
    let total: u32 = weights.iter().sum();
    for (share, weight) in shares(&fresh(&policy(), &weighted(&weights), SIZE), 100).into_iter().zip(weights)
    {
        let ideal = f64::from(weight) / f64::from(total) * 65_537.0;
        assert!((f64::from(share) - ideal).abs() < 1.0, "weight {weight}: {share} entries, ideally {ideal}");
    }
}

#[test]
fn the_heaviest_beside_the_lightest_leave_everybody_an_entry() {
    let shares = shares(&fresh(&policy(), &weighted(&[u32::MAX, 1, 1, u32::MAX]), SIZE), 4);
    assert_eq!((shares[1], shares[2]), (1, 1));
    assert!(shares[0].abs_diff(shares[3]) <= 1, "{shares:?}");
}

#[test]
fn neither_order_nor_leaving_and_coming_back_changes_a_placement() {
    let mut members = Member::many(100);
    let before = fresh(&policy(), &members, SIZE);
    members.reverse();
    members.swap(3, 77);
    assert_eq!(fresh(&policy(), &members, SIZE), before, "another order");
    let leaver = members.remove(40);
    let earlier = policy().prepare(&View::new(&members), None).expect("they fit");
    members.push(leaver);
    let prepared = policy().prepare(&View::new(&members), Some(&earlier)).expect("they fit");
    assert_eq!(table(&policy(), &members, &prepared, SIZE), before, "after coming back");
}

#[test]
fn placement_is_the_same_in_every_process() {
    let caches = ["cache-a", "cache-b", "cache-c", "cache-d", "cache-e"].map(Backend::new);
    let owner = |key: &str| Maglev::new().pick(&caches, key).map(|owner| *caches[owner.index()].id());
    let owners = ["user:1", "user:2", "user:3", "user:42", "", "a longer key than the others"].map(owner);
    let expected = ["cache-b", "cache-d", "cache-c", "cache-c", "cache-a", "cache-e"];
    assert_eq!(owners, expected.map(Ok));
}

#[test]
fn one_leaving_of_a_thousand_moves_few_entries_of_the_others() {
    for (size, bound) in [(65_537, 0.007), (655_373, 0.004)] {
        let policy = policy().with_table_size(size).expect("a prime");
        let mut members = Member::many(1_000);
        let before = fresh(&policy, &members, size.into());
        let left = members.remove(500).id;
        let after = fresh(&policy, &members, size.into());
        let moved = before.iter().zip(&after).filter(|(before, after)| **before != left && before != after);
        let part = moved.count() as f64 / f64::from(size);
        assert!(part <= bound, "{:.2} % of {size} entries moved", part * 100.0);
    }
}

#[test]
fn a_flapping_member_rebuilds_nothing_and_moves_no_key_of_another() {
    fn flaps<P: Policy<Member, u64>>(policy: &P, count: impl Fn() -> u32) {
        let members = Member::many(64);
        let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
        let eligibility = Eligibility::of(&members, &Now::lazy());
        let built = count();
        let owners = || -> Vec<_> {
            let view = View::new(&members).prepared(&prepared).eligibility(&eligibility);
            (0..20_000).map(|key| policy.pick_from(&view, &key).expect("63 are left").index()).collect()
        };
        let before = owners();
        for _ in 0..3 {
            members[9].exclude(Exclusion::Circuit);
            let unaware = owners();
            prepared.set_eligible(9, false);
            eligibility.set(9, false);
            let during = owners();
            assert_eq!(unaware, during, "a hint changes no answer");
            for (before, during) in before.iter().zip(&during) {
                assert!(
                    if *before == 9 { *during != 9 } else { before == during },
                    "{before} became {during}"
                );
            }
            members[9].restore();
            prepared.set_eligible(9, true);
            eligibility.set(9, true);
            assert_eq!(owners(), before, "everything is back");
        }
        assert_eq!(count(), built, "nothing was rebuilt");
    }
    let plain = Counted::new(Maglev::new());
    flaps(&plain, || plain.prepares());
    let ring = Counted::new(RingHash::new());
    flaps(&ring, || ring.prepares());
    let inner = Counted::new(Maglev::new());
    flaps(&PriorityFailover::new(&inner), || inner.prepares());
}

/// An identity that counts how often it is hashed.
#[derive(Debug)]
struct Hashed<'a>(u64, &'a AtomicUsize);

impl Hash for Hashed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.hash(state);
    }
}

#[test]
fn levels_of_a_plain_slice_do_not_drop_the_tables_of_each_other() {
    let hashed = AtomicUsize::new(0);
    let member = |at| Backend::new(Hashed(at, &hashed)).with_priority(u32::from(at >= 4));
    let sick = |member: Backend<_>| member.with_status(Status::Draining);
    let members: Vec<_> = (0..8).map(|at| if at < 2 { sick(member(at)) } else { member(at) }).collect();
    let policy = PriorityFailover::new(Maglev::new()).with_seed(5);
    let mut levels = BTreeSet::new();
    for key in 0..200 {
        hashed.store(0, Ordering::Relaxed);
        levels.insert(policy.pick(&members, &key).expect("six are ready").index() / 4);
        let looked = hashed.load(Ordering::Relaxed);
        assert!(key < 100 || looked == 4, "each identity of a level is hashed once, none to build: {looked}");
    }
    assert_eq!(levels.len(), 2, "half of the first level spills to the second");
}

#[test]
fn memberships_that_do_not_fit_are_typed_errors_and_large_ones_build() {
    let members = Member::many(8);
    let small = Maglev::new().with_table_size(7).expect("a prime");
    let full = PickError::CapacityExceeded { candidates: 8, places: 7 };
    assert_eq!(small.pick(&members, &1), Err(full));
    assert_eq!(small.prepare(&View::new(&members), None).err(), Some(full));

    let twins = [4, 7, 4].map(Member::new);
    let twice = PickError::DuplicateIdentity { first: 0, second: 2 };
    assert_eq!(Maglev::new().pick(&twins, &1), Err(twice));
    assert_eq!(Maglev::new().prepare(&View::new(&twins), None).err(), Some(twice));

    let many = Member::many(70_000);
    let prepared = policy().prepare(&View::new(&many), None).expect("the table grows");
    let mut owners = table(&policy(), &many, &prepared, 700_001);
    owners.sort_unstable();
    owners.dedup();
    assert_eq!(owners.len(), 70_000, "everybody owns something");
}
