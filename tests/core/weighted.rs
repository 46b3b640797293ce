//! What a random choice by weight promises: exact shares among the eligible, however few they are.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use poise::core::policy::{PriorityFailover, WeightedRandom};
use poise::core::{Exclusion, Exclusions, PickError, Policy, Prepare, Prepared, Selection, View, Weight};

use crate::support::case::{Case, Hint, for_all};
use crate::support::chance::{assert_even, draws_for};
use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::shares::assert_shares;
use crate::support::tally::tally;

const SEEDS: [u64; 3] = [1, 2_027, 0xFEED];

fn weighing(weights: &[u32]) -> Vec<Member> {
    let mut members = Member::many(weights.len() as u64);
    for (member, weight) in members.iter_mut().zip(weights) {
        member.weight = Weight::new(*weight).expect("positive");
    }
    members
}

fn prepare(members: &[Member]) -> Prepared {
    Prepare::prepare(&WeightedRandom::new(), &View::new(members), None).expect("there is always a table")
}

/// Counts `draws` picks, by a table or without one.
fn draw(members: &[Member], prepared: Option<&Prepared>, seed: u64, draws: u32) -> Vec<u32> {
    let policy = WeightedRandom::seeded(seed);
    let pick = |_| {
        let view = View::new(members);
        let view = if let Some(prepared) = prepared { view.prepared(prepared) } else { view };
        policy.pick_from(&view, &()).expect("somebody is eligible").index()
    };
    tally(members.len(), (0..draws).map(pick))
}

/// The weights of those that may be chosen, and nothing for the others.
fn ideal(members: &[Member]) -> Vec<f64> {
    let share = |member: &Member| f64::from(member.weight.value()) * f64::from(member.ramp);
    members.iter().map(|member| if member.reasons().is_empty() { share(member) } else { 0.0 }).collect()
}

#[test]
fn the_weight_of_an_excluded_member_goes_to_all_others_by_their_weight() {
    let members = weighing(&[100, 100, 100, 1]);
    let [told, untold] = [(); 2].map(|()| prepare(&members));
    members[0].exclude(Exclusion::Circuit);
    told.set_eligible(0, false);
    for seed in SEEDS {
        for prepared in [Some(&told), Some(&untold), None] {
            let counts = draw(&members, prepared, seed, 40_000);
            // 199 of 40,000 with a deviation of 14: 60 are more than four of them, and 11 % would be 4,400.
            assert!((139..=259).contains(&counts[3]), "0.5 % for the light one: {counts:?}");
            assert_shares(&counts, &ideal(&members), "three of four");
        }
    }
    let [a, b] = [0, 1].map(Member::new);
    a.exclude(Exclusion::Unavailable);
    let members = [a, b];
    for prepared in [None, Some(&prepare(&members))] {
        assert_eq!(draw(&members, prepared, 1, 1_000), [0, 1_000], "all goes to the only one left");
    }
}

#[test]
fn shares_are_those_of_the_weights_under_every_kind_of_hint() {
    fn law(case: Case) {
        let (members, attempted) = (case.members(), case.attempted());
        let eligibility = case.eligibility(&members);
        let policy = WeightedRandom::seeded(case.seed);
        let prepared = policy.prepare(&case.bare(&members), None).expect("there is always a table");
        case.change(&members);
        case.tell(&members, Some(&prepared), eligibility.as_ref());
        // A stale table may leave members idle; every other view is exact.
        let prepared = Some(&prepared).filter(|_| case.prepared == Hint::Right);
        let view = case.view(&members, &attempted, prepared, eligibility.as_ref());
        let eligible: Vec<_> = (0..view.len()).filter(|slot| view.exclusions_at(*slot).is_empty()).collect();
        let eligible: Vec<_> = eligible.into_iter().map(|slot| view.position(slot)).collect();
        let picks = (0..4_000).map_while(|_| policy.pick_from(&view, &()).map(Selection::index).ok());
        let counts = tally(members.len(), picks);
        let weight = |at| if eligible.contains(&at) { f64::from(members[at].weight.value()) } else { 0.0 };
        let shares: Vec<f64> = (0..members.len()).map(weight).collect();
        assert_eq!(counts.iter().sum::<u32>() == 0, eligible.is_empty(), "somebody is chosen if anybody can");
        if !eligible.is_empty() {
            assert_shares(&counts, &shares, &format!("{} of {} eligible", eligible.len(), members.len()));
        }
    }
    for_all(150, law);
}

