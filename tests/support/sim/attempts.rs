//! The attempts that servers have.

use poise::core::Attempted;

use super::clock::Nanos;

/// Names an attempt while a server has it.
pub(super) type Slot = u32;

/// What a caller waits for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) started: Nanos,
    pub(super) key: u64,
    pub(super) retries: u32,
    pub(super) tried: Attempted,
}

/// One attempt at one server.
#[derive(Debug)]
pub(super) struct Attempt<T> {
    pub(super) server: usize,
    pub(super) ticket: T,
    /// Nothing once the caller has given up.
    pub(super) request: Option<Request>,
    serial: u64,
}

/// Keeps attempts; the places of those that are over are used again.
#[derive(Debug)]
pub(super) struct Attempts<T> {
    slots: Vec<Option<Attempt<T>>>,
    free: Vec<Slot>,
    serial: u64,
}

impl<T> Attempts<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), serial: 0 }
    }

    /// Adds an attempt, and returns its place and a number that no other attempt has.
    pub(super) fn add(&mut self, server: usize, ticket: T, request: Request) -> (Slot, u64) {
        self.serial += 1;
        let attempt = Some(Attempt { server, ticket, request: Some(request), serial: self.serial });
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = attempt;
            return (slot, self.serial);
        }
        self.slots.push(attempt);
        (Slot::try_from(self.slots.len() - 1).expect("fewer than 2^32 attempts at a time"), self.serial)
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Attempt<T> {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a server answers each attempt once")
    }

    /// Returns the attempt with this number, unless it is over or nobody waits for it.
    pub(super) fn waiting(&mut self, slot: Slot, serial: u64) -> Option<&mut Attempt<T>> {
        let attempt = self.slots[slot as usize].as_mut()?;
        Some(attempt).filter(|attempt| attempt.serial == serial && attempt.request.is_some())
    }

    /// Lists the requests that somebody waits for.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Request> {
        self.slots.iter().flatten().filter_map(|attempt| attempt.request.as_ref())
    }
}
