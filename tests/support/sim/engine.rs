//! The loop: from one event to the next.

use poise::core::{Now, Outcome, Policy, ProbeAnswer};

use super::chance::Chance;
use super::client::{Client, Node};
use super::clock::{Nanos, now_at};
use super::events::Events;
use super::report::{Report, Sample};
use super::request::{Attempt, Group, Request, Ticket};
use super::scenario::{Move, Scenario};
use super::slab::{Key, Slab, Slot};
use super::station::Station;

/// Runs one scenario.
pub(super) struct Engine<'a, C: Node, P> {
    pub(super) scenario: &'a Scenario,
    pub(super) clients: Vec<Client<'a, C, P>>,
    pub(super) stations: Vec<Station>,
    pub(super) attempts: Slab<Attempt<Ticket<C>>>,
    pub(super) requests: Slab<Request>,
    pub(super) groups: Slab<Group>,
    pub(super) events: Events<Event>,
    pub(super) chance: Chances,
    pub(super) report: Report,
    /// The servers that clients know of.
    scope: Vec<u32>,
}

/// What is drawn at random, each kind from a stream of its own.
pub(super) struct Chances {
    arrivals: Chance,
    pub(super) work: Chance,
    pub(super) network: Chance,
    antagonists: Chance,
    clients: Chance,
}

pub(super) enum Event {
    Start,
    Arrive { slot: Slot },
    Finish { server: u32, expectation: u32 },
    Fail { slot: Slot, outcome: Outcome },
    Answer { slot: Slot, outcome: Outcome },
    Late { attempt: Key },
    Hedge { attempt: Key },
    GiveUp { request: Key },
    Probe { client: u32, server: u32 },
    Probed { client: u32, server: u32, answer: ProbeAnswer },
    Begin { fault: usize },
    End { fault: usize },
    Move { number: usize },
    Antagonist { server: usize },
    Sample,
}

impl<'a, C: Node, P: Policy<C, u64>> Engine<'a, C, P> {
    pub(super) fn new(scenario: &'a Scenario, clients: Vec<Client<'a, C, P>>) -> Self {
        let servers = scenario.servers.len();
        let is_probed = clients.iter().any(Client::is_probing);
        let chance = |stream| Chance::new(scenario.seed, stream);
        let late = |at: &u32| scenario.moves.iter().any(|(_, to)| *to == Move::Join(*at as usize));
        Self {
            scenario,
            clients,
            stations: scenario.servers.iter().map(|server| Station::new(server, is_probed)).collect(),
            attempts: Slab::new(),
            requests: Slab::new(),
            groups: Slab::new(),
            events: Events::new(),
            chance: Chances {
                arrivals: chance(0),
                work: chance(1),
                network: chance(2),
                antagonists: chance(3),
                clients: chance(4),
            },
            report: Report::new(servers),
            scope: (0..).take(servers).filter(|at| !late(at)).collect(),
        }
    }

    pub(super) fn run(mut self) -> Report {
        self.tell_scope();
        self.tell_hedge();
        self.schedule_all();
        while let Some(event) = self.events.next() {
            self.handle(&event);
        }
        let warm_up = self.scenario.warm_up;
        let waiting = self.requests.iter().filter(|request| request.started >= warm_up);
        let alone = waiting.filter(|request| request.group.is_none()).count();
        self.report.stuck = alone + self.groups.iter().filter(|group| group.started >= warm_up).count();
        self.report
    }

    pub(super) fn now(&self) -> Now {
        now_at(self.events.now())
    }

