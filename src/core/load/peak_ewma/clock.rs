//! Differences of times that wrap.

/// Returns the nanoseconds from `earlier` to `now`, zero when time went back.
#[inline]
pub(super) fn since(earlier: u64, now: u64) -> u64 {
    forward(now.wrapping_sub(earlier), 64)
}

/// Reads the low `bits` of a wrapped difference of two times as a length, zero when it is negative.
#[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "the sign is what is asked for")]
#[inline]
pub(super) fn forward(difference: u64, bits: u32) -> u64 {
    let unused = 64 - bits;
    (((difference << unused) as i64) >> unused).max(0) as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn differences_are_right_across_the_wrap_and_zero_when_negative() {
        assert_eq!(since(u64::MAX - 4, 5), 10);
        assert_eq!(since(5, u64::MAX - 4), 0);
        assert_eq!(forward(3_u64.wrapping_sub((1 << 38) - 2), 38), 5);
        assert_eq!(forward(2_u64.wrapping_sub(3), 38), 0);
    }
}
