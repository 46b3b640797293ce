//! Loads that attempts change.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::core::{Now, Outcome};

/// Counts attempts in and out, and learns from how they end.
///
/// For each attempt the caller calls, in this order and each at most once: [`start`](Self::start),
/// [`responded`](Self::responded) when the outcome is known, [`release`](Self::release) when the work is over. For a
/// response without a streaming body the last two come together. An attempt that is given up is
/// [`Cancelled`](Outcome::Cancelled). [`Tracked`] keeps this order for one attempt.
///
/// Tickets are plain values, so a response future can hold one without borrowing the tracker.
#[diagnostic::on_unimplemented(
    message = "`{Self}` tracks no load",
    note = "`InFlight`, `PeakEwma` and `()` are trackers, and so are references, boxes and `Arc`s of them"
)]
pub trait LoadTracker {
    /// What one attempt carries from its start to its end.
    type Ticket: Copy;

    /// Admits one attempt. This is atomic: of several callers that race for the last place, one gets it.
    ///
    /// # Errors
    ///
    /// [`AtCapacity`] when the tracker has a limit and is at it; nothing has been counted then.
    fn start(&self, now: &Now) -> Result<Self::Ticket, AtCapacity>;

    /// Learns how the attempt ended; what it holds stays taken until [`release`](Self::release).
    fn responded(&self, ticket: Self::Ticket, outcome: Outcome, now: &Now);

    /// Gives back what the attempt held.
    fn release(&self, ticket: Self::Ticket, now: &Now);

    /// Tells whether [`start`](Self::start) would be refused now; never by default.
    fn is_full(&self) -> bool {
        false
    }

    /// Tells whether [`is_full`](Self::is_full) may ever be true. Only then does a pool look, whenever an attempt ends, for
    /// somebody who waits for its place.
    fn has_limit(&self) -> bool {
        true
    }

    /// Takes a first estimate from `peers`, so that a newcomer, or one that returns, is neither flooded nor starved;
    /// does nothing by default.
    fn seed(&self, peers: &mut dyn Iterator<Item = &Self>, now: &Now)
    where
        Self: Sized,
    {
        let _ = (peers, now);
    }
}

/// Reports that a limit of concurrent work is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtCapacity;

impl fmt::Display for AtCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("at the limit of concurrent work")
    }
}

impl Error for AtCapacity {}

impl LoadTracker for () {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        Ok(())
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), _: &Now) {}

    fn has_limit(&self) -> bool {
        false
    }
}

macro_rules! delegate_tracker {
    ($($pointer:ty),+) => {$(
        impl<L: LoadTracker> LoadTracker for $pointer {
            type Ticket = L::Ticket;

            fn start(&self, now: &Now) -> Result<Self::Ticket, AtCapacity> {
                (**self).start(now)
            }

            fn responded(&self, ticket: Self::Ticket, outcome: Outcome, now: &Now) {
                (**self).responded(ticket, outcome, now);
            }

            fn release(&self, ticket: Self::Ticket, now: &Now) {
                (**self).release(ticket, now);
            }

            fn is_full(&self) -> bool {
                (**self).is_full()
            }

            fn has_limit(&self) -> bool {
                (**self).has_limit()
            }

            fn seed(&self, peers: &mut dyn Iterator<Item = &Self>, now: &Now) {
                (**self).seed(&mut peers.map(|peer| &**peer), now);
            }
        }
    )+};
}

delegate_tracker!(&L, Box<L>, Arc<L>);

/// Guards one attempt on a tracker.
///
/// [`complete`](Self::complete) reports an outcome and gives the ticket back. Dropping the guard, also while a panic
/// unwinds, reports [`Outcome::Cancelled`] at the system's current time.
///
/// ```
/// use poise::core::{InFlight, Now, Outcome, Tracked};
///
/// let load = InFlight::new();
/// let attempt = Tracked::start(&load, &Now::lazy())?;
/// assert_eq!(load.current(), 1);
/// attempt.complete(Outcome::Success, &Now::lazy());
/// assert_eq!(load.current(), 0);
/// # Ok::<(), poise::core::AtCapacity>(())
/// ```
#[must_use = "dropping the guard cancels the attempt at once"]
pub struct Tracked<'a, L: LoadTracker> {
    tracker: &'a L,
    ticket: Option<L::Ticket>,
}

impl<'a, L: LoadTracker> Tracked<'a, L> {
    /// Starts an attempt.
    ///
    /// # Errors
    ///
    /// [`AtCapacity`] when the tracker is at its limit.
    pub fn start(tracker: &'a L, now: &Now) -> Result<Self, AtCapacity> {
        Ok(Self { tracker, ticket: Some(tracker.start(now)?) })
    }

    /// Ends the attempt with an outcome.
    pub fn complete(mut self, outcome: Outcome, now: &Now) {
        self.end(outcome, now);
    }

    fn end(&mut self, outcome: Outcome, now: &Now) {
        if let Some(ticket) = self.ticket.take() {
            self.tracker.responded(ticket, outcome, now);
            self.tracker.release(ticket, now);
        }
    }
}

impl<L: LoadTracker> Drop for Tracked<'_, L> {
    fn drop(&mut self) {
        self.end(Outcome::Cancelled, &Now::lazy());
    }
}

impl<L: LoadTracker> fmt::Debug for Tracked<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracked").field("open", &self.ticket.is_some()).finish_non_exhaustive()
    }
}
