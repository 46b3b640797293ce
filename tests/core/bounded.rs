//! What bounded loads promise: no admission above the cap, spilling in order, and nothing else moved.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use std::collections::BTreeMap;

use poise::core::policy::{BoundedDecision, BoundedLoadError, BoundedLoadRendezvous, WeightedRendezvous};
use poise::core::{
    AdditiveLoad, Attempted, Backend, Candidate, Eligibility, InFlight, LoadMetric, LoadTracker, Now,
    PickError, Policy, Prepare, Rng, Selection, Status, View, Weight,
};

use crate::support::case::{Case, Hint, for_all};
use crate::support::ranks::{ranked, value};

type Node = Backend<u64, (), InFlight>;

fn nodes(weights: &[u32]) -> Vec<Node> {
    let node = |(id, weight): (u64, &u32)| {
        Backend::new(id).with_load(InFlight::new()).with_weight(Weight::new(*weight).expect("positive"))
    };
    (0..).zip(weights).map(node).collect()
}

fn decide(nodes: &[Node], key: u64) -> BoundedDecision {
    BoundedLoadRendezvous::new().decide(&View::new(nodes), &key).expect("somebody is eligible")
}

fn start(node: &Node) {
    node.load().start(&Now::lazy()).expect("there is no limit");
}

/// The least whole number that is not below `numerator / denominator * (total + 1) * weight / weights`.
fn cap((numerator, denominator): (u128, u128), total: u64, weight: u32, weights: u128) -> u64 {
    let product = numerator * u128::from(total.saturating_add(1)) * u128::from(weight);
    u64::try_from(product.div_ceil(denominator * weights)).unwrap_or(u64::MAX)
}

#[test]
fn the_decision_is_the_first_in_order_that_has_room() {
    fn law(case: Case) {
        if matches!(case.eligibility, Hint::Stale | Hint::Wrong) || case.prepared == Hint::Wrong {
            return;
        }
        let policy = BoundedLoadRendezvous::new();
        let (members, attempted) = (case.members(), case.attempted());
        let eligibility = case.eligibility(&members);
        let prepared = policy.prepare(&case.bare(&members), None).expect("identities are distinct");
        let prepared = Some(&prepared).filter(|_| case.prepared != Hint::Absent);
        case.change(&members);
        case.tell(&members, prepared, eligibility.as_ref());
        for key in case.seed..case.seed.saturating_add(20) {
            let view = case.view(&members, &attempted, prepared, eligibility.as_ref());
            let ranked = ranked(&view, key, value);
            let load = |at: usize| members[at].load().count();
            let total = ranked.iter().fold(0u64, |sum, at| sum.saturating_add(load(*at)));
            let weights = ranked.iter().map(|at| u128::from(members[*at].weight.value())).sum();
            let cap = |at: usize| cap((5, 4), total, members[at].weight.value(), weights);
            let Some(owner) = ranked.first().copied() else {
                assert_eq!(policy.decide(&view, &key), Err(view.refuse()));
                continue;
            };
            let chosen = ranked.iter().copied().find(|at| load(*at) < cap(*at)).unwrap_or(owner);
            let decision = policy.decide(&view, &key).expect("somebody is eligible");
            assert_eq!((decision.selection.index(), decision.owner.index()), (chosen, owner));
            assert_eq!(decision.spilled, chosen != owner);
            assert_eq!((decision.load, decision.cap), (load(chosen), cap(chosen)));
            assert_eq!(policy.pick_from(&view, &key), Ok(decision.selection));
        }
    }
    for_all(500, law);
}

