//! Parts of a time, as jitter takes them.

use std::time::Duration;

/// Multiplies by a fraction from 0 to 1, never above the whole, whatever the rounding.
pub(crate) fn part(whole: Duration, fraction: f64) -> Duration {
    Duration::try_from_secs_f64(whole.as_secs_f64() * fraction).unwrap_or(whole).min(whole)
}
