//! XXH64 of short byte strings, such as most keys are.

use twox_hash::XxHash64;

const PRIMES: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];

/// From this length on the algorithm works in stripes, and what a call costs does not matter.
const STRIPE: usize = 32;

/// Returns the XXH64 of `bytes`.
///
/// Short strings are hashed here, where the compiler sees it: it mostly knows the length of a key, and then nothing but a
/// few multiplications is left.
#[expect(clippy::inline_always, reason = "the length of the key is known only where the key is hashed")]
#[inline(always)]
pub(crate) fn xxh64(seed: u64, bytes: &[u8]) -> u64 {
    if bytes.len() < STRIPE { short(seed, bytes) } else { XxHash64::oneshot(seed, bytes) }
}

#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn short(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = seed.wrapping_add(PRIMES[4]).wrapping_add(bytes.len() as u64);
    let (words, mut rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word).wrapping_mul(PRIMES[1]).rotate_left(31).wrapping_mul(PRIMES[0]);
        hash = (hash ^ word).rotate_left(27).wrapping_mul(PRIMES[0]).wrapping_add(PRIMES[3]);
    }
    if let Some((half, left)) = rest.split_first_chunk::<4>() {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(PRIMES[0]);
        hash = hash.rotate_left(23).wrapping_mul(PRIMES[1]).wrapping_add(PRIMES[2]);
        rest = left;
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(PRIMES[4]);
        hash = hash.rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    avalanche(hash)
}

#[inline]
const fn avalanche(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(PRIMES[1]);
    let hash = (hash ^ (hash >> 29)).wrapping_mul(PRIMES[2]);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::{XxHash64, xxh64};

    #[test]
    fn short_strings_have_the_published_values() {
        let bytes: Vec<u8> = (0..100u8).map(|byte| byte.wrapping_mul(151)).collect();
        for seed in [0, 1, u64::MAX] {
            for length in 0..bytes.len() {
                let bytes = &bytes[..length];
                assert_eq!(xxh64(seed, bytes), XxHash64::oneshot(seed, bytes), "{length} bytes");
            }
        }
    }
}
