//! The score of a member for a key.

/// Odd, so that both multiplications can be undone; those of Steele's and Stafford's mixers.
const FIRST: u64 = 0xBF58_476D_1CE4_E5B9;
const SECOND: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes the hash of a key with that of an identity.
///
/// For a given key it maps different identities to different scores: each step can be undone.
#[inline]
pub(super) const fn score(key: u64, identity: u64) -> u64 {
    let mixed = (key ^ identity).wrapping_mul(FIRST);
    (mixed ^ (mixed >> 32)).wrapping_mul(SECOND)
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn scores_are_the_published_ones() {
        let scores = [(0, 0), (0, 1), (1, 2), (u64::MAX, 0x0123_4567_89AB_CDEF)];
        let expected = [0, 0xCE96_BFD0_0AA0_0B64, 0xE369_C100_A8F6_CBDC, 0x6DEC_AD96_6467_A421];
        assert_eq!(scores.map(|(key, identity)| score(key, identity)), expected);
    }
}
