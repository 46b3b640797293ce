//! What one client keeps: a policy, and what it knows of each server.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use poise::core::policy::{Prequal, UtilizationReport, UtilizationReports};
use poise::core::{
    Attempted, Backend, Candidate, InFlight, LoadMetric, LoadTracker, Now, Outcome, PeakEwma, Policy,
    Prepared, ProbeAnswer, View,
};
use poise::health::{
    CircuitTicket, Completion, Ejection, Ejector, HealthChecked, OutcomeWindow, OutlierSample, PassiveHealth,
    SlowStart,
};
use poise::tower::{Hedge, HedgeDelay, RetryBudget};

/// A load of the crate that can be simulated.
pub(crate) trait SimLoad: LoadTracker + LoadMetric {
    /// Returns how many attempts failed in a row, as far as it counts them.
    fn failures(&self, _: &Now) -> u32 {
        0
    }
}

impl SimLoad for InFlight {}

impl SimLoad for PeakEwma {
    fn failures(&self, now: &Now) -> u32 {
        self.consecutive_failures(now)
    }
}

/// A candidate that can be simulated.
pub(crate) trait Node: Candidate<Id = usize, Load: SimLoad + Sized> {
    /// Returns the circuit, if there is one.
    fn circuit(&self) -> Option<&PassiveHealth> {
        None
    }

    /// Hears that it has joined the others.
    fn join(&self, _: &Now) {}
}

impl<L: SimLoad> Node for Backend<usize, (), L> {}

impl<L: SimLoad> Node for HealthChecked<Backend<usize, (), L>, PassiveHealth> {
    fn circuit(&self) -> Option<&PassiveHealth> {
        Some(self.health())
    }
}

impl<L: SimLoad> Node for HealthChecked<Backend<usize, (), L>, Arc<Ejection>> {}

impl<N: Node> Node for SlowStart<N> {
    fn circuit(&self) -> Option<&PassiveHealth> {
        self.candidate().circuit()
    }

    fn join(&self, now: &Now) {
        self.restart(now);
    }
}

/// What a client knows servers by: its own, or lent by whoever looks at them afterwards.
pub(super) enum Nodes<'a, C> {
    Own(Vec<C>),
    Lent(&'a [C]),
}

impl<C> Deref for Nodes<'_, C> {
    type Target = [C];

    fn deref(&self) -> &[C] {
        match self {
            Self::Own(nodes) => nodes,
            Self::Lent(nodes) => nodes,
        }
    }
}

/// One client.
pub(crate) struct Client<'n, C, P> {
    policy: P,
    nodes: Nodes<'n, C>,
    /// Whom it may choose from, ascending.
    scope: Vec<u32>,
    prepared: Prepared,
    probing: Option<Prequal>,
    reports: Option<Arc<UtilizationReports>>,
    ejecting: Option<Ejecting>,
    budget: Option<RetryBudget>,
    hedges: Option<HedgeDelay>,
}

/// An attempt that a client has started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admitted<T> {
    pub(super) server: usize,
    pub(super) ticket: T,
    pub(super) permit: Option<CircuitTicket>,
    started: Instant,
}

impl<'n, C: Node, P: Policy<C, u64>> Client<'n, C, P> {
    /// Makes a client of servers, one node for each.
    pub(crate) fn new(policy: P, nodes: Vec<C>) -> Self {
        Self::over(policy, Nodes::Own(nodes))
    }

    /// Makes a client that borrows what it knows servers by.
    pub(super) fn lent(policy: P, nodes: &'n [C]) -> Self {
        Self::over(policy, Nodes::Lent(nodes))
    }

    fn over(policy: P, nodes: Nodes<'n, C>) -> Self {
        Self {
            policy,
            nodes,
            scope: Vec::new(),
            prepared: Prepared::none(),
            probing: None,
            reports: None,
            ejecting: None,
            budget: None,
            hedges: None,
        }
    }

    /// Has it probe servers for a pool, which the policy chooses by.
    pub(crate) fn probing(self, prequal: Prequal) -> Self {
        Self { probing: Some(prequal), ..self }
    }

    /// Has it record the reports that servers attach to their answers.
    pub(crate) fn recording(self, reports: Arc<UtilizationReports>) -> Self {
        Self { reports: Some(reports), ..self }
    }

    /// Has it eject servers that fail more than others do.
    pub(crate) fn ejecting(self, ejecting: Ejecting) -> Self {
        Self { ejecting: Some(ejecting), ..self }
    }

    /// Limits retries and hedges.
    pub(crate) fn with_budget(self, budget: Option<RetryBudget>) -> Self {
        Self { budget, ..self }
    }

