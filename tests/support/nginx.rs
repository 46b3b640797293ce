//! Slow answers that are right by inspection: the loop of nginx.

/// Members with their turns, in order, and the credit of each.
pub(crate) struct Nginx {
    pub(crate) turns: Vec<i64>,
    pub(crate) credits: Vec<i64>,
}

impl Nginx {
    pub(crate) fn at_rest(turns: &[u32]) -> Self {
        Self { turns: turns.iter().copied().map(i64::from).collect(), credits: vec![0; turns.len()] }
    }

    pub(crate) fn pick(&mut self) -> usize {
        let mut best = 0;
        for at in 0..self.turns.len() {
            self.credits[at] += self.turns[at];
            if self.credits[at] > self.credits[best] {
                best = at;
            }
        }
        self.credits[best] -= self.turns.iter().sum::<i64>();
        best
    }
}
