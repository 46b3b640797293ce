//! From a snapshot to a pool.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use super::cluster::{Cluster, EndpointListener};
use super::contain::{contain, tell};
use super::endpoint::Endpoint;
use super::pool::{Member, Pool};
use crate::core::{Candidate, Changes, Eligibility, LoadMetric, LoadTracker, Now, PickError, View};
use crate::discovery::{Discovered, Snapshot};
use crate::health::{CircuitConfig, PassiveHealth};
use crate::sync::{AtomicUsize, lock};
use crate::tower::{BoxError, Event};

/// Makes the service of one allocation.
pub(super) type ServiceFactory<K, B, S> = dyn FnMut(&K, &B) -> Result<S, BoxError> + Send;

/// Makes what an endpoint needs.
pub(super) struct Workshop<K, B, S, L> {
    pub(super) service: Box<ServiceFactory<K, B, S>>,
    pub(super) load: Box<dyn FnMut() -> L + Send>,
    pub(super) circuit: Option<CircuitConfig>,
}

/// Says that a snapshot did not take effect in full; it will be tried again.
pub(super) struct Incomplete;

impl<K, B, S, L> Workshop<K, B, S, L>
where
    K: Eq + Hash + fmt::Display + Send + Sync + 'static,
    B: Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
{
    /// Brings `snapshot` into effect.
    ///
    /// Members whose key and allocation are unchanged keep their endpoint. One that cannot be built holds up nobody else: it
    /// is left out, or goes on with the endpoint of its previous allocation. When the policy refuses the membership, all
    /// stays as it is.
    pub(super) fn apply<R: Send + 'static>(
        &mut self,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        snapshot: &Snapshot<K, B>,
    ) -> Result<(), Incomplete> {
        let now = Now::at(cluster.settings.timer.now());
        let before = cluster.pool.load_full();
        let known: HashMap<&K, &Member<K, B, S, R, L>> =
            before.members.iter().map(|member| (member.id(), member)).collect();
        let mut members = Vec::with_capacity(snapshot.len());
        let mut unbuilt = 0;
        for discovered in snapshot.members() {
            let known = known.get(discovered.key()).copied();
            match self.member(cluster, discovered, known, &before, &now) {
                Ok(member) => members.push(member),
                Err(kept) => {
                    unbuilt += 1;
                    members.extend(kept);
                }
            }
        }
        let flips = cluster.changes_seen();
        let view = View::new(&members).with_now(&now);
        let prepared = contain(&*cluster.settings.hook, "policy", || {
            cluster.settings.picker.prepare(&view, Some(&before.prepared))
        })
        .unwrap_or(Err(PickError::InconsistentTopology));
        match prepared {
            Ok(prepared) => {
                let missed_flips = || cluster.changes_seen() != flips;
                let pool = Pool {
                    revision: snapshot.revision(),
                    eligibility: Eligibility::new(members.len(), |position| {
                        members[position].is_eligible_slowly(&now)
                    }),
                    members: members.into(),
                    prepared,
                    table_panics: AtomicUsize::new(0),
                };
                swap(cluster, pool, &before, unbuilt, missed_flips);
            }
            Err(error) => {
                let mut ledger = lock(&cluster.ledger);
                (ledger.refused, ledger.last_error) = (Some(error), Some(error.to_string().into()));
                return Err(Incomplete);
            }
        }
        if unbuilt == 0 { Ok(()) } else { Err(Incomplete) }
    }

    /// Keeps the endpoint of a member or builds one. When that fails, the member goes on as it was before, if it was.
    #[expect(clippy::type_complexity, reason = "a member, or what there was of it before")]
    fn member<R: Send + 'static>(
        &mut self,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        discovered: &Discovered<K, B>,
        known: Option<&Member<K, B, S, R, L>>,
        before: &Pool<K, B, S, R, L>,
        now: &Now,
    ) -> Result<Member<K, B, S, R, L>, Option<Member<K, B, S, R, L>>> {
        if let Some(known) = known.filter(|known| known.discovered().same_generation(discovered)) {
            return Ok(Member::new(discovered.clone(), Arc::clone(known.endpoint())));
        }
        match self.build(cluster, discovered, before, now) {
            Ok(endpoint) => Ok(Member::new(discovered.clone(), endpoint)),
            Err(error) => {
                let message =
                    contain(&*cluster.settings.hook, "key", || format!("{}: {error}", discovered.key()))
                        .unwrap_or_else(|| error.to_string());
                lock(&cluster.ledger).last_error = Some(message.into());
                Err(known.map(|known| {
                    let earlier = known.discovered().clone().with_attributes(discovered.attributes().clone());
                    Member::new(earlier, Arc::clone(known.endpoint()))
                }))
            }
        }
    }

    fn build<R: Send + 'static>(
        &mut self,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        discovered: &Discovered<K, B>,
        before: &Pool<K, B, S, R, L>,
        now: &Now,
    ) -> Result<Arc<Endpoint<S, R, L>>, BoxError> {
        let hook = &*cluster.settings.hook;
        let service = contain(hook, "factory", || (self.service)(discovered.key(), discovered.backend()))
            .unwrap_or_else(|| Err("the factory panicked".into()))?;
        let load = contain(hook, "load factory", || (self.load)()).ok_or("the load factory panicked")?;
        let _seeded =
            contain(hook, "load", || load.seed(&mut before.members.iter().map(Candidate::load), now));
        let circuit = self
            .circuit
            .as_ref()
            .map(|config| PassiveHealth::new(config.clone()).with_budget(Arc::clone(&cluster.budget)));
        let name: Arc<str> = contain(hook, "key", || discovered.key().to_string())
            .ok_or("the name of the key panicked")?
            .into();
        let home = Arc::clone(cluster);
        let endpoint = Arc::new(Endpoint::new(name, service, load, circuit, home, now));
        endpoint.watch(Changes::new(Arc::new(EndpointListener {
            cluster: Arc::downgrade(cluster),
            endpoint: Arc::downgrade(&endpoint),
        })));
        Ok(endpoint)
    }
}

