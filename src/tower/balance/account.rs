//! What attempts hold of an endpoint, and how they give it back.

use std::fmt;

use super::inbox::Signal;
use crate::core::{AtCapacity, LoadTracker, Now, Outcome};
use crate::sync::Arc;
use crate::tower::Phase;
use crate::tower::attempt::{Attempt, Settle};
use crate::tower::contain::attempt;
use crate::tower::timer::Clock;

/// The load of an endpoint, which it shares with the attempts at it: they may outlive it.
#[derive(Debug)]
pub(super) struct Account<L> {
    load: L,
    signal: Arc<Signal>,
}

impl<L> Account<L> {
    pub(super) fn new(load: L) -> Self {
        Self { load, signal: Signal::new() }
    }

    pub(super) fn load(&self) -> &L {
        &self.load
    }

    pub(super) fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    pub(super) fn into_load(self) -> L {
        self.load
    }
}

impl<L: LoadTracker> Account<L> {
    /// Admits an attempt.
    pub(super) fn admit(
        self: &Arc<Self>,
        clock: &Clock,
        now: &Now,
    ) -> Result<Attempt<Holding<L>>, AtCapacity> {
        let ticket = self.load.start(now)?;
        Ok(Attempt::new(Holding { account: Arc::clone(self), clock: clock.clone() }, ticket, false))
    }
}

/// Gives back what an attempt held, when the attempt ends.
pub(crate) struct Holding<L> {
    account: Arc<Account<L>>,
    clock: Clock,
}

impl<L: LoadTracker> Settle for Holding<L> {
    type Ticket = L::Ticket;

    fn settle(&self, ticket: L::Ticket, _: Phase, outcome: Outcome, _: bool) {
        let load = &self.account.load;
        // The tracker may be the user's, and this may run while a panic unwinds.
        let mut is_told = false;
        let mut limited = attempt(|| {
            let now = self.clock.now();
            load.responded(ticket, outcome, &now);
            is_told = true;
            load.release(ticket, &now);
            load.has_limit()
        });
        if !is_told {
            // It panicked when it was told, which is no reason to keep the place.
            limited = attempt(|| {
                load.release(ticket, &self.clock.now());
                load.has_limit()
            });
        }
        if limited != Some(false) {
            self.account.signal.place_freed();
        }
    }
}

impl<L> fmt::Debug for Holding<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding").field("signal", &self.account.signal).finish_non_exhaustive()
    }
}
