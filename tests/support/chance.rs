//! Telling chance from a bias.

/// Returns how many draws show a relative deviation of `deviation` of one outcome of chance `p` at six standard
/// deviations, so that a right draw fails once in a billion outcomes and a bias of twice that size does not get by.
pub(crate) fn draws_for(p: f64, deviation: f64) -> u32 {
    let variance = (1.0 - p) / p;
    let draws = 36.0 * variance / (deviation * deviation);
    format!("{draws:.0}").parse().expect("a number of draws fits")
}

/// Asserts that each of `counts` is within `deviation` of an equal share.
pub(crate) fn assert_even(counts: &[u32], deviation: f64, what: &str) {
    let share = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    for (at, count) in counts.iter().enumerate() {
        let off = f64::from(*count) / share - 1.0;
        assert!(off.abs() <= deviation, "{what}: outcome {at} is {:.1} % off an equal share", off * 100.0);
    }
}
