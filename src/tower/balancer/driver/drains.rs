//! Members that finish what they have.

use std::time::Instant;

use super::super::cluster::Cluster;
use super::slot::Slot;
use crate::core::{LoadTracker, Now};
use crate::discovery::Discovered;
use crate::tower::Event;

/// Hears of members whose drain is done.
pub(in super::super) type OnDrained<K, B> = dyn FnMut(&Discovered<K, B>) + Send;

/// Says when the drain of a member is done.
pub(super) struct Drains<K, B> {
    on_drained: Option<Box<OnDrained<K, B>>>,
}

/// The drain of one member.
#[derive(Clone, Copy)]
pub(super) struct Drain {
    until: Option<Instant>,
    is_done: bool,
    /// The count of drains by an operator when it began.
    number: u32,
}

impl<K, B> Drains<K, B> {
    pub(super) fn new(on_drained: Option<Box<OnDrained<K, B>>>) -> Self {
        Self { on_drained }
    }

    /// Starts the clock of those who drain, and reports those who have nothing left or no more time.
    pub(super) fn poll<S, R, L: LoadTracker>(
        &mut self,
        slots: &mut [Slot<K, B, S, R, L>],
        cluster: &Cluster<K, B, S, R, L>,
        now: &Now,
    ) {
        for slot in slots {
            if !slot.is_draining() {
                slot.drain = None;
                continue;
            }
            let number = slot.standing.as_ref().map_or(0, |standing| standing.drains());
            let under_way = slot.drain.filter(|drain| drain.number == number);
            let mut drain = under_way.unwrap_or_else(|| Drain {
                until: now.instant().checked_add(cluster.settings.drain_deadline),
                is_done: false,
                number,
            });
            if !drain.is_done {
                let is_late = drain.until.is_some_and(|until| now.has_reached(until));
                drain.is_done = is_late || is_idle(slot, cluster);
                if drain.is_done {
                    self.report(slot, cluster);
                }
            }
            slot.drain = Some(drain);
        }
    }

    fn report<S, R, L: LoadTracker>(&mut self, slot: &Slot<K, B, S, R, L>, cluster: &Cluster<K, B, S, R, L>) {
        let conduct = &cluster.settings.conduct;
        if let Some(standing) = &slot.standing {
            conduct.tell(&Event::Drained { endpoint: standing.name() });
        }
        if let Some(on_drained) = &mut self.on_drained {
            let _heard = conduct.contain("drain callback", || on_drained(&slot.discovered));
        }
    }

    /// Returns when the next deadline passes.
    pub(super) fn acts_at<S, R, L: LoadTracker>(slots: &[Slot<K, B, S, R, L>]) -> Option<Instant> {
        let drains = slots.iter().filter_map(|slot| slot.drain);
        drains.filter(|drain| !drain.is_done).filter_map(|drain| drain.until).min()
    }
}

/// Tells whether no attempt is under way, not even at an earlier generation.
fn is_idle<K, B, S, R, L: LoadTracker>(slot: &Slot<K, B, S, R, L>, cluster: &Cluster<K, B, S, R, L>) -> bool {
    let current = slot.current.as_ref().map(|current| &current.endpoint);
    current.is_none_or(|current| current.in_flight() == 0)
        && slot.standing.as_ref().is_none_or(|standing| cluster.departed.in_flight_of(standing) == 0)
}
