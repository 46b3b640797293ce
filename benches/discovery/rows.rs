//! What is measured.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use arc_swap::{ArcSwap, Cache};
use poise::core::{Attributes, Backend, Weight};
use poise::discovery::{Change, Directory, Revision, Snapshot, snapshot_channel};

use crate::minimum::{Record, Table, Watched};
use crate::sampling::Job;

const MANY: usize = 10_000;
/// A change of one among many takes at most so many nanoseconds.
const MILLISECOND: Option<f64> = Some(1e6);

/// Something that is done, and the least that it takes.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) job: Job,
    pub(crate) minimum: Job,
    /// How many minima it may take.
    pub(crate) minima: f64,
    /// How many nanoseconds it may take.
    pub(crate) within: Option<f64>,
    /// How often a thousand of it may allocate.
    pub(crate) allocates: Option<usize>,
}

pub(crate) fn all() -> Vec<Row> {
    vec![load(), cached(), subscribe_and_wake(), amend_one(), exchange_one(), replace_unchanged()]
}

fn set(members: usize) -> impl Iterator<Item = (String, Backend<String>)> + Clone {
    (0..members)
        .map(|at| (format!("member-{at}"), Backend::new(format!("10.0.{}.{}:80", at / 250, at % 250))))
}

fn directory(members: usize) -> Directory<String, Backend<String>> {
    let mut directory = Directory::new();
    directory.replace(set(members), Backend::is_same_endpoint).expect("keys differ");
    directory
}

/// Does the same thing to the same state so many times; only one thread runs it.
fn on<T: Send + 'static>(state: T, once: impl Fn(&mut T) + Sync + 'static) -> Job {
    let state = Mutex::new(state);
    Box::new(move |count| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..count {
            once(&mut state);
        }
    })
}

fn load() -> Row {
    let (directory, shared) = (directory(MANY), ArcSwap::from_pointee(Table::new(set(MANY))));
    let reader = directory.reader();
    Row {
        name: "load",
        job: on((directory, reader), |(_, reader)| drop(black_box(reader.load()))),
        minimum: on(shared, |shared| drop(black_box(shared.load_full()))),
        minima: 2.0,
        within: None,
        allocates: Some(0),
    }
}

fn cached() -> Row {
    let (directory, shared) = (directory(MANY), Arc::new(ArcSwap::from_pointee(Table::new(set(MANY)))));
    let cached = directory.reader().cached();
    Row {
        name: "load, cached",
        job: on((directory, cached), |(_, cached)| {
            black_box(cached.load().len());
        }),
        minimum: on(Cache::new(shared), |cache| {
            black_box(cache.load().records.len());
        }),
        minima: 2.0,
        within: None,
        allocates: Some(0),
    }
}

/// A stream waits, is woken by a publication, and yields it.
fn subscribe_and_wake() -> Row {
    let (publisher, reader) = snapshot_channel(Snapshot::<String, Backend<String>>::unknown());
    let stream = reader.changes();
    Row {
        name: "publish and wake",
        job: on((publisher, stream), |(publisher, stream)| {
            let mut context = Context::from_waker(Waker::noop());
            assert!(stream.poll_next_snapshot(&mut context).is_pending());
            let next = publisher.latest().revision().next().unwrap_or(Revision::ZERO);
            let snapshot = Snapshot::new(next, []).expect("no key is there twice");
            publisher.publish(snapshot).expect("it is newer");
            assert!(matches!(stream.poll_next_snapshot(&mut context), Poll::Ready(Some(_))));
        }),
        minimum: on((Watched::default(), 0), |(watched, seen)| {
            assert_eq!(watched.poll(*seen, Waker::noop()), None);
            watched.set(*seen + 1);
            *seen = watched.poll(*seen, Waker::noop()).expect("it was set");
            // What a state is kept in.
            drop(black_box((Arc::new(*seen), Arc::<[u64]>::from([*seen]))));
        }),
        minima: 6.0,
        within: None,
        allocates: None,
    }
}

fn heavier(turn: &AtomicU64) -> Attributes {
    let weight = u32::try_from(turn.fetch_add(1, Ordering::Relaxed) % 2 + 1).expect("small");
    Attributes::default().with_weight(Weight::new(weight).expect("not zero"))
}

fn amend_one() -> Row {
    let key = || "member-5000".to_owned();
    Row {
        name: "amend one of 10,000",
        job: on((directory(MANY), key(), AtomicU64::new(1)), |(directory, key, turn)| {
            let change = Change::Amend { key: key.clone(), attributes: heavier(turn) };
            black_box(directory.apply([change]).expect("the key is known"));
        }),
        minimum: on((Table::new(set(MANY)), key(), AtomicU64::new(1)), |(table, key, turn)| {
            *table = table.amended(key, heavier(turn));
        }),
        minima: 2.0,
        within: MILLISECOND,
        allocates: None,
    }
}

/// A member goes and another one comes, in one batch.
fn exchange_one() -> Row {
    let keys = || ["member-5000".to_owned(), "newcomer".to_owned()];
    Row {
        name: "exchange one of 10,000",
        job: on((directory(MANY), keys()), |(directory, keys)| {
            let [gone, newcomer] = keys.clone();
            let batch = [
                Change::Remove { key: gone.clone() },
                Change::FinishDrain { key: gone },
                Change::upsert(newcomer, Backend::new("10.1.0.0:80".to_owned())),
            ];
            black_box(directory.apply(batch).expect("the key is known"));
            keys.swap(0, 1);
        }),
        minimum: on((Table::new(set(MANY)), keys()), |(table, keys)| {
            let newcomer = Record {
                key: Arc::new(keys[1].clone()),
                backend: Arc::new(Backend::new("10.1.0.0:80".to_owned())),
                attributes: Attributes::default(),
            };
            *table = table.exchanged(&keys[0], newcomer);
            keys.swap(0, 1);
        }),
        minima: 2.0,
        within: MILLISECOND,
        allocates: None,
    }
}

fn replace_unchanged() -> Row {
    let known: Vec<_> = set(MANY).collect();
    let same = known.clone();
    Row {
        name: "replace 10,000, unchanged",
        job: on((directory(MANY), known), |(directory, known)| {
            let applied = directory.replace(known.iter().cloned(), Backend::is_same_endpoint);
            black_box(applied.expect("keys differ"));
        }),
        minimum: on((Table::new(set(MANY)), same), |(table, known)| {
            assert!(table.is_same(known.iter().cloned()));
        }),
        minima: 2.0,
        within: None,
        allocates: None,
    }
}
