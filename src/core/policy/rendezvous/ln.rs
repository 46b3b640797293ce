//! A logarithm that is the same on every platform.

use std::f64::consts::{LN_2, SQRT_2};

/// `1 / (2 i + 1)`, for the series of the inverse hyperbolic tangent.
const SERIES: [f64; 11] = [
    1.0,
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
    1.0 / 21.0,
];
const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
const EXPONENT_OF_ONE: u64 = 1023;

/// Returns the natural logarithm of a normal, positive, finite number.
///
/// `x = m * 2^k` with `m` between `sqrt(1/2)` and `sqrt(2)`; with `s = (m - 1) / (m + 1)`,
/// `ln x = k ln 2 + 2 (s + s^3/3 + s^5/5 + ...)`, of which eleven terms are below the last bit. Additions, multiplications
/// and one division are all it takes, and IEEE 754 leaves no freedom in those, whereas the logarithms of platforms differ
/// in the last bit. It is off by at most four units in the last place.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mantissa = f64::from_bits((bits & ((1 << FRACTION) - 1)) | (EXPONENT_OF_ONE << FRACTION));
    let exponent = i32::try_from(bits >> FRACTION).unwrap_or(0) - 1023;
    let (m, k) = if mantissa > SQRT_2 {
        (mantissa * 0.5, f64::from(exponent + 1))
    } else {
        (mantissa, f64::from(exponent))
    };
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    // Two interleaved halves take half as long as one sum.
    let fourth = square * square;
    let [even, odd] = [0, 1]
        .map(|first| SERIES[first..].iter().step_by(2).rev().fold(0.0, |sum, term| sum * fourth + term));
    let sum = even + odd * square;
    k * LN_2 + 2.0 * s * sum
}

#[cfg(test)]
mod tests {
    use super::ln;

    /// Steps of a generator whose numbers have all magnitudes.
    fn units(count: u64) -> impl Iterator<Item = f64> {
        let step = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let unit = |bits: u64| ((bits >> 11) | 1) as f64 * 2f64.powi(-53);
        (1..=count)
            .map(step)
            .flat_map(move |bits| [unit(bits), unit(!(bits >> (bits % 52))), unit(bits >> (bits % 52))])
    }

    #[test]
    fn it_is_within_four_units_in_the_last_place_of_the_platform() {
        for x in units(200_000) {
            let (ours, theirs) = (ln(x), x.ln());
            let off = ((ours - theirs) / theirs).abs();
            assert!(off <= 4.0 * f64::EPSILON, "ln {x:e}: {ours:e} is {off:e} off {theirs:e}");
        }
    }

    #[test]
    fn it_has_the_same_bits_on_every_platform() {
        let vectors = [
            (0.5, 0xBFE6_2E42_FEFA_39EF),
            (0.75, 0xBFD2_6962_1134_DB93),
            (0.1, 0xC002_6BB1_BBB5_5515),
            (0.9, 0xBFBA_F8E8_210A_415D),
            (2f64.powi(-53), 0xC042_5E4F_7B27_37FA),
            (1.0 - 2f64.powi(-53), 0xBCA0_0000_0000_0000),
            (0.3, 0xBFF3_4378_FCBD_A720),
            (2.0 / 3.0, 0xBFD9_F323_ECBF_984B),
        ];
        for (x, bits) in vectors {
            assert_eq!(ln(x).to_bits(), bits, "ln {x:e}");
        }
    }
}
