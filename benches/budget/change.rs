//! What it costs when one of 10,000 members changes: to prepare anew after another one took its place, and to flip its
//! health.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use poise::core::policy::{
    LocalityWeighted, Maglev, PriorityFailover, Random, RingHash, SmoothWeightedRoundRobin, WeightedRandom,
    ZoneAware,
};
use poise::core::{Eligibility, Now, Policy, Prepared, View};

use crate::load::{Weighted, weighted};
use crate::measure::settled;
use crate::pool::{Column, Key, Node, Pool};
use crate::rows::home;
use crate::sampling::{median, now};

const PREPARATIONS: usize = 21;
const FLIPS: usize = 2_001;

/// Prepares for a membership, following what was prepared before.
type Preparation = dyn Fn(&View<'_, Arc<Node<Weighted>>>, Option<&Prepared>) -> Prepared;

/// What is prepared.
pub(crate) struct Change {
    name: &'static str,
    members: usize,
    prepare: Box<Preparation>,
    /// In milliseconds.
    prepared_within: Option<f64>,
    /// In microseconds.
    flipped_within: f64,
}

pub(crate) fn all() -> Vec<Change> {
    vec![
        Change::new("ring", million_points(), Some(5.0)),
        Change::new("maglev", Maglev::new(), Some(2.0)),
        Change::new("classes", WeightedRandom::new(), Some(2.0)),
        Change::new("schedule", SmoothWeightedRoundRobin::new(), Some(2.0)),
        Change::new("priority_scopes", PriorityFailover::new(Random::new()), Some(2.0)),
        Change::new("locality_scopes", LocalityWeighted::new(Random::new()), Some(2.0)),
        Change::new("zone_scopes", ZoneAware::new(Random::new(), home()), Some(2.0)),
        // Few members own many entries each.
        Change {
            members: 8,
            prepared_within: None,
            flipped_within: 40.0,
            ..Change::new("maglev", Maglev::new(), None)
        },
    ]
}

/// The weights are five and a half on average.
fn million_points() -> RingHash {
    RingHash::new().with_points_per_weight(100.0 / 5.5).expect("positive")
}

impl Change {
    pub(crate) const HEADER: &str = "change                  members prepare_ms   flip_us";

    fn new<P>(name: &'static str, policy: P, prepared_within: Option<f64>) -> Self
    where
        P: Policy<Arc<Node<Weighted>>, Key> + 'static,
    {
        let prepare = Box::new(move |view: &View<'_, Arc<Node<Weighted>>>, previous: Option<&Prepared>| {
            policy.prepare(view, previous).expect("the nodes fit")
        });
        Self { name, members: 10_000, prepare, prepared_within, flipped_within: 1.0 }
    }

    pub(crate) fn is_named(&self, word: &str) -> bool {
        "change".contains(word) || self.name.contains(word)
    }

    /// Measures, prints, and returns the bars that were missed. All figures are medians.
    pub(crate) fn measure(&self) -> Vec<String> {
        let start = now();
        let column = Column { members: self.members, excluded: 0, threads: 1 };
        let pool = Pool::new(column, start, |at| weighted(at, start));
        let changed =
            Pool::new(Column { members: self.members + 1, ..column }, start, |at| weighted(at, start));
        let mut changed = changed.nodes;
        changed.swap_remove(self.members / 2);
        let time = Now::at(start);
        let before = (self.prepare)(&View::new(&pool.nodes).with_now(&time), None);
        let view = View::new(&changed).with_now(&time);
        let hints = Eligibility::of(&pool.nodes, &time);
        let measure = || {
            let prepared = median_of(PREPARATIONS, |_| drop(black_box((self.prepare)(&view, Some(&before)))));
            let flipped = median_of(FLIPS, |at| {
                let slot = at / 2 * 7 % self.members;
                hints.set(slot, at % 2 == 1);
                before.set_eligible(slot, at % 2 == 1);
            });
            [prepared * 1e3, flipped * 1e6]
        };
        let [prepared, flipped] = settled(measure, |[prepared, flipped]| {
            self.prepared_within.is_none_or(|limit| prepared <= limit) && flipped <= self.flipped_within
        });
        println!("{:<23} {:>7} {prepared:>10.3} {flipped:>9.3}", self.name, self.members);
        let slow = self.prepared_within.filter(|limit| prepared > *limit);
        let slow = slow.map(|limit| format!("prepared in {prepared:.2} ms instead of {limit}"));
        let sluggish = Some(self.flipped_within).filter(|limit| flipped > *limit);
        let sluggish = sluggish.map(|limit| format!("flipped in {flipped:.2} us instead of {limit}"));
        let misses = slow.into_iter().chain(sluggish);
        misses.map(|miss| format!("change of {} of {}: {miss}", self.name, self.members)).collect()
    }
}

/// Returns the median time in seconds.
fn median_of(times: usize, job: impl Fn(usize)) -> f64 {
    let seconds = |at| {
        let start: Instant = now();
        job(at);
        start.elapsed().as_secs_f64()
    };
    median((0..times).map(seconds).collect())
}
