//! Counting picks.

/// Counts how often each index was picked.
pub(crate) fn tally(members: usize, picks: impl IntoIterator<Item = usize>) -> Vec<u32> {
    let mut counts = vec![0; members];
    picks.into_iter().for_each(|index| counts[index] += 1);
    counts
}
