//! Circuits: endpoints that fail are left alone for a while.
//!
//! [`PassiveHealth`] learns from the results of the traffic itself. [`CircuitState`] draws the states, and
//! [`CircuitConfig`] lists what can be chosen. What always holds:
//!
//! 1. Each transition starts a new epoch. A result counts only in the epoch in which it was admitted; later it is
//!    ignored, and its [`Completion`] says so.
//! 2. Half-open permits are atomic reservations: never more probes are under way than there are permits.
//! 3. A cancelled, dropped or expired attempt frees what it holds and decides nothing.
//! 4. No permit is held for ever: at its deadline a half-open round is over.
//! 5. A forced state holds at once, and until it is lifted.
//! 6. Time is only what the caller says it is. A clock that goes back or jumps breaks none of these.

mod completion;
mod config;
mod cooldown;
mod deadlines;
mod ledger;
mod machine;
#[cfg(all(test, loom))]
mod models;
mod permit;
mod phase;
mod rejection;
mod state;
mod transitions;
mod word;

pub use self::completion::{Completion, TripCause};
pub use self::config::{CircuitConfig, CircuitConfigError};
pub use self::machine::PassiveHealth;
pub use self::permit::{CircuitPermit, CircuitTicket};
pub use self::rejection::CircuitRejection;
pub use self::state::CircuitState;
