//! A discrete-event simulator of clients, a balancer and servers, on a virtual clock.
//!
//! It balances with the policies, views and trackers of the crate, through their public interface, and reimplements none
//! of them. The same [`Scenario`] with the same seed and an equally seeded policy gives the same [`Report`], event by event:
//! events at the same instant happen in the order in which they were scheduled.
//!
//! What is modelled:
//!
//! - Servers: first come, first served with some workers; processor sharing with some cores, of which a request
//!   keeps at most one busy; a pure delay. The work of a request is drawn when it arrives. See [`Server`].
//! - Faults that begin and end at set times: a server fails what arrives, hangs, or takes longer. See [`Fault`].
//! - Clients: an open loop at a constant or random rate, or a closed loop; they may give up after a time, and may try
//!   other servers when an attempt fails. See [`Clients`].
//! - One balancer that sees each start, answer and cancellation at once.
//!
//! What is not: the network, connections and their readiness, changes of the membership, several balancers over the same
//! servers, and servers that notice that a caller has gone: they finish what they have begun. A tracker that
//! refuses an attempt makes it fail; there is no queue in the balancer.

#![allow(dead_code, unused_imports, reason = "each program that includes the simulator uses a part of it")]

mod attempts;
mod chance;
mod clients;
mod clock;
mod engine;
mod events;
mod fault;
mod fifo;
mod report;
mod scenario;
mod server;
mod sharing;
mod station;

pub(crate) use self::chance::Work;
pub(crate) use self::clients::Clients;
pub(crate) use self::fault::Fault;
pub(crate) use self::report::{Report, Sample};
pub(crate) use self::scenario::Scenario;
pub(crate) use self::server::Server;
