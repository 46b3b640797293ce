//! From a snapshot to endpoints, all or nothing.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

use super::{EndpointFactory, ReconcileError, ReconcileReport};
use crate::core::{Candidate, LoadTracker, Now, PickError, Prepare, Prepared, Status, View};
use crate::discovery::{Discovered, Snapshot};
use crate::tower::contain::attempt;
use crate::tower::{Balance, Endpoint};

/// The endpoint of a member.
type Live<K, B, S, L> = Endpoint<Discovered<K, B>, S, L>;

/// The endpoint that a factory makes of a member.
pub(super) type Made<K, B, F> =
    Live<K, B, <F as EndpointFactory<K, B>>::Service, <F as EndpointFactory<K, B>>::Tracker>;

/// All endpoints that a factory makes of the members of a snapshot, or why it could not.
type Staged<K, B, F> = Result<Vec<Made<K, B, F>>, ReconcileError<<F as EndpointFactory<K, B>>::Error>>;

/// What becomes of one member of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It keeps the endpoint at this position.
    Retained(usize),
    /// It gets a new endpoint in the place of another.
    Rebuilt,
    /// It is new.
    Added,
}

/// The plan for all members of a snapshot, in their order.
pub(super) struct Plan {
    origins: Vec<Origin>,
    report: ReconcileReport,
}

impl Plan {
    /// Compares a snapshot with the endpoints that there are. Nothing changes.
    pub(super) fn new<K, B, S, L, E>(
        endpoints: &[Live<K, B, S, L>],
        snapshot: &Snapshot<K, B>,
    ) -> Result<Self, ReconcileError<E>>
    where
        K: Eq + Hash,
    {
        // Keys are the user's, and may panic.
        attempt(|| Self::compare(endpoints, snapshot))
            .unwrap_or(Err(ReconcileError::Panicked { member: None }))
    }

    fn compare<K, B, S, L, E>(
        endpoints: &[Live<K, B, S, L>],
        snapshot: &Snapshot<K, B>,
    ) -> Result<Self, ReconcileError<E>>
    where
        K: Eq + Hash,
    {
        let live = endpoints.iter().map(|endpoint| endpoint.candidate().key());
        let live =
            index(live).map_err(|(first, second)| ReconcileError::DuplicateEndpoint { first, second })?;
        index(snapshot.iter().map(Discovered::key))
            .map_err(|(first, second)| ReconcileError::DuplicateMember { first, second })?;
        let origin = |member: &Discovered<K, B>| match live.get(member.key()) {
            None => Origin::Added,
            Some(&position) if endpoints[position].candidate().same_generation(member) => {
                Origin::Retained(position)
            }
            Some(_) => Origin::Rebuilt,
        };
        let origins: Vec<Origin> = snapshot.iter().map(origin).collect();
        let count = |kind: fn(&Origin) -> bool| origins.iter().filter(|origin| kind(origin)).count();
        let added = count(|origin| *origin == Origin::Added);
        let report = ReconcileReport {
            revision: snapshot.revision(),
            retained: count(|origin| matches!(origin, Origin::Retained(_))),
            added,
            rebuilt: count(|origin| *origin == Origin::Rebuilt),
            removed: endpoints.len() + added - snapshot.len(),
            draining: draining(snapshot),
        };
        Ok(Self { origins, report })
    }

    /// Makes every endpoint that is new. When that fails, those that were made are dropped.
    pub(super) fn stage<K, B, F>(
        &self,
        endpoints: &[Made<K, B, F>],
        snapshot: &Snapshot<K, B>,
        factory: &mut F,
        now: &Now,
    ) -> Staged<K, B, F>
    where
        F: EndpointFactory<K, B>,
    {
        let mut staged = Vec::new();
        for (position, member) in snapshot.iter().enumerate() {
            if matches!(self.origins[position], Origin::Retained(_)) {
                continue;
            }
            let built = attempt(|| factory.build(member.key(), member.backend()));
            let (service, tracker) = match built {
                Some(Ok(parts)) => parts,
                Some(Err(source)) => {
                    discard(staged);
                    return Err(ReconcileError::Factory { member: position, source });
                }
                None => {
                    discard(staged);
                    return Err(ReconcileError::Panicked { member: Some(position) });
                }
            };
            // A tracker that panics starts without an estimate.
            let _seeded = attempt(|| tracker.seed(&mut endpoints.iter().map(Endpoint::tracker), now));
            staged.push(Endpoint::of(member.clone(), service, tracker));
        }
        Ok(staged)
    }

