//! What a view offers to policies, and how hints behave when they are right, wrong and raced.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use poise::core::policy::{PowerOfTwoChoices, Random};
use poise::core::{
    Attempted, Candidate, Eligibility, Exclusion, ExclusionCounts, Exclusions, InvalidSelection, Now,
    PickError, Policy, Rng, Selection, View,
};
use quickcheck::{Gen, QuickCheck};

use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::tally::tally;

#[test]
fn slots_count_within_the_scope_and_selections_are_positions() {
    let members = Member::many(6);
    members[3].exclude(Exclusion::Circuit);
    let view = View::new(&members).within(&[1, 3, 5]);
    assert_eq!((view.len(), view.position(2), view.select(2).index()), (3, 5, 5));
    assert_eq!(view.candidate(2).map(|member| member.id), Some(5));
    assert_eq!(view.first_from(1).map(Selection::index), Ok(5), "3 is excluded");
    assert_eq!(view.first_from(99).map(Selection::index), Ok(1), "a start beyond the end is the first");
    let eligible: Vec<_> =
        view.eligible().map(|(selection, member)| (selection.index(), member.id)).collect();
    assert_eq!(eligible, [(1, 1), (5, 5)]);
    let excluded = |index, reason: Exclusion| InvalidSelection::Excluded { index, exclusions: reason.into() };
    let validate = |index| view.validate(Selection::new(index)).map(|member| member.id);
    assert_eq!(validate(5), Ok(5));
    assert_eq!(validate(2), Err(excluded(2, Exclusion::OutOfScope)));
    assert_eq!(validate(3), Err(excluded(3, Exclusion::Circuit)));
    assert_eq!(validate(6), Err(InvalidSelection::OutOfRange { index: 6, candidates: 6 }));
}

#[test]
fn slots_and_positions_of_nobody_are_out_of_scope() {
    let members = Member::many(2);
    let outside = Exclusions::from(Exclusion::OutOfScope);
    for view in [View::new(&members), View::new(&members).within(&[1, u32::MAX])] {
        assert_eq!([view.exclusions_at(2), view.exclusions_at(usize::MAX)], [outside; 2]);
        assert_eq!([view.exclusions(2), view.exclusions(usize::MAX)], [outside; 2]);
    }
    let unordered = View::new(&members).within(&[1, 0]);
    assert_eq!(unordered.exclusions(0), Exclusions::NONE, "what a scope names is in it, in any order");
    assert_eq!(unordered.exclusions(1), Exclusions::NONE);
}

#[test]
fn what_was_tried_is_avoided_strictly_beyond_the_inline_places_too() {
    let members = Member::many(20);
    let tried: Attempted = (0..19).collect();
    let view = View::new(&members).avoiding(&tried);
    let rng = Rng::seeded(1);
    assert_eq!(view.uniform(&rng).map(Selection::index), Ok(19));
    let pair = view.pair(&rng).expect("one is left");
    assert_eq!((pair.first.index(), pair.second), (19, None));
    let all: Attempted = (0..20).collect();
    let PickError::NoEligible(counts) = View::new(&members).avoiding(&all).refuse() else {
        panic!("everybody was tried");
    };
    assert_eq!((counts.candidates(), counts.of(Exclusion::Attempted)), (20, 20));
}

#[test]
fn panic_overrides_the_verdicts_of_health_and_nothing_else() {
    let members = Member::many(1);
    for reason in Exclusion::ALL {
        members[0].restore();
        members[0].exclude(reason);
        let health = Exclusions::HEALTH.contains(reason);
        let view = View::new(&members).in_panic();
        assert_eq!(view.exclusions_at(0).is_empty(), health, "{reason}");
        let pick = view.first_from(0);
        assert_eq!(pick.is_ok_and(Selection::is_panic), health, "{reason}");
        let calm = View::new(&members);
        assert_eq!(calm.validate(Selection::new(0).in_panic(true)).is_ok(), health, "{reason}");
        assert!(calm.validate(Selection::new(0)).is_err(), "{reason}");
    }
}

