//! From slots to a pool.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use super::super::cluster::Cluster;
use super::super::pool::{Member, Pool};
use super::slot::Slot;
use crate::core::{Candidate, Eligibility, LoadMetric, LoadTracker, Now, PickError, Status, View};
use crate::discovery::Revision;
use crate::sync::{AtomicUsize, lock};
use crate::tower::Event;

/// Puts the members that can serve into the place of those that do. When the policy refuses them, all stays as it is.
pub(super) fn assemble<K, B, S, R, L>(
    cluster: &Arc<Cluster<K, B, S, R, L>>,
    revision: Revision,
    slots: &[Slot<K, B, S, R, L>],
    is_in_order: bool,
    now: &Now,
) -> Result<(), PickError>
where
    K: Eq + Hash + Send + Sync + 'static,
    B: Send + Sync + 'static,
    S: Send + Sync + 'static,
    R: Send + 'static,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
{
    // Whoever returns by now does so in the old pool: a new one cannot tell that it was away.
    cluster.revisit(now);
    let before = cluster.pool.load_full();
    let members: Vec<_> = slots.iter().filter_map(Slot::member).collect();
    let flips = cluster.changes_seen();
    let view = View::new(&members).with_now(now);
    let prepared = cluster
        .settings
        .conduct
        .contain("policy", || cluster.settings.picker.prepare(&view, Some(&before.prepared)))
        .unwrap_or(Err(PickError::InconsistentTopology))?;
    let missed_flips = || cluster.changes_seen() != flips;
    let absent = slots.iter().filter(|slot| slot.is_absent()).filter_map(|slot| slot.standing.clone());
    let pool = Pool {
        revision,
        eligibility: Eligibility::new(members.len(), |position| members[position].is_eligible_slowly(now)),
        // Set with the eligibility, before the pool takes effect.
        fit: Eligibility::new(members.len(), |_| false),
        members: members.into(),
        absent: absent.collect(),
        prepared,
        table_panics: AtomicUsize::new(0),
    };
    let unbuilt = slots.iter().filter(|slot| slot.is_unbuilt()).count();
    swap(cluster, pool, &before, (unbuilt, is_in_order), missed_flips);
    // Services of the user are dropped without a lock.
    let _dropped = cluster.settings.conduct.contain("drop", || drop(before));
    Ok(())
}

/// Puts `pool` into the place of `before`, and wakes whoever waits.
fn swap<K, B, S, R, L>(
    cluster: &Cluster<K, B, S, R, L>,
    pool: Pool<K, B, S, R, L>,
    before: &Pool<K, B, S, R, L>,
    (unbuilt, is_in_order): (usize, bool),
    missed_flips: impl Fn() -> bool,
) where
    L: LoadTracker,
{
    let conduct = &cluster.settings.conduct;
    let now = Now::at(cluster.settings.conduct.timer.now());
    let (revision, members) = (pool.revision.value(), pool.members.len());
    let kept: HashSet<_> = pool.members.iter().map(|member| Arc::as_ptr(member.endpoint())).collect();
    let known: HashSet<_> = before.members.iter().map(|member| Arc::as_ptr(member.endpoint())).collect();
    for (position, member) in pool.members.iter().enumerate() {
        member.endpoint().place(position);
        member.endpoint().statistics().prepare();
    }
    cluster.budget.set_members(members);
    let settled = {
        let mut ledger = lock(&cluster.ledger);
        if cluster.is_closed() {
            return;
        }
        // Whoever flips from here on waits for the ledger and finds the new pool.
        for (position, member) in pool.members.iter().enumerate() {
            member.endpoint().set_drains(member.status() == Status::Draining);
            let (eligible, _) = pool.refresh(position, &now);
            if missed_flips() {
                pool.flip(position, eligible);
            }
        }
        (ledger.unbuilt, ledger.refused) = (unbuilt, None);
        ledger.last_update = Some(now.instant());
        if is_in_order {
            ledger.last_error = None;
        }
        let pool = Arc::new(pool);
        let settled = cluster.settle(&mut ledger, &pool, &now);
        cluster.pool.store(pool);
        let gone = || {
            let endpoints = before.members.iter().map(Member::endpoint);
            endpoints.filter(|endpoint| !kept.contains(&Arc::as_ptr(endpoint)))
        };
        gone().for_each(|endpoint| endpoint.retire());
        cluster.departed.add(gone());
        settled
    };
    let after = cluster.pool.load_full();
    cluster.announce(settled, &after);
    // What an operator said while they were built.
    for endpoint in after.members.iter().map(Member::endpoint) {
        if !known.contains(&Arc::as_ptr(endpoint)) && endpoint.obey() {
            cluster.refresh(endpoint);
        }
    }
    conduct.tell(&Event::Membership { revision, members, unbuilt });
    cluster.wake_waiters();
}
