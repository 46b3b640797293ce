//! What the answers of a source do to a directory.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use poise::core::{Attributes, Backend, Status, Weight};
use poise::discovery::{
    Change, Directory, DirectoryError, EmptyAnswer, Intake, SourceError, SourcePolicy, Taken, Update,
};

use crate::support::answers::{SECOND, Same, changes, error, intake, ready, set, undrained, upsert};
use crate::support::clock::Clock;
use crate::support::membership::{allocation, keys, status};

type Fallible = Result<(), Box<dyn Error>>;

const GRACE: Duration = EmptyAnswer::DEFAULT_GRACE;
const DRAIN: Duration = SourcePolicy::DEFAULT_DRAIN;

#[test]
fn a_source_that_shuffles_repeats_fails_and_empties_never_rebuilds_who_stays() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained()));
    intake.answer(set(&["b", "a", "b"]), &clock.at(SECOND))?;
    let b = allocation(intake.directory(), "b");
    assert_eq!(intake.directory().revision().value(), 1);

    let Taken::Applied(applied) = intake.answer(set(&["c", "b", "c", "b"]), &clock.at(2 * SECOND))? else {
        panic!("a set is applied");
    };
    assert_eq!((applied.added(), applied.unchanged(), applied.draining()), (1, 1, 1), "no other change");

    assert!(intake.answer(error(), &clock.at(3 * SECOND)).is_err());
    assert_eq!(intake.answer(set(&[]), &clock.at(4 * SECOND))?, Taken::KeptOff);
    let snapshot = intake.directory().snapshot();
    assert_eq!((snapshot.revision().value(), ready(&snapshot)), (2, vec!["b", "c"]));
    assert!(Arc::ptr_eq(&b, &allocation(intake.directory(), "b")), "b was never rebuilt");

    intake.answer(set(&["c"]), &clock.at(5 * SECOND))?;
    assert_eq!(ready(&intake.directory().snapshot()), ["c"]);
    assert_eq!(status(intake.directory(), "b"), Some(Status::Draining));
    assert!(Arc::ptr_eq(&b, &allocation(intake.directory(), "b")), "who drains is not rebuilt either");
    assert_eq!(intake.status().report().duplicates(), 3);
    Ok(())
}

#[test]
fn the_order_of_repetitions_that_differ_decides_nothing_about_a_member() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained()));
    let heavy = || Backend::new("a").with_weight(Weight::MAX);
    intake.answer(
        Ok(Update::full([("a", Backend::new("a")), ("a", heavy()), ("a", Backend::new("x"))])),
        &clock.at(SECOND),
    )?;
    let a = allocation(intake.directory(), "a");
    assert_eq!(*a.id(), "a", "of newcomers the first counts");
    for shuffled in [
        [Backend::new("x"), heavy(), Backend::new("a")],
        [heavy(), Backend::new("a"), Backend::new("x")],
        [Backend::new("x"), Backend::new("a"), heavy()],
    ] {
        intake.answer(Ok(Update::full(shuffled.map(|backend| ("a", backend)))), &clock.at(SECOND))?;
        assert!(Arc::ptr_eq(&a, &allocation(intake.directory(), "a")));
        assert_eq!(intake.directory().revision().value(), 1, "not even its attributes changed");
    }
    Ok(())
}

#[test]
fn an_error_keeps_the_last_good_set_shows_and_is_over_with_the_next_answer() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained()));
    let status = intake.status();
    intake.answer(set(&["a"]), &clock.at(SECOND))?;
    for second in 2..4 {
        assert!(intake.answer(error(), &clock.at(second * SECOND)).is_err());
    }
    let report = status.report();
    assert_eq!((report.updates(), report.errors(), report.errors_in_a_row()), (1, 2, 2));
    assert_eq!(report.last_update(), Some(clock.instant(SECOND)));
    assert_eq!(report.last_error_at(), Some(clock.instant(3 * SECOND)));
    assert_eq!(report.last_error().ok_or("none")?.to_string(), "the source has failed: unreachable");
    assert_eq!(report.to_string(), "1 updates, 2 errors, failing: the source has failed: unreachable");
    assert_eq!(keys(&intake.directory().snapshot()), ["a"]);

    intake.answer(set(&["a", "b"]), &clock.at(4 * SECOND))?;
    let report = status.report();
    assert_eq!((report.updates(), report.errors(), report.errors_in_a_row()), (2, 2, 0));
    assert_eq!(keys(&intake.directory().snapshot()), ["a", "b"]);
    Ok(())
}

