//! The turnkey balancer.
//!
//! ```text
//! snapshots -> slots -> Pool { members, prepared, eligibility }   one pointer, swapped
//!                              |
//! request -> key -> pick -> permit -> ticket -> ready -> call -> classify
//!               ^                                           |
//!               +---- retry, avoiding what was tried -------+
//!               +---- hedge, beside one that takes long ----+
//! ```
//!
//! A [`Balancer`] is a cheap handle; its clones share one pool. What is not on the path of a request (membership, cooldowns,
//! failing fast, building services) is the work of its [`Driver`], a future that ends with the last handle.
//!
//! 1. A pick sees one pool: its members, the table that was prepared for them, and their eligibility.
//! 2. An endpoint belongs to one allocation of a backend. The same key with the same allocation keeps its service, load and
//!    circuit, whatever else changes.
//! 3. Nothing is held while a balancer is idle, and no lock is held across an await.
//! 4. Per request, nothing is written that all requests share.

mod admission;
#[expect(clippy::module_inception, reason = "the file that defines the type of that name")]
mod balancer;
mod builder;
mod cluster;
mod conduct;
mod contain;
mod departed;
mod discoverer;
mod dispatch;
mod driver;
mod endpoint;
mod explain;
mod flight;
mod future;
mod guarded;
mod handle;
mod health;
mod hedging;
mod lifecycle;
mod limit;
mod operator;
mod panic;
mod pool;
mod readying;
mod repeating;
mod repeats;
mod report;
mod settings;
mod shutdown;
mod signals;
mod statistics;
mod tried;
mod waiting;

pub use self::balancer::Balancer;
pub use self::builder::{BuildError, Builder};
pub use self::discoverer::Discoverer;
pub use self::driver::Driver;
pub(super) use self::endpoint::{Admitted, Attempt, Endpoint};
pub use self::future::ResponseFuture;
pub use self::guarded::{GuardedBalancer, GuardedFuture};
pub use self::operator::{OperatorVerb, UnknownMember};
pub use self::panic::{PanicMode, PanicModeError, PanicPolicy};
pub use self::pool::Member;
pub use self::repeats::RepeatReport;
pub use self::report::{MemberReport, Report};
pub use self::shutdown::Shutdown;
