//! Every policy under views made of bytes: a pick is in bounds and eligible, or the error counts each reason exactly.

#![no_main]

#[path = "support/decode.rs"]
mod decode;
#[expect(dead_code, reason = "the tests of the library use all of it")]
#[path = "../../tests/support/member.rs"]
mod member;
#[path = "../../tests/support/policies.rs"]
mod policies;

use libfuzzer_sys::fuzz_target;
use poise::core::policy::{Maglev, PriorityConfig, PriorityFailover};
use poise::core::{Attempted, Eligibility, ExclusionCounts, Exclusions, PickError, Policy, View};

use crate::member::Member;
use crate::policies::Named;

/// Members are few enough for a walk by hand and many enough for every fallback.
const MOST: usize = 70;

/// Makes one of each, and one that never panics.
fn all(seed: u64) -> Named<Member> {
    let calm = PriorityConfig::default().with_panic_threshold_percent(0).expect("zero is in range");
    let maglev = Maglev::new().with_table_size(251).expect("a prime");
    let calm = PriorityFailover::new(maglev).with_config(calm).with_seed(seed);
    let mut all = policies::policies(seed);
    all.push(("calm priority over maglev", Box::new(calm)));
    all
}

/// What a scan by hand finds: the number of eligible members, and why the others are not.
fn by_hand(view: &View<'_, Member>, positions: &[u32]) -> (usize, ExclusionCounts) {
    let mut counts = ExclusionCounts::default();
    let mut eligible = 0;
    for position in positions {
        let exclusions = view.exclusions(*position as usize);
        if exclusions.is_empty() {
            eligible += 1;
        } else {
            counts.add(exclusions);
        }
    }
    (eligible, counts)
}

fn check(name: &str, policy: &dyn Policy<Member, u64>, view: &View<'_, Member>, key: u64, scope: &[u32]) {
    let (eligible, counts) = by_hand(view, scope);
    match policy.pick_from(view, &key) {
        Ok(selection) => {
            let chosen = view.validate(selection).expect("what was chosen is offered");
            assert!(
                scope.iter().any(|at| u64::from(*at) == chosen.id),
                "{name}: the choice is within the scope"
            );
        }
        Err(PickError::Empty) => assert!(scope.is_empty(), "{name}: empty only when there is nobody"),
        Err(PickError::NoEligible(found)) => {
            assert_eq!(eligible, 0, "{name}: somebody is eligible");
            if !view.is_panic() {
                assert_eq!(found.candidates(), counts.candidates(), "{name}: everybody is counted once");
            }
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [shape, seed, avoid, stale, rest @ ..] = bytes else { return };
    let members = decode::members(rest, MOST);
    let attempted: Attempted =
        (0..usize::from(avoid % 9)).map(|at| at * usize::from(*seed | 1) % MOST).collect();
    let scope: Vec<u32> = (0..).take(members.len()).filter(|at| shape & 1 == 0 || at % 3 != 0).collect();
    let hint = Eligibility::new(scope.len(), |slot| {
        members[scope[slot] as usize].reasons().only(Exclusions::SLOW).is_empty()
    });
    // Hints may be wrong.
    let lie =
        (*stale > 200 && !scope.is_empty()).then(|| (usize::from(*stale) % scope.len(), shape & 2 == 0));
    if let Some((slot, eligible)) = lie {
        hint.set(slot, eligible);
    }
    // A quarter of them at a time, which is four times as many inputs.
    for (name, policy) in all(u64::from(*seed)).into_iter().skip(usize::from(shape >> 6)).step_by(4) {
        let base = || {
            let view = View::new(&members).within(&scope).avoiding(&attempted);
            if shape & 4 == 0 { view } else { view.in_panic() }
        };
        let prepared = policy.prepare(&base(), None).expect("distinct members that fit");
        if let Some((slot, eligible)) = lie.filter(|_| shape & 16 != 0) {
            prepared.set_eligible(slot, eligible);
        }
        let view = base().eligibility(&hint).prepared(&prepared);
        let view = if shape & 8 == 0 { view } else { base() };
        for key in [*seed, *avoid] {
            check(name, &policy, &view, key.into(), &scope);
        }
    }
});
