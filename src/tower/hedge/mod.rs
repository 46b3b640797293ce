//! Requests that take long are sent a second time.

mod delay;
#[expect(clippy::module_inception, reason = "the file that defines the configuration")]
mod hedge;
mod window;

pub use self::delay::HedgeDelay;
pub use self::hedge::{Hedge, HedgeError};
