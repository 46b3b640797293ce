//! What happens with no request flowing.
//!
//! A driver is a few machines that are looked at one after another. Each does what is due and says when it has to be looked
//! at next; one alarm waits for the earliest of these times, and whatever else happens wakes the driver.
//!
//! ```text
//! snapshots -> membership { slots: current, next } -> pool    what was adopted, built, and ready once
//!                             |
//!                           drains                            whose last attempt ended, or whose deadline passed
//! cluster                                                     circuits whose cooldown is over, failing fast
//! ```
//!
//! 1. A slot belongs to a key. It serves with what it has until the next is ready, so that nothing that is yet to be built
//!    or to connect holds up a request or another member.
//! 2. A membership that the policy refuses changes nothing: what was built for it is let go of.
//! 3. Nothing outlives the driver: what connects is dropped with its slot, and all slots with the driver.

mod assembly;
mod drains;
mod driving;
mod factory;
mod membership;
mod polled;
mod progress;
mod slot;

pub(super) use self::drains::OnDrained;
pub use self::driving::Driver;
pub(super) use self::driving::Driving;
pub(super) use self::factory::{Factory, PollReady, Workshop, backoff};
