//! A full set in place of another.

use std::hash::Hash;

use super::draft::Draft;
use super::{Applied, Directory, DirectoryError, DuplicateKey, Effect};
use crate::core::{Attributes, Candidate};

impl<K: Eq + Hash, B> Directory<K, B> {
    /// Makes the membership be this set, as one revision and with as few changes as that takes.
    ///
    /// For each endpoint of the set whose key is a member, `same(&old, &new)` tells whether it still is the same
    /// endpoint. Then it keeps its allocation, and so its connections, load and health, and takes the attributes of
    /// the new one; else it becomes a new generation. Others are added. Members that the set does not name start to
    /// drain, and stay until their drain is finished; one that comes back until then goes on as it was.
    /// The order of the set counts for newcomers only.
    ///
    /// `same` is to compare what makes an endpoint and to leave attributes out:
    /// [`Backend::is_same_endpoint`](crate::core::Backend::is_same_endpoint) does.
    ///
    /// The first set that succeeds publishes also when it is empty: from then on the membership is known to be empty.
    /// An empty set later on makes everybody drain; whoever reads from a source that may be wrong decides before the
    /// call whether to believe it.
    ///
    /// How the sets of Kubernetes' `EndpointSlice`s and of xDS map onto this is told at
    /// [`FullSet`](crate::discovery::FullSet), which also keeps one of several endpoints with the same key.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::DuplicateKey`] when the set names a key twice, [`DirectoryError::RevisionsExhausted`]; the
    /// membership is what it was then.
    ///
    /// # Complexity
    ///
    /// O(n + m) for n members and a set of m; with nothing to change, no copy is made.
    ///
    /// # Examples
    ///
    /// ```
    /// use poise::core::{Backend, Weight};
    /// use poise::discovery::{Directory, Effect};
    ///
    /// let mut directory = Directory::new();
    /// directory.replace([("a", Backend::new(1)), ("b", Backend::new(2))], Backend::is_same_endpoint)?;
    /// let before = directory.snapshot();
    ///
    /// let heavier = Backend::new(2).with_weight(Weight::MAX);
    /// let applied = directory.replace([("c", Backend::new(3)), ("b", heavier)], Backend::is_same_endpoint)?;
    /// assert_eq!(applied.effects(), [Effect::Added, Effect::Amended, Effect::Draining]);
    ///
    /// let after = directory.snapshot();
    /// assert!(after.members()[1].same_generation(&before.members()[1]));
    /// # Ok::<(), poise::discovery::DirectoryError>(())
    /// ```
    pub fn replace<I, F>(&mut self, set: I, same: F) -> Result<Applied, DirectoryError>
    where
        I: IntoIterator<Item = (K, B)>,
        F: FnMut(&B, &B) -> bool,
        B: Candidate,
    {
        let with_attributes = |(key, backend): (K, B)| {
            let attributes = backend.attributes();
            (key, backend, attributes)
        };
        self.replace_with(set.into_iter().map(with_attributes), same)
    }

    /// Makes the membership be this set, with attributes that stand beside the backends.
    ///
    /// The [`effects`](Applied::effects) are those on the endpoints of the set in its order, and then one
    /// [`Effect::Draining`] for each member that starts to drain. All else is as [`replace`](Self::replace) says.
    ///
    /// # Errors
    ///
    /// As for [`replace`](Self::replace).
    pub fn replace_with<I, F>(&mut self, set: I, mut same: F) -> Result<Applied, DirectoryError>
    where
        I: IntoIterator<Item = (K, B, Attributes)>,
        F: FnMut(&B, &B) -> bool,
    {
        let members = self.len();
        self.batch(true, |draft| {
            let mut named = Named::new(members);
            let mut effects = Vec::new();
            for (place, (key, backend, attributes)) in set.into_iter().enumerate() {
                let (position, effect) = draft.reconcile(key, backend, attributes, &mut same);
                named.name(position, place)?;
                effects.push(effect);
            }
            effects.extend(retire_unnamed(draft, &named));
            Ok(effects)
        })
    }
}

fn retire_unnamed<K: Eq + Hash, B>(
    draft: &mut Draft<'_, K, B>,
    named: &Named,
) -> impl Iterator<Item = Effect> {
    let unnamed = named.0.iter().enumerate().filter(|(_, place)| place.is_none());
    unnamed.map(|(position, _)| draft.retire(position)).filter(|effect| *effect != Effect::Unchanged)
}

/// Where in the set each member is named.
struct Named(Vec<Option<usize>>);

impl Named {
    fn new(members: usize) -> Self {
        Self(vec![None; members])
    }

    fn name(&mut self, position: usize, place: usize) -> Result<(), DuplicateKey> {
        if position >= self.0.len() {
            self.0.resize(position + 1, None);
        }
        match self.0[position].replace(place) {
            Some(first) => Err(DuplicateKey::new(first, place)),
            None => Ok(()),
        }
    }
}
