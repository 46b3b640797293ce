//! A balance: one service made of endpoints that it owns.
//!
//! ```text
//!   services --- wake ---> Inbox --- news ---> Pool { endpoints, ready, parked, due }
//!   candidates - change -/                        |
//!   attempts --- end ---/                         v
//!   request -> key -> pick among the ready -> confirm -> place -> call -> Attempt in the future
//! ```
//!
//! 1. A reservation belongs to its endpoint, from the poll that found it to the call that uses it.
//! 2. A service is polled when it was woken, called or added, and once more before it is called; never because another one
//!    was.
//! 3. Whatever could end a wait is news: a service, a candidate, a place, a change of the membership, and time where there
//!    is a timer.
//! 4. Positions are good for one membership, and a pick happens in the call: nothing is chosen ahead.

mod account;
#[expect(clippy::module_inception, reason = "the file that defines the type of that name")]
mod balance;
mod dispatch;
mod endpoint;
mod error;
mod future;
mod inbox;
mod observer;
mod pool;
mod readiness;

pub use self::balance::Balance;
pub use self::endpoint::Endpoint;
pub use self::error::BalanceError;
pub use self::future::BalanceFuture;
pub use self::observer::{IgnoreFailures, ReadinessObserver};