    /// Puts the membership together, has the policy prepare for it, and brings it into effect. When the policy refuses it,
    /// everything is as it was.
    pub(super) fn commit<K, B, S, L, P, X, O, E>(
        self,
        balance: &mut Balance<Discovered<K, B>, S, L, P, X, O>,
        staged: Vec<Live<K, B, S, L>>,
        snapshot: &Snapshot<K, B>,
        now: &Now,
    ) -> Result<ReconcileReport, ReconcileError<E>>
    where
        L: LoadTracker,
        P: Prepare<Live<K, B, S, L>>,
    {
        let live = mem::take(balance.endpoints_mut());
        let assembled = Assembled::new(&self.origins, live, staged, snapshot);
        let prepared = attempt(|| {
            let view = View::new(&assembled.members).with_now(now);
            balance.policy().prepare(&view, Some(balance.prepared()))
        });
        match prepared.unwrap_or(Err(PickError::InconsistentTopology)) {
            Ok(prepared) => {
                assembled.commit(balance, prepared);
                Ok(self.report)
            }
            Err(error) => {
                *balance.endpoints_mut() = assembled.take_apart();
                Err(ReconcileError::Policy(error))
            }
        }
    }
}

/// A membership that is not in effect yet.
struct Assembled<K, B, S, L> {
    members: Vec<Live<K, B, S, L>>,
    /// For each member that was retained, where it stood and what it was.
    before: Vec<Option<(usize, Discovered<K, B>)>>,
    /// The endpoints that there were, without those that are retained.
    left: Vec<Option<Live<K, B, S, L>>>,
}

impl<K, B, S, L> Assembled<K, B, S, L> {
    fn new(
        origins: &[Origin],
        live: Vec<Live<K, B, S, L>>,
        staged: Vec<Live<K, B, S, L>>,
        snapshot: &Snapshot<K, B>,
    ) -> Self {
        let mut left: Vec<_> = live.into_iter().map(Some).collect();
        let mut staged = staged.into_iter();
        let (mut members, mut before) =
            (Vec::with_capacity(origins.len()), Vec::with_capacity(origins.len()));
        for (origin, discovered) in origins.iter().zip(snapshot) {
            let retained = match origin {
                Origin::Retained(position) => left[*position].take().map(|endpoint| (*position, endpoint)),
                Origin::Rebuilt | Origin::Added => None,
            };
            if let Some((position, mut endpoint)) = retained {
                let earlier = mem::replace(endpoint.candidate_mut(), discovered.clone());
                before.push(Some((position, earlier)));
                members.push(endpoint);
            } else {
                before.push(None);
                members.extend(staged.next());
            }
        }
        Self { members, before, left }
    }

    /// Returns the endpoints that there were; what was staged is dropped.
    fn take_apart(self) -> Vec<Live<K, B, S, L>> {
        let mut left = self.left;
        let mut staged = Vec::new();
        for (mut endpoint, before) in self.members.into_iter().zip(self.before) {
            match before {
                Some((position, earlier)) => {
                    *endpoint.candidate_mut() = earlier;
                    left[position] = Some(endpoint);
                }
                None => staged.push(endpoint),
            }
        }
        discard(staged);
        left.into_iter().flatten().collect()
    }
}

impl<K, B, S, L: LoadTracker> Assembled<K, B, S, L> {
    fn commit<P, X, O>(self, balance: &mut Balance<Discovered<K, B>, S, L, P, X, O>, prepared: Prepared) {
        let is_new = self.before.iter().map(Option::is_none);
        balance.commit(self.members, is_new, prepared);
        // All is in effect by now, whatever destructors do.
        discard(self.left.into_iter().flatten().map(|mut endpoint| {
            endpoint.leave();
            endpoint
        }));
        discard(self.before.into_iter().flatten());
    }
}

pub(super) fn draining<K, B>(snapshot: &Snapshot<K, B>) -> usize {
    snapshot.iter().filter(|member| member.status() == Status::Draining).count()
}

/// Finds where each key stands, or the positions of the first two that are equal.
fn index<'a, K: Eq + Hash + 'a>(
    keys: impl Iterator<Item = &'a K>,
) -> Result<HashMap<&'a K, usize>, (usize, usize)> {
    let mut index = HashMap::with_capacity(keys.size_hint().0);
    for (position, key) in keys.enumerate() {
        if let Some(first) = index.insert(key, position) {
            return Err((first, position));
        }
    }
    Ok(index)
}

/// Drops one after another; a destructor that panics keeps nobody else alive.
fn discard<T>(all: impl IntoIterator<Item = T>) {
    for one in all {
        let _dropped = attempt(|| drop(one));
    }
}