#[test]
fn changes_are_refused_at_the_start_and_after_an_error_until_there_is_a_full_set() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained()));
    let now = clock.at(SECOND);
    let refused = |intake: &mut Intake<_, _, _, Same>| {
        let answer = intake.answer(changes([upsert("c")]), &now);
        answer.is_err_and(|error| matches!(*error, SourceError::NeedsFullSet))
    };
    assert!(refused(&mut intake), "nothing is known yet");
    assert_eq!(intake.directory().revision().value(), 0);
    intake.answer(set(&["a"]), &now)?;
    intake.answer(changes([upsert("b")]), &now)?;
    assert!(intake.answer(error(), &now).is_err());
    assert!(!intake.status().report().is_synced());
    assert!(refused(&mut intake) && refused(&mut intake), "what was missed meanwhile is not known");
    assert_eq!(keys(&intake.directory().snapshot()), ["a", "b"]);
    intake.answer(set(&["a"]), &now)?;
    intake.answer(changes([upsert("c")]), &now)?;
    assert_eq!(ready(&intake.directory().snapshot()), ["a", "c"]);
    Ok(())
}

#[test]
fn changes_that_do_not_fit_are_refused_whole_and_a_full_set_is_needed() {
    let (clock, mut intake) = (Clock::new(), intake(undrained().with_changes_first()));
    let now = clock.at(SECOND);
    let amend = Change::Amend { key: "x", attributes: Attributes::default() };
    let refused = intake.answer(changes([upsert("a"), amend]), &now).unwrap_err();
    assert!(matches!(*refused, SourceError::Refused(DirectoryError::UnknownKey { change: 1 })));
    assert!(intake.directory().is_empty());
    assert!(intake.answer(changes([upsert("a")]), &now).is_err(), "source and directory differ");
}

#[test]
fn a_source_may_start_with_changes_where_that_is_said() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained().with_changes_first()));
    intake.answer(changes([upsert("a")]), &clock.at(SECOND))?;
    assert_eq!(keys(&intake.directory().snapshot()), ["a"]);
    Ok(())
}

#[test]
fn an_empty_answer_is_applied_when_its_grace_is_over_and_not_before() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained()));
    intake.answer(set(&["a"]), &clock.at(SECOND))?;
    assert_eq!(intake.due(), None);
    assert_eq!(intake.answer(set(&[]), &clock.at(2 * SECOND))?, Taken::KeptOff);
    assert_eq!(intake.answer(set(&[]), &clock.at(30 * SECOND))?, Taken::KeptOff, "said again, not anew");
    assert!(intake.status().report().keeps_empty_off());
    let due = 2 * SECOND + GRACE;
    assert_eq!(intake.due(), Some(clock.instant(due)));
    intake.tick(&clock.at(due.saturating_sub(Duration::from_nanos(1))))?;
    assert_eq!(ready(&intake.directory().snapshot()), ["a"]);
    intake.tick(&clock.at(due))?;
    assert_eq!(status(intake.directory(), "a"), Some(Status::Draining));
    assert!(!intake.status().report().keeps_empty_off());
    assert_eq!(intake.status().report().empty_kept_off(), 2);
    Ok(())
}

#[test]
fn any_other_answer_takes_an_empty_one_back() -> Fallible {
    for other in [set(&["a"]), error()] {
        let (clock, mut intake) = (Clock::new(), intake(undrained()));
        intake.answer(set(&["a"]), &clock.at(SECOND))?;
        intake.answer(set(&[]), &clock.at(2 * SECOND))?;
        let _ = intake.answer(other, &clock.at(3 * SECOND));
        intake.tick(&clock.at(10 * GRACE))?;
        assert_eq!(ready(&intake.directory().snapshot()), ["a"]);
        assert_eq!(intake.answer(set(&[]), &clock.at(11 * GRACE))?, Taken::KeptOff, "its grace starts anew");
    }
    Ok(())
}

#[test]
fn an_empty_answer_obeys_the_policy_that_is_chosen() -> Fallible {
    for (policy, left) in [(EmptyAnswer::Apply, 0), (EmptyAnswer::Keep, 1)] {
        let (clock, mut intake) = (Clock::new(), intake(undrained().with_empty_answer(policy)));
        intake.answer(set(&["a"]), &clock.at(SECOND))?;
        intake.answer(set(&[]), &clock.at(2 * SECOND))?;
        intake.tick(&clock.at(1_000 * GRACE))?;
        assert_eq!(ready(&intake.directory().snapshot()).len(), left, "{policy:?}");
    }
    Ok(())
}

