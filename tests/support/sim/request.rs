//! What becomes of a request, attempt by attempt.

use std::sync::Arc;

use poise::core::{Attempted, Candidate, LoadTracker, Outcome, Policy, ServerLoad, Serving};

use super::client::{Admitted, Node};
use super::clock::{Nanos, nanos};
use super::engine::{Engine, Event};
use super::slab::{Key, Slot};
use super::station::Reception;

pub(super) type Ticket<C> = <<C as Candidate>::Load as LoadTracker>::Ticket;

/// What a caller waits for.
#[derive(Debug)]
pub(super) struct Request {
    client: usize,
    pub(super) started: Nanos,
    key: u64,
    retries: u32,
    tried: Attempted,
    /// Attempts that are under way.
    attempts: Vec<Key>,
    /// Whether it has had its hedge, which it has once at most.
    hedged: bool,
    pub(super) group: Option<Key>,
}

impl Request {
    pub(super) fn new(client: usize, started: Nanos, key: u64, retries: u32, group: Option<Key>) -> Self {
        let (tried, attempts) = (Attempted::new(), Vec::new());
        Self { client, started, key, retries, tried, attempts, hedged: false, group }
    }
}

/// Requests that end together, with the last of them.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) started: Nanos,
    left: u32,
    end: End,
}

impl Group {
    pub(super) fn new(started: Nanos, parts: u32) -> Self {
        Self { started, left: parts, end: End::Answered }
    }
}

/// One attempt at one server.
#[derive(Debug)]
pub(super) struct Attempt<T> {
    client: usize,
    admitted: Admitted<T>,
    /// Nothing once nobody waits for it.
    request: Option<Key>,
    work: Nanos,
    serving: Option<Serving<Arc<ServerLoad>>>,
}

/// How a request ended. Of a group, the worst of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Answered,
    Refused,
    GivenUp,
    Failed,
}

