//! Members that ramp up get that part of their weight, under every policy.

use std::sync::Arc;
use std::time::Duration;

use poise::core::policy::{
    Maglev, Prequal, Random, Rendezvous, Replicas, RingHash, RoundRobin, SmoothWeightedRoundRobin,
    WeightedRandom, WeightedRendezvous,
};
use poise::core::{
    Attempted, Exclusion, Now, Policy, Prepare, Prepared, ProbeAnswer, ProbeConfig, ProbePool, Selection,
    View, Weight,
};

use crate::support::chance::{self, draws_for};
use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::policies::policies;
use crate::support::tally::tally;

type Any = Box<dyn Policy<Member, u64>>;

/// The one that ramps up in most tests.
const NEWCOMER: usize = 1;

/// How far a share may be off its ideal, at six standard deviations.
const DEVIATION: f64 = 0.08;

/// How far where entries of a table or points of a ring are few, and who follows whom is no matter of chance.
const DEVIATION_OF_PLACES: f64 = 0.15;

/// These compare loads for the weight, so that of equal loads that of a newcomer is the greatest.
fn compares_loads(name: &str) -> bool {
    ["choices", "least"].iter().any(|of| name.contains(of))
}

fn has_few_places(name: &str) -> bool {
    ["maglev", "ring"].iter().any(|of| name.contains(of))
}

fn is_keyed(name: &str) -> bool {
    (has_few_places(name) || name.contains("rendezvous")) && !name.contains("random")
}

fn with_ramps<const N: usize>(ramps: [f32; N]) -> Vec<Member> {
    let mut members = Member::many(N as u64);
    members.iter_mut().zip(ramps).for_each(|(member, ramp)| member.ramp = ramp);
    members
}

/// Three members, one of which ramps up.
fn three(ramp: f32) -> Vec<Member> {
    with_ramps([1.0, ramp, 1.0])
}

/// Numbers of keys that name no earlier choice to policies that keep to one.
fn key(number: u64) -> u64 {
    number * 16 + 15
}

/// Makes one of the policies.
fn policy(name: &str, seed: u64) -> Any {
    let found = policies(seed).into_iter().find(|(of, _)| *of == name);
    found.unwrap_or_else(|| panic!("there is no {name}")).1
}

fn names() -> Vec<&'static str> {
    policies::<Member>(0).into_iter().map(|(name, _)| name).collect()
}

fn pick(policy: &Any, members: &[Member], prepared: &Prepared, number: u64) -> usize {
    let view = View::new(members).prepared(prepared);
    policy.pick_from(&view, &key(number)).expect("all are eligible").index()
}

fn prepare(policy: &Any, members: &[Member]) -> Prepared {
    policy.prepare(&View::new(members), None).expect("few members fit")
}

/// Picks for these keys by a fresh policy.
fn owners(name: &str, members: &[Member], keys: u64) -> Vec<usize> {
    let policy = policy(name, 7);
    let prepared = prepare(&policy, members);
    (0..keys).map(|number| pick(&policy, members, &prepared, number)).collect()
}

// --- shares ---

#[test]
fn a_member_gets_its_part_of_an_equal_share_prepared_or_not_and_in_panic() {
    for (ramp, seeds) in [(0.5, 1..=3), (0.25, 4..=5)] {
        let members = three(ramp);
        let whole = three(1.0);
        let ramp = f64::from(ramp);
        let draws = draws_for(ramp / (2.0 + ramp), DEVIATION);
        for name in names().into_iter().filter(|name| !compares_loads(name)) {
            for (seed, panic) in seeds.clone().zip([false, true, false]) {
                let policy = policy(name, seed);
                let prepared = if seed % 2 == 0 { Prepared::none() } else { prepare(&policy, &members) };
                let count = |members: &[Member]| {
                    let picks = (0..draws).map(|number| {
                        let view = View::new(members).prepared(&prepared);
                        let view = if panic { view.in_panic() } else { view };
                        policy.pick_from(&view, &key(number.into())).expect("all are eligible").index()
                    });
                    f64::from(tally(members.len(), picks)[NEWCOMER])
                };
                let draws = f64::from(draws);
                let places = if has_few_places(name) { count(&whole) / draws } else { 1.0 / 3.0 };
                let expected = draws * ramp * places / (1.0 - places + ramp * places);
                let found = count(&members);
                let off = found / expected - 1.0;
                let allowed = if has_few_places(name) { DEVIATION_OF_PLACES } else { DEVIATION };
                assert!(
                    off.abs() <= allowed,
                    "{name}, seed {seed}: {found} picks at {ramp}, not {expected:.0}: {:.1} % off",
                    off * 100.0
                );
            }
        }
    }
}

