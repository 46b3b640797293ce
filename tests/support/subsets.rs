//! Many clients with a subset each.

use std::collections::HashSet;

use poise::discovery::subset::{Contender, Subset};

pub(crate) struct Fleet<S> {
    schemes: Vec<S>,
    members: Vec<Contender>,
    subsets: Vec<Vec<usize>>,
}

/// How the connections are spread over the members.
#[derive(Debug)]
pub(crate) struct Spread {
    pub(crate) least: usize,
    pub(crate) most: usize,
    /// Members without connections.
    pub(crate) idle: usize,
    /// Variance over mean, which is 1 where chance decides.
    pub(crate) dispersion: f64,
}

/// What moved when one member went.
#[derive(Debug)]
pub(crate) struct Churn {
    /// The most members that one subset lost.
    pub(crate) worst: usize,
    /// The subsets that lost any.
    pub(crate) touched: usize,
}

impl<S: Subset> Fleet<S> {
    pub(crate) fn new(clients: u64, members: u32, scheme: impl Fn(u64) -> S) -> Self {
        let schemes: Vec<_> = (0..clients).map(scheme).collect();
        let members: Vec<_> =
            (0..members).map(|member| Contender::new(&format!("host-{member}:80"))).collect();
        let subsets = schemes.iter().map(|scheme| scheme.choose(&members)).collect();
        Self { schemes, members, subsets }
    }

    pub(crate) fn spread(&self) -> Spread {
        let counts = self.counts();
        let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
        Spread {
            least: counts.iter().copied().min().unwrap(),
            most: counts.iter().copied().max().unwrap(),
            idle: counts.iter().filter(|count| **count == 0).count(),
            dispersion: squares / counts.len() as f64 / mean,
        }
    }

    pub(crate) fn connections(&self, member: usize) -> usize {
        self.counts()[member]
    }

    pub(crate) fn most_connected(&self) -> usize {
        let counts = self.counts();
        (0..counts.len()).max_by_key(|member| counts[*member]).unwrap()
    }

    /// Compares with the subsets among all others.
    pub(crate) fn without(&self, gone: usize) -> Churn {
        let mut members = self.members.clone();
        members.remove(gone);
        let lost = self.schemes.iter().zip(&self.subsets).map(|(scheme, before)| {
            let after = scheme.choose(&members).into_iter();
            let after: HashSet<_> = after.map(|position| position + usize::from(position >= gone)).collect();
            before.iter().filter(|member| !after.contains(member)).count()
        });
        let lost: Vec<_> = lost.collect();
        Churn {
            worst: lost.iter().copied().max().unwrap(),
            touched: lost.iter().filter(|lost| **lost > 0).count(),
        }
    }

    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.members.len()];
        self.subsets.iter().flatten().for_each(|member| counts[*member] += 1);
        counts
    }
}
