//! Balances that follow a directory, and all that can be seen of them.

use poise::core::Status;
use poise::core::policy::RoundRobin;
use poise::discovery::Revision;
use poise::tower::DiscoveryBalance;

use super::fleet::{Fleet, fleet};
use super::script::Script;
use super::workshop::Workshop;

pub(crate) type Following<P = RoundRobin> = DiscoveryBalance<&'static str, Script, Workshop, P>;

/// Makes a directory of one script for each name, and a balance that is to follow it.
pub(crate) fn following<const N: usize>(
    names: [&'static str; N],
) -> (Fleet, [Script; N], Workshop, Following) {
    let (directory, scripts) = fleet(names);
    let workshop = Workshop::default();
    let balance = DiscoveryBalance::new(RoundRobin::starting_at(0), workshop.clone());
    (directory, scripts, workshop, balance)
}

/// Everything that a failed snapshot must leave alone.
#[derive(Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    /// Name, reservation, quarantine, load and status, in their order.
    pub(crate) endpoints: Vec<(&'static str, bool, bool, u64, Status)>,
}

pub(crate) fn state<P>(balance: &Following<P>) -> State {
    let endpoints = balance.balance().endpoints().iter().map(|endpoint| {
        let candidate = endpoint.candidate();
        let in_flight = endpoint.tracker().current();
        let status = candidate.attributes().status();
        (*candidate.key(), endpoint.is_reserved(), endpoint.is_quarantined(), in_flight, status)
    });
    State { revision: balance.revision(), endpoints: endpoints.collect() }
}
