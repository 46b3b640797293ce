//! Each in turn.

pub(super) mod rotation;
#[expect(clippy::module_inception, reason = "the file that defines the policy")]
mod round_robin;
mod turn;

pub use self::round_robin::RoundRobin;