#[test]
fn every_class_of_weights_gets_its_share() {
    let mut weights: Vec<u32> = (0..12).flat_map(|bit| [1 << bit, (1 << bit) + (1 << bit) / 3]).collect();
    weights.extend([4_095; 3]);
    let members = weighing(&weights);
    let prepared = prepare(&members);
    for at in [2, 11, 24] {
        members[at].exclude(Exclusion::Outlier);
        prepared.set_eligible(at, false);
    }
    for seed in SEEDS {
        for prepared in [Some(&prepared), None] {
            assert_shares(&draw(&members, prepared, seed, 200_000), &ideal(&members), "classes");
        }
    }
}

#[test]
fn flips_end_where_a_table_that_is_made_anew_begins() {
    let weights: Vec<u32> = (0..60).map(|at| 1 + at * at % 17).collect();
    let members = weighing(&weights);
    let flipped = prepare(&members);
    let mut state = 7_u64;
    for _ in 0..5_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (slot, on) = (usize::try_from((state >> 33) % 60).expect("small"), state >> 63 == 1);
        members[slot].restore();
        if !on {
            members[slot].exclude(Exclusion::Probe);
        }
        flipped.set_eligible(slot, on);
    }
    flipped.set_eligible(60, true);
    looks(&members);
    for prepared in [flipped, prepare(&members)] {
        let before = looks(&members);
        assert!(before.total <= 60, "preparing looks at each once");
        let counts = draw(&members, Some(&prepared), 9, 100_000);
        assert_shares(&counts, &ideal(&members), "after flips");
        assert_eq!(looks(&members).total, 100_000, "no hint points to an excluded member");
    }
}

#[test]
fn a_pick_among_many_excluded_ones_looks_at_few() {
    let weights: Vec<u32> = (0..10_000).map(|at| 1 + at % 1_000).collect();
    let members = weighing(&weights);
    members
        .iter()
        .filter(|member| member.id % 100 < 98)
        .for_each(|member| member.exclude(Exclusion::Circuit));
    let prepared = prepare(&members);
    looks(&members);
    draw(&members, Some(&prepared), 3, 5_000);
    let found = looks(&members);
    assert!(found.total == 5_000 && found.most < 100, "one look each, and not always at the same");
    // Weights just above a power of two beside one just below the next are the worst case: half of the draws are in vain.
    let mut weights = vec![64; 5_000];
    weights.push(127);
    let members = weighing(&weights);
    let prepared = prepare(&members);
    looks(&members);
    draw(&members, Some(&prepared), 3, 5_000);
    assert!(looks(&members).total <= 5_500, "only what is accepted is looked at, and a scan is rare");
}

#[test]
fn a_member_that_ramps_up_gets_that_part_of_its_weight() {
    let mut members = weighing(&[1, 1, 40, 3]);
    members[0].ramp = 0.25;
    members[2].ramp = 0.1;
    let prepared = prepare(&members);
    for seed in SEEDS {
        for prepared in [Some(&prepared), None] {
            assert_shares(&draw(&members, prepared, seed, 100_000), &ideal(&members), "ramping up");
        }
    }
    for ramp in [0.0, -1.0, f32::NAN] {
        for member in &mut members {
            member.ramp = ramp;
        }
        for prepared in [Some(&prepared), None] {
            let counts = draw(&members, prepared, 1, 50_000);
            assert_shares(&counts, &[1.0, 1.0, 40.0, 3.0], "all of nothing is divided by weight");
        }
        members[3].ramp = 1.0;
        for prepared in [Some(&prepared), None] {
            assert_eq!(draw(&members, prepared, 1, 500), [0, 0, 0, 500], "a ramp of {ramp} is no share");
        }
    }
}