    /// Has it hedge from now on.
    pub(super) fn hedge(&mut self, hedge: Hedge, now: &Now) {
        self.hedges = Some(HedgeDelay::new(hedge, now.instant()));
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn is_probing(&self) -> bool {
        self.probing.is_some()
    }

    /// Chooses from these servers from now on. Newcomers take their first estimate from the others.
    pub(super) fn set_scope(&mut self, scope: &[u32], now: &Now) {
        let newcomers: Vec<_> = scope.iter().filter(|at| !self.scope.contains(at)).copied().collect();
        if !self.scope.is_empty() {
            for newcomer in newcomers {
                let mut peers = self.scope.iter().map(|at| self.nodes[*at as usize].load());
                let node = &self.nodes[newcomer as usize];
                node.load().seed(&mut peers, now);
                node.join(now);
            }
        }
        scope.clone_into(&mut self.scope);
        let view = View::new(&self.nodes).within(&self.scope).with_now(now);
        self.prepared =
            self.policy.prepare(&view, Some(&self.prepared)).expect("the policy accepts the servers");
    }

    fn view<'a>(&'a self, now: &'a Now) -> View<'a, C> {
        let view = View::new(&self.nodes).with_now(now);
        let view = if self.scope.len() == self.nodes.len() { view } else { view.within(&self.scope) };
        view.prepared(&self.prepared)
    }

    /// Chooses a server that was not tried, or any when all were, and starts an attempt there.
    pub(super) fn admit(
        &self,
        key: u64,
        tried: &Attempted,
        now: &Now,
    ) -> Option<Admitted<<C::Load as LoadTracker>::Ticket>> {
        let pick = |view: View<'_, C>| self.policy.pick_from(&view, &key);
        let untried = pick(self.view(now).avoiding(tried));
        let again = |_| if tried.is_empty() { untried } else { pick(self.view(now)) };
        let server = untried.or_else(again).ok()?.index();
        let node = &self.nodes[server];
        let permit = node.circuit().map(|circuit| circuit.admit(now)).transpose().ok()?;
        let started = node.load().start(now);
        if let (Err(_), Some(circuit), Some(permit)) = (&started, node.circuit(), permit) {
            circuit.settle(permit, Outcome::Cancelled, now);
        }
        started.ok().map(|ticket| Admitted { server, ticket, permit, started: now.instant() })
    }

    pub(super) fn settle(
        &self,
        attempt: Admitted<<C::Load as LoadTracker>::Ticket>,
        outcome: Outcome,
        now: &Now,
    ) {
        let node = &self.nodes[attempt.server];
        node.load().responded(attempt.ticket, outcome, now);
        node.load().release(attempt.ticket, now);
        if let Some(ejecting) = &self.ejecting {
            ejecting.windows[attempt.server].record(outcome, now);
        }
        if let Some(hedges) = &self.hedges {
            hedges.record(outcome, now.since(attempt.started));
        }
        let (Some(circuit), Some(permit)) = (node.circuit(), attempt.permit) else { return };
        if circuit.settle(permit, outcome, now) == Completion::Closed {
            // As a balancer does: whoever returns starts from what its peers are like.
            let mut peers = self.scope.iter().map(|at| self.nodes[*at as usize].load());
            node.load().seed(&mut peers, now);
        }
    }

    /// Returns the servers to probe now.
    pub(super) fn probe_targets(&self, now: &Now) -> Vec<usize> {
        let Some(prequal) = &self.probing else { return Vec::new() };
        let view = self.view(now);
        let targets = prequal.probe_targets(&view, prequal.pool().take_due());
        targets.map(|targets| targets.map(poise::core::Selection::index).collect()).unwrap_or_default()
    }

    pub(super) fn probed(&self, server: usize, answer: ProbeAnswer, now: &Now) {
        let failures = self.nodes[server].load().failures(now);
        if let Some(prequal) = &self.probing {
            prequal.pool().insert(&server, answer.with_failures(failures), now);
        }
    }

    pub(super) fn reported(&self, server: usize, report: UtilizationReport, now: &Now) {
        if let Some(reports) = &self.reports {
            reports.record(&server, report, now);
        }
    }

    pub(super) fn count_request(&mut self, now: &Now) {
        if let Some(ejecting) = &mut self.ejecting {
            ejecting.advance(now);
        }
        if let Some(budget) = &mut self.budget {
            budget.deposit(1, now.instant());
        }
    }

    /// Takes what one more attempt costs; without a budget it costs nothing.
    pub(super) fn may_try_again(&mut self, now: &Now) -> bool {
        self.budget.as_mut().is_none_or(|budget| budget.try_withdraw(now.instant()))
    }

    /// Returns after how long an attempt is hedged that starts now.
    pub(super) fn hedge_delay(&self, now: &Now) -> Option<Duration> {
        self.hedges.as_ref()?.delay(now.instant())
    }
}

/// The control loop that ejects servers, and what it looks at. It is driven by the requests of its client.
pub(crate) struct Ejecting {
    pub(super) ejector: Ejector,
    pub(super) members: Vec<Arc<Ejection>>,
    pub(super) windows: Vec<OutcomeWindow>,
}

impl Ejecting {
    fn advance(&mut self, now: &Now) {
        if self.ejector.next_change().is_some_and(|at| now.instant() < at) {
            return;
        }
        let windows = &self.windows;
        self.ejector.advance(now, &self.members, |member| {
            let counts = windows[member].counts(now);
            OutlierSample::new(counts.successes(), counts.total())
        });
    }
}
