//! The share of traffic that a candidate is meant to get.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;

/// Sets how much traffic a candidate gets relative to the others.
///
/// Weights are relative: `2` beside `1` means two requests of three. Zero is not a weight: a member that must get nothing
/// is [`Draining`](crate::core::Status::Draining), and sources that publish a zero weight are read in that way.
///
/// The range is `1..=u32::MAX`; the default is [`Weight::ONE`].
///
/// ```
/// use poise::core::Weight;
///
/// let heavy = Weight::new(3)?;
/// assert_eq!(heavy.value(), 3);
/// assert!(Weight::new(0).is_err());
/// # Ok::<(), poise::core::ZeroWeight>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(NonZeroU32);

impl Weight {
    /// The weight of a candidate that says nothing else.
    pub const ONE: Self = Self(NonZeroU32::MIN);
    /// The largest weight.
    pub const MAX: Self = Self(NonZeroU32::MAX);

    /// Makes a weight.
    ///
    /// # Errors
    ///
    /// [`ZeroWeight`] for `0`.
    pub const fn new(value: u32) -> Result<Self, ZeroWeight> {
        match NonZeroU32::new(value) {
            Some(value) => Ok(Self(value)),
            None => Err(ZeroWeight),
        }
    }

    /// Returns the number.
    #[must_use]
    #[inline]
    pub const fn value(self) -> u32 {
        self.0.get()
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

impl From<NonZeroU32> for Weight {
    fn from(value: NonZeroU32) -> Self {
        Self(value)
    }
}

impl TryFrom<u32> for Weight {
    type Error = ZeroWeight;

    fn try_from(value: u32) -> Result<Self, ZeroWeight> {
        Self::new(value)
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reports a weight of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroWeight;

impl fmt::Display for ZeroWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a weight must be at least 1; a member that must get no traffic is draining")
    }
}

impl Error for ZeroWeight {}
