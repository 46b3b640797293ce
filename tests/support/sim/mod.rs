//! A discrete-event simulator of clients, their balancers and servers, on a virtual clock.
//!
//! It balances with the policies, views, trackers, circuits, budgets and hedges of the crate, through their public interface, and
//! reimplements none of them. The same [`Scenario`] with the same seed and equally seeded policies gives the same [`Report`],
//! event by event: events at the same instant happen in the order in which they were scheduled.
//!
//! What is modelled:
//!
//! - Servers: first come, first served with some workers; processor sharing with some cores, of which a request
//!   keeps at most one busy; a pure delay. They may refuse what is too much, and share their machine with others. The work
//!   of a request is drawn when it arrives. See [`Server`].
//! - Faults that begin and end at set times: a server fails what arrives, hangs, or takes longer. See [`Fault`].
//! - Arrivals: an open loop at a constant or random rate, or a closed loop. See [`Clients`].
//! - [`Client`]s, each with a policy, loads, circuits and a budget of its own. They may give up after a time, limit the time of
//!   an attempt, try other servers when one fails, hedge, wait for many requests at once, probe, and read reports.
//! - The network, as a delay each way; servers that join and leave.
//!
//! What is not: connections and their readiness, and servers that notice that a caller has gone: they finish what they have
//! begun. A request that nobody can be chosen for fails; there is no queue in the balancer.

#![allow(dead_code, unused_imports, reason = "each program that includes the simulator uses a part of it")]

mod antagonist;
mod chance;
mod client;
mod clients;
mod clock;
mod engine;
mod events;
mod fault;
mod fifo;
mod meter;
mod report;
mod request;
mod scenario;
mod server;
mod sharing;
mod slab;
mod stack;
mod station;

pub(crate) use self::chance::Work;
pub(crate) use self::client::{Client, Node, SimLoad};
pub(crate) use self::clients::Clients;
pub(crate) use self::fault::Fault;
pub(crate) use self::report::{Report, Sample};
pub(crate) use self::scenario::{Scenario, start};
pub(crate) use self::server::Server;
pub(crate) use self::stack::{Probing, Setup, Stack};
