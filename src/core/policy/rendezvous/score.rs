//! The score of a member for a key.

/// Odd, so that multiplications can be undone; those of well-known mixers by Stafford and Steele.
const FIRST: u64 = 0xBF58_476D_1CE4_E5B9;
const SECOND: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads a hash over all its bits, once per pick, so that hashes that come from elsewhere need not be perfect.
#[inline]
pub(crate) const fn spread(key: u64) -> u64 {
    let mixed = key.wrapping_mul(FIRST);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(SECOND);
    mixed ^ (mixed >> 32)
}

/// Mixes a [`spread`] key with the hash of an identity.
///
/// For a given key it maps different identities to different scores: each step can be undone. One multiplication is all that
/// it takes when both hashes are spread already: the difference of two scores is a sum of multiples of the factor by powers of
/// two, one for each bit in which the identities differ, each added or subtracted as the key has it.
#[inline]
pub(crate) const fn score(key: u64, identity: u64) -> u64 {
    (key ^ identity).wrapping_mul(SECOND)
}

/// Mixes as [`score`] does, in a step more, for when one step too many costs nothing.
pub(crate) const fn mixed(key: u64, identity: u64) -> u64 {
    score((key ^ identity).wrapping_mul(FIRST).rotate_left(32), 0)
}

/// Returns the score as an odd multiple of 2^-53, which is neither zero nor one.
#[inline]
pub(crate) fn unit(score: u64) -> f64 {
    ((score >> 11) | 1) as f64 * (f64::EPSILON / 2.0)
}

#[cfg(test)]
mod tests {
    use super::{score, spread, unit};

    #[test]
    fn units_lie_strictly_between_zero_and_one() {
        for score in [0, 1, u64::MAX, 1 << 63, 0x7FF] {
            let u = unit(score);
            assert!(u > 0.0 && u < 1.0, "{score:x} is {u:e}");
        }
    }

    /// Of two that are independent, both are in the upper quarter for a sixteenth of the keys. The chance that one of the 40
    /// pairs is five standard deviations off is below 1 in 40,000.
    #[test]
    fn the_scores_of_two_members_say_nothing_of_each_other() {
        const KEYS: u64 = 20_000;
        const UPPER: u64 = 3 << 62;
        for pair in 0..40 {
            let [one, other] = [2 * pair, 2 * pair + 1].map(spread);
            let keys = (0..KEYS).map(|key| spread(pair * KEYS + key));
            let both = keys.filter(|key| score(*key, one) >= UPPER && score(*key, other) >= UPPER).count();
            let (expected, deviation) = (KEYS as f64 / 16.0, (KEYS as f64 * 15.0 / 256.0).sqrt());
            assert!((both as f64 - expected).abs() < 5.0 * deviation, "{both}, not {expected}");
        }
    }

    #[test]
    fn scores_are_the_published_ones() {
        let scores = [(0, 0), (0, 1), (1, 2), (u64::MAX, 0x0123_4567_89AB_CDEF)];
        let expected = [0, 0x9E37_79B9_7F4A_7C15, 0xC903_5427_1EA0_FAEE, 0xF0F6_C3EC_9020_2354];
        assert_eq!(scores.map(|(key, identity)| score(spread(key), identity)), expected);
    }
}
