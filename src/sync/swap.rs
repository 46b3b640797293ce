//! A shared pointer that is swapped as a whole: `arc-swap`'s, or a slow and plain twin when a model runs.
//!
//! `arc-swap` cannot be built on loom's primitives. The twin keeps its promise, that whoever loads a pointer sees all that
//! came before the pointer was stored, by a lock; so the models check what is built on that promise, not how it is kept.

#[cfg(not(loom))]
pub(crate) use arc_swap::{ArcSwap, Cache};

#[cfg(loom)]
pub(crate) use self::twin::{ArcSwap, Cache};

#[cfg(loom)]
mod twin {
    use std::ops::Deref;

    use crate::sync::{Arc, Mutex, lock};

    pub(crate) struct ArcSwap<T>(Mutex<Arc<T>>);

    /// What a load returns.
    pub(crate) struct Guard<T>(Arc<T>);

    impl<T> ArcSwap<T> {
        pub(crate) fn from_pointee(value: T) -> Self {
            Self(Mutex::new(Arc::new(value)))
        }

        pub(crate) fn load(&self) -> Guard<T> {
            Guard(Arc::clone(&lock(&self.0)))
        }

        #[allow(dead_code, reason = "each feature set uses its own part of the twin")]
        pub(crate) fn load_full(&self) -> Arc<T> {
            Arc::clone(&lock(&self.0))
        }

        #[allow(dead_code, reason = "each feature set uses its own part of the twin")]
        pub(crate) fn store(&self, next: Arc<T>) {
            drop(self.swap(next));
        }

        pub(crate) fn swap(&self, next: Arc<T>) -> Arc<T> {
            std::mem::replace(&mut *lock(&self.0), next)
        }
    }

    impl<T> Deref for Guard<T> {
        type Target = Arc<T>;

        fn deref(&self) -> &Arc<T> {
            &self.0
        }
    }

    #[derive(Clone)]
    pub(crate) struct Cache<P, A> {
        source: P,
        seen: A,
    }

    impl<T, P: Deref<Target = ArcSwap<T>>> Cache<P, Arc<T>> {
        pub(crate) fn new(source: P) -> Self {
            let seen = Arc::clone(&source.load());
            Self { source, seen }
        }

        pub(crate) fn load(&mut self) -> &Arc<T> {
            self.seen = Arc::clone(&self.source.load());
            &self.seen
        }
    }
}
