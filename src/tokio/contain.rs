//! Running user code that may panic.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Says that user code panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panicked;

/// Runs `code`, and goes on if it panics.
pub(super) fn contain<T>(code: impl FnOnce() -> T) -> Result<T, Panicked> {
    // What the code shares with us is only read by it, so nothing half-changed is seen afterwards.
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        // What was thrown is the user's too, and may panic once more when it is dropped.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(another);
        }
        Panicked
    })
}

/// Makes a future and runs it until `over` is ready, which gives nothing. It is dropped before this ends, and not polled
/// again after a panic.
pub(super) async fn contain_until<F: Future>(
    make: impl FnOnce() -> F,
    over: impl Future<Output = ()>,
) -> Result<Option<F::Output>, Panicked> {
    let mut running = pin!(Some(contain(make)?));
    let mut over = pin!(over);
    let result = poll_fn(|context| {
        let Some(future) = running.as_mut().as_pin_mut() else { return Poll::Ready(Ok(None)) };
        match contain(|| future.poll(context)) {
            Err(panicked) => Poll::Ready(Err(panicked)),
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(Some(output))),
            Ok(Poll::Pending) => over.as_mut().poll(context).map(|()| Ok(None)),
        }
    })
    .await;
    contain(|| running.set(None))?;
    result
}
