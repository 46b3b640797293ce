//! One writer: what each call does to members, allocations and revisions.

use std::error::Error;
use std::sync::Arc;

use poise::core::{Attributes, Backend, Candidate, Exclusion, Locality, Now, Status, Weight};
use poise::discovery::{Change, Directory, DirectoryError, Discovered, Effect, Revision, Snapshot};

use crate::support::membership::{Endpoints, allocation, directory, keys, replace, status};

type Fallible = Result<(), Box<dyn Error>>;

fn weight(value: u32) -> Attributes {
    Attributes::default().with_weight(Weight::new(value).unwrap())
}

#[test]
fn revisions_count_effective_calls_and_nothing_else() -> Fallible {
    let mut directory = Endpoints::new();
    assert_eq!(directory.revision(), Revision::ZERO);
    directory.upsert("a", Backend::new("a"))?;
    assert_eq!(directory.revision().value(), 1);
    assert_eq!(directory.amend(&"a", Attributes::default())?, Effect::Unchanged);
    assert_eq!(directory.remove(&"b")?, Effect::Unchanged);
    assert!(!directory.apply([])?.is_effective());
    assert!(!replace(&mut directory, &["a"])?.is_effective());
    assert!(!directory.finish_drained_where(|_| true)?.is_effective());
    assert_eq!(directory.revision().value(), 1, "what has no effect makes no revision");
    assert_eq!(directory.amend(&"a", weight(2))?, Effect::Amended);
    assert_eq!(directory.revision().value(), 2);
    Ok(())
}

#[test]
fn not_yet_known_and_known_to_be_empty_are_different_revisions() -> Fallible {
    let mut applied = Endpoints::new();
    applied.remove(&"a")?;
    assert_eq!(applied.revision(), Revision::ZERO, "to remove nobody says nothing of the others");
    assert_eq!(applied.apply([])?.revision(), Revision::new(1));
    assert_eq!(applied.apply([])?.revision(), Revision::new(1));

    let mut replaced = Endpoints::new();
    let reader = replaced.reader();
    replace(&mut replaced, &[])?;
    assert_eq!(reader.load().revision(), Revision::new(1));
    assert!(reader.load().is_empty());
    Ok(())
}

#[test]
fn an_equal_backend_that_is_upserted_again_is_a_new_generation_in_the_old_place() -> Fallible {
    let mut directory = directory(&["a", "b"]);
    let before = directory.snapshot();
    assert_eq!(directory.upsert("a", Backend::new("a"))?, Effect::Replaced);
    let after = directory.snapshot();
    assert_eq!(keys(&after), ["a", "b"]);
    assert!(!after.members()[0].same_generation(&before.members()[0]));
    assert!(after.members()[1].same_generation(&before.members()[1]));
    Ok(())
}

#[test]
fn the_attributes_of_a_candidate_become_those_of_the_member() -> Fallible {
    let zone = Locality::new("eu", "a");
    let backend = Backend::new("a")
        .with_weight(Weight::MAX)
        .with_priority(2)
        .with_locality(zone.clone())
        .with_status(Status::Unavailable);
    let mut directory = Endpoints::new();
    directory.upsert("a", backend.clone())?;
    let member = directory.get(&"a").ok_or("no member")?;
    assert_eq!(*member.attributes(), Candidate::attributes(&backend));
    assert_eq!((member.weight(), member.priority(), member.locality()), (Weight::MAX, 2, Some(&zone)));
    assert_eq!(member.exclusions(&Now::lazy()), Exclusion::Unavailable.into());
    assert_eq!((*member.id(), member.data()), ("a", &backend));
    Ok(())
}

/// Law 6.
#[test]
fn amending_keeps_the_allocation_and_upserting_never_does() -> Fallible {
    let mut directory = directory(&["a"]);
    let first = allocation(&directory, "a");
    directory.amend(&"a", weight(9).with_status(Status::Unavailable))?;
    directory.remove(&"a")?;
    directory.amend(&"a", weight(7))?;
    assert!(Arc::ptr_eq(&first, &allocation(&directory, "a")));
    assert_eq!(status(&directory, "a"), Some(Status::Ready), "whoever amends has the last word");
    directory.upsert("a", Backend::clone(&first))?;
    assert!(!Arc::ptr_eq(&first, &allocation(&directory, "a")));
    Ok(())
}

