//! Memberships written by hand, for exactly what the rows do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use poise::core::{Attributes, Backend};

/// What a member is, at least: what others share, and what is its own.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) key: Arc<String>,
    pub(crate) backend: Arc<Backend<String>>,
    pub(crate) attributes: Attributes,
}

/// A membership that copies its records for each change.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) records: Arc<[Record]>,
    pub(crate) index: Arc<HashMap<Arc<String>, usize>>,
}

impl Table {
    pub(crate) fn new(set: impl Iterator<Item = (String, Backend<String>)>) -> Self {
        let records: Arc<[Record]> = set
            .map(|(key, backend)| Record {
                key: Arc::new(key),
                backend: Arc::new(backend),
                attributes: Attributes::default(),
            })
            .collect();
        let index = records.iter().enumerate().map(|(at, record)| (Arc::clone(&record.key), at)).collect();
        Self { records, index: Arc::new(index) }
    }

    /// Returns a table in which one member has other attributes.
    pub(crate) fn amended(&self, key: &String, attributes: Attributes) -> Self {
        let mut records: Vec<Record> = self.records.to_vec();
        records[self.index[key]].attributes = attributes;
        Self { records: records.into(), index: Arc::clone(&self.index) }
    }

    /// Returns a table without one member and with another one.
    pub(crate) fn exchanged(&self, key: &String, newcomer: Record) -> Self {
        let mut records: Vec<Record> = self.records.to_vec();
        let mut index = HashMap::clone(&self.index);
        if let Some(at) = index.remove(key) {
            index.insert(Arc::clone(&newcomer.key), at);
            records[at] = newcomer;
        }
        Self { records: records.into(), index: Arc::new(index) }
    }

    /// Tells whether a set is what the table has already.
    pub(crate) fn is_same(&self, set: impl Iterator<Item = (String, Backend<String>)>) -> bool {
        set.into_iter().all(|(key, backend)| {
            let known = self.index.get(&key).map(|at| &self.records[*at]);
            known.is_some_and(|known| {
                known.backend.is_same_endpoint(&backend) && known.attributes == attributes(&backend)
            })
        })
    }
}

fn attributes(backend: &Backend<String>) -> Attributes {
    poise::core::Candidate::attributes(backend)
}

/// A value that one task waits for, behind a lock.
#[derive(Default)]
pub(crate) struct Watched(Mutex<(u64, Option<Waker>)>);

impl Watched {
    /// Returns the value if it is newer than `seen`, and else has the waker woken by the next.
    pub(crate) fn poll(&self, seen: u64, waker: &Waker) -> Option<u64> {
        let mut watched = self.0.lock().expect("nothing panics under the lock");
        if watched.0 > seen {
            return Some(watched.0);
        }
        watched.1 = Some(waker.clone());
        None
    }

    pub(crate) fn set(&self, value: u64) {
        let woken = {
            let mut watched = self.0.lock().expect("nothing panics under the lock");
            watched.0 = value;
            watched.1.take()
        };
        if let Some(waker) = woken {
            waker.wake();
        }
    }
}
