//! What keeping to the own zone promises: how much stays, where the rest goes, and when zones do not count.

use poise::core::policy::{Maglev, PriorityFailover, Random, WeightedRandom, ZoneAware};
use poise::core::{
    Attempted, Exclusion, LoadMetric, Locality, Now, PickError, Policy, Prepare, Prepared, Selection, View,
    Weight,
};

use crate::support::counted::Counted;
use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::shares::assert_shares;
use crate::support::tally::tally;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn zone(at: usize) -> Locality {
    Locality::new("eu", NAMES[at])
}

/// Makes zones of so many members.
fn zones(sizes: &[u64]) -> Vec<Member> {
    let mut members = Member::many(sizes.iter().sum());
    let places = sizes.iter().enumerate().flat_map(|(at, size)| (0..*size).map(move |_| zone(at)));
    members.iter_mut().zip(places).for_each(|(member, zone)| member.locality = Some(zone));
    members
}

fn aware(own: usize, callers: &[u32], seed: u64) -> ZoneAware<Random> {
    let policy = ZoneAware::new(Random::seeded(seed), zone(own)).with_seed(seed);
    if callers.is_empty() {
        return policy;
    }
    policy.with_callers(callers.iter().enumerate().map(|(at, callers)| (zone(at), *callers)))
}

fn zone_at(member: &Member) -> usize {
    let name = member.locality.as_ref().map(Locality::zone);
    NAMES.iter().position(|of| Some(*of) == name).unwrap_or(NAMES.len())
}

/// Counts by zone where `draws` picks went; the last place is for members without one.
fn draw(policy: &ZoneAware<Random>, view: impl Fn() -> View<'static, Member>, draws: u32) -> Vec<u32> {
    let pick = |_| {
        let view = view();
        let decision = policy.decide(&view, &()).expect("some are eligible");
        let member = &view.candidates()[decision.selection.index()];
        assert_eq!(decision.zone, member.locality.as_ref(), "it says where the member is");
        zone_at(member)
    };
    tally(NAMES.len() + 1, (0..draws).map(pick))
}

/// Members that live as long as the test process, so that views of them can be made anew for each pick.
fn kept(members: Vec<Member>) -> &'static [Member] {
    Vec::leak(members)
}

/// Draws with and without a table.
fn assert_zones(members: &'static [Member], policy: &ZoneAware<Random>, shares: [f64; 5], what: &str) {
    let prepared: &'static Prepared =
        Box::leak(Box::new(policy.prepare(&View::new(members), None).expect("there is nothing to build")));
    assert_shares(&draw(policy, || View::new(members), 10_000), &shares, what);
    assert_shares(&draw(policy, || View::new(members).prepared(prepared), 10_000), &shares, what);
}

#[test]
fn a_zone_with_its_share_of_members_keeps_all_its_traffic() {
    let members = kept(zones(&[4, 2, 2]));
    for (own, callers) in [(0, [2, 1, 1]), (0, [1, 1, 1]), (1, [3, 1, 8]), (2, [50, 25, 25]), (1, [9, 0, 1])]
    {
        let mut shares = [0.0; 5];
        shares[own] = 1.0;
        assert_zones(members, &aware(own, &callers, 1), shares, &format!("{own} of {callers:?}"));
    }
    // Thirds are compared as thirds, whatever they are rounded to.
    let members = kept(zones(&[3, 3, 3]));
    assert_zones(members, &aware(1, &[1, 1, 1], 1), [0.0, 1.0, 0.0, 0.0, 0.0], "a third of each");
}

#[test]
fn what_the_own_zone_cannot_carry_goes_where_members_outnumber_callers() {
    // Members 20, 30, 50 %; callers 50, 30, 20 %: two fifths stay, and only the third zone has room.
    let members = kept(zones(&[2, 3, 5]));
    assert_zones(members, &aware(0, &[5, 3, 2], 2), [0.4, 0.0, 0.6, 0.0, 0.0], "one has room");
    // Members 10, 30, 40, 20 %; callers 70, 10, 10, 10 %: surpluses of 20, 30, 10 %.
    let members = kept(zones(&[1, 3, 4, 2]));
    let rest = 6.0 / 7.0;
    let shares = [1.0 / 7.0, rest / 3.0, rest / 2.0, rest / 6.0, 0.0];
    assert_zones(members, &aware(0, &[7, 1, 1, 1], 2), shares, "three have room");
}

#[test]
fn when_every_caller_does_so_all_members_carry_the_same() {
    for (sizes, callers) in [([3, 5, 9], [6, 3, 2]), ([8, 1, 1], [1, 1, 1]), ([2, 2, 4], [1, 5, 1])] {
        let members = kept(zones(&sizes));
        let mut counts = vec![0; members.len()];
        for own in 0..3 {
            let policy = aware(own, &callers, own as u64);
            for _ in 0..callers[own] * 6_000 {
                counts[policy.pick(members, &()).expect("all are healthy").index()] += 1;
            }
        }
        assert_shares(&counts, &vec![1.0; members.len()], &format!("{sizes:?} for {callers:?}"));
    }
}

