//! What weighting localities promises: shares by weight and health, and what becomes of a locality that is gone.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use poise::core::policy::{
    InvalidOverprovisioning, LocalityWeighted, Maglev, PriorityFailover, Random, RoundRobin, WeightedRandom,
};
use poise::core::{
    Attempted, Candidate, Exclusion, Exclusions, Locality, PickError, Policy, Prepare, Prepared, Selection,
    View, Weight,
};

use crate::support::case::{Case, Hint, for_all};
use crate::support::counted::Counted;
use crate::support::member::Member;
use crate::support::shares::assert_shares;
use crate::support::tally::tally;

fn place(name: &str) -> Locality {
    Locality::new("eu", name)
}

fn weight(value: u32) -> Weight {
    Weight::new(value).expect("positive")
}

/// Makes localities of `(healthy, all)` members of weight one, and says which is whose.
fn localities(sizes: &[(usize, usize)]) -> (Vec<Member>, Vec<Locality>) {
    let places: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| place(name)).take(sizes.len()).collect();
    let mut members = Vec::new();
    for ((healthy, all), place) in sizes.iter().zip(&places) {
        for at in 0..*all {
            let mut member = Member::new(members.len() as u64);
            member.locality = Some(place.clone());
            if at >= *healthy {
                member.exclude(Exclusion::Outlier);
            }
            members.push(member);
        }
    }
    (members, places)
}

fn by_locality(places: &[Locality], picks: impl Iterator<Item = Option<Locality>>) -> Vec<u32> {
    let at = |place: Option<Locality>| places.iter().position(|of| Some(of) == place.as_ref());
    tally(places.len(), picks.map(|place| at(place).expect("a locality of the membership")))
}

#[test]
fn shares_are_those_that_are_published() {
    let ready = |healthy| [(healthy, 100), (100, 100)];
    for (healthy, percent) in [(100, "33"), (72, "33"), (70, "33"), (50, "26"), (25, "15"), (0, "0")] {
        let (members, places) = localities(&ready(healthy));
        let policy = LocalityWeighted::new(Random::seeded(1))
            .with_weight(&places[0], weight(1))
            .with_weight(&places[1], weight(2))
            .with_seed(healthy as u64);
        let prepared = policy.prepare(&View::new(&members), None).expect("there is nothing to build");
        let decide = |_| {
            let view = View::new(&members).prepared(&prepared);
            policy.decide(&view, &()).expect("some are healthy").locality.cloned()
        };
        let counts = by_locality(&places, (0..40_000).map(decide));
        let available = (1.4 * healthy as f64).min(100.0);
        assert_shares(&counts, &[available, 200.0], &format!("{healthy} % healthy"));
        let share = 100.0 * available / (available + 200.0);
        assert_eq!(format!("{share:.0}"), percent, "the table that is published");
    }
}

#[test]
fn a_locality_weighs_what_its_members_weigh_unless_it_was_given_a_weight() {
    let (mut members, places) = localities(&[(2, 2), (3, 3), (1, 1)]);
    members[2].weight = weight(6);
    let mut policy = LocalityWeighted::new(WeightedRandom::seeded(3)).with_seed(3);
    let draw = |policy: &LocalityWeighted<WeightedRandom>| {
        let pick = |_| policy.pick(&members, &()).expect("all are healthy").index();
        tally(6, (0..20_000).map(pick))
    };
    assert_shares(&draw(&policy), &[1.0, 1.0, 6.0, 1.0, 1.0, 1.0], "by members");
    policy = policy.with_weight(&places[1], weight(4)).with_weight(&place("nowhere"), weight(1_000));
    assert_shares(&draw(&policy), &[1.0, 1.0, 3.0, 0.5, 0.5, 1.0], "the second is given 4");
}

#[test]
fn members_that_say_no_locality_form_one() {
    let (mut members, _) = localities(&[(4, 4), (1, 1)]);
    members[0].locality = None;
    members[3].locality = None;
    let policy = LocalityWeighted::new(RoundRobin::starting_at(0)).with_weight(&place("a"), weight(1));
    let policy = policy.with_weight(&place("b"), weight(1)).with_seed(1);
    let decide = |_| policy.decide(&View::new(&members), &()).expect("all are healthy");
    let decisions: Vec<_> = (0..20_000).map(decide).collect();
    let nowhere = decisions.iter().filter(|decision| decision.locality.is_none());
    assert!(nowhere.clone().all(|decision| [0, 3].contains(&decision.selection.index())));
    let nowhere = u32::try_from(nowhere.count()).expect("few");
    assert_shares(
        &[nowhere, 20_000 - nowhere],
        &[1.0, 1.0],
        "two without a locality beside two of weight one",
    );
}

