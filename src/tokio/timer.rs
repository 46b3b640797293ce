//! The timer.

/// Waits on the timer of the Tokio runtime, by its clock.
///
/// It is the timer of balancers and the clock of sources, as far as the features for these are on.
///
/// # Panics
///
/// A sleep panics when it is made outside of a runtime with a timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;
