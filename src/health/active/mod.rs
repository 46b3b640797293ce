//! Active health: endpoints are asked whether they are well, apart from the traffic.
//!
//! [`ActiveHealth`] says when to probe and what the answers mean; sending them is up to whoever drives it. [`ProbeState`]
//! draws the states, and [`ActiveHealthConfig`] lists what can be chosen. [`ProbeSchedule`] keeps the probes of many
//! members. What always holds:
//!
//! 1. At most one probe of an endpoint is under way. To reserve it is atomic.
//! 2. A probe decides something only while its reservation holds. Once the state was forced or the next probe is due,
//!    its result is ignored, and its [`ProbeCompletion`] says so.
//! 3. A cancelled, dropped or lapsed probe leaves the classification as it is, and another one follows.
//! 4. No reservation is held for ever: it lapses when the next probe is due.
//! 5. A forced state holds at once, and until it is lifted.
//! 6. Time is only what the caller says it is. A clock that goes back or jumps breaks none of these.

mod config;
mod ledger;
mod machine;
#[cfg(all(test, loom))]
mod models;
mod outcome;
mod rejection;
mod report;
mod reservation;
mod schedule;
mod state;

pub use self::config::{ActiveHealthConfig, ActiveHealthConfigError, UnknownPolicy};
pub use self::machine::ActiveHealth;
pub use self::outcome::{ProbeCompletion, ProbeOutcome};
pub use self::rejection::ProbeRejection;
pub use self::report::{ActiveHealthReport, ProbeCounts};
pub use self::reservation::{ProbeReservation, ProbeTicket};
pub use self::schedule::{ProbeSchedule, StartedProbe};
pub use self::state::ProbeState;
