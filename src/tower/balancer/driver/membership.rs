//! Which membership is in effect, and what there is of it.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::super::cluster::Cluster;
use super::assembly::assemble;
use super::factory::Workshop;
use super::slot::Slot;
use crate::core::{LoadMetric, LoadTracker, Now, PickError};
use crate::discovery::{Snapshot, SnapshotReader, SnapshotStream};
use crate::sync::lock;
use crate::tower::Backoff;

/// Brings memberships into effect, and goes on with what is not built yet.
pub(super) struct Membership<K, B, S, R, L: LoadTracker> {
    workshop: Workshop<K, B, S, L>,
    snapshots: Option<SnapshotStream<K, B>>,
    /// The latest membership that the policy accepted; the slots are its members.
    snapshot: Snapshot<K, B>,
    pub(super) slots: Vec<Slot<K, B, S, R, L>>,
    /// A later one, which the policy refused.
    refused: Option<(Snapshot<K, B>, Again)>,
    /// The policy refused members who could serve by now.
    held: Option<Again>,
}

/// When the policy is asked again, and how often it has refused by now.
#[derive(Clone, Copy)]
struct Again {
    at: Instant,
    refusals: u32,
}

impl Again {
    /// Is none when that lies beyond all time.
    fn after(earlier: Option<Self>, backoff: &Backoff, now: &Now) -> Option<Self> {
        let refusals = earlier.map_or(1, |earlier| earlier.refusals.saturating_add(1));
        Some(Self { at: now.instant().checked_add(backoff.pause(refusals))?, refusals })
    }
}