#[test]
fn when_all_of_a_locality_were_tried_the_others_keep_their_shares() {
    let (members, places) = localities(&[(1, 1), (1, 1), (1, 4), (6, 6)]);
    let policy = LocalityWeighted::new(Random::seeded(1)).with_seed(1);
    let prepared = policy.prepare(&View::new(&members), None).expect("there is nothing to build");
    let tried = Attempted::from_iter([1]);
    for prepared in [None, Some(&prepared)] {
        let decide = |_| {
            let view = View::new(&members).avoiding(&tried);
            let view = if let Some(prepared) = prepared { view.prepared(prepared) } else { view };
            policy.decide(&view, &()).expect("some were not tried").locality.cloned()
        };
        let counts = by_locality(&places, (0..20_000).map(decide));
        assert_shares(&counts, &[1.0, 0.0, 1.4, 6.0], "by weight and health, not all to the neighbour");
    }
}

#[test]
fn panic_divides_by_weight_alone_and_still_passes_over_who_was_taken_out() {
    let (members, places) = localities(&[(4, 4), (0, 4), (0, 8)]);
    members[8..].iter().for_each(|member| member.exclude(Exclusion::Draining));
    let policy = LocalityWeighted::new(Random::seeded(2)).with_seed(2);
    let prepared = policy.prepare(&View::new(&members), None).expect("there is nothing to build");
    for prepared in [None, Some(&prepared)] {
        let decide = |_| {
            let view = View::new(&members).in_panic();
            let view = if let Some(prepared) = prepared { view.prepared(prepared) } else { view };
            let decision = policy.decide(&view, &()).expect("the sick are asked");
            assert!(decision.panic && decision.selection.is_panic());
            decision.locality.cloned()
        };
        let counts = by_locality(&places, (0..20_000).map(decide));
        assert_shares(&counts, &[4.0, 4.0, 0.0], "in panic");
    }
    let calm = policy.decide(&View::new(&members), &()).expect("the first locality is healthy");
    assert_eq!((calm.locality, calm.panic), (Some(&places[0]), false));
}

#[test]
fn levels_have_localities_and_localities_levels() {
    let (mut members, places) = localities(&[(1, 4), (4, 4), (4, 4)]);
    members[8..].iter_mut().for_each(|member| member.priority = 1);
    let inside = PriorityFailover::new(LocalityWeighted::new(Random::seeded(5)).with_seed(5)).with_seed(5);
    let prepared = inside.prepare(&View::new(&members), None).expect("there is nothing to build");
    let place_of = |pick: Selection| members[pick.index()].locality.clone();
    for prepared in [None, Some(&prepared)] {
        let pick = |_| {
            let view = View::new(&members);
            let view = if let Some(prepared) = prepared { view.prepared(prepared) } else { view };
            place_of(inside.pick_from(&view, &()).expect("most are healthy"))
        };
        let counts = by_locality(&places, (0..20_000).map(pick));
        // Five of eight can do 87 %, of which a quarter-healthy locality takes 0.35 parts of 1.35.
        assert_shares(&counts, &[87.0 * 0.35 / 1.35, 87.0 / 1.35, 13.0], "levels divided into localities");
    }
    let around = LocalityWeighted::new(PriorityFailover::new(Random::seeded(5)).with_seed(5)).with_seed(5);
    let pick = |_| place_of(around.pick(&members, &()).expect("most are healthy"));
    let counts = by_locality(&places, (0..20_000).map(pick));
    assert_shares(&counts, &[0.35, 1.0, 1.0], "localities divided into levels");
}

fn locality(view: &View<'_, Member>, slot: usize) -> Option<Locality> {
    view.candidate(slot).and_then(|member| member.locality().cloned())
}