#[test]
fn a_first_answer_that_is_empty_is_believed_as_there_is_nobody_to_lose() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained().with_empty_answer(EmptyAnswer::Keep)));
    assert!(matches!(intake.answer(set(&[]), &clock.at(SECOND))?, Taken::Applied(_)));
    assert_eq!(intake.directory().revision().value(), 1, "known to be empty");
    Ok(())
}

#[test]
fn changes_after_an_empty_answer_are_changes_of_nobody() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(undrained()));
    intake.answer(set(&["a", "b"]), &clock.at(SECOND))?;
    let b = allocation(intake.directory(), "b");
    intake.answer(set(&[]), &clock.at(2 * SECOND))?;
    let batch = [upsert("x"), upsert("b"), upsert("c"), Change::Remove { key: "x" }];
    intake.answer(changes(batch), &clock.at(3 * SECOND))?;
    assert_eq!(ready(&intake.directory().snapshot()), ["b", "c"], "a was not named since the empty answer");
    assert!(Arc::ptr_eq(&b, &allocation(intake.directory(), "b")));
    assert!(!intake.status().report().keeps_empty_off());
    Ok(())
}

#[test]
fn who_is_taken_away_drains_for_its_time_and_is_let_go_then() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(SourcePolicy::default()));
    intake.answer(set(&["a", "b", "c"]), &clock.at(SECOND))?;
    intake.answer(set(&["b", "c"]), &clock.at(2 * SECOND))?;
    intake.answer(changes([Change::Remove { key: "b" }]), &clock.at(3 * SECOND))?;
    intake.tick(&clock.at(2 * SECOND + DRAIN))?;
    assert_eq!(keys(&intake.directory().snapshot()), ["b", "c"], "a first, as it left first");
    assert_eq!(intake.due(), Some(clock.instant(3 * SECOND + DRAIN)));
    intake.tick(&clock.at(3 * SECOND + DRAIN))?;
    assert_eq!(keys(&intake.directory().snapshot()), ["c"]);
    assert_eq!(intake.due(), None);
    Ok(())
}

#[test]
fn who_comes_back_or_is_named_as_draining_is_not_let_go() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(SourcePolicy::default()));
    let draining = || Backend::new("d").with_status(Status::Draining);
    intake.answer(Ok(Update::full([("a", Backend::new("a")), ("d", draining())])), &clock.at(SECOND))?;
    intake.answer(Ok(Update::full([("d", draining()), ("x", Backend::new("x"))])), &clock.at(2 * SECOND))?;
    intake.answer(Ok(Update::full([("a", Backend::new("a")), ("d", draining())])), &clock.at(3 * SECOND))?;
    intake.tick(&clock.at(100 * DRAIN))?;
    assert_eq!(keys(&intake.directory().snapshot()), ["a", "d"], "only x has left");
    Ok(())
}

#[test]
fn who_has_left_and_is_then_named_as_draining_stays_as_long_as_it_is_named() -> Fallible {
    let (clock, mut intake) = (Clock::new(), intake(SourcePolicy::default()));
    let draining = || Ok(Update::full([("a", Backend::new("a").with_status(Status::Draining))]));
    intake.answer(set(&["a", "b"]), &clock.at(SECOND))?;
    intake.answer(set(&["b"]), &clock.at(2 * SECOND))?;
    intake.answer(draining(), &clock.at(3 * SECOND))?;
    intake.tick(&clock.at(100 * DRAIN))?;
    assert_eq!(keys(&intake.directory().snapshot()), ["a"], "b has left, a is named");
    Ok(())
}

#[test]
fn an_hour_of_churn_leaves_no_more_members_than_drain() -> Fallible {
    let (clock, directory) = (Clock::new(), Directory::new());
    let mut intake: Intake<u32, u32, io::Error, _> =
        Intake::new(directory, SourcePolicy::default(), |old, new| old == new);
    for second in 0..3_600 {
        let now = clock.at(second * SECOND);
        intake.answer(Ok(Update::full([(second, second, Attributes::default())])), &now)?;
        intake.tick(&now)?;
        assert!(intake.directory().len() <= 31, "one serves, and thirty drain for thirty seconds");
    }
    Ok(())
}