#[test]
fn removal_drains_first_and_says_so_once() -> Fallible {
    let mut directory = directory(&["a", "b", "c"]);
    directory.amend(&"b", weight(4))?;
    let kept = allocation(&directory, "b");
    assert_eq!(directory.remove(&"b")?, Effect::Draining);
    assert_eq!(directory.remove(&"b")?, Effect::Unchanged);
    let member = directory.get(&"b").ok_or("gone too early")?;
    assert_eq!(*member.attributes(), weight(4).with_status(Status::Draining));
    assert!(Arc::ptr_eq(member.backend(), &kept));
    assert_eq!(directory.finish_drain(&"b")?, Effect::Removed);
    assert_eq!(keys(&directory.snapshot()), ["a", "c"]);
    assert_eq!(directory.remove(&"b")?, Effect::Unchanged);
    assert_eq!(directory.snapshot().position(&"c"), Some(1));
    Ok(())
}

#[test]
fn a_drain_is_finished_only_where_one_has_begun() {
    let mut directory = directory(&["a"]);
    assert_eq!(directory.finish_drain(&"a"), Err(DirectoryError::NotDraining { change: 0 }));
    assert_eq!(directory.finish_drain(&"b"), Err(DirectoryError::UnknownKey { change: 0 }));
    assert_eq!(directory.amend(&"b", weight(1)), Err(DirectoryError::UnknownKey { change: 0 }));
    let said = directory.finish_drain(&"b").map_err(|error| error.to_string());
    assert_eq!(said, Err("there is no member with this key (change 0)".into()));
    assert_eq!((directory.revision().value(), directory.len()), (1, 1));
}

#[test]
fn a_draining_member_that_is_upserted_is_ready_and_new() -> Fallible {
    let mut directory = directory(&["a"]);
    let old = allocation(&directory, "a");
    directory.remove(&"a")?;
    assert_eq!(directory.upsert("a", Backend::new("a"))?, Effect::Replaced);
    assert_eq!(status(&directory, "a"), Some(Status::Ready));
    assert!(!Arc::ptr_eq(&old, &allocation(&directory, "a")));
    assert!(directory.finish_drain(&"a").is_err(), "the old drain is no drain of the new");
    Ok(())
}

/// Law 5.
#[test]
fn a_batch_that_fails_anywhere_changes_nothing_and_names_the_change() {
    let mut directory = directory(&["a", "b"]);
    let (before, reader) = (directory.snapshot(), directory.reader());
    let mut changes = reader.changes();
    let failing: [(Change<_, _>, DirectoryError); 3] = [
        (Change::FinishDrain { key: "b" }, DirectoryError::NotDraining { change: 4 }),
        (Change::FinishDrain { key: "x" }, DirectoryError::UnknownKey { change: 4 }),
        (Change::Amend { key: "x", attributes: weight(2) }, DirectoryError::UnknownKey { change: 4 }),
    ];
    for (last, error) in failing {
        let batch = [
            Change::upsert("a", Backend::new("other")),
            Change::upsert("c", Backend::new("c")),
            Change::Remove { key: "a" },
            Change::FinishDrain { key: "a" },
            last,
        ];
        assert_eq!(directory.apply(batch), Err(error));
        assert_eq!(error.change(), Some(4));
        let after = directory.snapshot();
        assert_eq!((after.revision(), keys(&after)), (before.revision(), vec!["a", "b"]));
        assert!(after.iter().zip(&before).all(|(new, old)| new.same_generation(old)));
        assert!(after.iter().zip(&before).all(|(new, old)| new.attributes() == old.attributes()));
        assert!(directory.get(&"c").is_none());
    }
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(changes.poll_next_snapshot(&mut context).is_pending(), "readers saw nothing of it");
}

#[test]
fn a_batch_is_one_revision_and_each_change_finds_what_those_before_it_left() -> Fallible {
    let mut directory = directory(&["a", "b", "c"]);
    let applied = directory.apply([
        Change::Remove { key: "a" },
        Change::Remove { key: "a" },
        Change::FinishDrain { key: "a" },
        Change::upsert("a", Backend::new("a")),
        Change::Amend { key: "b", attributes: weight(3) },
        Change::upsert("c", Backend::new("c2")),
    ])?;
    let expected = [
        Effect::Draining,
        Effect::Unchanged,
        Effect::Removed,
        Effect::Added,
        Effect::Amended,
        Effect::Replaced,
    ];
    assert_eq!(applied.effects(), expected);
    assert_eq!(applied.revision().value(), 2);
    assert_eq!((applied.added(), applied.replaced(), applied.amended()), (1, 1, 1));
    assert_eq!((applied.draining(), applied.removed(), applied.unchanged()), (1, 1, 1));
    let snapshot = directory.snapshot();
    assert_eq!(keys(&snapshot), ["b", "c", "a"], "who left and came back is the last");
    for (position, member) in snapshot.iter().enumerate() {
        assert_eq!(snapshot.position(member.key()), Some(position));
    }
    Ok(())
}

