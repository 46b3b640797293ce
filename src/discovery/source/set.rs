//! What a source says.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;

use crate::core::{Attributes, Candidate};
use crate::discovery::{Change, DirectoryError, Snapshot};

/// Holds all endpoints of a membership as a source names them, in any order and perhaps more than once.
///
/// It collects from endpoints with the attributes of their backends, or with those beside them.
///
/// ```
/// use poise::core::{Attributes, Backend};
/// use poise::discovery::FullSet;
///
/// let resolved = ["10.0.0.1:80", "10.0.0.2:80"];
/// let set: FullSet<_, _> = resolved.iter().map(|address| (*address, Backend::new(*address))).collect();
/// assert_eq!(set.len(), 2);
///
/// let beside: FullSet<_, _> = [("a", "10.0.0.1:80", Attributes::default())].into_iter().collect();
/// assert_eq!(beside.len(), 1);
/// ```
///
/// # Kubernetes
///
/// The set is the union of all `EndpointSlice`s of one service: those with its label `kubernetes.io/service-name`, of one address
/// type. One slice alone is no set, as everybody who is in another would drain: keep the slices by name, begin when the first list
/// of them is complete, and make the union anew whenever one of them changes or is deleted. An endpoint that moves stands in
/// two slices for a while.
///
/// | field | becomes |
/// |---|---|
/// | `endpoints[].addresses[0]`, with `ports[].port` of the port's name | the key; further addresses have no meaning |
/// | `endpoints[].targetRef.uid` | data of the backend, so that a new pod at an old address is a new generation |
/// | `conditions.ready` is true or absent | [`Ready`](crate::core::Status::Ready) |
/// | else `conditions.serving` and `conditions.terminating` are true | [`Draining`](crate::core::Status::Draining) |
/// | else | [`Unavailable`](crate::core::Status::Unavailable) |
/// | `endpoints[].zone` | the zone of the [`Locality`](crate::core::Locality); slices name no region |
/// | `endpoints[].hints` | nothing: [`ZoneAware`](crate::core::policy::ZoneAware) works from the zones |
///
/// There is neither a weight nor a priority, so that the defaults hold. A service without slices, or whose slices have no
/// endpoints, is the set of nobody. Where none is ready, kube-proxy falls back on those who serve and terminate; a mapping that
/// wants that calls them ready then, as nothing else makes a draining member take new work.
///
/// ```
/// use poise::core::{Backend, Locality, Status};
/// use poise::discovery::FullSet;
///
/// fn status(ready: Option<bool>, serving: Option<bool>, terminating: Option<bool>) -> Status {
///     match (ready.unwrap_or(true), serving, terminating) {
///         (true, ..) => Status::Ready,
///         (false, Some(true), Some(true)) => Status::Draining,
///         _ => Status::Unavailable,
///     }
/// }
///
/// let first_slice = [("10.0.0.1", "uid-1", None, None, None, "a")];
/// let second_slice = [("10.0.0.2", "uid-2", Some(false), Some(true), Some(true), "b")];
/// let union = first_slice.into_iter().chain(second_slice);
/// let set: FullSet<_, _> = union
///     .map(|(address, pod, ready, serving, terminating, zone)| {
///         let backend = Backend::new((address, 8080)).with_data(pod).with_locality(Locality::new("", zone));
///         ((address, 8080), backend.with_status(status(ready, serving, terminating)))
///     })
///     .collect();
/// assert_eq!(set.len(), 2);
/// ```
///
/// # xDS
///
/// The set is one `ClusterLoadAssignment` of EDS, in the incremental variant too. A cluster that an answer does not name has not
/// changed. One whose assignment has no endpoints, or is in `removed_resources`, is the set of nobody.
///
/// | field | becomes |
/// |---|---|
/// | `lb_endpoints[].endpoint.address.socket_address` | the key, with its port; `additional_addresses` are the same endpoint's |
/// | `health_status` is `UNKNOWN` or `HEALTHY` | [`Ready`](crate::core::Status::Ready) |
/// | `health_status` is `DEGRADED` | [`Ready`](crate::core::Status::Ready), with a priority behind that of the healthy to be used after them |
/// | `health_status` is `DRAINING` | [`Draining`](crate::core::Status::Draining) |
/// | `health_status` is `UNHEALTHY` or `TIMEOUT` | [`Unavailable`](crate::core::Status::Unavailable) |
/// | `lb_endpoints[].load_balancing_weight` | the weight; absent is [`Weight::ONE`](crate::core::Weight::ONE), and zero, which EDS does not allow, [`Draining`](crate::core::Status::Draining) |
/// | `endpoints[].priority` | the priority; gaps do not matter |
/// | `endpoints[].locality` | the [`Locality`](crate::core::Locality) of all its endpoints, or none |
/// | `endpoints[].load_balancing_weight` | [`LocalityWeighted::with_weight`](crate::core::policy::LocalityWeighted::with_weight): a setting of the policy, not of a member |
/// | `policy.overprovisioning_factor` | that of [`PriorityConfig`](crate::core::policy::PriorityConfig) and `LocalityWeighted` |
/// | `policy.drop_overloads` | nothing: it is for a layer before the balancer |
/// | `policy.endpoint_stale_after` | nothing: the last good set stays |
///
/// Where localities have weights, one whose weight is absent or zero gets no traffic: its endpoints are
/// [`Unavailable`](crate::core::Status::Unavailable). Where they have none, that weight means nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct FullSet<K, B>(Vec<Endpoint<K, B>>);