impl<C: Node, P: Policy<C, u64>> Engine<'_, C, P> {
    pub(super) fn send(&mut self, request: Request) {
        let (client, started) = (request.client, request.started);
        let now = self.now();
        self.clients[client].count_request(&now);
        let key = self.requests.add(request);
        if let Some(timeout) = self.scenario.timeout {
            self.events.schedule(started + timeout, Event::GiveUp { request: key });
        }
        if !self.place(key) {
            self.close(key, End::Refused);
        }
        self.send_probes(client);
    }

    /// Chooses a server for a request and sends it there, and tells whether there was one.
    fn place(&mut self, key: Key) -> bool {
        let now = self.now();
        let Some(request) = self.requests.get(key) else { return true };
        let client = request.client;
        let Some(admitted) = self.clients[client].admit(request.key, &request.tried, &now) else {
            return false;
        };
        let server = admitted.server;
        request.tried.insert(server);
        let hedge_delay = if request.hedged { None } else { self.clients[client].hedge_delay(&now) };
        let attempt = Attempt { client, admitted, request: Some(key), work: 0, serving: None };
        let attempt = self.attempts.add(attempt);
        request.attempts.push(attempt);
        let counts = request.started >= self.scenario.warm_up;
        self.report.picked(server, self.events.now(), counts);
        if let Some(limit) = self.scenario.attempt_timeout {
            self.events.schedule(self.events.now() + limit, Event::Late { attempt });
        }
        if let Some(delay) = hedge_delay {
            self.events.schedule(self.events.now() + nanos(delay), Event::Hedge { attempt });
        }
        match self.scenario.network {
            Some(_) => self.after_network(Event::Arrive { slot: attempt.slot }),
            None => self.arrive(attempt.slot),
        }
        true
    }

    pub(super) fn arrive(&mut self, slot: Slot) {
        let at = self.events.now();
        let now = self.now();
        let Some((_, attempt)) = self.attempts.at(slot) else { return };
        let server = attempt.admitted.server;
        attempt.serving = self.stations[server].serve(&now);
        match self.stations[server].arrive(slot, at, &self.chance.work) {
            Reception::Accepted(work) => {
                attempt.work = work;
                self.expect(server);
            }
            Reception::Fails(latency, outcome) => {
                self.events.schedule(at + latency.max(1), Event::Fail { slot, outcome });
            }
        }
    }

    pub(super) fn finish(&mut self, server: usize, expectation: u32) {
        if !self.stations[server].is_expected(expectation) {
            return;
        }
        let (at, now) = (self.events.now(), self.now());
        while let Some(slot) = self.stations[server].finish(at) {
            let Some((_, attempt)) = self.attempts.at(slot) else { continue };
            if let Some(serving) = attempt.serving.take() {
                serving.end(Outcome::Success, &now);
            }
            let (client, waits) = (attempt.client, attempt.request.is_some());
            if let Some(report) = self.stations[server].leave(attempt.work, at).filter(|_| waits) {
                self.clients[client].reported(server, report, &now);
            }
            self.after_network(Event::Answer { slot, outcome: Outcome::Success });
        }
        self.expect(server);
    }

    pub(super) fn fail(&mut self, slot: Slot, outcome: Outcome) {
        let now = self.now();
        let Some((_, attempt)) = self.attempts.at(slot) else { return };
        if let Some(serving) = attempt.serving.take() {
            serving.end(outcome, &now);
        }
        self.stations[attempt.admitted.server].leave_failed();
        self.after_network(Event::Answer { slot, outcome });
    }

    /// Brings an answer to whoever waits for it.
    pub(super) fn answer(&mut self, slot: Slot, outcome: Outcome) {
        let Some((key, _)) = self.attempts.at(slot) else { return };
        let Some(attempt) = self.attempts.remove(key) else { return };
        let Some(request) = attempt.request else { return };
        self.settle(attempt.client, attempt.admitted, outcome);
        self.end_attempt(request, key, outcome);
    }

    /// Takes an attempt for failed that took too long; the server goes on with it.
    pub(super) fn late(&mut self, key: Key) {
        let Some(attempt) = self.attempts.get(key) else { return };
        let Some(request) = attempt.request.take() else { return };
        let (client, admitted) = (attempt.client, attempt.admitted);
        self.settle(client, admitted, Outcome::Failure);
        self.end_attempt(request, key, Outcome::Failure);
    }

    /// An error does not beat an attempt that may still succeed.
    fn end_attempt(&mut self, key: Key, attempt: Key, outcome: Outcome) {
        let now = self.now();
        let Some(request) = self.requests.get(key) else { return };
        request.attempts.retain(|other| *other != attempt);
        if outcome.is_success() {
            self.close(key, End::Answered);
        } else if request.retries > 0 && self.clients[request.client].may_try_again(&now) {
            request.retries -= 1;
            self.report.retries += 1;
            if !self.place(key) {
                self.close_unless_waiting(key);
            }
        } else {
            self.close_unless_waiting(key);
        }
    }

    fn close_unless_waiting(&mut self, key: Key) {
        if self.requests.get(key).is_some_and(|request| request.attempts.is_empty()) {
            self.close(key, End::Failed);
        }
    }

    /// Makes a second attempt beside one that takes long.
    pub(super) fn hedge(&mut self, attempt: Key) {
        let now = self.now();
        let Some(key) = self.attempts.get(attempt).and_then(|attempt| attempt.request) else { return };
        let Some(request) = self.requests.get(key).filter(|request| !request.hedged) else { return };
        request.hedged = true;
        if self.clients[request.client].may_try_again(&now) && self.place(key) {
            self.report.hedges += 1;
        }
    }

    pub(super) fn give_up(&mut self, key: Key) {
        if self.requests.get(key).is_some() {
            self.close(key, End::GivenUp);
        }
    }

    /// Ends a request, and cancels the attempts that are still under way.
    fn close(&mut self, key: Key, end: End) {
        let Some(request) = self.requests.remove(key) else { return };
        for other in &request.attempts {
            if let Some(attempt) = self.attempts.get(*other) {
                attempt.request = None;
                let (client, admitted) = (attempt.client, attempt.admitted);
                self.settle(client, admitted, Outcome::Cancelled);
            }
        }
        let Some(group) = request.group else {
            self.conclude(request.started, end);
            return;
        };
        let Some(parts) = self.groups.get(group) else { return };
        parts.left -= 1;
        parts.end = parts.end.max(end);
        if parts.left == 0
            && let Some(parts) = self.groups.remove(group)
        {
            self.conclude(parts.started, parts.end);
        }
    }

    fn conclude(&mut self, started: Nanos, end: End) {
        let latency = self.events.now() - started;
        self.report.ended(end, latency, started >= self.scenario.warm_up);
        self.schedule_start(self.scenario.clients.after_end());
    }

    fn settle(&self, client: usize, admitted: Admitted<Ticket<C>>, outcome: Outcome) {
        self.clients[client].settle(admitted, outcome, &self.now());
    }
}
