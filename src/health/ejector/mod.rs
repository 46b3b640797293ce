//! Ejection: members that fare worse than their peers are left alone for a time.
//!
//! [`Ejector`] is the control loop: it judges a pool now and then, ejects the worst for a time that grows when they come
//! back to it, and lets them return. Each member has an [`Ejection`], the signal that says whether it is out. What always
//! holds:
//!
//! 1. Nobody is ejected without a slot of the [budget](crate::health::ExclusionBudget) that circuits share, and each slot
//!    goes back when its member returns, is dropped, or leaves the pool. So caps hold in any order of events.
//! 2. A member returns when its time is over, and not before: no probe and no success shortens it.
//! 3. Whatever the loop does is an [`EjectorAction`], with its cause, the epoch of the member and the time.
//! 4. A forced state holds at once, and until it is lifted.
//! 5. Time is only what the caller says it is. A clock that goes back or jumps breaks none of these.

mod action;
mod config;
mod ejection;
#[cfg(all(test, loom))]
mod models;
mod state;
mod sweeps;
mod term;

pub use self::action::EjectorAction;
pub use self::config::{EjectorConfig, EjectorConfigError};
pub use self::ejection::Ejection;
pub use self::state::EjectionState;
pub use self::sweeps::Ejector;