    /// Faults come first: one that begins with the simulation meets its first request.
    fn schedule_all(&mut self) {
        for (number, fault) in self.scenario.faults.iter().enumerate() {
            self.events.schedule(fault.from, Event::Begin { fault: number });
            if let Some(until) = fault.until {
                self.events.schedule(until, Event::End { fault: number });
            }
        }
        for (number, (at, _)) in self.scenario.moves.iter().enumerate() {
            self.events.schedule(*at, Event::Move { number });
        }
        for (server, described) in self.scenario.servers.iter().enumerate() {
            if described.antagonist.is_some() {
                self.events.schedule(0, Event::Antagonist { server });
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
            Event::Arrive { slot } => self.arrive(slot),
            Event::Finish { server, expectation } => self.finish(server as usize, expectation),
            Event::Fail { slot, outcome } => self.fail(slot, outcome),
            Event::Answer { slot, outcome } => self.answer(slot, outcome),
            Event::Late { attempt } => self.late(attempt),
            Event::Hedge { attempt } => self.hedge(attempt),
            Event::GiveUp { request } => self.give_up(request),
            Event::Probe { client, server } => self.probe(client, server),
            Event::Probed { client, server, answer } => {
                let now = self.now();
                self.clients[client as usize].probed(server as usize, answer, &now);
            }
            Event::Begin { fault } => self.begin(fault),
            Event::End { fault } => self.end(fault),
            Event::Move { number } => self.change_scope(number),
            Event::Antagonist { server } => self.redraw(server),
            Event::Sample => self.sample(),
        }
    }

    /// Starts what one arrival is: a request, or a group of them.
    fn start(&mut self) {
        let next = self.scenario.clients.after_start(&self.chance.arrivals);
        self.schedule_start(next);
        let key = self.chance.arrivals.key();
        let client = if self.clients.len() == 1 { 0 } else { self.chance.clients.below(self.clients.len()) };
        let started = self.events.now();
        if self.scenario.fan_out == 1 {
            self.send(Request::new(client, started, key, self.scenario.retries, None));
            return;
        }
        let group = self.groups.add(Group::new(started, self.scenario.fan_out));
        for part in 0..self.scenario.fan_out {
            let key = key.wrapping_add(part.into());
            self.send(Request::new(client, started, key, self.scenario.retries, Some(group)));
        }
    }

    pub(super) fn schedule_start(&mut self, delay: Option<Nanos>) {
        let at = delay.map(|delay| self.events.now() + delay);
        if let Some(at) = at.filter(|at| *at < self.scenario.duration) {
            self.events.schedule(at, Event::Start);
        }
    }

    /// Looks for finished requests when the next one will be.
    pub(super) fn expect(&mut self, server: usize) {
        if let Some((at, expectation)) = self.stations[server].expect() {
            self.events.schedule(at, Event::Finish { server: narrow(server), expectation });
        }
    }

    /// Sends the probes that a client owes.
    pub(super) fn send_probes(&mut self, client: usize) {
        if !self.clients[client].is_probing() {
            return;
        }
        let now = self.now();
        for server in self.clients[client].probe_targets(&now) {
            self.report.probes += 1;
            let (client, server) = (narrow(client), narrow(server));
            self.after_network(Event::Probe { client, server });
        }
    }

    fn probe(&mut self, client: u32, server: u32) {
        // A server that hangs does not answer.
        let now = self.now();
        if let Some(answer) = self.stations[server as usize].probed().map(|load| load.answer(&now)) {
            self.after_network(Event::Probed { client, server, answer });
        }
    }

    /// Lets an event happen on the other side of the network.
    pub(super) fn after_network(&mut self, event: Event) {
        match self.scenario.network {
            Some(delay) => {
                let at = self.events.now() + delay.draw(&self.chance.network, 1.0);
                self.events.schedule(at, event);
            }
            None => self.handle(&event),
        }
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

    fn change_scope(&mut self, number: usize) {
        let at = |server: usize| narrow(server);
        match self.scenario.moves[number].1 {
            Move::Join(server) | Move::Return(server) => self.scope.push(at(server)),
            Move::Leave(server) => self.scope.retain(|known| *known != at(server)),
        }
        self.scope.sort_unstable();
        self.scope.dedup();
        self.tell_scope();
    }

    fn tell_hedge(&mut self) {
        if let Some(hedge) = self.scenario.hedge {
            let now = self.now();
            self.clients.iter_mut().for_each(|client| client.hedge(hedge, &now));
        }
    }

    fn tell_scope(&mut self) {
        let now = self.now();
        self.clients.iter_mut().for_each(|client| client.set_scope(&self.scope, &now));
    }

    fn redraw(&mut self, server: usize) {
        let described = &self.scenario.servers[server];
        let Some(antagonist) = described.antagonist else { return };
        let now = self.events.now();
        let cores = antagonist.draw(described.allocation(), &self.chance.antagonists);
        self.stations[server].set_cores(cores, now);
        self.expect(server);
        let next = now + antagonist.next(&self.chance.antagonists);
        if next < self.scenario.duration {
            self.events.schedule(next, Event::Antagonist { server });
        }
    }

    fn sample(&mut self) {
        let now = self.events.now();
        let load = self.stations.iter().map(Station::present).collect();
        self.report.samples.push(Sample::new(now, load, &self.report));
        let next = self.scenario.sample_every.map(|interval| now + interval);
        if let Some(at) = next.filter(|at| *at <= self.scenario.duration) {
            self.events.schedule(at, Event::Sample);
        }
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than 2^32 clients and servers")
}