#[test]
fn until_told_callers_are_taken_to_be_spread_evenly() {
    let members = kept(zones(&[1, 3, 2]));
    // A sixth of the members for a third of the callers; only the second zone has more than its third.
    assert_zones(members, &aware(0, &[], 3), [0.5, 0.5, 0.0, 0.0, 0.0], "a sixth for a third");
    assert_zones(
        members,
        &aware(0, &[0, 0, 0], 3),
        [1.0, 0.0, 0.0, 0.0, 0.0],
        "no callers, nothing to send on",
    );
}

#[test]
fn zones_do_not_count_below_six_in_panic_or_without_a_zone_of_ones_own() {
    let all = |sizes: [u64; 3]| [sizes[0] as f64, sizes[1] as f64, sizes[2] as f64, 0.0, 0.0];
    let few = kept(zones(&[3, 1, 1]));
    assert_zones(few, &aware(0, &[1, 1, 1], 4), all([3, 1, 1]), "five members");
    assert_zones(few, &aware(0, &[1, 1, 1], 4).with_min_healthy(5), [1.0, 0.0, 0.0, 0.0, 0.0], "five do");
    let six = kept(zones(&[4, 1, 1]));
    six[5].exclude(Exclusion::Circuit);
    assert_zones(six, &aware(0, &[1, 1, 1], 4), all([4, 1, 0]), "six members, five of them healthy");
    let many = kept(zones(&[4, 4, 4]));
    assert_zones(many, &aware(3, &[1, 1, 1], 4), all([4, 4, 4]), "nobody in the own zone");
    let nowhere = ZoneAware::new(Random::seeded(4), None);
    assert_zones(many, &nowhere, all([4, 4, 4]), "no own zone");
    let counts = draw(&aware(0, &[1, 1, 1], 4), || View::new(many).in_panic(), 10_000);
    assert_shares(&counts, &all([4, 4, 4]), "in panic");
    let decision = nowhere.decide(&View::new(many), &()).expect("all are healthy");
    assert!(!decision.local, "without an own zone nothing is local");
}

#[test]
fn flips_reach_what_is_prepared_for_all_members_together() {
    let members = zones(&[40, 40]);
    let policy = ZoneAware::new(WeightedRandom::seeded(1), None);
    let prepared = policy.prepare(&View::new(&members), None).expect("there is always a table");
    for (slot, member) in members.iter().enumerate().skip(1) {
        member.exclude(Exclusion::Circuit);
        prepared.set_eligible(slot, false);
    }
    looks(&members);
    let view = View::new(&members).prepared(&prepared);
    assert_eq!(policy.pick_from(&view, &()).map(Selection::index), Ok(0));
    let looks = looks(&members);
    assert_eq!((looks.total, looks.most), (1, 1), "the table names the only one left");
}

#[test]
fn an_own_zone_where_nobody_is_healthy_sends_everything_on() {
    let members = kept(zones(&[3, 6, 2]));
    members[..3].iter().for_each(|member| member.exclude(Exclusion::Probe));
    // Members 0, 75, 25 %; callers 20, 60, 20 %.
    assert_zones(members, &aware(0, &[1, 3, 1], 5), [0.0, 0.15, 0.05, 0.0, 0.0], "surplus of 15 and 5 %");
}

#[test]
fn members_without_a_zone_take_part_of_what_is_sent_on() {
    let mut members = zones(&[2, 4]);
    for id in 0..4 {
        members.push(Member::new(100 + id));
    }
    // Members 20, 40, 40 %; callers 50, 50 %.
    assert_zones(kept(members), &aware(0, &[1, 1], 6), [0.4, 0.0, 0.0, 0.0, 0.6], "no callers of their own");
}

#[test]
fn shares_are_by_weight_and_regions_tell_zones_of_one_name_apart() {
    let mut members = zones(&[1, 5]);
    members[0].weight = Weight::new(5).expect("positive");
    members[3].locality = Some(Locality::new("us", "a"));
    members[4].locality = Some(Locality::with_sub_zone("eu", "b", "rack 9"));
    let members = kept(members);
    let policy = ZoneAware::new(WeightedRandom::seeded(1), zone(0)).with_seed(1);
    let policy = policy.with_callers([(zone(0), 1), (zone(1), 1)]);
    let mut local = 0;
    for _ in 0..2_000 {
        let decision = policy.decide(&View::new(members), &()).expect("all are healthy");
        local += u32::from(decision.local);
        assert_eq!(decision.local, decision.selection.index() == 0);
    }
    assert_eq!(local, 2_000, "half of the weight is in one member");
    let own = Locality::with_sub_zone("eu", "b", "rack 1");
    let policy = ZoneAware::new(Random::seeded(1), own).with_callers([(zone(1), 1), (zone(0), 3)]);
    let decide = |_| policy.decide(&View::new(members), &()).expect("all are healthy");
    assert!((0..500).map(decide).all(|decision| decision.local && decision.selection.index() != 3));
}