#[test]
fn of_equal_loads_that_of_a_newcomer_is_the_greatest_for_its_weight() {
    let members = three(0.5);
    for member in &members {
        member.load.set(4.0);
    }
    for name in names().into_iter().filter(|name| compares_loads(name)) {
        assert!(!owners(name, &members, 300).contains(&NEWCOMER), "{name}: four for half a weight are eight");
    }
    members[NEWCOMER].load.set(1.0);
    for name in names().into_iter().filter(|name| compares_loads(name) && !name.contains("requests")) {
        let picks = tally(3, owners(name, &members, 300))[NEWCOMER];
        assert!(picks > 100, "{name}: one for half a weight is two: {picks}");
    }
}

#[test]
fn a_part_of_a_weight_is_a_part_of_that_weight() {
    let mut members = three(0.5);
    members[NEWCOMER].weight = Weight::new(4).expect("not zero");
    for name in ["weighted random", "smooth", "weighted rendezvous", "bounded load rendezvous"] {
        let draws = draws_for(0.5, 0.05);
        let found = tally(3, owners(name, &members, draws.into()))[NEWCOMER];
        let off = f64::from(found) / f64::from(draws) / 0.5 - 1.0;
        assert!(
            off.abs() <= 0.05,
            "{name}: half of four is as much as both others: {:.1} % off",
            off * 100.0
        );
    }
}

#[test]
fn a_newcomer_with_a_part_of_its_weight_has_that_part_of_its_cap() {
    let members = three(0.25);
    let policy = poise::core::policy::BoundedLoadRendezvous::new();
    let mut admitted = 0;
    for number in 0..900 {
        let decision = policy.decide(&View::new(&members), &number).expect("all are eligible");
        let load = &members[decision.selection.index()].load;
        load.set(load.get() + 1.0);
        admitted += 1;
        let cap = (1.25 * f64::from(admitted) * 0.25_f64 / 2.25).ceil();
        assert!(members[NEWCOMER].load.get() <= cap, "{admitted} admitted: {:?}", members[NEWCOMER].load);
    }
    assert!(members[NEWCOMER].load.get() >= 80.0, "about a ninth of them: {:?}", members[NEWCOMER].load);
}

#[test]
fn when_all_ramp_up_alike_shares_are_even_and_otherwise_by_their_parts() {
    let draws = draws_for(1.0 / 3.0, DEVIATION) * 2;
    for name in names().into_iter().filter(|name| !compares_loads(name) && !has_few_places(name)) {
        for part in [0.5, 0.1, 0.001, 0.0] {
            let ramps = with_ramps([part; 3]);
            let counts = tally(3, owners(name, &ramps, draws.into()));
            chance::assert_even(&counts, DEVIATION, &format!("{name}, all at {part}"));
        }
        let counts = tally(3, owners(name, &with_ramps([0.1, 0.2, 0.4]), draws.into()));
        for (count, share) in counts.iter().zip([1.0, 2.0, 4.0]) {
            let off = f64::from(*count) / f64::from(draws) * 7.0 / share - 1.0;
            // Turns are by their parts only as far as lots say so.
            let allowed = if name.contains("round robin") || name.contains("smooth") { 0.35 } else { 0.15 };
            assert!(off.abs() <= allowed, "{name}: {counts:?} are not as 1, 2 and 4");
        }
    }
}

