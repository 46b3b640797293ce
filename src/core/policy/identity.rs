//! Telling members apart by what is hashed of them.

use std::fmt::{self, Display, Write};
use std::hash::{BuildHasher, Hash, Hasher};

use twox_hash::XxHash64;

use crate::core::{Candidate, PickError, StableBuildHasher, StableHasher, View};

/// The seed of the second hash of an identity; the same in every process.
const SECOND_SEED: u64 = 0xCA11_AB1E;

/// Hashes what a member is known by.
pub trait Naming<C> {
    /// Returns a hash of the identity of `candidate`.
    fn hash(&self, candidate: &C) -> u64;

    /// Returns another hash of it, independent of the first.
    fn hash_again(&self, candidate: &C) -> u64;

    /// Returns both hashes. By default one after the other.
    fn hashes(&self, candidate: &C) -> [u64; 2] {
        [self.hash(candidate), self.hash_again(candidate)]
    }
}

/// Hashes identities by their [`Hash`]: every type that can be a key of a map will do.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByIdentity;

impl<C: Candidate<Id: Hash>> Naming<C> for ByIdentity {
    fn hash(&self, candidate: &C) -> u64 {
        StableBuildHasher::default().hash_one(candidate.id())
    }

    fn hash_again(&self, candidate: &C) -> u64 {
        StableBuildHasher::with_seed(SECOND_SEED).hash_one(candidate.id())
    }

    /// Reads the identity once, unless it is long.
    fn hashes(&self, candidate: &C) -> [u64; 2] {
        let mut hasher = StableHasher::default();
        candidate.id().hash(&mut hasher);
        let again = hasher.finish_with(SECOND_SEED).unwrap_or_else(|| self.hash_again(candidate));
        [hasher.finish(), again]
    }
}

/// Hashes the text that an identity shows as, with XXH64 and the seeds 0 and 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByName;

impl<C: Candidate<Id: Display>> Naming<C> for ByName {
    fn hash(&self, candidate: &C) -> u64 {
        Text::of(0, candidate.id()).finish()
    }

    fn hash_again(&self, candidate: &C) -> u64 {
        Text::of(1, candidate.id()).finish()
    }
}

/// Hashes text as it is written.
#[derive(Clone)]
pub(super) struct Text(XxHash64);

impl Text {
    pub(super) fn of(seed: u64, text: &(impl Display + ?Sized)) -> Self {
        Self(XxHash64::with_seed(seed)).with(text)
    }

    /// Appends more text.
    pub(super) fn with(mut self, text: &(impl Display + ?Sized)) -> Self {
        // Neither the hasher nor the types of the standard library fail; a name that does is cut where it failed.
        let _ = write!(self, "{text}");
        self
    }

    pub(super) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// A member as far as placement goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    pub(super) hashes: [u64; 2],
    pub(super) slot: u32,
    pub(super) weight: u32,
}

/// Lists the members of a view by their hashes, so that their order in the view does not matter.
pub(super) fn sorted<C: Candidate>(
    view: &View<'_, C>,
    naming: &impl Naming<C>,
) -> Result<Vec<Identity>, PickError> {
    let mut identities = Vec::with_capacity(view.len());
    for (index, slot) in (0..view.len()).zip(0u32..) {
        let candidate = view.candidate(index).ok_or(PickError::InconsistentTopology)?;
        let (hashes, weight) = (naming.hashes(candidate), candidate.weight().value());
        identities.push(Identity { hashes, slot, weight });
    }
    Ok(in_order(&identities))
}

/// Sorts identities in linear time. Their hashes are spread evenly, so where their leading bits send them only few have to
/// be compared; many would be compared in vain only if somebody chose identities for that.
fn in_order(identities: &[Identity]) -> Vec<Identity> {
    let Some(first) = identities.first() else { return Vec::new() };
    let places = identities.len().next_power_of_two();
    let place = |identity: &Identity| leading(identity.hashes[0], u64::BITS - places.ilog2());
    let mut ends = vec![0u32; places + 1];
    for identity in identities {
        ends[place(identity) + 1] += 1;
    }
    (1..=places).for_each(|place| ends[place] += ends[place - 1]);
    let mut sorted = vec![*first; identities.len()];
    for identity in identities {
        let end = &mut ends[place(identity)];
        sorted[*end as usize] = *identity;
        *end += 1;
    }
    let mut start = 0;
    for end in ends {
        let met = &mut sorted[start..end as usize];
        if met.len() > 1 {
            met.sort_unstable();
        }
        start = end as usize;
    }
    sorted
}

/// Returns what is left of a hash when it is shifted so far.
#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 places for the leading bits")]
#[inline]
pub(super) fn leading(hash: u64, shift: u32) -> usize {
    hash.checked_shr(shift).unwrap_or(0) as usize
}

/// Lists as [`sorted`] does, and refuses members that cannot be told apart.
pub(super) fn distinct<C: Candidate>(
    view: &View<'_, C>,
    naming: &impl Naming<C>,
) -> Result<Vec<Identity>, PickError> {
    let identities = sorted(view, naming)?;
    match identities.windows(2).find(|pair| pair[0].hashes == pair[1].hashes) {
        Some(twins) => {
            let [first, second] = [0, 1].map(|at: usize| view.position(twins[at].slot as usize));
            Err(PickError::DuplicateIdentity { first, second })
        }
        None => Ok(identities),
    }
}

/// Pairs each of `now` with the one of `before` that has the same hashes; both are sorted, and twins are paired in order.
pub(super) fn paired<'a>(
    now: &'a [Identity],
    before: &'a [Identity],
) -> impl Iterator<Item = (&'a Identity, Option<&'a Identity>)> {
    let mut before = before.iter().peekable();
    now.iter().map(move |identity| {
        while before.next_if(|old| old.hashes < identity.hashes).is_some() {}
        (identity, before.next_if(|old| old.hashes == identity.hashes))
    })
}

/// Tells memberships apart by identities and weights, in order.
pub(super) fn fingerprint<C: Candidate>(view: &View<'_, C>, naming: &impl Naming<C>) -> u64 {
    let hasher = StableBuildHasher::default();
    (0..view.len()).filter_map(|slot| view.candidate(slot)).fold(view.len() as u64, |before, candidate| {
        hasher.hash_one((before, naming.hash(candidate), candidate.weight().value()))
    })
}
