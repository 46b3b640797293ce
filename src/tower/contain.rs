//! Running user code that may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `code`; a panic in it gives nothing.
#[inline]
pub(crate) fn attempt<T>(code: impl FnOnce() -> T) -> Option<T> {
    // The callers pass code that borrows only what it reads, or see to it that what it half-changed is not used again.
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => Some(value),
        Err(thrown) => {
            discard(thrown);
            None
        }
    }
}

/// Drops what was thrown, which may panic in turn; what that throws is kept for good.
#[cold]
fn discard(thrown: Box<dyn std::any::Any + Send>) {
    if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| drop(thrown))) {
        std::mem::forget(thrown);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::attempt;

    struct Thrown;

    impl Drop for Thrown {
        fn drop(&mut self) {
            std::panic::panic_any(Self);
        }
    }

    #[test]
    fn a_panic_whose_payload_panics_goes_no_further() {
        assert_eq!(attempt(|| 1), Some(1));
        assert_eq!(attempt(|| -> u32 { std::panic::panic_any(Thrown) }), None);
    }
}
