//! What is simulated.

use std::time::Duration;

use poise::core::{Backend, Candidate, LoadTracker, Now, Policy};

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

    /// Notes in these intervals what the servers have to do.
    pub(crate) fn sample_every(self, interval: Duration) -> Self {
        Self { sample_every: Some(nanos(interval).max(1)), ..self }
    }

    /// Simulates `policy` over backends with the loads that `load` makes at the time of the start.
    pub(crate) fn run<L, P>(&self, policy: &P, mut load: impl FnMut(&Now) -> L) -> Report
    where
        L: LoadTracker,
        P: Policy<Backend<usize, (), L>, u64>,
    {
        let start = now_at(0);
        let backend = |id| Backend::new(id).with_load(load(&start));
        let backends: Vec<_> = (0..self.servers.len()).map(backend).collect();
        self.run_on(policy, &backends)
    }

    /// Simulates `policy` over candidates, one for each server. Keys of requests are random.
    pub(crate) fn run_on<C, P>(&self, policy: &P, candidates: &[C]) -> Report
    where
        C: Candidate<Load: LoadTracker + Sized>,
        P: Policy<C, u64>,
    {
        assert_eq!(candidates.len(), self.servers.len(), "one candidate for each server");
        Engine::new(self, policy, candidates).run()
    }
}
