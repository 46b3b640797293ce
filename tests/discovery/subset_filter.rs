//! Subsets of snapshots, and readers of them.

use std::pin::pin;
use std::ptr;
use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use poise::core::{Backend, Status};
use poise::discovery::subset::{Contender, RendezvousSubset, Subset, subset_channel};
use poise::discovery::{Revision, Snapshot};

use crate::support::membership::{allocation, directory, keys, replace, status};
use crate::support::wakes::Wakes;

const ALL: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn scheme(size: usize) -> RendezvousSubset {
    RendezvousSubset::new("client-7", size).unwrap()
}

/// Answers what it is told to.
struct Positions(Vec<usize>);

impl Subset for Positions {
    fn choose(&self, _: &[Contender]) -> Vec<usize> {
        self.0.clone()
    }
}

#[test]
fn a_subset_keeps_revision_order_keys_and_allocations() {
    let all = directory(&ALL).reader().load();
    let subset = all.subset(&Positions(vec![4, 1, 3]));
    assert_eq!(keys(&subset), ["b", "d", "e"]);
    assert_eq!(subset.revision(), all.revision());
    for (position, member) in subset.iter().enumerate() {
        let original = all.get(member.key()).unwrap();
        assert!(member.same_generation(original), "the service stays");
        assert!(ptr::eq(member.key(), original.key()), "keys are not copied");
        assert_eq!(member.attributes(), original.attributes());
        assert_eq!(subset.position(member.key()), Some(position));
    }
    assert_eq!(subset.position(&"a"), None);
}

#[test]
fn everybody_is_the_same_state() {
    let all = directory(&ALL).reader().load();
    for size in [6, 7, usize::MAX] {
        assert!(ptr::eq(all.members(), all.subset(&scheme(size)).members()));
    }
    assert!(!ptr::eq(all.members(), all.subset(&scheme(5)).members()));
    let unknown = Snapshot::<&str, ()>::unknown();
    assert_eq!(unknown.subset(&scheme(3)).revision(), Revision::ZERO);
}

#[test]
fn positions_of_nobody_and_those_that_occur_twice_do_no_harm() {
    let all = directory(&ALL).reader().load();
    assert_eq!(keys(&all.subset(&Positions(vec![2, usize::MAX, 2, 6, 0]))), ["a", "c"]);
    assert!(all.subset(&Positions(Vec::new())).is_empty());
}

#[test]
fn schemes_behind_pointers_choose_the_same() {
    let all = directory(&ALL).reader().load();
    let expected = keys(&all.subset(&scheme(2)));
    let boxed: Box<dyn Subset> = Box::new(scheme(2));
    assert_eq!(keys(&all.subset(&boxed)), expected);
    assert_eq!(keys(&all.subset(&*boxed)), expected);
    assert_eq!(keys(&all.subset(&Arc::new(&scheme(2)))), expected);
}

#[test]
fn who_drains_stays_until_it_is_gone_and_its_place_is_filled_at_once() {
    let mut directory = directory(&ALL);
    let before = keys(&directory.snapshot().subset(&scheme(2)));
    let leaves = before[0];
    let kept = allocation(&directory, leaves);

    directory.remove(&leaves).unwrap();
    assert_eq!(status(&directory, leaves), Some(Status::Draining));
    let drains = directory.snapshot().subset(&scheme(2));
    assert_eq!(drains.len(), 3);
    assert!(before.iter().all(|key| drains.get(key).is_some()), "the others stay, and so does who drains");
    assert!(Arc::ptr_eq(drains.get(&leaves).unwrap().backend(), &kept));

    directory.finish_drain(&leaves).unwrap();
    let after = keys(&directory.snapshot().subset(&scheme(2)));
    let others: Vec<_> = keys(&drains).into_iter().filter(|key| *key != leaves).collect();
    assert_eq!(after, others, "nobody else moves when it is gone");
}

#[test]
fn a_channel_of_subsets_follows_its_source_and_skips_to_the_newest() {
    let mut directory = directory(&ALL[..3]);
    let (reader, passing_on) = subset_channel(&directory.reader(), scheme(2));
    assert_eq!(keys(&reader.load()), keys(&directory.snapshot().subset(&scheme(2))), "at once");
    let (first, mut changes) = (reader.load(), reader.changes());

    let mut passing_on = pin!(passing_on);
    let wakes = Wakes::default();
    assert!(wakes.poll(passing_on.as_mut()).is_pending());
    assert!(ptr::eq(first.members(), reader.load().members()), "the state with which it began stays");
    assert!(changes.next().now_or_never().is_none(), "and is no change");

    replace(&mut directory, &ALL[..5]).unwrap();
    replace(&mut directory, &ALL).unwrap();
    assert!(wakes.count() > 0, "a publication wakes it");
    assert!(wakes.poll(passing_on.as_mut()).is_pending());
    let next = changes.next().now_or_never().flatten().unwrap();
    assert_eq!(next.revision(), directory.snapshot().revision());
    assert_eq!(keys(&next), keys(&directory.snapshot().subset(&scheme(2))));
    assert!(changes.next().now_or_never().is_none(), "what lies between is skipped");
}

#[test]
fn a_source_that_ends_passes_its_last_state_on() {
    let mut directory = directory(&ALL);
    let (reader, passing_on) = subset_channel(&directory.reader(), scheme(2));
    directory.upsert("g", Backend::new("g")).unwrap();
    let last = directory.snapshot().revision();
    drop(directory);
    assert!(reader.revision() < last && !reader.is_closed());
    assert_eq!(passing_on.now_or_never(), Some(()));
    assert_eq!(reader.revision(), last);
    assert!(reader.is_closed());
}

#[test]
fn who_drops_the_future_keeps_the_last_state() {
    let mut directory = directory(&ALL);
    let (reader, passing_on) = subset_channel(&directory.reader(), scheme(2));
    let last = keys(&reader.load());
    drop(passing_on);
    directory.upsert("g", Backend::new("g")).unwrap();
    assert!(reader.is_closed());
    assert_eq!(keys(&reader.load()), last);
}

#[test]
fn the_future_can_be_spawned() {
    fn spawn<F: Future<Output = ()> + Send + 'static>(future: F) -> F {
        future
    }
    let directory = directory(&ALL);
    let (_reader, passing_on) = subset_channel(&directory.reader(), scheme(2));
    drop(directory);
    assert_eq!(spawn(passing_on).now_or_never(), Some(()));
}