#[test]
fn no_admission_exceeds_its_cap_in_any_order_of_arrivals_and_departures() {
    let factors = [(5, 4, 1.25), (1_048_577, 1_048_576, 1.000_000_1), (2, 1, 2.0), (1_000, 1, 1_000.0)];
    let all: [&[u32]; 4] = [&[1; 7], &[1, 2, 3, 100, 7], &[u32::MAX, 1, u32::MAX, 65_537], &[3]];
    for (numerator, denominator, factor) in factors {
        for weights in all {
            let policy = BoundedLoadRendezvous::new().with_factor(factor).expect("above one");
            let (nodes, rng) = (nodes(weights), Rng::seeded(7));
            let sum = weights.iter().map(|weight| u128::from(*weight)).sum();
            let mut running: Vec<usize> = Vec::new();
            for step in 0..3_000 {
                // The crowd grows and shrinks by turns; nearly half of it wants the same.
                let leaves = rng.unit() < if step / 500 % 2 == 0 { 0.3 } else { 0.7 };
                if leaves && !running.is_empty() {
                    let at = running.swap_remove(rng.below(running.len()));
                    nodes[at].load().release((), &Now::lazy());
                    continue;
                }
                let key = if rng.coin() { 0 } else { rng.below(100) };
                let at = policy.pick(&nodes, &key).expect("all are ready").index();
                let cap = cap((numerator, denominator), running.len() as u64, weights[at], sum);
                start(&nodes[at]);
                running.push(at);
                let load = nodes[at].load().current();
                assert!(load <= cap, "{load} of {} at a cap of {cap}: {weights:?}, {factor}", running.len());
            }
        }
    }
}

#[test]
fn a_hot_key_spills_in_order_and_keys_whose_owner_has_room_stay() {
    let nodes = nodes(&[1; 10]);
    let mut used = BTreeMap::<usize, u64>::new();
    for _ in 0..100 {
        let decision = decide(&nodes, 42);
        start(&nodes[decision.selection.index()]);
        *used.entry(decision.selection.index()).or_default() += 1;
    }
    let order = ranked(&View::new(&nodes), 42, value);
    let filled: Vec<_> = order.iter().map(|at| used.get(at).copied().unwrap_or(0)).collect();
    assert_eq!(filled.iter().max(), Some(&13), "a tenth of 100, and a quarter of it");
    assert!(filled.is_sorted_by(|first, next| first >= next), "the first in order fill first: {filled:?}");
    assert_eq!(filled[8..], [0, 0], "eight of ten can carry it all");

    let mut stayed = 0;
    for key in 1_000..2_000 {
        let owner = WeightedRendezvous::new().pick(&nodes, &key).expect("all are ready").index();
        let decision = decide(&nodes, key);
        assert_eq!(decision.owner.index(), owner, "the owner stays visible");
        assert_eq!(decision.spilled, nodes[owner].load().current() >= 13);
        stayed += u32::from(!decision.spilled);
    }
    assert!((1..1_000).contains(&stayed), "some owners have room: {stayed}");
}

#[test]
fn sums_are_over_the_eligible_only() {
    let mut nodes = nodes(&[1, 1, 1_000]);
    (0..500).for_each(|_| start(&nodes[2]));
    let busy = nodes.remove(2).with_status(Status::Draining);
    nodes.push(busy);
    let decision = decide(&nodes, 1);
    assert_eq!(
        (decision.load, decision.cap, decision.spilled),
        (0, 1, false),
        "half of five quarters of one"
    );
}

#[test]
fn factors_that_bound_nothing_are_typed_errors() {
    let with = |factor| BoundedLoadRendezvous::new().with_factor(factor).map(drop);
    assert_eq!(with(1.25), Ok(()));
    assert_eq!(with(1_000.0), Ok(()));
    for factor in [1.0, 0.5, -3.0] {
        assert_eq!(with(factor), Err(BoundedLoadError::NotAboveOne { factor }));
    }
    assert!(matches!(with(f64::NAN), Err(BoundedLoadError::NotAboveOne { .. })));
    assert_eq!(with(f64::INFINITY), Err(BoundedLoadError::TooLarge { factor: f64::INFINITY }));
}

#[test]
fn a_lower_factor_spreads_more_evenly() {
    let busiest = |factor| {
        let (nodes, policy) = (nodes(&[1; 10]), BoundedLoadRendezvous::new());
        let policy = policy.with_factor(factor).expect("above one");
        for _ in 0..1_000 {
            start(&nodes[policy.pick(&nodes, &5).expect("all are ready").index()]);
        }
        nodes.iter().map(|node| node.load().current()).max()
    };
    assert_eq!([1.1, 1.25, 2.0, 20.0].map(busiest), [111, 125, 200, 1_000].map(Some));
}

