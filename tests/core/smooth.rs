//! What smooth weighted round robin promises: the order of nginx, exact shares, and credit that follows identity.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use std::thread;

use poise::core::policy::{PriorityFailover, ScheduleReport, SmoothWeightedRoundRobin};
use poise::core::{Exclusion, PickError, Policy, Prepare, Prepared, Selection, View};
use quickcheck::{Gen, QuickCheck};

use crate::support::case::{Case, Hint, for_all};
use crate::support::chance::{assert_even, draws_for};
use crate::support::member::Member;
use crate::support::nginx::Nginx;
use crate::support::tally::tally;
use crate::support::weighted::{reweight, weight, weighted};

fn prepare(members: &[Member], previous: Option<&Prepared>) -> Prepared {
    let policy = SmoothWeightedRoundRobin::starting_at(0);
    policy.prepare(&View::new(members), previous).expect("the members fit")
}

fn pick(members: &[Member], prepared: &Prepared) -> usize {
    let view = View::new(members).prepared(prepared);
    SmoothWeightedRoundRobin::starting_at(0).pick_from(&view, &()).expect("somebody is eligible").index()
}

fn picks(members: &[Member], prepared: &Prepared, count: usize) -> Vec<usize> {
    (0..count).map(|_| pick(members, prepared)).collect()
}