impl<K, B, S, R, L> Membership<K, B, S, R, L>
where
    K: Eq + Hash + fmt::Display + Send + Sync + 'static,
    B: Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    R: Send + 'static,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
{
    /// Starts with what `reader` holds, as far as it can be built without a task.
    pub(super) fn start(
        workshop: Workshop<K, B, S, L>,
        reader: &SnapshotReader<K, B>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) -> Self {
        let snapshots = Some(reader.subscribe());
        let snapshot = Snapshot::unknown();
        let slots = Vec::new();
        let mut membership = Self { workshop, snapshots, snapshot, slots, refused: None, held: None };
        let snapshot = reader.load();
        if snapshot.revision() > membership.snapshot.revision() {
            membership.adopt(snapshot, None, cluster, false, now);
        }
        membership
    }

    /// Takes in what is new, and takes every step that can be taken.
    pub(super) fn poll(&mut self, cluster: &Arc<Cluster<K, B, S, R, L>>, cx: &mut Context<'_>, now: &Now) {
        while let Some(snapshots) = &mut self.snapshots {
            match snapshots.poll_next_snapshot(cx) {
                Poll::Ready(Some(snapshot)) if snapshot.revision() > self.snapshot.revision() => {
                    self.adopt(snapshot, None, cluster, true, now);
                }
                Poll::Ready(Some(_)) => {}
                // A source that is gone leaves the last membership in effect.
                Poll::Ready(None) => self.snapshots = None,
                Poll::Pending => break,
            }
        }
        if let Some((snapshot, again)) = self.refused.take_if(|(_, again)| now.has_reached(again.at)) {
            self.adopt(snapshot, Some(again), cluster, true, now);
        }
        self.advance(cluster, true, now);
        let is_held = self.held.is_some_and(|again| !now.has_reached(again.at));
        if !is_held
            && self.slots.iter().any(Slot::has_news)
            && let Err(error) = self.take_effect(cluster, now)
        {
            note_refusal(error, cluster);
            self.held = Again::after(self.held, &self.workshop.backoff, now);
        }
    }

    /// Returns when the next thing is due that nothing else would wake the driver for.
    pub(super) fn acts_at(&self, now: &Now) -> Option<Instant> {
        let refused = self.refused.as_ref().map(|(_, again)| again.at);
        let held = self.held.map(|again| again.at).filter(|at| !now.has_reached(*at));
        // What is due already waits for something else than time.
        let steps = self.slots.iter().filter_map(Slot::acts_at).filter(|at| !now.has_reached(*at));
        steps.chain(refused).chain(held).min()
    }

    /// Puts a membership into the place of the one before, unless the policy refuses it.
    ///
    /// Members whose key and allocation are unchanged keep all that they have. A new allocation of a key is built while the
    /// old one serves on.
    fn adopt(
        &mut self,
        snapshot: Snapshot<K, B>,
        earlier_refusal: Option<Again>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        is_polled: bool,
        now: &Now,
    ) {
        self.refused = None;
        let (staged, carried) = self.stage(&snapshot, cluster, now);
        let before = std::mem::replace(&mut self.slots, staged);
        let earlier = std::mem::replace(&mut self.snapshot, snapshot);
        self.advance(cluster, is_polled, now);
        let left = match self.take_effect(cluster, now) {
            Ok(()) => before,
            Err(error) => {
                let mut staged = std::mem::replace(&mut self.slots, before);
                for (old, new) in carried {
                    self.slots[old].next = staged[new].next.take();
                }
                let snapshot = std::mem::replace(&mut self.snapshot, earlier);
                note_refusal(error, cluster);
                self.refused =
                    Again::after(earlier_refusal, &self.workshop.backoff, now).map(|again| (snapshot, again));
                staged
            }
        };
        // With services and futures of the user.
        cluster.settings.conduct.discard(left);
    }

    /// Makes the slots of a membership. What is on the way moves into them; the answer says from where and to where.
    #[expect(clippy::type_complexity, reason = "slots, and pairs of positions")]
    fn stage(
        &mut self,
        snapshot: &Snapshot<K, B>,
        cluster: &Cluster<K, B, S, R, L>,
        now: &Now,
    ) -> (Vec<Slot<K, B, S, R, L>>, Vec<(usize, usize)>) {
        let mut staged = Vec::with_capacity(snapshot.len());
        let mut carried = Vec::new();
        for discovered in snapshot {
            let Some(old) = self.snapshot.position(discovered.key()) else {
                let standing = Workshop::<K, B, S, L>::standing(cluster, discovered);
                staged.push(Slot::new(discovered.clone(), standing, now));
                continue;
            };
            let slot = &mut self.slots[old];
            let mut next = slot.succeed(discovered, now);
            if slot.next.is_some() && slot.discovered.same_generation(discovered) {
                next.take_next(slot, now);
                carried.push((old, staged.len()));
            }
            staged.push(next);
        }
        (staged, carried)
    }

    fn advance(&mut self, cluster: &Arc<Cluster<K, B, S, R, L>>, is_polled: bool, now: &Now) {
        if is_polled {
            for slot in self.slots.iter_mut().filter(|slot| slot.next.is_some()) {
                self.workshop.advance(slot, cluster, now);
            }
        }
        self.workshop.start(&mut self.slots, cluster, is_polled, now);
        let unbuilt = self.slots.iter().filter(|slot| slot.is_unbuilt()).count();
        lock(&cluster.ledger).unbuilt = unbuilt;
    }

    /// Makes a pool of those who can serve, and lets go of those whom they replace.
    fn take_effect(&mut self, cluster: &Arc<Cluster<K, B, S, R, L>>, now: &Now) -> Result<(), PickError> {
        let is_in_order = self.refused.is_none() && !self.slots.iter().any(Slot::is_failing);
        assemble(cluster, self.snapshot.revision(), &self.slots, is_in_order, now)?;
        self.held = None;
        for slot in &mut self.slots {
            cluster.settings.conduct.discard(slot.settle());
        }
        Ok(())
    }
}

fn note_refusal<K, B, S, R, L: LoadTracker>(error: PickError, cluster: &Cluster<K, B, S, R, L>) {
    let mut ledger = lock(&cluster.ledger);
    (ledger.refused, ledger.last_error) = (Some(error), Some(error.to_string().into()));
}