#[test]
fn finishing_many_drains_is_one_revision_and_touches_only_who_drains() -> Fallible {
    let mut directory = directory(&["a", "b", "c", "d"]);
    for key in ["a", "b", "d"] {
        directory.remove(&key)?;
    }
    let revision = directory.revision();
    let applied = directory.finish_drained_where(|member| *member.key() != "b")?;
    assert_eq!(applied.effects(), [Effect::Removed, Effect::Removed]);
    assert_eq!(Some(applied.revision()), revision.next());
    assert_eq!(keys(&directory.snapshot()), ["b", "c"]);
    Ok(())
}

/// Law 16.
#[test]
fn a_backend_stays_as_the_caller_made_it() -> Fallible {
    let backend = Backend::new("a").with_weight(Weight::new(5)?);
    let mut directory = Endpoints::new();
    directory.upsert("a", backend.clone())?;
    directory.amend(&"a", weight(1))?;
    directory.remove(&"a")?;
    let member = directory.get(&"a").ok_or("gone")?;
    assert_eq!(**member.backend(), backend);
    assert_eq!((member.status(), member.backend().status()), (Status::Draining, Status::Ready));
    Ok(())
}

#[test]
fn an_old_snapshot_is_what_it_was_and_keeps_its_backends() -> Fallible {
    let mut directory = directory(&["a", "b"]);
    let old = directory.snapshot();
    directory.apply([Change::Remove { key: "a" }, Change::FinishDrain { key: "a" }])?;
    directory.amend(&"b", weight(2))?;
    assert_eq!(keys(&old), ["a", "b"]);
    assert_eq!(old.get(&"b").map(Candidate::weight), Some(Weight::ONE));
    assert_eq!(old.position(&"b"), Some(1));
    assert_eq!(directory.snapshot().position(&"b"), Some(0));
    Ok(())
}

#[test]
fn neither_keys_nor_backends_need_to_be_cloned_or_shown() -> Fallible {
    #[derive(PartialEq, Eq, Hash)]
    struct Key(u32);
    struct Connection;

    let mut directory = Directory::new();
    let members = (0..10_000).map(|key| Change::Upsert {
        key: Key(key),
        backend: Connection,
        attributes: Attributes::default(),
    });
    directory.apply(members)?;
    directory.amend(&Key(9_999), weight(2))?;
    assert_eq!(directory.len(), 10_000);
    assert!(format!("{directory:?}").contains("10000"));
    Ok(())
}

#[test]
fn a_directory_resumes_where_a_snapshot_stands_and_never_runs_over() -> Fallible {
    let member = Discovered::new("a", Arc::new(Backend::new("a")), Attributes::default());
    let mut directory = Directory::resume(Snapshot::new(Revision::new(u64::MAX - 1), [member.clone()])?);
    assert_eq!(directory.amend(&"a", weight(2))?, Effect::Amended);
    assert!(Arc::ptr_eq(member.backend(), &allocation(&directory, "a")));
    assert_eq!(directory.remove(&"a"), Err(DirectoryError::RevisionsExhausted));
    assert_eq!(status(&directory, "a"), Some(Status::Ready), "nothing has changed");
    Ok(())
}

#[test]
fn what_makes_an_initial_state_known_keeps_its_members() -> Fallible {
    let member = Discovered::new("a", Arc::new(Backend::new("a")), Attributes::default());
    let mut directory = Directory::resume(Snapshot::new(Revision::ZERO, [member])?);
    assert_eq!(directory.apply([])?.revision().value(), 1);
    assert_eq!(keys(&directory.snapshot()), ["a"]);
    Ok(())
}

#[test]
fn a_snapshot_of_ones_own_has_no_key_twice() {
    let member = |key| Discovered::new(key, Arc::new(()), Attributes::default());
    let refused = Snapshot::new(Revision::new(1), ["a", "b", "b"].map(member)).unwrap_err();
    assert_eq!((refused.first(), refused.second()), (1, 2));
    assert_eq!(refused.to_string(), "members 1 and 2 have the same key");
}
