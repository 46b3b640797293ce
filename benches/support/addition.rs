//! The unit of bars: one uncontended atomic addition.

/// What one took where the bars were set, in nanoseconds: between 6 and 7.5.
pub(crate) const REFERENCE_ADDITION: f64 = 6.75;

/// Returns what counts as one addition: where additions are cheap, the rest is not as much cheaper.
pub(crate) fn normalised(addition: f64) -> f64 {
    addition.max(REFERENCE_ADDITION)
}
