//! Random choices, by chance or by seed.

use std::fmt;

use crate::sync::{AtomicU64, Ordering};

/// Draws random numbers through a shared reference.
///
/// [`Rng::thread`] uses a generator of each thread, seeded at random: no contention, no reproduction. [`Rng::seeded`] is
/// one atomic counter behind Steele, Lea and Flood's `SplitMix64` ("Fast splittable pseudorandom number generators",
/// OOPSLA 2014): its draws are the same in every run, in the order in which they are drawn, and all threads that share it
/// write one word. Neither is for secrets.
///
/// # Clone
///
/// A clone never repeats the draws of its original: a clone of a seeded generator is seeded with one draw of the original,
/// so it is reproducible too, and a clone of a thread's one is the thread's one.
///
/// # Examples
///
/// ```
/// use poise::core::Rng;
///
/// let (one, other) = (Rng::seeded(7), Rng::seeded(7));
/// assert_eq!(one.below(1000), other.below(1000));
///
/// let (first, second) = one.pair(3);
/// assert!(first < 3 && second < 3 && first != second);
/// ```
#[derive(Default)]
pub struct Rng(Source);

#[derive(Default)]
enum Source {
    #[default]
    Thread,
    Seeded(AtomicU64),
}

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
const UNITS: f64 = 1.0 / (1_u64 << 53) as f64;
const ONE_DRAW_PAIR: usize = 1 << 24;

impl Rng {
    /// Makes a generator that draws from the current thread's; this is the default.
    #[must_use]
    pub const fn thread() -> Self {
        Self(Source::Thread)
    }

    /// Makes a generator whose draws follow from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(AtomicU64::new(seed)))
    }

    /// Makes a generator for one layer of policies, whose draws have nothing to do with those of others that were given the
    /// same seed: an inner policy must not see the draw again that led to it.
    pub(crate) fn seeded_apart(seed: u64, layer: &str) -> Self {
        Self::seeded(layer.bytes().fold(seed, |seed, byte| split_mix(seed ^ u64::from(byte))))
    }

    /// Runs code with a generator that draws what this one would, and leaves this one as it was.
    pub(crate) fn rehearse<T>(&self, code: impl FnOnce(Self) -> T) -> T {
        let seed = fastrand::get_seed();
        let result = code(match &self.0 {
            Source::Thread => Self::thread(),
            Source::Seeded(counter) => Self::seeded(counter.load(Ordering::Relaxed)),
        });
        fastrand::seed(seed);
        result
    }

    /// Draws 64 random bits.
    #[must_use]
    #[inline]
    pub fn next_u64(&self) -> u64 {
        match &self.0 {
            Source::Thread => fastrand::u64(..),
            Source::Seeded(counter) => {
                split_mix(counter.fetch_add(GOLDEN_GAMMA, Ordering::Relaxed).wrapping_add(GOLDEN_GAMMA))
            }
        }
    }

    /// Draws a number below `n`, or zero when `n` is zero.
    ///
    /// One draw by multiplication, without rejection: no number is likelier than another by more than `n / 2^64`.
    #[must_use]
    #[inline]
    pub fn below(&self, n: usize) -> usize {
        scale(self.next_u64(), n).0
    }

    /// Draws a number below `n` with whatever of the draw is left over, again uniform bits as far as `n` leaves any.
    #[must_use]
    #[inline]
    pub(crate) fn below_with_rest(&self, n: usize) -> (usize, u64) {
        scale(self.next_u64(), n)
    }

    /// As [`below`](Self::below), where `usize` may be too narrow.
    #[must_use]
    #[inline]
    pub(crate) fn below_wide(&self, n: u64) -> u64 {
        upper(self.next_u64(), n)
    }

    /// Draws a number from 0 up to but without 1, one of 2^53 that are equally far apart.
    #[must_use]
    #[inline]
    pub fn unit(&self) -> f64 {
        (self.next_u64() >> 11) as f64 * UNITS
    }

    /// Tosses a fair coin.
    #[must_use]
    #[inline]
    pub fn coin(&self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// Draws two different numbers below `n`, in random order; all ordered pairs are equally likely.
    ///
    /// Below 2^24 both come from one draw, the second from what the first left over (Brackett-Rozinsky and Lemire, "Batched
    /// ranged random integer generation", 2024): no pair is likelier than another by more than one in 65,536. There are no
    /// two different numbers below 0 or 1; then the answer is `(0, 0)`.
    #[must_use]
    #[inline]
    pub fn pair(&self, n: usize) -> (usize, usize) {
        let (first, left_over) = scale(self.next_u64(), n);
        let bits = if n <= ONE_DRAW_PAIR { left_over } else { self.next_u64() };
        let (second, _) = scale(bits, n.saturating_sub(1));
        (first, if second >= first && n > 1 { second + 1 } else { second })
    }
}

impl Clone for Rng {
    fn clone(&self) -> Self {
        match self.0 {
            Source::Thread => Self::thread(),
            Source::Seeded(_) => Self::seeded(self.next_u64()),
        }
    }
}

/// Tells which kind it is, not what it will draw.
impl fmt::Debug for Rng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::Thread => "Rng::thread",
            Source::Seeded(_) => "Rng::seeded",
        })
    }
}

/// Maps uniform bits to a number below `n`; the remainder is again uniform bits.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a product; the upper is below `n`")]
#[inline]
fn scale(bits: u64, n: usize) -> (usize, u64) {
    let product = u128::from(bits) * n as u128;
    ((product >> 64) as usize, product as u64)
}

/// Maps uniform bits to a number below `n`.
#[inline]
pub(crate) fn upper(bits: u64, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 64) as u64
}

#[inline]
fn split_mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
