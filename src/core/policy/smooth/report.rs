//! What a schedule reports of itself.

use super::table::Schedule;
use crate::core::Prepared;

/// Tells how long the schedule of a membership is, and how exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleReport {
    /// After how many picks the order repeats itself.
    pub cycle: usize,
    /// The largest difference between the share of a member in the cycle and its share of the weights: zero when the
    /// schedule is exact, otherwise of the order of one in `cycle`.
    pub share_error: f64,
}

impl ScheduleReport {
    /// Reports the schedule that [`SmoothWeightedRoundRobin`](super::SmoothWeightedRoundRobin) prepared, if `prepared` is
    /// one.
    #[must_use]
    pub fn of(prepared: &Prepared) -> Option<Self> {
        prepared.own_earlier::<Schedule>().map(Schedule::report)
    }
}
