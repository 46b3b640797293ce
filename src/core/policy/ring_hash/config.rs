//! What a ring reports of itself, and what it cannot be told to be.

use std::error::Error;
use std::fmt;

use super::table::RingTable;
use crate::core::Prepared;

/// The most points that a ring may have.
pub(super) const MAX_POINTS: u32 = 1 << 23;

/// Reports a ring that cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum RingHashError {
    /// The number of points per unit of weight is not a positive, finite number.
    PointsPerWeight {
        /// What was asked for.
        points: f64,
    },
    /// The maximum is zero or above 8,388,608.
    MaxPoints {
        /// What was asked for.
        points: u32,
    },
    /// The least size of a ring is zero, or above its maximum.
    Sizes {
        /// The least number of points.
        min: u32,
        /// The largest number of points.
        max: u32,
    },
}

impl fmt::Display for RingHashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PointsPerWeight { points } => {
                write!(f, "{points} points per unit of weight: it must be positive and finite")
            }
            Self::MaxPoints { points } => {
                write!(f, "at most {points} points: the maximum must be in 1..={MAX_POINTS}")
            }
            Self::Sizes { min, max } => {
                write!(
                    f,
                    "from {min} to {max} points: the least size must be at least one and not above the largest"
                )
            }
        }
    }
}

impl Error for RingHashError {}

pub(super) fn check_max(points: u32) -> Result<u32, RingHashError> {
    if (1..=MAX_POINTS).contains(&points) { Ok(points) } else { Err(RingHashError::MaxPoints { points }) }
}

pub(super) fn check_sizes(min: u32, max: u32) -> Result<(u32, u32), RingHashError> {
    let max = check_max(max)?;
    if (1..=max).contains(&min) { Ok((min, max)) } else { Err(RingHashError::Sizes { min, max }) }
}

/// Tells how large a ring became.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingReport {
    /// The number of points on the ring.
    pub points: usize,
    /// The number of points that a unit of weight stands for, where the policy chose or was told one.
    pub points_per_weight: Option<f64>,
    /// Whether the previous ring had another number of points per unit of weight, so that keys moved which no single member
    /// accounts for. It happens when the median weight crosses a power of two, or when the maximum is reached.
    pub rescaled: bool,
}

impl RingReport {
    /// Reports the ring that [`RingHash`](super::RingHash) prepared, if `prepared` is one.
    #[must_use]
    pub fn of(prepared: &Prepared) -> Option<Self> {
        prepared.own_earlier::<RingTable>().map(RingTable::report)
    }
}