pub(super) type Endpoint<K, B> = (K, B, Attributes);

impl<K, B> FullSet<K, B> {
    /// Makes the set of nobody.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Vec::new())
    }

    /// Returns how many endpoints are named, repetitions among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether nobody is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_endpoints(self) -> Vec<Endpoint<K, B>> {
        self.0
    }
}

impl<K: Clone + Eq + Hash, B> FullSet<K, B> {
    /// Makes the set that changes leave of nobody.
    pub(super) fn from_changes(changes: Vec<Change<K, B>>) -> Result<Self, DirectoryError> {
        let mut endpoints: Vec<Option<Endpoint<K, B>>> = Vec::new();
        let mut places: HashMap<K, usize> = HashMap::new();
        for (place, change) in changes.into_iter().enumerate() {
            match change {
                Change::Upsert { key, backend, attributes } => {
                    let position = *places.entry(key.clone()).or_insert(endpoints.len());
                    endpoints.resize_with(endpoints.len().max(position + 1), || None);
                    endpoints[position] = Some((key, backend, attributes));
                }
                Change::Amend { key, attributes } => {
                    let named = places.get(&key).and_then(|position| endpoints[*position].as_mut());
                    named.ok_or(DirectoryError::UnknownKey { change: place })?.2 = attributes;
                }
                Change::Remove { key } | Change::FinishDrain { key } => {
                    if let Some(position) = places.get(&key) {
                        endpoints[*position] = None;
                    }
                }
            }
        }
        Ok(Self(endpoints.into_iter().flatten().collect()))
    }

    /// Keeps one endpoint of each key, and returns how many were left out.
    ///
    /// Among several it is the one that takes the least change of what `current` has, then the first, so that the order of
    /// an answer decides nothing about a member.
    pub(super) fn dedupe(
        self,
        current: &Snapshot<K, B>,
        same: &mut impl FnMut(&B, &B) -> bool,
    ) -> (HashMap<K, usize>, Self, u64) {
        let mut kept: Vec<Endpoint<K, B>> = Vec::with_capacity(self.len());
        let (mut places, mut left_out) = (HashMap::with_capacity(self.len()), 0);
        for endpoint in self.0 {
            match places.entry(endpoint.0.clone()) {
                Entry::Vacant(free) => {
                    free.insert(kept.len());
                    kept.push(endpoint);
                }
                Entry::Occupied(taken) => {
                    left_out += 1;
                    let first: &mut Endpoint<K, B> = &mut kept[*taken.get()];
                    if likeness(&endpoint, current, same) > likeness(first, current, same) {
                        *first = endpoint;
                    }
                }
            }
        }
        (places, Self(kept), left_out)
    }
}

/// Tells how little of a member an endpoint would change: 2 is nothing, 1 is its attributes, 0 its generation.
fn likeness<K: Eq + Hash, B>(
    (key, backend, attributes): &Endpoint<K, B>,
    current: &Snapshot<K, B>,
    same: &mut impl FnMut(&B, &B) -> bool,
) -> u8 {
    match current.get(key) {
        Some(member) if same(member.backend(), backend) => 1 + u8::from(member.attributes() == attributes),
        _ => 0,
    }
}

impl<K, B: Candidate> FromIterator<(K, B)> for FullSet<K, B> {
    fn from_iter<I: IntoIterator<Item = (K, B)>>(endpoints: I) -> Self {
        let with_attributes = |(key, backend): (K, B)| {
            let attributes = backend.attributes();
            (key, backend, attributes)
        };
        Self(endpoints.into_iter().map(with_attributes).collect())
    }
}

impl<K, B> FromIterator<(K, B, Attributes)> for FullSet<K, B> {
    fn from_iter<I: IntoIterator<Item = (K, B, Attributes)>>(endpoints: I) -> Self {
        Self(endpoints.into_iter().collect())
    }
}

impl<K, B> Default for FullSet<K, B> {
    fn default() -> Self {
        Self::empty()
    }
}

/// Shows the size.
impl<K, B> fmt::Debug for FullSet<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FullSet").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Tells what a source knows now, as a whole or by what has changed since it last said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update<K, B> {
    /// These are all endpoints; whoever is not named has left.
    Full(FullSet<K, B>),
    /// This has changed; whoever is not named is as before. All of it is made as one revision, or none.
    Changes(Vec<Change<K, B>>),
}

impl<K, B> Update<K, B> {
    /// Makes a full set of its endpoints.
    pub fn full<T>(endpoints: impl IntoIterator<Item = T>) -> Self
    where
        FullSet<K, B>: FromIterator<T>,
    {
        Self::Full(endpoints.into_iter().collect())
    }

    /// Makes a batch of changes.
    pub fn changes(changes: impl IntoIterator<Item = Change<K, B>>) -> Self {
        Self::Changes(changes.into_iter().collect())
    }
}

impl<K, B> From<FullSet<K, B>> for Update<K, B> {
    fn from(set: FullSet<K, B>) -> Self {
        Self::Full(set)
    }
}
