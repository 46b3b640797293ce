//! Turns by weight.

mod order;
mod report;
#[expect(clippy::module_inception, reason = "the file that defines the policy")]
mod smooth;
pub(super) mod table;
mod turns;

pub use self::report::ScheduleReport;
pub use self::smooth::SmoothWeightedRoundRobin;