// --- nothing, and what is no part ---

#[test]
fn who_gets_no_part_gets_nothing_while_others_are_there_and_everything_when_alone() {
    for name in names() {
        for ramp in [0.0, -0.0, -3.0, f32::NAN, f32::NEG_INFINITY] {
            let members = three(ramp);
            assert!(!owners(name, &members, 400).contains(&NEWCOMER), "{name} at {ramp}");
            let policy = policy(name, 3);
            let prepared = prepare(&policy, &members);
            for other in [0, 2] {
                members[other].exclude(Exclusion::Capacity);
            }
            for number in 0..20 {
                assert_eq!(pick(&policy, &members, &prepared, number), NEWCOMER, "{name} at {ramp}, alone");
                assert_eq!(policy.pick(&members, &key(number)).map(Selection::index), Ok(NEWCOMER), "{name}");
            }
            assert_eq!(policy.pick(&with_ramps([ramp]), &0).map(Selection::index), Ok(0), "{name}, of one");
        }
    }
}

#[test]
fn more_than_all_of_a_weight_is_all_of_it() {
    for name in names() {
        let whole = owners(name, &three(1.0), 400);
        for ramp in [1.0001, 7.0, f32::MAX, f32::INFINITY] {
            let members = three(ramp);
            assert_eq!(owners(name, &members, 400), whole, "{name} at {ramp}");
        }
    }
}

#[test]
fn parts_too_small_to_be_told_from_nothing_are_no_fault() {
    for name in names() {
        for ramps in [[f32::MIN_POSITIVE; 3], [1e-30, 1e-38, f32::NAN], [0.0, 0.0, 1e-45]] {
            assert_eq!(owners(name, &with_ramps(ramps), 100).len(), 100, "{name}: somebody is picked");
        }
    }
}

// --- keys ---

#[test]
fn a_key_comes_to_a_newcomer_once_and_keys_of_others_stay_where_they_are() {
    const KEYS: u64 = 600;
    for name in names().into_iter().filter(|name| is_keyed(name)) {
        let at = |ramp| owners(name, &with_ramps([1.0, ramp, 1.0, 1.0, 1.0]), KEYS);
        let (without, whole) = (at(0.0), at(1.0));
        let mut before = without.clone();
        for ramp in [0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0] {
            let now = at(ramp);
            for (number, ((before, now), whole)) in before.iter().zip(&now).zip(&whole).enumerate() {
                let moved = before != now;
                assert!(!moved || *now == NEWCOMER, "{name}: key {number} at {ramp}: {before} to {now}");
                assert!(*now == *whole || *whole == NEWCOMER, "{name}: key {number} at {ramp}");
            }
            before = now;
        }
        assert_eq!(before, whole, "{name}: at the end keys are where they are without a ramp");
        let moved = without.iter().zip(&whole).filter(|(without, whole)| without != whole).count();
        assert!((60..=190).contains(&moved), "{name}: {moved} of 600 keys came");
    }
}

#[test]
fn who_passes_a_key_on_leaves_it_to_whom_it_would_go_if_it_were_excluded() {
    for name in names().into_iter().filter(|name| is_keyed(name)) {
        let members = with_ramps([1.0, 0.4, 1.0, 1.0]);
        let ramping = owners(name, &members, 400);
        let policy = policy(name, 7);
        let prepared = prepare(&policy, &members);
        members[NEWCOMER].exclude(Exclusion::NotReady);
        for (number, owner) in (0..).zip(ramping) {
            let next = pick(&policy, &members, &prepared, number);
            assert!(owner == NEWCOMER || owner == next, "{name}: key {number} to {owner}, not {next}");
        }
    }
}

