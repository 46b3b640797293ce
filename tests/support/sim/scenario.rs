//! What is simulated.

use std::time::Duration;

use poise::core::{Backend, Now, Policy};
use poise::tower::Hedge;

use super::chance::Work;
use super::client::{Client, Node, SimLoad};
use super::clients::Clients;
use super::clock::{Nanos, nanos, now_at};
use super::engine::Engine;
use super::fault::Fault;
use super::report::Report;
use super::server::Server;

/// Describes a simulation: clients, servers, faults and times.
///
/// Requests start in the given time; those that are under way at its end are followed until nothing happens any more.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(super) seed: u64,
    pub(super) clients: Clients,
    pub(super) duration: Nanos,
    pub(super) warm_up: Nanos,
    pub(super) servers: Vec<Server>,
    pub(super) faults: Vec<Fault>,
    pub(super) timeout: Option<Nanos>,
    pub(super) retries: u32,
    pub(super) sample_every: Option<Nanos>,
    pub(super) attempt_timeout: Option<Nanos>,
    pub(super) network: Option<Work>,
    pub(super) fan_out: u32,
    pub(super) hedge: Option<Hedge>,
    pub(super) moves: Vec<(Nanos, Move)>,
}

/// A change of the membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Join(usize),
    Leave(usize),
    Return(usize),
}

impl Scenario {
    /// Starts requests for `duration`, at no server yet.
    pub(crate) fn new(seed: u64, clients: Clients, duration: Duration) -> Self {
        Self {
            seed,
            clients,
            duration: nanos(duration),
            warm_up: 0,
            servers: Vec::new(),
            faults: Vec::new(),
            timeout: None,
            retries: 0,
            sample_every: None,
            attempt_timeout: None,
            network: None,
            fan_out: 1,
            hedge: None,
            moves: Vec::new(),
        }
    }

    /// Adds `count` equal servers.
    pub(crate) fn servers(mut self, count: usize, server: Server) -> Self {
        self.servers.extend(std::iter::repeat_n(server, count));
        self
    }

    /// Adds a fault.
    pub(crate) fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Leaves requests that start earlier out of the report, except the samples. The duration includes this time.
    pub(crate) fn warm_up(self, time: Duration) -> Self {
        Self { warm_up: nanos(time), ..self }
    }

    /// Has callers give up so long after the start of a request, whatever attempt it is at.
    pub(crate) fn timeout(self, time: Duration) -> Self {
        Self { timeout: Some(nanos(time)), ..self }
    }

    /// Has callers try again so many times when an attempt fails, at once and at servers that they have not tried as long
    /// as there are any.
    pub(crate) fn retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    /// Takes an attempt for failed that takes longer; the server does not hear of it.
    pub(crate) fn attempt_timeout(self, time: Duration) -> Self {
        Self { attempt_timeout: Some(nanos(time)), ..self }
    }

    /// Lets everything take so long from clients to servers and back, each way.
    pub(crate) fn network(self, delay: Work) -> Self {
        Self { network: Some(delay), ..self }
    }

    /// Makes each arrival a group of so many requests, which ends with the last of them.
    pub(crate) fn fan_out(self, parts: u32) -> Self {
        Self { fan_out: parts, ..self }
    }

    /// Has clients make a second attempt elsewhere when one takes long.
    pub(crate) fn hedge(self, hedge: Hedge) -> Self {
        Self { hedge: Some(hedge), ..self }
    }

    /// Has a server join at this time; until then nobody knows of it.
    pub(crate) fn joins(mut self, server: usize, at: Duration) -> Self {
        self.moves.push((nanos(at), Move::Join(server)));
        self
    }

    /// Has a server leave at this time: it finishes what it has, and gets nothing new.
    pub(crate) fn leaves(mut self, server: usize, at: Duration) -> Self {
        self.moves.push((nanos(at), Move::Leave(server)));
        self
    }

    /// Has a server that left come back at this time.
    pub(crate) fn returns(mut self, server: usize, at: Duration) -> Self {
        self.moves.push((nanos(at), Move::Return(server)));
        self
    }

    /// Notes in these intervals what the servers have to do.
    pub(crate) fn sample_every(self, interval: Duration) -> Self {
        Self { sample_every: Some(nanos(interval).max(1)), ..self }
    }

    /// Returns the number of servers.
    pub(crate) fn size(&self) -> usize {
        self.servers.len()
    }

    /// Simulates one client with `policy` over backends with the loads that `load` makes at the time of the start.
    pub(crate) fn run<L, P>(&self, policy: &P, mut load: impl FnMut(&Now) -> L) -> Report
    where
        L: SimLoad,
        P: Policy<Backend<usize, (), L>, u64>,
    {
        let start = start();
        let backend = |id| Backend::new(id).with_load(load(&start));
        let backends: Vec<_> = (0..self.servers.len()).map(backend).collect();
        self.run_on(policy, &backends)
    }

    /// Simulates one client with `policy` over candidates, one for each server. Keys of requests are random.
    pub(crate) fn run_on<C, P>(&self, policy: &P, candidates: &[C]) -> Report
    where
        C: Node,
        P: Policy<C, u64>,
    {
        self.run_clients(vec![Client::lent(policy, candidates)])
    }

    /// Simulates several clients. Each arrival is one of theirs, all with the same chance.
    pub(crate) fn run_clients<C, P>(&self, clients: Vec<Client<'_, C, P>>) -> Report
    where
        C: Node,
        P: Policy<C, u64>,
    {
        let fits = |client: &Client<'_, C, P>| client.count() == self.servers.len();
        assert!(clients.iter().all(fits), "one candidate for each server");
        Engine::new(self, clients).run()
    }
}

/// Returns the time at which simulations start.
pub(crate) fn start() -> Now {
    now_at(0)
}