/// Puts `pool` into the place of `before`, and wakes whoever waits.
fn swap<K, B, S, R, L>(
    cluster: &Cluster<K, B, S, R, L>,
    pool: Pool<K, B, S, R, L>,
    before: &Pool<K, B, S, R, L>,
    unbuilt: usize,
    missed_flips: impl Fn() -> bool,
) where
    L: LoadTracker,
{
    let hook = &*cluster.settings.hook;
    let now = Now::at(cluster.settings.timer.now());
    let (revision, members) = (pool.revision.value(), pool.members.len());
    for (position, member) in pool.members.iter().enumerate() {
        member.endpoint().place(position);
    }
    cluster.budget.set_members(members);
    let recovered = {
        let mut ledger = lock(&cluster.ledger);
        if cluster.is_closed() {
            return;
        }
        // Whoever flips from here on waits for the ledger and finds the new pool.
        for position in 0..members {
            let (eligible, _) = pool.refresh(position, &now);
            if missed_flips() {
                pool.flip(position, eligible);
            }
        }
        (ledger.unbuilt, ledger.refused) = (unbuilt, None);
        ledger.last_update = Some(now.instant());
        if unbuilt == 0 {
            ledger.last_error = None;
        }
        let pool = Arc::new(pool);
        let recovered = cluster.settle(&mut ledger, &pool, &now);
        cluster.pool.store(pool);
        recovered
    };
    let after = cluster.pool.load_full();
    cluster.announce(recovered, &after);
    let kept: HashSet<_> = after.members.iter().map(|member| Arc::as_ptr(member.endpoint())).collect();
    for gone in before.members.iter().filter(|member| !kept.contains(&Arc::as_ptr(member.endpoint()))) {
        gone.endpoint().retire();
    }
    tell(hook, &Event::Membership { revision, members, unbuilt });
    cluster.wake_waiters();
}
