//! How policies hash the keys of requests.

use std::hash::{BuildHasher, Hash};

use crate::core::xxh64::xxh64;

/// Hashes keys of type `K`: what every [`BuildHasher`] does for those that are [`Hash`].
pub trait HashKey<K: ?Sized> {
    /// Returns the hash of `key`.
    fn hash_key(&self, key: &K) -> u64;
}

impl<K: Hash + ?Sized, H: BuildHasher> HashKey<K> for H {
    #[inline]
    fn hash_key(&self, key: &K) -> u64 {
        self.hash_one(key)
    }
}

/// Hashes the bytes of a key and nothing else, by XXH64 with seed 0, as Envoy does.
///
/// Strings, byte strings and byte arrays are such keys. A [`BuildHasher`] cannot do this: the [`Hash`] of a string writes
/// more than its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyBytes;

impl<K: AsRef<[u8]> + ?Sized> HashKey<K> for KeyBytes {
    #[inline]
    fn hash_key(&self, key: &K) -> u64 {
        xxh64(0, key.as_ref())
    }
}
