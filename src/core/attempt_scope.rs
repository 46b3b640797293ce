//! What surrounds the code of one attempt.

/// Surrounds everything that one attempt runs: making its service ready, the call, every poll of its response, and its end.
///
/// It is how a span gets around an attempt without being entered while the attempt waits: whoever dispatches enters it for
/// one piece of code at a time. It ends by being dropped, after the attempt.
///
/// ```
/// use poise::core::AttemptScope;
/// use std::cell::Cell;
///
/// thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });
///
/// struct Deeper;
///
/// impl AttemptScope for Deeper {
///     fn run(&self, code: &mut dyn FnMut()) {
///         DEPTH.set(DEPTH.get() + 1);
///         code();
///         DEPTH.set(DEPTH.get() - 1);
///     }
/// }
///
/// let mut depth = 0;
/// Deeper.run(&mut || depth = DEPTH.get());
/// assert_eq!((depth, DEPTH.get()), (1, 0));
/// ```
pub trait AttemptScope: Send + Sync {
    /// Runs a piece of the attempt's code, once. A panic in `code` is let through.
    fn run(&self, code: &mut dyn FnMut());

    /// Hears that the request is about to be handed to the service, after it was handed to others so many times before.
    fn called(&self, resends: u32) {
        let _ = resends;
    }
}