#[test]
fn a_key_keeps_its_lot_when_the_membership_changes() {
    for name in ["ring", "rendezvous", "weighted rendezvous"] {
        let before = owners(name, &with_ramps([1.0, 0.5, 1.0, 1.0]), 600);
        let after = owners(name, &with_ramps([1.0, 0.5, 1.0, 1.0, 1.0]), 600);
        let mut moved = 0;
        for (before, after) in before.iter().zip(&after).filter(|(before, after)| before != after) {
            assert_eq!(*after, 4, "{name}: from {before}; keys move to who joined only");
            moved += 1;
        }
        assert!(moved > 60, "{name}: {moved} keys moved");
    }
}

/// Lists the first `count` members of each key, and checks that each is who is picked without those before it.
fn check_replicas<P>(name: &str, policy: &P, members: &[Member])
where
    P: Replicas<Member, u64>,
{
    let prepared = policy.prepare(&View::new(members), None).expect("few members fit");
    for number in 0..200 {
        for view in [View::new(members).prepared(&prepared), View::new(members)] {
            let mut places = vec![Selection::new(usize::MAX); members.len() + 2];
            let found = policy.pick_replicas(&view, &number, &mut places).expect("all are eligible");
            assert_eq!(found, members.len(), "{name}: all of them");
            let mut before = Attempted::default();
            for place in &places[..found] {
                let view = View::new(members).prepared(&prepared).avoiding(&before);
                let next = policy.pick_from(&view, &number).expect("some are left");
                assert_eq!(*place, next, "{name}: key {number}, {places:?}");
                before.insert(next.index());
            }
            let most = policy.pick_replicas(&view, &number, &mut places[..2]).expect("all are eligible");
            assert_eq!(most, 2, "{name}: as many as fit");
            looks(members);
            assert_eq!(policy.pick_replicas(&view, &number, &mut places), Ok(members.len()));
            assert!(looks(members).most <= 1, "{name}: one look at each");
        }
    }
}

#[test]
fn replicas_are_distinct_and_each_is_who_comes_next_without_those_before_it() {
    let members = with_ramps([1.0, 0.5, 1.0, 0.1, 0.0, 1.0, 0.3]);
    check_replicas("maglev", &Maglev::new().with_table_size(211).expect("a prime"), &members);
    check_replicas("ring", &RingHash::new(), &members);
    check_replicas("rendezvous", &Rendezvous::new(), &members);
    check_replicas("weighted rendezvous", &WeightedRendezvous::new(), &members);
}

// --- turns ---

#[test]
fn the_turns_of_others_stay_even_whatever_a_newcomer_passes_on() {
    let members = with_ramps([1.0, 0.4, 1.0, 1.0]);
    let turns: [(&str, Any); 2] = [
        ("round robin", Box::new(RoundRobin::starting_at(0))),
        ("smooth", Box::new(SmoothWeightedRoundRobin::starting_at(0))),
    ];
    for (name, policy) in turns {
        for prepared in [Prepared::none(), prepare(&policy, &members)] {
            let picks = (0..2_000).map(|number| pick(&policy, &members, &prepared, number));
            let (newcomer, others): (Vec<_>, Vec<_>) = picks.partition(|picked| *picked == NEWCOMER);
            assert!(
                others
                    .windows(3)
                    .all(|three| three[0] != three[1] && three[1] != three[2] && three[0] != three[2])
            );
            assert!((150..330).contains(&newcomer.len()), "{name}: {} of 2,000", newcomer.len());
        }
    }
}

