//! Polling many things in one task, each only when it was woken.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

use crate::sync::{AtomicBool, Ordering};

/// Holds something that is polled, and knows whether it was woken since.
///
/// A driver has many of them and is woken for other reasons too: without this, it would poll all of them whenever one made
/// progress.
pub(super) struct Polled<T> {
    what: T,
    flag: Arc<Flag>,
}

struct Flag {
    woken: AtomicBool,
    driver: Arc<AtomicWaker>,
}

impl<T> Polled<T> {
    /// Counts as woken at first. It wakes the task of `driver`.
    pub(super) fn new(what: T, driver: &Arc<AtomicWaker>) -> Self {
        let flag = Flag { woken: AtomicBool::new(true), driver: Arc::clone(driver) };
        Self { what, flag: Arc::new(flag) }
    }

    /// Polls it if it was woken.
    pub(super) fn poll<O>(&mut self, poll: impl FnOnce(&mut T, &mut Context<'_>) -> Poll<O>) -> Poll<O> {
        // Lowered before it polls, so that a wake-up during the poll is not lost. Acquire: sees what the waker did before.
        if !self.flag.woken.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&self.flag));
        poll(&mut self.what, &mut Context::from_waker(&waker))
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.driver.wake();
    }
}
