//! Synchronisation primitives: the standard library's, or loom's when a model runs.
//!
//! Every shared state of the crate is built on these names, so the models check the types that ship.

#[cfg(feature = "discovery")]
pub(crate) mod swap;
#[cfg(feature = "discovery")]
pub(crate) mod wakers;

#[cfg(not(loom))]
pub(crate) use self::std::*;

#[cfg(loom)]
pub(crate) use self::loom::*;

#[cfg(not(loom))]
#[allow(unused_imports, reason = "each feature set uses its own part of the shim")]
mod std {
    pub(crate) use ::std::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use ::std::sync::{Arc, Mutex, MutexGuard, Weak};
}

#[cfg(loom)]
#[allow(unused_imports, reason = "each feature set uses its own part of the shim")]
mod loom {
    pub(crate) use ::loom::sync::atomic::{
        AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use ::loom::sync::{Mutex, MutexGuard};
    pub(crate) use ::std::sync::{Arc, Weak};
}

/// Locks `mutex`, also when a panic elsewhere has poisoned it.
///
/// The states behind the crate's mutexes are consistent between any two statements that can panic, so a poisoned lock
/// holds nothing broken.
#[allow(dead_code, reason = "each feature set uses its own part of the shim")]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(::std::sync::PoisonError::into_inner)
}