/// A load that asks a policy of the same kind before it answers.
#[derive(Debug)]
struct Asks(Vec<Node>);

impl LoadMetric for Asks {
    fn measure(&self, _: &Now) -> f64 {
        self.count() as f64
    }
}

impl AdditiveLoad for Asks {
    fn count(&self) -> u64 {
        decide(&self.0, 7).selection.index() as u64
    }
}

#[test]
fn a_pick_within_a_pick_disturbs_neither() {
    let outer: Vec<_> =
        (1..40).map(|size| Backend::new(size).with_load(Asks(nodes(&vec![1; size])))).collect();
    let loads: Vec<_> = outer.iter().map(|candidate| candidate.load().count()).collect();
    for key in 0..50_u64 {
        let nested = BoundedLoadRendezvous::new().decide(&View::new(&outer), &key).expect("all are ready");
        assert_eq!(nested.load, loads[nested.selection.index()]);
    }
}

#[test]
fn what_was_tried_is_avoided_and_nobody_left_is_a_typed_error() {
    let nodes = nodes(&[1; 3]);
    let owner = decide(&nodes, 9).owner.index();
    let tried = Attempted::from_iter([owner]);
    let view = View::new(&nodes).avoiding(&tried);
    let again = BoundedLoadRendezvous::new().decide(&view, &9_u64).expect("two are left");
    assert_ne!(again.owner.index(), owner, "the owner is who would be chosen without bounds");
    assert!(!again.spilled);
    let all: Attempted = (0..3).collect();
    let view = View::new(&nodes).avoiding(&all);
    assert_eq!(BoundedLoadRendezvous::new().decide(&view, &9_u64), Err(view.refuse()));
    assert_eq!(BoundedLoadRendezvous::new().pick(&nodes[..0], &9_u64), Err(PickError::Empty));
}

#[test]
fn hints_that_are_wrong_hide_nobody() {
    let nodes = nodes(&[1; 5]);
    let nobody = Eligibility::new(5, |_| false);
    let tried = Attempted::from_iter([1]);
    let one = Eligibility::new(5, |slot| slot == 1);
    for hint in [&nobody, &one] {
        let view = View::new(&nodes).eligibility(hint).avoiding(&tried);
        let without = View::new(&nodes).avoiding(&tried);
        let [hinted, plain] = [&view, &without].map(|view| BoundedLoadRendezvous::new().decide(view, &3_u64));
        assert_eq!(hinted.map(|of| of.selection), plain.map(|of| of.selection));
    }
}

#[test]
fn hints_that_are_wrong_move_no_key_of_a_prepared_membership() {
    let (policy, nodes, tried) = (BoundedLoadRendezvous::new(), nodes(&[1; 5]), Attempted::from_iter([1]));
    let prepared = Prepare::prepare(&policy, &View::new(&nodes), None).expect("identities are distinct");
    let one = Eligibility::new(5, |slot| slot == 1);
    for key in 0..50_u64 {
        let view = View::new(&nodes).avoiding(&tried);
        let plain = policy.decide(&view, &key).map(|of| of.selection);
        let view = View::new(&nodes).avoiding(&tried).prepared(&prepared).eligibility(&one);
        assert_eq!(policy.decide(&view, &key).map(|of| of.selection), plain);
    }
}

#[test]
fn placement_is_the_same_in_every_process() {
    let loads = [5, 0, 2, 1, 0];
    let members: Vec<_> = (0..5_u64).map(|id| Backend::new(id).with_load(InFlight::new())).collect();
    for (member, load) in members.iter().zip(loads) {
        (0..load).for_each(|_| start(member));
    }
    let picks = [0, 1, 2, 3, 4, 5, 6, 7].map(|key: u64| decide(&members, key).selection);
    assert_eq!(picks.map(Selection::index), [4, 4, 1, 4, 4, 1, 4, 3]);
}