#[test]
fn panic_draws_by_weight_among_all_that_were_not_taken_out() {
    let members = weighing(&[5, 1, 2, 70, 8]);
    members.iter().take(4).for_each(|member| member.exclude(Exclusion::Circuit));
    members[3].exclude(Exclusion::Draining);
    let prepared = prepare(&members);
    for prepared in [Some(&prepared), None] {
        let policy = WeightedRandom::seeded(4);
        let pick = |_| {
            let view = View::new(&members).in_panic();
            let view = if let Some(prepared) = prepared { view.prepared(prepared) } else { view };
            policy.pick_from(&view, &()).expect("the sick are asked").index()
        };
        let counts = tally(5, (0..50_000).map(pick));
        assert_shares(&counts, &[5.0, 1.0, 2.0, 0.0, 8.0], "in panic");
    }
}

#[test]
fn seventy_thousand_of_the_largest_weights_add_up() {
    let weights: Vec<u32> = (0..70_000).map(|at| if at % 7 == 0 { 1 } else { u32::MAX - at % 2 }).collect();
    let members = weighing(&weights);
    let prepared = prepare(&members);
    let draws = draws_for(1.0 / 7.0, 0.1);
    let counts = draw(&members, Some(&prepared), 5, draws);
    assert!(counts.iter().step_by(7).all(|count| *count == 0), "one in four billion is not seen");
    let by_place: Vec<u32> = (1..7).map(|place| counts.iter().skip(place).step_by(7).sum()).collect();
    assert_even(&by_place, 0.1, "the heavy ones");
    let plain = draw(&members[..1_000], None, 5, 500);
    assert!(plain.iter().step_by(7).all(|count| *count == 0), "nor without a table");
}

#[test]
fn it_divides_the_levels_of_an_outer_policy() {
    let mut members = weighing(&[1, 3, 10, 30]);
    members[2..].iter_mut().for_each(|member| member.priority = 1);
    members[..2].iter().for_each(|member| member.exclude(Exclusion::Probe));
    let policy = PriorityFailover::new(WeightedRandom::seeded(8)).with_seed(8);
    let prepared = policy.prepare(&View::new(&members), None).expect("there is always a table");
    let pick = |_| policy.pick_from(&View::new(&members).prepared(&prepared), &()).map(Selection::index);
    let counts = tally(4, (0..20_000).map(|at| pick(at).expect("the second level is healthy")));
    assert_shares(&counts, &[0.0, 0.0, 1.0, 3.0], "the second level");
}

#[test]
fn a_scope_that_names_nobody_is_refused_by_the_table_and_counted_without_one() {
    let members = weighing(&[1, 2]);
    let view = View::new(&members).within(&[0, 9]);
    let policy = WeightedRandom::new();
    assert_eq!(policy.prepare(&view, None).err(), Some(PickError::InconsistentTopology));
    assert_eq!(policy.pick_from(&view, &()).map(Selection::index), Ok(0));
    members[0].exclude(Exclusion::Capacity);
    let Err(PickError::NoEligible(counts)) = policy.pick_from(&view, &()) else { panic!("nobody is left") };
    assert_eq!([Exclusion::Capacity, Exclusion::OutOfScope].map(|of| counts.of(of)), [1, 1]);
}

#[test]
fn only_slow_reasons_are_hints_so_who_has_room_again_is_found() {
    let members = weighing(&[1, 1]);
    members[0].exclude(Exclusion::Capacity);
    let prepared = prepare(&members);
    assert!(Exclusions::SLOW.only(Exclusion::Capacity.into()).is_empty());
    assert_eq!(draw(&members, Some(&prepared), 1, 100), [0, 100]);
    members[0].restore();
    assert_shares(&draw(&members, Some(&prepared), 1, 10_000), &[1.0, 1.0], "both have room");
}