/// Picks from a plain slice.
fn plain(policy: &SmoothWeightedRoundRobin, members: &[Member]) -> usize {
    policy.pick(members, &()).expect("somebody is eligible").index()
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[test]
fn the_orders_of_nginx_come_out() {
    for (weights, order) in [([5, 1, 1], "aabacaa"), ([4, 2, 1], "abacaba"), ([1, 2, 3], "cbacbc")] {
        let members = weighted(&weights);
        let expected: Vec<usize> = order.repeat(3).bytes().map(|letter| usize::from(letter - b'a')).collect();
        assert_eq!(picks(&members, &prepare(&members, None), expected.len()), expected, "prepared");
        let policy = SmoothWeightedRoundRobin::starting_at(0);
        let found: Vec<usize> = expected.iter().map(|_| plain(&policy, &members)).collect();
        assert_eq!(found, expected, "from a plain slice");
    }
}

#[test]
fn the_order_is_that_of_the_loop_of_nginx_for_any_weights() {
    fn law(weights: Vec<u16>) {
        let weights: Vec<u32> = weights.iter().map(|value| u32::from(value % 40) + 1).collect();
        if weights.is_empty() {
            return;
        }
        let members = weighted(&weights);
        let prepared = prepare(&members, None);
        let mut nginx = Nginx::at_rest(&weights);
        let total: u32 = weights.iter().sum();
        let divisor = weights.iter().fold(0, |a, b| greatest_common_divisor(*b, a));
        let report = ScheduleReport::of(&prepared).expect("a schedule");
        assert_eq!((report.cycle, report.share_error), ((total / divisor) as usize, 0.0));
        for nth in 0..report.cycle * 2 + 7 {
            assert_eq!(pick(&members, &prepared), nginx.pick(), "pick {nth} of {weights:?}");
        }
    }
    QuickCheck::new().rng(Gen::from_size_and_seed(40, 1)).tests(200).quickcheck(law as fn(Vec<u16>));
}

#[test]
fn under_every_view_the_next_turn_is_that_of_the_first_who_can_be_chosen() {
    fn law(case: Case) {
        if matches!(case.prepared, Hint::Stale | Hint::Wrong) {
            return;
        }
        let (mut members, attempted) = (case.members(), case.attempted());
        for member in &mut members {
            member.weight = weight(member.weight.value() % 5 + 1);
        }
        let eligibility = case.eligibility(&members);
        let start = usize::try_from(case.seed % 50).expect("small");
        let policy = SmoothWeightedRoundRobin::starting_at(start);
        let prepared = policy.prepare(&case.bare(&members), None).expect("200 members fit");
        case.change(&members);
        case.tell(&members, Some(&prepared), eligibility.as_ref());
        let prepared = Some(&prepared).filter(|_| case.prepared == Hint::Right);
        let view = case.view(&members, &attempted, prepared, eligibility.as_ref());
        let turns: Vec<u32> =
            (0..view.len()).filter_map(|slot| view.candidate(slot)).map(|of| of.weight.value()).collect();
        let mut nginx = Nginx::at_rest(&turns);
        (0..if turns.is_empty() { 0 } else { start }).for_each(|_| _ = nginx.pick());
        let can = |slot: &usize| view.exclusions_at(*slot).is_empty();
        let anybody = (0..view.len()).any(|slot| can(&slot));
        for _ in 0..20 {
            let next = anybody.then(|| std::iter::repeat_with(|| nginx.pick()).find(can)).flatten();
            let next = next.map(|slot| view.position(slot));
            assert_eq!(policy.pick_from(&view, &()).ok().map(Selection::index), next);
        }
    }
    for_all(200, law);
}

#[test]
fn a_start_is_a_turn_of_the_cycle() {
    let members = weighted(&[5, 1, 1]);
    for (start, expected) in [(0, 0), (2, 1), (4, 2), (9, 1), (usize::MAX, 0)] {
        let policy = SmoothWeightedRoundRobin::starting_at(start);
        assert_eq!(plain(&policy, &members), expected, "the first of {start}");
    }
}

#[test]
fn fresh_and_cloned_ones_do_not_herd() {
    let (members, policy) = (Member::many(4), SmoothWeightedRoundRobin::starting_at(0));
    let draws = draws_for(0.25, 0.2);
    let fresh = (0..draws).map(|_| plain(&SmoothWeightedRoundRobin::new(), &members));
    assert_even(&tally(4, fresh), 0.2, "first picks of fresh policies");
    let clones = (0..draws).map(|_| plain(&policy.clone(), &members));
    assert_even(&tally(4, clones), 0.2, "first picks of clones");
}

#[test]
fn the_others_keep_their_shares_exactly_while_one_is_passed_over() {
    for told in [false, true] {
        let members = weighted(&[5, 3, 2, 7]);
        let prepared = prepare(&members, None);
        picks(&members, &prepared, 3);
        members[3].exclude(Exclusion::Probe);
        if told {
            prepared.set_eligible(3, false);
        }
        let counts = tally(4, picks(&members, &prepared, 10 * 8));
        assert_eq!(counts, [40, 24, 16, 0], "told: {told}");
        members[3].restore();
        prepared.set_eligible(3, true);
        assert_eq!(tally(4, picks(&members, &prepared, 17 * 8)), [40, 24, 16, 56], "told: {told}");
    }
}

#[test]
fn two_that_are_reweighted_to_one_alternate_from_then_on() {
    let mut members = weighted(&[1_000_000; 2]);
    let policy = SmoothWeightedRoundRobin::starting_at(0);
    let before = prepare(&members, None);
    let firsts = (plain(&policy, &members), pick(&members, &before));
    reweight(&mut members, 1);
    let after = prepare(&members, Some(&before));
    let mut last = firsts;
    for _ in 0..100 {
        let next = (plain(&policy, &members), pick(&members, &after));
        assert_ne!((next.0, next.1), last, "from a plain slice, and prepared");
        assert!(next.0 != last.0 && next.1 != last.1, "{next:?} after {last:?}");
        last = next;
    }
}

#[test]
fn a_membership_that_is_prepared_again_goes_on_where_it_was() {
    let members = weighted(&[5, 3, 2, 7]);
    let (mut prepared, mut nginx) = (prepare(&members, None), Nginx::at_rest(&[5, 3, 2, 7]));
    for _ in 0..100 {
        assert_eq!(pick(&members, &prepared), nginx.pick());
        prepared = prepare(&members, Some(&prepared));
    }
}

/// Halves are rounded away from zero.
fn scaled(credit: i64, to: i64, from: i64) -> i64 {
    let off = (2 * credit.abs() * to + from) / (2 * from);
    credit.signum() * off
}

#[test]
fn credit_follows_identity_through_every_change() {
    /// Each change: how many picks are made first, which member goes, and the weights of those that are there then.
    fn law(changes: Vec<(u8, u8, Vec<u8>)>) {
        let mut members = weighted(&[3, 1, 2]);
        let mut prepared = prepare(&members, None);
        let mut nginx = Nginx::at_rest(&[3, 1, 2]);
        for (newest, (count, goes, weights)) in (100..).zip(changes) {
            for _ in 0..count % 32 {
                assert_eq!(pick(&members, &prepared), nginx.pick());
            }
            let before: Vec<(u64, i64)> =
                members.iter().map(|member| member.id).zip(nginx.credits.iter().copied()).collect();
            let from: i64 = nginx.turns.iter().sum();
            if members.len() > 2 {
                members.remove(usize::from(goes) % members.len());
            }
            let newcomer = usize::from(goes / 16) % (members.len() + 1);
            members.insert(newcomer, Member::new(newest));
            for (member, value) in members.iter_mut().zip(weights) {
                member.weight = weight(u32::from(value % 9) + 1);
            }
            // A weight of one keeps the common divisor at one.
            members[newcomer].weight = weight(1);
            let turns: Vec<u32> = members.iter().map(|member| member.weight.value()).collect();
            let to = turns.iter().copied().map(i64::from).sum();
            let old =
                |member: &Member| before.iter().find(|(id, _)| *id == member.id).map(|(_, credit)| *credit);
            let mut credits: Vec<i64> = members
                .iter()
                .map(|member| old(member).map_or(0, |credit| scaled(credit, to, from)))
                .collect();
            let first = members.iter().position(|member| old(member).is_some()).expect("two stay");
            credits[first] -= credits.iter().sum::<i64>();
            nginx = Nginx { turns: turns.iter().copied().map(i64::from).collect(), credits };
            prepared = prepare(&members, Some(&prepared));
        }
        for _ in 0..200 {
            assert_eq!(pick(&members, &prepared), nginx.pick());
        }
    }
    QuickCheck::new()
        .rng(Gen::from_size_and_seed(20, 5))
        .tests(300)
        .quickcheck(law as fn(Vec<(u8, u8, Vec<u8>)>));
}

#[test]
fn each_level_of_a_failover_has_a_schedule_of_its_own() {
    let mut members = weighted(&[2, 1, 3, 1]);
    members[2..].iter_mut().for_each(|member| member.priority = 1);
    members[0].exclude(Exclusion::Probe);
    let policy = PriorityFailover::new(SmoothWeightedRoundRobin::new()).with_seed(3);
    let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
    for hinted in [false, true] {
        let view = || if hinted { View::new(&members).prepared(&prepared) } else { View::new(&members) };
        let pick = |_| policy.pick_from(&view(), &()).map_or(0, Selection::index);
        let counts = tally(4, (0..8_000).map(pick));
        assert_eq!(counts[0], 0);
        assert!(counts[2].abs_diff(3 * counts[3]) <= 3, "the second level is exact by itself: {counts:?}");
    }
}

#[test]
fn threads_that_share_a_schedule_serve_each_turn_once() {
    let members = weighted(&[5, 3, 1, 1]);
    let prepared = prepare(&members, None);
    let counts = thread::scope(|scope| {
        let run = || tally(4, picks(&members, &prepared, 20_000));
        let threads = [(); 4].map(|()| scope.spawn(run));
        threads.map(|thread| thread.join().expect("picks do not panic"))
    });
    let sum = |at: usize| counts.iter().map(|of| of[at]).sum::<u32>();
    assert_eq!([0, 1, 2, 3].map(sum), [40_000, 24_000, 8_000, 8_000]);
}

#[test]
fn a_cycle_that_is_too_long_is_rounded_and_says_by_how_much() {
    let members = weighted(&[u32::MAX, 1, u32::MAX - 1]);
    let prepared = prepare(&members, None);
    let report = ScheduleReport::of(&prepared).expect("a schedule");
    assert_eq!(report.cycle, 65_536);
    assert!(report.share_error > 1e-6 && report.share_error < 2e-5, "{}", report.share_error);
    let counts = tally(3, picks(&members, &prepared, report.cycle));
    assert_eq!(counts[1], 1, "nobody is left out");
    assert!(counts[0].abs_diff(counts[2]) <= 1, "{counts:?}");
    let half = tally(3, picks(&members, &prepared, 1_000));
    assert!(half[0].abs_diff(half[2]) <= 2, "turns are spread evenly: {half:?}");
}

#[test]
fn large_and_odd_memberships_get_their_shares() {
    let weights: Vec<u32> = (0..70_000).map(|at| [1, 2, u32::MAX][at % 3]).collect();
    let members = weighted(&weights);
    let prepared = prepare(&members, None);
    let cycle = ScheduleReport::of(&prepared).expect("a schedule").cycle;
    assert_eq!(cycle, 64 * 70_000);
    let counts = tally(70_000, picks(&members, &prepared, cycle));
    assert!(counts.iter().step_by(3).all(|count| *count == 1), "one turn at least and here at most");
    let heavy = || counts.iter().skip(2).step_by(3);
    let spread = heavy().max().zip(heavy().min()).map(|(most, least)| most - least);
    assert_eq!(spread, Some(1), "equals differ by one turn");

    let twins = [4, 7, 4].map(Member::new);
    assert_eq!(picks(&twins, &prepare(&twins, None), 6), [0, 1, 2, 0, 1, 2], "twins have a turn each");
    let policy = SmoothWeightedRoundRobin::new();
    assert_eq!(policy.pick(&twins[..0], &()), Err(PickError::Empty));
    assert_eq!(plain(&policy, &weighted(&[u32::MAX])), 0);
}
