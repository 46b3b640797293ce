//! Telling shares of any size from a bias.

/// Asserts that each of `counts` is within six standard deviations of its share, which a right draw misses once in a billion;
/// an outcome without a share never happens. Shares are in any unit.
pub(crate) fn assert_shares(counts: &[u32], shares: &[f64], what: &str) {
    let (draws, total) = (f64::from(counts.iter().sum::<u32>()), shares.iter().sum::<f64>());
    assert_eq!(counts.len(), shares.len(), "{what}: one share each");
    for (at, (count, share)) in counts.iter().zip(shares).enumerate() {
        let p = share / total;
        let (off, bound) = ((f64::from(*count) - draws * p).abs(), 6.0 * (draws * p * (1.0 - p)).sqrt());
        // A rare outcome is not normal: it may happen a few times more than its deviation says.
        let bound = if p > 0.0 { bound + 6.0 } else { 0.0 };
        assert!(off <= bound, "{what}: outcome {at} came {count} times, not {:.1} +- {bound:.1}", draws * p);
    }
}