#[test]
fn the_least_costs_each_eligible_candidate_once_and_ties_are_even() {
    let members = Member::many(10);
    members[4].exclude(Exclusion::Capacity);
    let (rng, view) = (Rng::seeded(3), View::new(&members));
    for member in &members {
        member.load.set(f64::NAN);
    }
    members[7].load.set(-1.0);
    let mut asked = Vec::new();
    let least = view.least(&rng, |member| {
        asked.push(member.id);
        member.load.get()
    });
    assert_eq!(least.map(Selection::index), Ok(7));
    assert_eq!(asked, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    for _ in 0..50 {
        let least = view.least(&rng, |member| member.load.get());
        assert_eq!(least.map(Selection::index), Ok(7), "what is not a number ties with nobody who has one");
    }
    let mut counts = [0u32; 10];
    for _ in 0..36_000 {
        let tie = view.least(&rng, |member| if member.id < 6 { f64::NAN } else { f64::INFINITY });
        counts[tie.expect("nine are eligible").index()] += 1;
    }
    assert_eq!(counts[4], 0);
    // 4,000 expected, deviation 60.
    assert!((0..10).all(|at| at == 4 || counts[at].abs_diff(4_000) < 360), "{counts:?}");
}

#[test]
fn the_least_is_found_at_both_ends_of_every_block() {
    for count in [1_u32, 63, 64, 65, 127, 128, 129] {
        let (members, all): (_, Vec<u32>) = (Member::many(count.into()), (0..count).collect());
        for least in [0, 62, 63, 64, 127, 128, count - 1].into_iter().filter(|at| *at < count) {
            for view in [View::new(&members), View::new(&members).within(&all)] {
                let cost = |member: &Member| if member.id == least.into() { 0.0 } else { 1.0 };
                let pick = view.least(&Rng::seeded(1), cost);
                assert_eq!(pick.map(Selection::index), Ok(least as usize), "of {count}");
                assert_eq!(looks(&members).total, count, "each is looked at once");
            }
        }
    }
}

#[test]
fn the_least_is_sought_among_the_few_that_the_eligibility_names() {
    let members = Member::many(200);
    let few = Eligibility::new(200, |slot| slot == 70 || slot == 199);
    let pick = View::new(&members).eligibility(&few).least(&Rng::seeded(1), |member| member.id as f64);
    assert_eq!(pick.map(Selection::index), Ok(70));
    assert_eq!(looks(&members).total, 2, "nobody else is looked at");
}

/// How many tie in each block of 64, at which cost. Those of the first blocks are the least until the third.
const TIES: [(usize, f64); 5] = [(3, 1.0), (3, 1.0), (2, 0.0), (1, 0.0), (3, 0.0)];

#[test]
fn ties_are_even_across_blocks_that_differ_in_how_many_they_have() {
    let members = Member::many(64 * 4 + 10);
    let cost = |member: &Member| {
        let id = usize::try_from(member.id).expect("small");
        let (block, at) = (id / 64, id % 64);
        if at >= 7 && at < 7 + TIES[block].0 { TIES[block].1 } else { 2.0 }
    };
    let (all, rng): (Vec<u32>, _) = ((0..64 * 4 + 10).collect(), Rng::seeded(5));
    for (what, view) in [("plain", View::new(&members)), ("scoped", View::new(&members).within(&all))] {
        let draws = (0..24_000).map(|_| view.least(&rng, cost).expect("all are eligible").index());
        let counts = tally(members.len(), draws);
        let tied = [135, 136, 199, 263, 264, 265].map(|slot: usize| counts[slot]);
        assert_eq!(tied.iter().sum::<u32>(), 24_000, "{what}: nobody who costs more");
        // 4,000 expected, deviation 58.
        assert!(tied.iter().all(|count| count.abs_diff(4_000) < 350), "{what}: {tied:?}");
    }
}

/// Has a function say whether it is excluded.
struct Asked<F>(F);

impl<F: Fn(&Now) -> Exclusions> Candidate for Asked<F> {
    type Id = ();
    type Data = ();
    type Load = ();

    fn id(&self) -> &() {
        &()
    }

    fn data(&self) -> &() {
        &()
    }

    fn load(&self) -> &() {
        &()
    }

    fn exclusions(&self, now: &Now) -> Exclusions {
        (self.0)(now)
    }
}

#[test]
fn costs_see_the_time_at_which_candidates_were_asked() {
    let asked = Cell::new(None);
    let members = [Asked(|now: &Now| {
        asked.set(Some(now.instant()));
        Exclusions::NONE
    })];
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    let later = Instant::now() + Duration::from_secs(9);
    for view in [
        View::new(&members),
        View::new(&members).in_panic(),
        View::new(&members).within(&[0]),
        View::new(&members).in_panic().at(later),
    ] {
        let pick = view.least(&Rng::seeded(1), |_| {
            assert_eq!(asked.get(), Some(view.now().instant()));
            0.0
        });
        assert!(pick.is_ok());
    }
    assert_eq!(asked.get(), Some(later), "the time that was fixed");
}

#[test]
fn all_parts_of_a_pick_see_the_same_time() {
    let members = Member::many(1);
    let view = View::new(&members);
    assert_eq!(view.now().instant(), view.now().instant());
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    let start = Instant::now();
    let fixed = View::new(&members).at(start + Duration::from_secs(9));
    assert_eq!(fixed.now().since(start), Duration::from_secs(9));
    let shared = Now::at(start);
    assert_eq!(View::new(&members).with_now(&shared).now().instant(), start);
}

#[test]
fn an_eligibility_is_the_set_that_was_flipped_into_it() {
    fn law(members: u8, flips: Vec<(u8, bool)>) -> bool {
        let members = usize::from(members);
        let eligibility = Eligibility::new(members, |slot| slot % 2 == 0);
        let mut model: BTreeSet<usize> = (0..members).step_by(2).collect();
        for (slot, on) in flips {
            let slot = usize::from(slot);
            let news = slot < members && if on { model.insert(slot) } else { model.remove(&slot) };
            assert_eq!(eligibility.set(slot, on), news, "it tells what is news");
        }
        assert_eq!(eligibility.count(), model.len());
        (0..256).all(|slot| eligibility.contains(slot) == model.contains(&slot))
    }
    let rng = Gen::from_size_and_seed(300, 1);
    QuickCheck::new().rng(rng).tests(300).quickcheck(law as fn(u8, Vec<(u8, bool)>) -> bool);
}

#[test]
fn flips_of_many_threads_all_arrive() {
    let members = Member::many(200);
    let eligibility = Eligibility::of(&members, &Now::lazy());
    thread::scope(|scope| {
        for part in 0..4 {
            let eligibility = &eligibility;
            scope.spawn(move || {
                for round in 0..2_001 {
                    for slot in part * 50..part * 50 + 50 {
                        eligibility.set(slot, round % 2 == slot % 2);
                    }
                }
            });
        }
    });
    assert_eq!(eligibility.count(), 100);
    members.iter().filter(|member| member.id % 2 == 1).for_each(|member| member.exclude(Exclusion::Probe));
    let view = View::new(&members).eligibility(&eligibility);
    let policy = Random::seeded(4);
    let drawn: BTreeSet<_> =
        (0..4_000).map(|_| policy.pick_from(&view, &()).expect("half are left").index()).collect();
    assert_eq!(drawn, (0..200).step_by(2).collect(), "each of the eligible half is drawn");
}

#[test]
fn wrong_hints_make_no_pick_fail() {
    let members = Member::many(300);
    members.iter().skip(1).for_each(|member| member.exclude(Exclusion::Circuit));
    for hint in [
        Eligibility::new(300, |_| false),
        Eligibility::new(300, |slot| slot > 0),
        Eligibility::new(300, |slot| slot == 17),
        Eligibility::new(299, |_| true),
        Eligibility::new(0, |_| true),
    ] {
        let view = View::new(&members).eligibility(&hint);
        for start in [0, 1, 18, 299, 300, usize::MAX] {
            assert_eq!(view.first_from(start).map(Selection::index), Ok(0), "from {start} with {hint:?}");
        }
        assert_eq!(Random::new().pick_from(&view, &()).map(Selection::index), Ok(0), "{hint:?}");
        assert_eq!(PowerOfTwoChoices::new().pick_from(&view, &()).map(Selection::index), Ok(0), "{hint:?}");
    }
}

#[test]
fn hints_that_change_during_a_search_for_the_least_hide_nobody_and_nobody_is_counted_twice() {
    let mut nobody = ExclusionCounts::default();
    (0..10).for_each(|_| nobody.add(Exclusion::Circuit.into()));
    for (eligible, expected) in [(Some(5), Ok(5)), (None, Err(PickError::NoEligible(nobody)))] {
        let hints = Eligibility::new(10, |slot| slot == 1);
        let ask = |slot| {
            // The hint of slot 1 becomes one of slot 5 when slot 1 is asked.
            if slot == 1 {
                hints.set(1, false);
                hints.set(5, true);
            }
            Exclusions::NONE.with_if(Exclusion::Circuit, eligible != Some(slot))
        };
        let members: Vec<_> = (0..10).map(|slot| Asked(move |_: &Now| ask(slot))).collect();
        let pick = View::new(&members).eligibility(&hints).least(&Rng::seeded(1), |_| 0.0);
        assert_eq!(pick.map(Selection::index), expected);
    }
}
