//! A full set in place of another: the fewest changes, or none.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use poise::core::{Backend, Candidate, Status, Weight};
use poise::discovery::{DirectoryError, Effect};

use crate::support::membership::{Endpoints, allocation, directory, keys, replace, status};

type Fallible = Result<(), Box<dyn Error>>;

#[test]
fn replacing_makes_the_fewest_changes_in_whatever_order_the_set_comes() -> Fallible {
    let mut directory = Endpoints::new();
    replace(&mut directory, &["a", "b"])?;
    let b = allocation(&directory, "b");
    assert_eq!(replace(&mut directory, &["b", "a"])?.unchanged(), 2);
    assert_eq!(directory.revision().value(), 1, "a shuffled set is the same set");

    let applied = replace(&mut directory, &["c", "b"])?;
    assert_eq!(applied.effects(), [Effect::Added, Effect::Unchanged, Effect::Draining]);
    assert_eq!(keys(&directory.snapshot()), ["a", "b", "c"]);
    assert_eq!(status(&directory, "a"), Some(Status::Draining));
    assert_eq!(
        replace(&mut directory, &["b", "c"])?.unchanged(),
        2,
        "who drains already is not drained again"
    );

    directory.finish_drain(&"a")?;
    assert_eq!(keys(&directory.snapshot()), ["b", "c"]);
    assert!(Arc::ptr_eq(&b, &allocation(&directory, "b")), "b was never rebuilt");
    Ok(())
}

#[test]
fn replacing_keeps_the_allocation_of_the_same_endpoint_and_takes_its_attributes() -> Fallible {
    let mut directory = directory(&["a", "b"]);
    let (a, b) = (allocation(&directory, "a"), allocation(&directory, "b"));
    let set = [("a", Backend::new("a").with_weight(Weight::MAX)), ("b", Backend::new("moved"))];
    let applied = directory.replace(set, Backend::is_same_endpoint)?;
    assert_eq!(applied.effects(), [Effect::Amended, Effect::Replaced]);
    assert!(Arc::ptr_eq(&a, &allocation(&directory, "a")));
    assert_eq!(directory.get(&"a").map(Candidate::weight), Some(Weight::MAX));
    assert!(!Arc::ptr_eq(&b, &allocation(&directory, "b")));
    assert_eq!(*directory.get(&"b").ok_or("no b")?.backend().id(), "moved");
    Ok(())
}

#[test]
fn who_comes_back_in_a_set_before_its_drain_ends_goes_on_as_it_was() -> Fallible {
    let mut directory = directory(&["a", "b"]);
    let a = allocation(&directory, "a");
    assert_eq!(replace(&mut directory, &[])?.draining(), 2);
    assert_eq!(replace(&mut directory, &["a"])?.effects(), [Effect::Amended]);
    assert_eq!(status(&directory, "a"), Some(Status::Ready));
    assert!(Arc::ptr_eq(&a, &allocation(&directory, "a")));
    Ok(())
}

#[test]
fn a_set_that_names_a_key_twice_is_refused_whether_the_key_is_new_or_not() {
    for (set, places) in [(["a", "x", "a"], (0, 2)), (["b", "x", "x"], (1, 2)), (["x", "x", "x"], (0, 1))] {
        let mut directory = directory(&["a", "b"]);
        let Err(DirectoryError::DuplicateKey(duplicate)) = replace(&mut directory, &set) else {
            panic!("{set:?} was taken");
        };
        assert_eq!((duplicate.first(), duplicate.second()), places);
        assert_eq!((directory.revision().value(), keys(&directory.snapshot())), (1, vec!["a", "b"]));
    }
}

#[test]
fn a_comparison_that_panics_leaves_the_directory_as_it_was() -> Fallible {
    let mut directory = directory(&["a", "b"]);
    let set = [("c", Backend::new("c")), ("b", Backend::new("b"))];
    let panics = AssertUnwindSafe(|| directory.replace(set, |_, _| panic!("cannot compare")));
    assert!(catch_unwind(panics).is_err());
    assert_eq!((directory.revision().value(), keys(&directory.snapshot())), (1, vec!["a", "b"]));
    assert_eq!(replace(&mut directory, &["c", "b"])?.revision().value(), 2);
    Ok(())
}