#[test]
fn when_all_of_the_drawn_zone_were_tried_another_one_serves() {
    let members = kept(zones(&[2, 1, 3]));
    let policy = aware(0, &[1, 1, 1], 7);
    let tried: &'static Attempted = Box::leak(Box::new(Attempted::from_iter([0, 1])));
    let counts = draw(&policy, || View::new(members).avoiding(tried), 10_000);
    assert_shares(&counts, &[0.0, 1.0, 3.0, 0.0, 0.0], "by members, as none has a share");
    for member in members {
        member.exclude(Exclusion::Capacity);
    }
    let Err(PickError::NoEligible(counts)) = policy.pick(members, &()) else { panic!("nobody has room") };
    assert_eq!((counts.candidates(), counts.of(Exclusion::Capacity)), (6, 6), "each is counted once");
}

#[test]
fn flips_end_where_a_table_that_is_made_anew_begins() {
    let members = zones(&[5, 7, 9, 3]);
    let policy = |seed| {
        let callers = [(zone(0), 4), (zone(1), 3), (zone(2), 1), (zone(3), 1)];
        let inner = Maglev::new().with_table_size(211).expect("a prime");
        ZoneAware::new(inner, zone(0)).with_callers(callers).with_seed(seed)
    };
    let flipped = policy(0).prepare(&View::new(&members), None).expect("there is nothing to build");
    let mut state = 3_u64;
    for round in 0..400 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let slot = usize::try_from((state >> 33) % 24).expect("small");
        // For a time most are excluded, so that zones stop to count and count again.
        let on = state >> 61 < if (150..250).contains(&round) { 1 } else { 5 };
        members[slot].restore();
        if !on {
            members[slot].exclude(Exclusion::Circuit);
        }
        flipped.set_eligible(slot, on);
        let anew = policy(0).prepare(&View::new(&members), None).expect("there is nothing to build");
        let picks = |prepared: &Prepared| -> Vec<Result<usize, PickError>> {
            let policy = policy(round);
            let pick = |key: u64| policy.pick_from(&View::new(&members).prepared(prepared), &key);
            (0..10).map(|key| pick(key).map(Selection::index)).collect()
        };
        assert_eq!(picks(&flipped), picks(&anew), "after {round} flips");
    }
}

#[test]
fn each_zone_and_all_members_together_hand_on_what_was_prepared() {
    let members = zones(&[4, 4]);
    let inner = Counted::new(Maglev::new());
    let policy = ZoneAware::new(&inner, zone(0)).with_seed(1);
    let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
    assert_eq!(inner.prepares(), 3);
    assert!(policy.prepare(&View::new(&members[..6]), Some(&prepared)).is_ok());
    let alone = Maglev::new();
    for key in 0..200_u64 {
        let view = View::new(&members).prepared(&prepared);
        assert_eq!(policy.pick_from(&view, &key), alone.pick(&members[..4], &key), "a table of the zone");
        let panic = View::new(&members).prepared(&prepared).in_panic();
        let whole = alone.pick_from(&View::new(&members).in_panic(), &key);
        assert_eq!(policy.pick_from(&panic, &key), whole, "a table of all");
    }
    let twice = PickError::DuplicateIdentity { first: 0, second: 1 };
    assert_eq!(policy.prepare(&View::new(&[Member::new(4), Member::new(4)]), None).err(), Some(twice));
}

#[test]
fn each_level_has_its_zones() {
    let mut members = zones(&[6, 6, 6]);
    members[12..].iter_mut().for_each(|member| (member.priority, member.locality) = (1, Some(zone(0))));
    members[..12].iter().for_each(|member| member.exclude(Exclusion::Outlier));
    members[..12].iter().for_each(|member| member.load.set(1.0));
    let policy = PriorityFailover::new(aware(0, &[1, 1], 1)).with_seed(1);
    let prepared = policy.prepare(&View::new(&members), None).expect("there is nothing to build");
    for _ in 0..500 {
        let pick = policy.pick_from(&View::new(&members).prepared(&prepared), &());
        let pick = pick.expect("the second level is healthy").index();
        assert!(pick >= 12 && members[pick].load.measure(&Now::lazy()) < 1.0);
    }
}
