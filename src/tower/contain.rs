//! Running user code that may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `code`; a panic in it gives nothing.
#[inline]
pub(crate) fn attempt<T>(code: impl FnOnce() -> T) -> Option<T> {
    // The callers pass code that borrows only what it reads, or see to it that what it half-changed is not used again.
    catch_unwind(AssertUnwindSafe(code)).ok()
}
