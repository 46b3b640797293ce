//! Hashes that place keys alike everywhere.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use twox_hash::XxHash64;

use super::xxh64::xxh64;

/// Hashes a key to the same value in every process, on every platform and in every release: hash version 1.
///
/// The value is XXH64, with a seed, of the byte string that is written. A key's [`Hash`] writes it as follows:
///
/// - integers, `char` and `bool` in little-endian order on every platform, `usize`, `isize` and lengths widened to 64 bits;
/// - `str` and `String` as their bytes and then `0xFF`; byte slices as their length and then their bytes;
/// - tuples and derived structs as their fields, one after the other; a derived enum as its discriminant first.
///
/// The second and third line are what the standard library and `derive` have always done; the crate's test vectors would
/// notice a change.
///
/// # Limits
///
/// The standard library writes slices and vectors of integers wider than a byte, such as `[u32]`, in the order of the
/// platform's memory, which no hasher can see. Use byte strings or tuples for keys that machines of different byte order
/// must place alike. XXH64 is no keyed cryptographic hash: who knows the seed can make keys that meet.
///
/// # Complexity
///
/// Keys of up to 64 bytes are gathered in place and hashed at once; longer ones are hashed as they come. Both give the
/// same value. No allocation.
///
/// # Examples
///
/// ```
/// use poise::core::StableHasher;
/// use std::hash::Hasher;
///
/// let mut hasher = StableHasher::default();
/// hasher.write(b"a");
/// assert_eq!(hasher.finish(), 0xD24E_C4F1_A98C_6E5B);
/// ```
#[derive(Clone)]
pub struct StableHasher {
    seed: u64,
    state: State,
}

#[derive(Clone)]
enum State {
    Short { bytes: [u8; SHORT], len: usize },
    Long(XxHash64),
}

const SHORT: usize = 64;

impl StableHasher {
    /// Makes a hasher with this seed; the default is `0`.
    #[must_use]
    #[inline]
    pub fn with_seed(seed: u64) -> Self {
        Self { seed, state: State::Short { bytes: [0; SHORT], len: 0 } }
    }

    /// Returns the hash of the same bytes with another seed, unless they were too many to be gathered.
    pub(crate) fn finish_with(&self, seed: u64) -> Option<u64> {
        match &self.state {
            State::Short { bytes, len } => Some(xxh64(seed, &bytes[..*len])),
            State::Long(_) => None,
        }
    }

    /// The part of a write for when the bytes are too many to be gathered.
    #[cold]
    fn write_long(&mut self, input: &[u8]) {
        match &mut self.state {
            State::Short { bytes, len } => {
                let mut long = XxHash64::with_seed(self.seed);
                long.write(&bytes[..*len]);
                long.write(input);
                self.state = State::Long(long);
            }
            State::Long(long) => long.write(input),
        }
    }
}

impl Default for StableHasher {
    #[inline]
    fn default() -> Self {
        Self::with_seed(0)
    }
}

impl Hasher for StableHasher {
    #[inline]
    fn write(&mut self, input: &[u8]) {
        if let State::Short { bytes, len } = &mut self.state
            && let Some(place) = bytes.get_mut(*len..*len + input.len())
        {
            place.copy_from_slice(input);
            *len += input.len();
        } else {
            self.write_long(input);
        }
    }

    #[expect(clippy::inline_always, reason = "where the length of the key is known, little is left of it")]
    #[inline(always)]
    fn finish(&self) -> u64 {
        match &self.state {
            State::Short { bytes, len } => xxh64(self.seed, &bytes[..*len]),
            State::Long(long) => long.finish(),
        }
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.write(&value.to_le_bytes());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write(&value.to_le_bytes());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.write(&value.to_le_bytes());
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.write(&value.to_le_bytes());
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.write_i64(value as i64);
    }
}

impl fmt::Debug for StableHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StableHasher").finish_non_exhaustive()
    }
}

/// Makes [`StableHasher`]s with one seed.
///
/// Balancers that are to place keys alike need the same seed; the default is `0`.
///
/// ```
/// use poise::core::StableBuildHasher;
/// use std::hash::BuildHasher;
///
/// let hash = StableBuildHasher::default();
/// assert_eq!(hash.hash_one("user-7"), hash.hash_one(String::from("user-7")));
/// assert_ne!(hash.hash_one("user-7"), StableBuildHasher::with_seed(1).hash_one("user-7"));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct StableBuildHasher {
    seed: u64,
}

impl StableBuildHasher {
    /// Makes a builder with this seed.
    #[must_use]
    pub const fn with_seed(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the seed.
    #[must_use]
    pub const fn seed(self) -> u64 {
        self.seed
    }
}

impl BuildHasher for StableBuildHasher {
    type Hasher = StableHasher;

    #[inline]
    fn build_hasher(&self) -> StableHasher {
        StableHasher::with_seed(self.seed)
    }
}

/// Hides the seed: who knows it can make keys that meet.
impl fmt::Debug for StableBuildHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StableBuildHasher").finish_non_exhaustive()
    }
}

/// Holds a key that is already a hash, uniform over all 64 bits.
///
/// Together with [`PrehashedBuildHasher`] the number is used as it is. With any other hasher it is a key like others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prehashed(pub u64);

impl From<u64> for Prehashed {
    fn from(hash: u64) -> Self {
        Self(hash)
    }
}

/// Makes hashers that hand a [`Prehashed`] key on unchanged.
///
/// ```
/// use poise::core::{Prehashed, PrehashedBuildHasher};
/// use std::hash::BuildHasher;
///
/// assert_eq!(PrehashedBuildHasher.hash_one(Prehashed(7)), 7);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrehashedBuildHasher;

impl BuildHasher for PrehashedBuildHasher {
    type Hasher = PrehashedHasher;

    #[inline]
    fn build_hasher(&self) -> PrehashedHasher {
        PrehashedHasher::default()
    }
}

/// Returns the one `u64` that is written, unchanged.
///
/// Whatever else is written is hashed in the manner of [`StableHasher`], so that a key of another type is slower but never
/// misplaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrehashedHasher {
    value: Option<u64>,
}

impl Hasher for PrehashedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.value = Some(xxh64(self.finish(), bytes));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        if self.value.is_none() {
            self.value = Some(value);
        } else {
            self.write(&value.to_le_bytes());
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.value.unwrap_or(0)
    }
}