#[test]
fn who_is_excluded_keeps_its_turn_also_beside_a_newcomer() {
    let members = with_ramps([1.0, 0.5, 1.0, 1.0]);
    for prepare_it in [false, true] {
        let policy: Any = Box::new(RoundRobin::starting_at(0));
        let prepared = if prepare_it { prepare(&policy, &members) } else { Prepared::none() };
        let mut counts = vec![0_u32; 4];
        for number in 0..4_000 {
            members[2].restore();
            if number % 2 == 0 {
                members[2].exclude(Exclusion::NotReady);
            }
            counts[pick(&policy, &members, &prepared, number)] += 1;
        }
        let even = 4_000.0 / 3.5;
        for at in [0, 2, 3] {
            let off = f64::from(counts[at]) / even - 1.0;
            assert!(off.abs() < 0.1, "ready at every other pick, {at} is not starved: {counts:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_picks_also_while_members_ramp_up() {
    for name in names() {
        let members = with_ramps([0.5, 0.2, 1.0, 0.0, 0.9]);
        let sequence = || owners(name, &members, 200);
        assert_eq!(sequence(), sequence(), "{name}");
    }
}

#[test]
fn what_is_said_is_what_the_next_pick_does_also_while_members_ramp_up() {
    let members = with_ramps([0.5, 0.2, 1.0, 0.0, 0.9]);
    let by_chance: [(&str, Any); 4] = [
        ("round robin by chance", Box::new(RoundRobin::new())),
        ("smooth by chance", Box::new(SmoothWeightedRoundRobin::new())),
        ("random by chance", Box::new(Random::new())),
        ("weighted random by chance", Box::new(WeightedRandom::new())),
    ];
    let mut told = 0;
    for (name, policy) in policies(3).into_iter().chain(by_chance) {
        let prepared = prepare(&policy, &members);
        for view in [View::new(&members), View::new(&members).prepared(&prepared)] {
            for number in (0..100).map(key) {
                let said = policy.explain_from(&view, &number).expect("all are eligible").selection;
                let picked = policy.pick_from(&view, &number).expect("all are eligible");
                told += usize::from(said.is_some());
                assert_eq!(said.unwrap_or(picked), picked, "{name}, {number}");
            }
        }
    }
    assert!(told > 200 * 30, "{told}: most policies say");
}

#[test]
fn answers_that_get_a_newcomer_requests_get_it_its_part_of_them() {
    let members = three(0.25);
    let policy = Prequal::over(Arc::new(ProbePool::with_config(ProbeConfig::new().with_seed(5))));
    let now = Now::lazy();
    let count = |pick: &dyn Fn() -> Selection| {
        f64::from(tally(3, (0..6_000).map(|_| pick().index()))[NEWCOMER]) / 6_000.0
    };
    let quickest = ProbeAnswer::new(0, Duration::from_millis(1));
    let other = ProbeAnswer::new(0, Duration::from_millis(9));
    let in_flight = count(&|| {
        policy.pool().insert(&0_u64, other, &now);
        policy.pool().insert(&1_u64, quickest, &now);
        policy.pick(&members, &()).expect("all are eligible")
    });
    assert!((in_flight / 0.25 - 1.0).abs() < 0.15, "of requests by the pool: {in_flight}");
    let answers = [(Selection::new(0), other), (Selection::new(1), quickest)];
    let view = View::new(&members);
    let waited = count(&|| policy.pick_answered(&view, &answers).expect("all are eligible"));
    assert!((waited / 0.25 - 1.0).abs() < 0.15, "of requests that waited for answers: {waited}");
    let alone = count(&|| policy.pick_answered(&view, &answers[1..]).expect("all are eligible"));
    let expected = 0.25 + 0.75 / 9.0;
    assert!((alone / expected - 1.0).abs() < 0.15, "and its part of a draw, when it alone answered: {alone}");
}

#[test]
fn a_fleet_that_ramps_up_together_costs_few_looks() {
    let mut members = Member::many(2_000);
    for member in &mut members {
        member.ramp = 0.3;
    }
    let policies: [(&str, Any); 5] = [
        ("round robin", Box::new(RoundRobin::starting_at(0))),
        ("smooth", Box::new(SmoothWeightedRoundRobin::starting_at(0))),
        ("random", Box::new(Random::seeded(1))),
        ("maglev", Box::new(Maglev::new())),
        ("ring", Box::new(RingHash::new())),
    ];
    for (name, policy) in policies {
        let prepared = prepare(&policy, &members);
        looks(&members);
        assert!((0..1_000).all(|number| pick(&policy, &members, &prepared, number) < members.len()));
        let total = looks(&members).total;
        assert!(
            total < 5_000,
            "{name}: {total} looks for 1,000 picks, of which each takes three and a third"
        );
    }
}
