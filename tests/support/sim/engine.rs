//! The loop: from one event to the next.

use std::time::Duration;

use poise::core::{
    Attempted, Candidate, LoadTracker, Now, Outcome, PickError, Policy, Prepared, Selection, View,
};

use super::attempts::{Attempts, Request, Slot};
use super::chance::Chance;
use super::clock::{Nanos, now_at};
use super::events::Events;
use super::report::{Report, Sample};
use super::scenario::Scenario;
use super::station::{Reception, Station};

type Ticket<C> = <<C as Candidate>::Load as LoadTracker>::Ticket;

/// Runs one scenario.
pub(super) struct Engine<'a, C: Candidate<Load: LoadTracker + Sized>, P> {
    scenario: &'a Scenario,
    policy: &'a P,
    candidates: &'a [C],
    prepared: Prepared,
    stations: Vec<Station>,
    attempts: Attempts<Ticket<C>>,
    events: Events<Event>,
    arrivals: Chance,
    work: Chance,
    report: Report,
}

enum Event {
    Start,
    Finish { server: u32, expectation: u32 },
    Fail { slot: Slot },
    GiveUp { slot: Slot, serial: u64 },
    Begin { fault: usize },
    End { fault: usize },
    Sample,
}

impl<'a, C, P> Engine<'a, C, P>
where
    C: Candidate<Load: LoadTracker + Sized>,
    P: Policy<C, u64>,
{
    pub(super) fn new(scenario: &'a Scenario, policy: &'a P, candidates: &'a [C]) -> Self {
        let view = View::new(candidates).at(now_at(0).instant());
        let prepared = policy.prepare(&view, None).expect("the policy accepts the servers");
        let report = Report { picks: vec![0; candidates.len()], ..Report::default() };
        Self {
            scenario,
            policy,
            candidates,
            prepared,
            stations: scenario.servers.iter().map(Station::new).collect(),
            attempts: Attempts::new(),
            events: Events::new(),
            arrivals: Chance::new(scenario.seed, 0),
            work: Chance::new(scenario.seed, 1),
            report,
        }
    }

    pub(super) fn run(mut self) -> Report {
        self.schedule_all();
        while let Some(event) = self.events.next() {
            self.handle(&event);
        }
        let waiting = self.attempts.requests();
        self.report.stuck = waiting.filter(|request| request.started >= self.scenario.warm_up).count();
        self.report
    }

    /// Faults come first: one that begins with the simulation meets its first request.
    fn schedule_all(&mut self) {
        for (number, fault) in self.scenario.faults.iter().enumerate() {
            self.events.schedule(fault.from, Event::Begin { fault: number });
            if let Some(until) = fault.until {
                self.events.schedule(until, Event::End { fault: number });
            }
        }
        (0..self.scenario.clients.at_start()).for_each(|_| self.events.schedule(0, Event::Start));
        if self.scenario.sample_every.is_some() {
            self.events.schedule(0, Event::Sample);
        }
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Start => self.start(),
            Event::Finish { server, expectation } => self.finish(server as usize, expectation),
            Event::Fail { slot } => self.answer(slot, Outcome::Failure),
            Event::GiveUp { slot, serial } => self.give_up(slot, serial),
            Event::Begin { fault } => self.begin(fault),
            Event::End { fault } => self.end(fault),
            Event::Sample => self.sample(),
        }
    }

    fn start(&mut self) {
        let next = self.scenario.clients.after_start(&self.arrivals);
        self.schedule_start(next);
        let retries = self.scenario.retries;
        let (started, key) = (self.events.now(), self.arrivals.key());
        self.place(Request { started, key, retries, tried: Attempted::new() });
    }

    fn schedule_start(&mut self, delay: Option<Nanos>) {
        let at = delay.map(|delay| self.events.now() + delay);
        if let Some(at) = at.filter(|at| *at < self.scenario.duration) {
            self.events.schedule(at, Event::Start);
        }
    }

    /// Chooses a server for a request and sends it there.
    fn place(&mut self, request: Request) {
        let now = now_at(self.events.now());
        let picked = self.pick(&request, &now).map(Selection::index);
        let admitted = picked.ok().and_then(|server| Some((server, self.load(server).start(&now).ok()?)));
        let Some((server, ticket)) = admitted else {
            self.close(&request, |report, _| report.refused += 1);
            return;
        };
        self.report.picks[server] += u64::from(self.counts(&request));
        let deadline = self.scenario.timeout.map(|timeout| request.started + timeout);
        let (slot, serial) = self.attempts.add(server, ticket, request);
        if let Some(deadline) = deadline {
            self.events.schedule(deadline, Event::GiveUp { slot, serial });
        }
        match self.stations[server].arrive(slot, self.events.now(), &self.work) {
            Reception::Accepted => self.expect(server),
            Reception::Fails(latency) => {
                self.events.schedule(self.events.now() + latency.max(1), Event::Fail { slot });
            }
        }
    }

    fn pick(&self, request: &Request, now: &Now) -> Result<Selection, PickError> {
        let view = || View::new(self.candidates).with_now(now).prepared(&self.prepared);
        if request.tried.is_empty() {
            return self.policy.pick_from(&view(), &request.key);
        }
        let untried = self.policy.pick_from(&view().avoiding(&request.tried), &request.key);
        untried.or_else(|_| self.policy.pick_from(&view(), &request.key))
    }

    fn finish(&mut self, server: usize, expectation: u32) {
        if !self.stations[server].is_expected(expectation) {
            return;
        }
        while let Some(slot) = self.stations[server].finish(self.events.now()) {
            self.answer(slot, Outcome::Success);
        }
        self.expect(server);
    }

    fn expect(&mut self, server: usize) {
        if let Some((at, expectation)) = self.stations[server].expect() {
            let server = u32::try_from(server).expect("fewer than 2^32 servers");
            self.events.schedule(at, Event::Finish { server, expectation });
        }
    }

    fn answer(&mut self, slot: Slot, outcome: Outcome) {
        let attempt = self.attempts.remove(slot);
        self.stations[attempt.server].leave();
        let Some(mut request) = attempt.request else { return };
        self.settle(attempt.server, attempt.ticket, outcome);
        if outcome.is_success() {
            self.close(&request, |report, latency| report.latencies.push(latency));
        } else if request.retries > 0 {
            request.retries -= 1;
            request.tried.insert(attempt.server);
            self.place(request);
        } else {
            self.close(&request, |report, _| report.failed += 1);
        }
    }

    fn give_up(&mut self, slot: Slot, serial: u64) {
        let Some(attempt) = self.attempts.waiting(slot, serial) else { return };
        let (server, ticket) = (attempt.server, attempt.ticket);
        let Some(request) = attempt.request.take() else { return };
        self.settle(server, ticket, Outcome::Cancelled);
        self.close(&request, |report, _| report.given_up += 1);
    }

    fn settle(&self, server: usize, ticket: Ticket<C>, outcome: Outcome) {
        let now = now_at(self.events.now());
        self.load(server).responded(ticket, outcome, &now);
        self.load(server).release(ticket, &now);
    }

    /// Notes how a request ended and how long it took.
    fn close(&mut self, request: &Request, note: impl FnOnce(&mut Report, Nanos)) {
        if self.counts(request) {
            note(&mut self.report, self.events.now() - request.started);
        }
        self.schedule_start(self.scenario.clients.after_end());
    }

    fn begin(&mut self, number: usize) {
        let fault = self.scenario.faults[number];
        self.stations[fault.server].begin(number, fault.kind, self.events.now());
        self.expect(fault.server);
    }

    fn end(&mut self, number: usize) {
        let server = self.scenario.faults[number].server;
        self.stations[server].end(number, self.events.now());
        self.expect(server);
    }

    fn sample(&mut self) {
        let now = self.events.now();
        let load = self.stations.iter().map(Station::present).collect();
        self.report.samples.push(Sample { at: Duration::from_nanos(now), load });
        let next = self.scenario.sample_every.map(|interval| now + interval);
        if let Some(at) = next.filter(|at| *at <= self.scenario.duration) {
            self.events.schedule(at, Event::Sample);
        }
    }

    fn counts(&self, request: &Request) -> bool {
        request.started >= self.scenario.warm_up
    }

    fn load(&self, server: usize) -> &'a C::Load {
        self.candidates[server].load()
    }
}
