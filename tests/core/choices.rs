//! What comparing a few candidates promises: who is drawn, who wins, and by how much.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use std::sync::atomic::Ordering;

use poise::core::policy::{InvalidBias, LeastRequests, PowerOfTwoChoices};
use poise::core::{
    Backend, Eligibility, Exclusion, InFlight, LoadTracker, Now, Policy, PolicyExt, Rng, Selection, View,
    Weight,
};

use crate::support::case::{Case, Hint, for_all};
use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::shares::assert_shares;
use crate::support::tally::tally;

fn eligible(view: &View<'_, Member>) -> Vec<usize> {
    let slots = (0..view.len()).filter(|slot| view.exclusions_at(*slot).is_empty());
    slots.map(|slot| view.position(slot)).collect()
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).map(|at| n.saturating_sub(at) as f64 / (at + 1) as f64).product()
}

/// Makes members whose load is their number, of which every `every`-th is left in play.
fn ranked(size: u64, every: u64) -> (Vec<Member>, Vec<usize>) {
    let members = Member::many(size);
    for member in &members {
        member.load.set(member.id as f64);
        if !member.id.is_multiple_of(every) {
            member.exclude(Exclusion::Outlier);
        }
    }
    let left = eligible(&View::new(&members));
    (members, left)
}

#[test]
fn all_sets_of_so_many_distinct_candidates_are_compared_with_the_same_chance() {
    // With loads in the order of ranks, the one of rank r wins with each set of the n - 1 - r above it.
    for (size, every, choices) in
        [(5, 1, 1), (7, 1, 3), (30, 3, 3), (9, 1, 8), (9, 1, 9), (20, 1, 16), (90, 9, 4), (120, 40, 5)]
    {
        let (members, left) = ranked(size, every);
        let right = Eligibility::of(&members, &Now::lazy());
        let wrong = Eligibility::new(members.len(), |_| true);
        let shares: Vec<f64> = (0..members.len())
            .map(|at| {
                let rank = left.iter().position(|other| *other == at);
                let wanted = choices.min(left.len());
                rank.map_or(0.0, |rank| choose(left.len() - 1 - rank, wanted - 1))
            })
            .collect();
        for eligibility in [None, Some(&right), Some(&wrong)] {
            let policy = PowerOfTwoChoices::seeded(size + every).choices(choices);
            let pick = |_| {
                let view = View::new(&members);
                let view = if let Some(hint) = eligibility { view.eligibility(hint) } else { view };
                policy.pick_from(&view, &()).expect("some are left").index()
            };
            let counts = tally(members.len(), (0..15_000).map(pick));
            let hints = eligibility.map(Eligibility::count);
            assert_shares(&counts, &shares, &format!("{choices} of {left:?}, hinted: {hints:?}"));
        }
    }
}

#[test]
fn among_equals_each_wins_as_often_whatever_the_number_of_choices() {
    let members = Member::many(11);
    for choices in [1, 2, 3, 7, 11] {
        let policy = PowerOfTwoChoices::seeded(5).choices(choices);
        let pick = |_| policy.pick(&members, &()).expect("all are eligible").index();
        assert_shares(&tally(11, (0..30_000).map(pick)), &[1.0; 11], &format!("{choices} choices"));
    }
}

#[test]
fn numbers_of_choices_out_of_range_are_taken_for_the_nearest() {
    let (members, _) = ranked(40, 1);
    let view = View::new(&members);
    let worst = |choices| {
        let policy = PowerOfTwoChoices::seeded(2).choices(choices);
        (0..20_000).filter_map(|_| policy.pick_from(&view, &()).ok()).map(Selection::index).max()
    };
    assert_eq!(worst(0), Some(39), "one draw may hit the busiest");
    assert!(worst(usize::MAX) <= Some(24), "of sixteen the least loaded is never among the last fifteen");
    looks(&members);
    assert!(PowerOfTwoChoices::seeded(2).choices(usize::MAX).pick(&members, &()).is_ok());
    let looks = looks(&members);
    assert_eq!((looks.total, looks.most), (16, 1));
}

#[test]
fn several_choices_cost_a_few_looks_also_when_nearly_all_are_excluded() {
    let (members, left) = ranked(10_000, 50);
    let eligibility = Eligibility::of(&members, &Now::lazy());
    looks(&members);
    let view = View::new(&members).eligibility(&eligibility);
    for (choices, most) in [(3, 3), (16, 16)] {
        let pick = PowerOfTwoChoices::new().choices(choices).pick_from(&view, &());
        assert!(pick.is_ok_and(|selection| left.contains(&selection.index())));
        assert_eq!(looks(&members).total, most);
    }
    members.iter().skip(101).for_each(|member| member.exclude(Exclusion::Probe));
    let few = Eligibility::of(&members, &Now::lazy());
    looks(&members);
    let view = View::new(&members).eligibility(&few);
    let pick = PowerOfTwoChoices::new().choices(8).pick_from(&view, &());
    assert_eq!((pick.map(Selection::index), looks(&members).total), (Ok(0), 3), "all three are compared");
}

#[test]
fn a_reader_of_several_measures_each_of_them_once() {
    let members = Member::many(50);
    let view = View::new(&members);
    let mut measured = Vec::new();
    let found = view.least_of(6, &Rng::seeded(1), |member| {
        measured.push(member.id);
        f64::NAN
    });
    let found = found.expect("all are eligible").index() as u64;
    assert!(measured.contains(&found), "something without a number is chosen all the same");
    measured.sort_unstable();
    measured.dedup();
    assert_eq!(measured.len(), 6);
}

