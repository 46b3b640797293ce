//! The orderly end of a balancer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::cluster::Cluster;
use super::conduct::Sleep;
use super::dispatch::Dispatch;
use super::pool::{Member, Pool};
use super::waiting::Registration;
use crate::core::LoadTracker;
use crate::sync::{Ordering, lock};
use crate::tower::Event;

/// Resolves when the last attempt of a balancer has ended, or at the drain deadline, to the number of attempts that are
/// still under way then: zero means that nothing was left behind.
///
/// It is made by [`Balancer::shutdown`](super::Balancer::shutdown) and waits by itself, also without a driver.
///
/// # Cancel safety
///
/// The balancer stays closed when it is dropped. Another one goes on to wait.
#[must_use = "the balancer is closed already, but only this waits for its attempts"]
pub struct Shutdown<S, R, L: LoadTracker> {
    cluster: Arc<dyn Dispatch<S, R, L>>,
    registration: Registration<S, R, L>,
    deadline: Option<Instant>,
    sleep: Option<Sleep>,
}

impl<S, R, L: LoadTracker> Shutdown<S, R, L> {
    pub(super) fn new(cluster: &Arc<dyn Dispatch<S, R, L>>) -> Self {
        cluster.close();
        Self {
            registration: Registration::new(Arc::clone(cluster)),
            deadline: cluster.drains_until(),
            sleep: None,
            cluster: Arc::clone(cluster),
        }
    }
}

impl<S, R, L: LoadTracker> Future for Shutdown<S, R, L> {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        let this = &mut *self;
        this.registration.register(cx);
        let in_flight = this.cluster.in_flight_departed();
        let is_over = in_flight == 0
            || this.deadline.is_some_and(|deadline| {
                let cluster = &this.cluster;
                let sleep = this.sleep.get_or_insert_with(|| cluster.conduct().timer.sleep_until(deadline));
                cluster.conduct().now() >= deadline || sleep.as_mut().poll(cx).is_ready()
            });
        if is_over { Poll::Ready(in_flight) } else { Poll::Pending }
    }
}

impl<S, R, L: LoadTracker> fmt::Debug for Shutdown<S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shutdown")
            .field("in_flight", &self.cluster.in_flight_departed())
            .finish_non_exhaustive()
    }
}

impl<K, B, S, R, L: LoadTracker> Cluster<K, B, S, R, L> {
    /// Lets go of all endpoints, the first time. Attempts that are under way are seen through.
    pub(super) fn let_go(&self) {
        let pool = {
            let mut ledger = lock(&self.ledger);
            if self.closed.swap(true, Ordering::AcqRel) {
                return;
            }
            self.available.store(false, Ordering::Release);
            ledger.unavailable_since.get_or_insert(self.settings.conduct.timer.now());
            let pool = self.pool.swap(Arc::new(Pool::empty()));
            // Requests that still look at the old pool find that everybody drains.
            pool.members.iter().for_each(|member| member.endpoint().set_drains(true));
            self.departed.add(pool.members.iter().map(Member::endpoint));
            pool
        };
        // Services of the user are dropped without a lock, and what they do then is no business of whoever closes.
        let _dropped = self.settings.conduct.contain("drop", || drop(pool));
        self.settings.conduct.tell(&Event::Closed);
        self.wake_waiters();
        self.driver.wake();
    }
}
