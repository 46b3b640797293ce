//! Levels, localities and zones in each other, under flips of health made of bytes: what a pick chooses is eligible, and a
//! table that was told of every flip decides as one that is made anew.

#![no_main]

#[path = "support/decode.rs"]
mod decode;
#[expect(dead_code, reason = "the tests of the library use all of it")]
#[path = "../../tests/support/member.rs"]
mod member;
#[expect(dead_code, reason = "the tests of the library use all of it")]
#[path = "../../tests/support/policies.rs"]
mod policies;

use libfuzzer_sys::fuzz_target;
use poise::core::policy::{Maglev, Random};
use poise::core::{Exclusions, Locality, PickError, Policy, Prepared, View};

use crate::member::Member;
use crate::policies::{failover, locality, zone};

const MOST: usize = 40;
const FLIPS: usize = 60;

type Any = Box<dyn Policy<Member, u64>>;

/// Nests all that divide a membership over `leaf`.
fn over<P: Policy<Member, u64> + Clone + 'static>(leaf: &P, seed: u64) -> Vec<(&'static str, Any)> {
    let leaf = || leaf.clone();
    vec![
        ("priority", Box::new(failover(leaf(), seed))),
        ("locality", Box::new(locality(leaf(), seed))),
        ("zone", Box::new(zone(leaf(), seed))),
        ("priority over locality", Box::new(failover(locality(leaf(), seed), seed))),
        ("priority over zone", Box::new(failover(zone(leaf(), seed), seed))),
        ("locality over priority", Box::new(locality(failover(leaf(), seed), seed))),
        ("locality over zone", Box::new(locality(zone(leaf(), seed), seed))),
        ("zone over priority", Box::new(zone(failover(leaf(), seed), seed))),
        ("zone over locality", Box::new(zone(locality(leaf(), seed), seed))),
        ("priority over zone over locality", Box::new(failover(zone(locality(leaf(), seed), seed), seed))),
    ]
}

/// The members, their flips, and how they are looked at.
struct Script<'a> {
    members: Vec<Member>,
    kinds: &'a [u8],
    flips: &'a [u8],
    scope: Vec<u32>,
    panic: bool,
    /// Which quarter of the policies is looked at: that is four times as many inputs.
    part: usize,
}

impl<'a> Script<'a> {
    fn new(shape: u8, members: &'a [u8], flips: &'a [u8]) -> Self {
        let kinds = members;
        let members = decode::members(members, MOST);
        let scope = (0..).take(members.len()).filter(|at| shape & 1 == 0 || at % 4 != 0).collect();
        Self { members, kinds, flips, scope, panic: shape & 2 != 0, part: usize::from(shape >> 6) }
    }

    fn view<'v>(&'v self, prepared: &'v Prepared) -> View<'v, Member> {
        let view = View::new(&self.members).within(&self.scope).prepared(prepared);
        if self.panic { view.in_panic() } else { view }
    }

    fn prepare(&self, policy: &Any, previous: Option<&Prepared>) -> Prepared {
        let view = View::new(&self.members).within(&self.scope);
        policy.prepare(&view, previous).expect("distinct members that fit")
    }

    /// Makes every member what it was at first.
    fn reset(&self) {
        for (member, bytes) in self.members.iter().zip(self.kinds.chunks_exact(3)) {
            member.restore();
            decode::exclude(member, bytes[0]);
        }
    }

    /// Prepares a table, tells it of every flip, and picks in between.
    fn told(&self, name: &str, policy: &Any) -> Prepared {
        self.reset();
        let prepared = self.prepare(policy, None);
        for (flip, key) in self.flips.chunks_exact(2).take(FLIPS).zip(0..) {
            let slot = usize::from(flip[0]) % self.scope.len();
            let member = &self.members[self.scope[slot] as usize];
            member.restore();
            decode::exclude(member, flip[1]);
            prepared.set_eligible(slot, member.reasons().only(Exclusions::SLOW).is_empty());
            check(name, policy, &self.view(&prepared), key);
        }
        prepared
    }
}

fn check(name: &str, policy: &Any, view: &View<'_, Member>, key: u64) {
    match policy.pick_from(view, &key) {
        Ok(selection) => drop(view.validate(selection).expect("what was chosen is offered")),
        Err(PickError::NoEligible(counts)) => {
            assert_eq!(counts.candidates() as usize, view.len(), "{name}: everybody is counted once");
            // Panic of a level, which overrides more than that of the view, only adds candidates.
            assert_eq!(view.eligible().count(), 0, "{name}: somebody is eligible");
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Over Maglev all but the draws is fixed by who is believed to be eligible, so with the same seeds picks are the same.
fn picks_are_those_of_a_table_made_anew(script: &Script<'_>, seed: u64) {
    let maglev = Maglev::new().with_table_size(101).expect("a prime");
    let (one, other) = (over(&maglev, seed), over(&maglev, seed));
    for ((name, told_by), (_, policy)) in over(&maglev, !seed).iter().zip(&one).skip(script.part).step_by(4) {
        let told = script.told(name, told_by);
        let picks = |policy: &Any, prepared: &Prepared| -> Vec<_> {
            (0..12).map(|key| policy.pick_from(&script.view(prepared), &key)).collect()
        };
        let (_, again) = other.iter().find(|(of, _)| of == name).expect("the same names");
        let anew = script.prepare(told_by, Some(&told));
        assert_eq!(picks(policy, &told), picks(again, &anew), "{name}");
    }
}

/// Over Random the draws inside depend on the order of flips, and the part that they are inside of does not.
fn parts_are_those_of_a_table_made_anew(script: &Script<'_>, seed: u64) {
    let leaf = Random::seeded(seed);
    for (name, policy) in over(&leaf, seed).into_iter().skip(script.part).step_by(4) {
        script.told(name, &policy);
    }
    let levels = |prepared: &Prepared| -> Vec<Option<(u32, bool)>> {
        let policy = failover(zone(leaf.clone(), seed), seed);
        let decide = |key| policy.decide(&script.view(prepared), &key).ok();
        (0..12_u64).map(|key| decide(key).map(|decision| (decision.level, decision.panic))).collect()
    };
    let places = |prepared: &Prepared| -> Vec<Option<Option<Locality>>> {
        let policy = locality(failover(leaf.clone(), seed), seed);
        let decide =
            |key| policy.decide(&script.view(prepared), &key).ok().map(|found| found.locality.cloned());
        (0..12_u64).map(decide).collect()
    };
    let policy: Any = Box::new(failover(zone(leaf.clone(), seed), seed));
    let told = script.told("levels", &policy);
    assert_eq!(levels(&told), levels(&script.prepare(&policy, None)), "levels");
    let policy: Any = Box::new(locality(failover(leaf.clone(), seed), seed));
    let told = script.told("localities", &policy);
    assert_eq!(places(&told), places(&script.prepare(&policy, None)), "localities");
}

fuzz_target!(|bytes: &[u8]| {
    let [shape, seed, count, rest @ ..] = bytes else { return };
    let (members, flips) = rest.split_at(rest.len().min((usize::from(*count) % MOST + 1) * 3));
    let script = Script::new(*shape, members, flips);
    if script.scope.is_empty() {
        return;
    }
    picks_are_those_of_a_table_made_anew(&script, (*seed).into());
    parts_are_those_of_a_table_made_anew(&script, (*seed).into());
});