/// What is to be greatest.
#[test]
fn more_are_compared_only_where_the_better_of_two_is_busy() {
    let measured = |members: &[Member]| {
        members.iter().map(|member| member.load.measured.load(Ordering::Relaxed)).sum::<u32>()
    };
    let policy = PowerOfTwoChoices::seeded(3).choices_when_busy(4);
    let idle = Member::many(20);
    for pick in 1..=100 {
        assert!(policy.pick(&idle, &()).is_ok());
        assert_eq!(measured(&idle), 3 * pick, "two, and whether the better one is idle");
    }
    let (busy, _) = ranked(20, 1);
    for member in &busy {
        member.load.set(member.load.get() + 1.0);
    }
    for pick in 1..=100 {
        assert!(policy.pick(&busy, &()).is_ok());
        assert_eq!(measured(&busy), 7 * pick, "and four more");
    }
    let wins = tally(20, (0..15_000).map(|_| policy.pick(&busy, &()).unwrap().index()));
    let shares: Vec<f64> = (0..20).map(|at| choose(19 - at, 3)).collect();
    assert_shares(&wins, &shares, "the least loaded of four");
}

#[test]
fn two_members_are_not_compared_twice() {
    let (pair, _) = ranked(2, 1);
    for member in &pair {
        member.load.set(member.load.get() + 1.0);
    }
    let policy = PowerOfTwoChoices::new().choices_when_busy(4);
    assert_eq!(policy.pick(&pair, &()).unwrap().index(), 0);
    assert!(pair.iter().all(|member| member.load.measured.load(Ordering::Relaxed) == 1));
}

fn value(member: &Member, bias: f64) -> f64 {
    f64::from(member.weight.value()) * f64::from(member.ramp)
        / (member.load.get().max(0.0).trunc() + 1.0).powf(bias)
}

#[test]
fn the_greatest_weight_over_requests_wins_and_of_two_never_the_lesser() {
    fn law(case: Case) {
        let (mut members, attempted) = (case.members(), case.attempted());
        let eligibility = case.eligibility(&members).filter(|_| case.eligibility == Hint::Right);
        case.change(&members);
        case.tell(&members, None, eligibility.as_ref());
        for (at, member) in members.iter_mut().enumerate() {
            member.load.set((case.seed >> (at % 60) & 7) as f64);
            member.ramp = if at % 5 == 4 { 0.5 } else { 1.0 };
        }
        let view = case.view(&members, &attempted, None, eligibility.as_ref());
        let eligible = eligible(&view);
        for bias in [0.0, 0.5, 1.0, 2.0] {
            let near = |a: f64, b: f64| a >= b * (1.0 - 1e-12);
            let all = LeastRequests::seeded(case.seed).with_bias(bias).expect("in range").with_full_scan();
            let greatest = eligible.iter().map(|at| value(&members[*at], bias)).fold(0.0, f64::max);
            if let Ok(pick) = all.pick_from(&view, &()) {
                assert!(near(value(&members[pick.index()], bias), greatest), "bias {bias}");
            }
            let two = LeastRequests::seeded(case.seed).with_bias(bias).expect("in range");
            if let (Ok(pick), [a, b]) = (two.pick_from(&view, &()), &eligible[..]) {
                let other = if pick.index() == *a { *b } else { *a };
                let [chosen, other] = [pick.index(), other].map(|at| value(&members[at], bias));
                assert!(near(chosen, other), "bias {bias}: {chosen} was chosen over {other}");
            }
        }
    }
    for_all(300, law);
}

#[test]
fn bias_says_how_much_requests_count() {
    let backend = |id, weight, requests| {
        let backend = Backend::new(id).with_load(InFlight::new());
        (0..requests).for_each(|_| backend.load().start(&Now::lazy()).expect("there is no limit"));
        backend.with_weight(Weight::new(weight).expect("positive"))
    };
    // 2 / 5 against 1 / 2, and 2 against 1 when requests do not count.
    let backends = [backend("heavy", 2, 4), backend("light", 1, 1)];
    let choose = |bias| {
        let policy = LeastRequests::new().with_bias(bias).expect("in range");
        policy.choose(&backends, &()).map(|backend| *backend.id())
    };
    assert_eq!([0.0, 0.5, 1.0, 3.0].map(choose), [Ok("heavy"), Ok("heavy"), Ok("light"), Ok("light")]);
    for bias in [-0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(LeastRequests::new().with_bias(bias).err(), Some(InvalidBias), "{bias}");
    }
    assert!(LeastRequests::new().with_bias(-0.0).is_ok() && LeastRequests::new().with_bias(f64::MAX).is_ok());
}

#[test]
fn under_load_requests_in_flight_follow_the_weights() {
    let backends = [1, 2, 3].map(|weight| {
        Backend::new(weight).with_weight(Weight::new(weight).expect("positive")).with_load(InFlight::new())
    });
    for policy in [LeastRequests::seeded(1).choices(3), LeastRequests::seeded(1).with_full_scan()] {
        for _ in 0..600 {
            let chosen = policy.choose(&backends, &()).expect("all are eligible");
            chosen.load().start(&Now::lazy()).expect("there is no limit");
        }
    }
    let held = backends.map(|backend| backend.load().current());
    let off = |at: usize, share: u64| held[at].abs_diff(share);
    assert!(off(0, 200) <= 2 && off(1, 400) <= 2 && off(2, 600) <= 2, "{held:?}");
}
