//! Policies with what belongs to them, by name.

use std::sync::Arc;
use std::time::Duration;

use poise::core::policy::{
    LeastLoaded, PowerOfTwoChoices, Prequal, Random, RoundRobin, UtilizationReports, UtilizationWeighted,
};
use poise::core::{Backend, InFlight, Now, PeakEwma, Policy, ProbeConfig, ProbePool};
use poise::health::{BudgetConfig, CircuitConfig, ExclusionBudget, HealthChecked, PassiveHealth};
use poise::tower::RetryBudget;

use super::client::{Client, SimLoad};
use super::report::Report;
use super::scenario::{Scenario, start};

/// What decides where requests of a client go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stack {
    /// Each in turn.
    RoundRobin,
    /// Anybody.
    Random,
    /// The one with the fewest requests of this client.
    LeastLoaded,
    /// Two choices by requests of this client.
    TwoByCount,
    /// Two choices by latency and requests of this client.
    TwoByLatency,
    /// What a `Balancer` does by default: the same, with circuits and the budget for those that are out.
    Default,
    /// In turn by reported utilisation.
    Reported,
    /// By probes.
    Prequal(Probing),
}

/// How probes are sent, where it is not the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probing {
    /// How many for each query.
    pub(crate) rate: f64,
    /// How many answers each query throws away.
    pub(crate) removals: f64,
    /// From which quantile on a server is hot.
    pub(crate) quantile: f64,
}

impl Probing {
    /// The default.
    pub(crate) fn new() -> Self {
        let config = ProbeConfig::new();
        Self {
            rate: config.probes_per_query(),
            removals: config.removals_per_query(),
            quantile: config.quantile(),
        }
    }

    fn config(self) -> ProbeConfig {
        let config = ProbeConfig::new().with_probes_per_query(self.rate).expect("in range");
        let config = config.with_removals_per_query(self.removals).expect("in range");
        config.with_quantile(self.quantile).expect("in range")
    }
}

/// How many clients there are, and whether they limit retries.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// How many clients there are.
    pub(crate) clients: usize,
    /// The budget of each for retries and hedges; without one there is no limit.
    pub(crate) budget: Option<RetryBudget>,
    /// The seed of all that is random in clients.
    pub(crate) seed: u64,
}

impl Setup {
    /// One client with the default budget.
    pub(crate) fn new(seed: u64) -> Self {
        Self { clients: 1, budget: Some(RetryBudget::new()), seed }
    }

    /// Sets the number of clients.
    pub(crate) fn clients(self, clients: usize) -> Self {
        Self { clients, ..self }
    }

    /// Lets clients try again as often as they like.
    pub(crate) fn without_budget(self) -> Self {
        Self { budget: None, ..self }
    }
}

type Checked<L> = HealthChecked<Backend<usize, (), L>, PassiveHealth>;
type AnyPolicy<C> = Box<dyn Policy<C, u64>>;
type AnyClient<L> = Client<'static, Backend<usize, (), L>, AnyPolicy<Backend<usize, (), L>>>;

impl Stack {
    /// Those that know only what their own client has seen.
    pub(crate) const LOCAL: [Self; 6] = [
        Self::RoundRobin,
        Self::Random,
        Self::LeastLoaded,
        Self::TwoByCount,
        Self::TwoByLatency,
        Self::Default,
    ];

    /// Lists all of them.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Self::LOCAL.to_vec();
        all.extend([Self::Reported, Self::Prequal(Probing::new())]);
        all
    }

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round robin",
            Self::Random => "random",
            Self::LeastLoaded => "least loaded",
            Self::TwoByCount => "P2C, in flight",
            Self::TwoByLatency => "P2C, Peak EWMA",
            Self::Default => "default stack",
            Self::Reported => "reported weights",
            Self::Prequal(_) => "Prequal",
        }
    }

    /// Simulates clients of this kind.
    pub(crate) fn run(self, scenario: &Scenario, setup: &Setup) -> Report {
        match self {
            Self::TwoByLatency => scenario.run_clients(self.clients(scenario, setup, PeakEwma::new_at)),
            Self::Default => {
                let clients = (0..setup.clients).map(|at| {
                    let seed = setup.seed + at as u64;
                    Client::new(PowerOfTwoChoices::seeded(seed), guarded(scenario.size(), seed))
                        .with_budget(setup.budget.clone())
                });
                scenario.run_clients(clients.collect())
            }
            _ => scenario.run_clients(self.clients(scenario, setup, |_| InFlight::new())),
        }
    }

    fn clients<L: SimLoad + 'static>(
        self,
        scenario: &Scenario,
        setup: &Setup,
        load: impl Fn(&Now) -> L,
    ) -> Vec<AnyClient<L>> {
        let nodes = || (0..scenario.size()).map(|id| Backend::new(id).with_load(load(&start()))).collect();
        let client = |at: usize| {
            let seed = setup.seed + at as u64;
            let turn = at * scenario.size() / setup.clients;
            let client = match self {
                Self::RoundRobin => Client::new(boxed(RoundRobin::starting_at(turn)), nodes()),
                Self::Random => Client::new(boxed(Random::seeded(seed)), nodes()),
                Self::LeastLoaded => Client::new(boxed(LeastLoaded::seeded(seed)), nodes()),
                Self::TwoByCount | Self::TwoByLatency | Self::Default => {
                    Client::new(boxed(PowerOfTwoChoices::seeded(seed)), nodes())
                }
                Self::Reported => {
                    let reports = Arc::new(UtilizationReports::new());
                    let policy = UtilizationWeighted::starting_at(Arc::clone(&reports), turn as u64);
                    Client::new(boxed(policy), nodes()).recording(reports)
                }
                Self::Prequal(probing) => {
                    let pool = ProbePool::with_config(probing.config().with_seed(seed));
                    let prequal = Prequal::over(Arc::new(pool));
                    Client::new(boxed(prequal.clone()), nodes()).probing(prequal)
                }
            };
            client.with_budget(setup.budget.clone())
        };
        (0..setup.clients).map(client).collect()
    }
}

fn boxed<C, P: Policy<C, u64> + 'static>(policy: P) -> AnyPolicy<C> {
    Box::new(policy)
}

/// Makes servers with the circuits and the budget that a `Balancer` has by default.
fn guarded(servers: usize, seed: u64) -> Vec<Checked<PeakEwma>> {
    let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default()));
    budget.set_members(servers);
    let circuit = CircuitConfig::new(5, Duration::from_secs(1)).expect("in range");
    let circuit = circuit.with_growth(Duration::from_secs(60)).expect("in range");
    let circuit = circuit.with_jitter(0.2).expect("in range");
    let node = |id: usize| {
        let own = circuit.clone().with_seed(seed.wrapping_mul(1_000_003) + id as u64);
        let health = PassiveHealth::new(own).with_budget(Arc::clone(&budget));
        HealthChecked::new(Backend::new(id).with_load(PeakEwma::new_at(&start())), health)
    };
    (0..servers).map(node).collect()
}
