//! How much work a member is given at once.
//!
//! A [`Limit`] is a load tracker that admits so many attempts and no more. [`FixedLimit`] is told how many; a
//! [`GradientLimit`] finds out from latencies and overloads. A member at its limit is passed over with
//! [`Exclusion::Capacity`](crate::core::Exclusion::Capacity): a pool sees that by itself, and
//! [`Limited`](crate::core::Limited) does it where there is none. [`LimitedLoad`] joins a limit with another load. What
//! always holds:
//!
//! 1. Admission is atomic: of callers that race for the last place one gets it.
//! 2. Each place comes back, whether its attempt succeeds, fails, is given up or panics.
//! 3. A limit never falls to nothing.

mod admission;
mod fixed;
mod gradient;
mod joined;

pub use self::admission::Limit;
pub use self::fixed::FixedLimit;
pub use self::gradient::{GradientConfig, GradientConfigError, GradientLimit, GradientTicket};
pub use self::joined::LimitedLoad;