#[test]
fn a_table_that_was_told_of_every_flip_draws_as_one_that_is_made_anew() {
    fn law(case: Case) {
        let (members, attempted) = (case.members(), case.attempted());
        let eligibility = case.eligibility(&members);
        let policy = |seed| LocalityWeighted::new(RoundRobin::starting_at(3)).with_seed(seed);
        let told = policy(1).prepare(&case.bare(&members), None).expect("there is nothing to build");
        case.change(&members);
        if case.prepared == Hint::Right {
            case.tell(&members, Some(&told), eligibility.as_ref());
        }
        let again = policy(1).prepare(&case.bare(&members), None).expect("there is nothing to build");
        let picks = |prepared: &Prepared| -> Vec<_> {
            let (policy, view) = (policy(case.seed), case.view(&members, &attempted, Some(prepared), None));
            (0..12).map(|_| policy.decide(&view, &()).map(|decision| decision.selection)).collect()
        };
        if case.prepared == Hint::Right {
            assert_eq!(picks(&told), picks(&again));
        }
        let view = case.view(&members, &attempted, Some(&again), None);
        let slow = |slot: &usize| view.exclusions_at(*slot).only(Exclusions::SLOW).is_empty();
        let can: Vec<usize> = (0..view.len()).filter(|slot| view.exclusions_at(*slot).is_empty()).collect();
        for pick in picks(&again).into_iter().flatten() {
            assert!(
                can.iter().any(|slot| view.position(*slot) == pick.index()),
                "somebody who can be chosen"
            );
        }
        let healthy = (0..view.len()).any(|slot| slow(&slot) && locality(&view, slot).is_none());
        let nowhere = picks(&again).iter().flatten().any(|pick| pick.index().is_multiple_of(3));
        assert!(healthy || !nowhere, "a locality without anybody healthy gets nothing");
    }
    for_all(300, law);
}

#[test]
fn an_excluded_member_moves_only_the_keys_of_its_locality() {
    let (members, _) = localities(&[(8, 8), (8, 8)]);
    let policy = |seed| LocalityWeighted::new(Maglev::new()).with_seed(seed);
    let prepared = policy(1).prepare(&View::new(&members), None).expect("eight fit into each table");
    let owners = || -> Vec<usize> {
        let policy = policy(9);
        let pick = |key: u64| policy.pick_from(&View::new(&members).prepared(&prepared), &key);
        (0..500).map(|key| pick(key).expect("most are healthy").index()).collect()
    };
    let before = owners();
    members[3].exclude(Exclusion::Probe);
    prepared.set_eligible(3, false);
    for (was, is) in before.into_iter().zip(owners()) {
        assert!(is == was || (was == 3 && is < 8), "{was} lost a key to {is}");
    }
}

#[test]
fn each_locality_hands_on_what_the_inner_policy_had_prepared() {
    let (members, _) = localities(&[(2, 2), (1, 1), (3, 3)]);
    let inner = Counted::new(Maglev::new());
    let policy = LocalityWeighted::new(&inner);
    let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
    let again = policy.prepare(&View::new(&members[..3]), Some(&prepared)).expect("they fit");
    assert_eq!(inner.prepares(), 5, "once for each locality of each membership");
    for key in 0..100_u64 {
        let pick = policy.pick_from(&View::new(&members[..3]).prepared(&again), &key);
        assert!(pick.is_ok_and(|pick| pick.index() < 3));
    }
    let twins = [Member::new(4), Member::new(4)];
    let twice = PickError::DuplicateIdentity { first: 0, second: 1 };
    assert_eq!(policy.prepare(&View::new(&twins), None).err(), Some(twice));
}

#[test]
fn extremes_of_weight_and_number_do_not_overflow() {
    let mut members = Member::many(70_000);
    for member in &mut members {
        member.weight = Weight::MAX;
        member.locality = Some(place(&(member.id % 700).to_string()));
    }
    members[699].weight = Weight::ONE;
    let policy = LocalityWeighted::new(Random::seeded(1)).with_seed(1);
    let prepared = policy.prepare(&View::new(&members), None).expect("there is nothing to build");
    members.iter().skip(1).for_each(|member| member.exclude(Exclusion::Circuit));
    (1..70_000).for_each(|slot| prepared.set_eligible(slot, false));
    let view = View::new(&members).prepared(&prepared);
    assert_eq!(policy.pick_from(&view, &()).map(Selection::index), Ok(0), "the only one left is found");
    let Err(PickError::NoEligible(counts)) = policy.pick(&members[1..], &()) else {
        panic!("nobody is left")
    };
    assert_eq!(counts.of(Exclusion::Circuit), 69_999);
    assert_eq!(policy.pick(&members[..0], &()), Err(PickError::Empty));
}

#[test]
fn overprovisioning_says_what_a_locality_can_carry() {
    let (members, places) = localities(&[(50, 100), (100, 100)]);
    let low = LocalityWeighted::new(Random::new()).with_overprovisioning_percent(99);
    assert_eq!(low.err(), Some(InvalidOverprovisioning { percent: 99 }));
    for (percent, carried) in [(100, 0.5), (200, 1.0), (u32::MAX, 1.0)] {
        let policy = LocalityWeighted::new(Random::seeded(1)).with_seed(1);
        let policy = policy.with_overprovisioning_percent(percent).expect("in range");
        let decide = |_| policy.decide(&View::new(&members), &()).expect("healthy").locality.cloned();
        assert_shares(&by_locality(&places, (0..3_000).map(decide)), &[carried, 1.0], "carried");
    }
}
