//! What a pick costs on a prepared view with an eligibility, beside one uncontended atomic addition in the same run.
//!
//! Candidates stand behind `Arc`, with state and load in atomics. The minima are what a pick would cost that is written by
//! hand for these very candidates.

use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use divan::{Bencher, counter::ItemsCount};
use poise::core::policy::{
    BoundedLoadRendezvous, LeastLoaded, LeastRequests, LocalityWeighted, Maglev, PowerOfTwoChoices,
    PriorityFailover, Random, Rendezvous, RingHash, RoundRobin, SmoothWeightedRoundRobin, WeightedRandom,
    WeightedRendezvous, ZoneAware,
};
use poise::core::{
    Candidate, Eligibility, Exclusion, Exclusions, InFlight, Locality, Now, Policy, Prepare, Selection,
    StableBuildHasher, View, Weight,
};

const SIZES: [usize; 4] = [8, 64, 512, 10_000];
const PICKS: usize = 1_000;

struct Node {
    id: String,
    excluded: AtomicU64,
    load: InFlight,
}

impl Candidate for Node {
    type Id = str;
    type Data = ();
    type Load = InFlight;

    fn id(&self) -> &str {
        &self.id
    }

    fn data(&self) -> &() {
        &()
    }

    fn load(&self) -> &InFlight {
        &self.load
    }

    fn exclusions(&self, _: &Now) -> Exclusions {
        Exclusions::NONE.with_if(Exclusion::Circuit, self.excluded.load(Ordering::Relaxed) != 0)
    }
}

fn nodes(members: usize, excluded: impl Fn(usize) -> bool) -> Vec<Arc<Node>> {
    let node = |at| Node {
        id: format!("10.0.0.{at}:80"),
        excluded: AtomicU64::new(u64::from(excluded(at))),
        load: InFlight::new(),
    };
    (0..members).map(|at| Arc::new(node(at))).collect()
}

fn keys() -> Vec<[u8; 16]> {
    (0..1_024_u128).map(|at| (at * 0x9E37_79B9_7F4A_7C15).to_le_bytes()).collect()
}

/// A node with a weight of one to ten, in one of three zones.
struct Placed {
    node: Node,
    weight: Weight,
    locality: Locality,
}

impl Candidate for Placed {
    type Id = str;
    type Data = ();
    type Load = InFlight;

    fn id(&self) -> &str {
        &self.node.id
    }

    fn data(&self) -> &() {
        &()
    }

    fn load(&self) -> &InFlight {
        &self.node.load
    }

    fn weight(&self) -> Weight {
        self.weight
    }

    fn locality(&self) -> Option<&Locality> {
        Some(&self.locality)
    }

    fn exclusions(&self, now: &Now) -> Exclusions {
        self.node.exclusions(now)
    }
}

fn placed(members: usize, excluded: impl Fn(usize) -> bool) -> Vec<Arc<Placed>> {
    let zones = ["a", "b", "c"].map(|zone| Locality::new("eu", zone));
    let nodes = nodes(members, excluded).into_iter().filter_map(Arc::into_inner).zip((1..=10).cycle());
    let places = zones.iter().cycle();
    nodes
        .zip(places)
        .map(|((node, weight), zone)| {
            let weight = Weight::new(weight).expect("positive");
            Arc::new(Placed { node, weight, locality: zone.clone() })
        })
        .collect()
}

fn picks<C, P>(bencher: Bencher<'_, '_>, nodes: &[C], policy: &P)
where
    C: Candidate,
    P: Policy<C, [u8; 16]>,
{
    #[expect(clippy::disallowed_methods, reason = "the dispatcher supplies the time")]
    let now = Now::at(Instant::now());
    let keys = keys();
    let prepared = policy.prepare(&View::new(nodes), None).expect("the nodes fit");
    let eligibility = Eligibility::of(nodes, &now);
    bencher.counter(ItemsCount::new(PICKS)).bench_local(|| {
        for key in keys.iter().cycle().take(PICKS) {
            let view =
                View::new(black_box(nodes)).with_now(&now).prepared(&prepared).eligibility(&eligibility);
            let pick = policy.pick_from(&view, black_box(key));
            black_box(pick.map_or(usize::MAX, Selection::index));
        }
    });
}

#[divan::bench]
fn atomic_addition(bencher: Bencher<'_, '_>) {
    let word = AtomicU64::new(0);
    bencher.counter(ItemsCount::new(PICKS)).bench_local(|| {
        for _ in 0..PICKS {
            black_box(black_box(&word).fetch_add(1, Ordering::Relaxed));
        }
    });
}

/// Returns a position by one draw of the generator that the policies use.
fn draw(nodes: &[Arc<Node>]) -> usize {
    usize::try_from((u128::from(fastrand::u64(..)) * nodes.len() as u128) >> 64).unwrap_or(0)
}

/// The least that a random pick can do: one draw and one state.
#[divan::bench(args = SIZES)]
fn minimum_of_random(bencher: Bencher<'_, '_>, members: usize) {
    let nodes = nodes(members, |_| false);
    bencher.counter(ItemsCount::new(PICKS)).bench_local(|| {
        for _ in 0..PICKS {
            let nodes = black_box(&nodes[..]);
            let at = draw(nodes);
            black_box((at, nodes[at].excluded.load(Ordering::Relaxed)));
        }
    });
}

/// The least that two choices can do: two draws, two states, two loads and a comparison.
#[divan::bench(args = SIZES)]
fn minimum_of_two_choices(bencher: Bencher<'_, '_>, members: usize) {
    let nodes = nodes(members, |_| false);
    bencher.counter(ItemsCount::new(PICKS)).bench_local(|| {
        for _ in 0..PICKS {
            let nodes = black_box(&nodes[..]);
            let (a, b) = (draw(nodes), draw(nodes));
            let excluded = [a, b].map(|at| nodes[at].excluded.load(Ordering::Relaxed));
            let less = if nodes[a].load.current() <= nodes[b].load.current() { a } else { b };
            black_box((excluded, less));
        }
    });
}

/// The least that a ring can do: one hash, a binary search among 128 points of each, and one state.
#[divan::bench(args = SIZES)]
fn minimum_of_ring(bencher: Bencher<'_, '_>, members: usize) {
    let nodes = nodes(members, |_| false);
    let mut ring: Vec<(u64, usize)> =
        (0..members * 128).map(|at| (StableBuildHasher::with_seed(1).hash_one(at), at % members)).collect();
    ring.sort_unstable();
    let (points, owners): (Vec<u64>, Vec<usize>) = ring.into_iter().unzip();
    let keys = keys();
    bencher.counter(ItemsCount::new(PICKS)).bench_local(|| {
        for key in keys.iter().cycle().take(PICKS) {
            let hash = StableBuildHasher::default().hash_one(black_box(key));
            let at = black_box(&points).partition_point(|point| *point < hash) % points.len();
            black_box((owners[at], nodes[owners[at]].excluded.load(Ordering::Relaxed)));
        }
    });
}

/// The least that a scan of scores can do: one hash of the key, one multiplication for each hash of an identity, one state.
#[divan::bench(args = SIZES)]
fn minimum_of_rendezvous(bencher: Bencher<'_, '_>, members: usize) {
    let nodes = nodes(members, |_| false);
    let hasher = StableBuildHasher::default();
    let identities: Vec<u64> = nodes.iter().map(|node| hasher.hash_one(node.id())).collect();
    let keys = keys();
    bencher.counter(ItemsCount::new(PICKS)).bench_local(|| {
        for key in keys.iter().cycle().take(PICKS) {
            let (hash, mut best, mut owner) = (hasher.hash_one(black_box(key)), 0, 0);
            for (at, identity) in black_box(&identities[..]).iter().enumerate() {
                let score = (hash ^ identity).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                if score > best {
                    (best, owner) = (score, at);
                }
            }
            black_box((owner, nodes[owner].excluded.load(Ordering::Relaxed)));
        }
    });
}

/// A change of one member among many, with the ring or the schedule before at hand.
fn changes<P: Prepare<Arc<Node>>>(bencher: Bencher<'_, '_>, members: usize, policy: &P) {
    let mut nodes = nodes(members + 1, |_| false);
    let before = policy.prepare(&View::new(&nodes[1..]), None).expect("the nodes fit");
    nodes.swap_remove(members / 2);
    bencher.bench_local(|| policy.prepare(&View::new(black_box(&nodes)), Some(&before)));
}

#[divan::bench(args = [512, 10_000], sample_count = 20)]
fn one_change_of_a_ring(bencher: Bencher<'_, '_>, members: usize) {
    changes(bencher, members, &RingHash::new());
}

#[divan::bench(args = [512, 10_000], sample_count = 20)]
fn one_change_of_a_schedule(bencher: Bencher<'_, '_>, members: usize) {
    changes(bencher, members, &SmoothWeightedRoundRobin::new());
}

/// The least that bounded loads can do: one state, one load and one multiplication for each, and a division.
#[divan::bench(args = SIZES)]
fn minimum_of_bounded_load(bencher: Bencher<'_, '_>, members: usize) {
    let nodes = nodes(members, |_| false);
    let hasher = StableBuildHasher::default();
    let identities: Vec<u64> = nodes.iter().map(|node| hasher.hash_one(node.id())).collect();
    bencher.counter(ItemsCount::new(PICKS)).bench_local(|| {
        for key in 0..PICKS {
            let (hash, mut best, mut owner, mut total) = (hasher.hash_one(black_box(key)), 0, 0, 0);
            for (at, (node, identity)) in black_box(&nodes[..]).iter().zip(&identities).enumerate() {
                let score = (hash ^ identity).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                if node.excluded.load(Ordering::Relaxed) == 0 {
                    total += node.load.current();
                    if score > best {
                        (best, owner) = (score, at);
                    }
                }
            }
            black_box((owner, nodes[owner].load.current() <= total / black_box(members as u64)));
        }
    });
}

macro_rules! rows {
    ($nodes:ident: $($row:ident: $policy:expr;)+) => {$(
        #[divan::bench(args = SIZES)]
        fn $row(bencher: Bencher<'_, '_>, members: usize) {
            picks(bencher, &$nodes(members, |_| false), &$policy);
        }
    )+};
}

rows! {
    nodes:
    random: Random::new();
    round_robin: RoundRobin::new();
    two_choices: PowerOfTwoChoices::new();
    maglev: Maglev::new();
    ring: RingHash::new();
    smooth: SmoothWeightedRoundRobin::new();
    rendezvous: Rendezvous::new();
    weighted_rendezvous: WeightedRendezvous::new();
    bounded_load_rendezvous: BoundedLoadRendezvous::new();
    priority_over_maglev: PriorityFailover::new(Maglev::new());
    priority_over_priority_over_maglev: PriorityFailover::new(PriorityFailover::new(Maglev::new()));
    least_loaded: LeastLoaded::new();
    three_choices: PowerOfTwoChoices::new().choices(3);
}

rows! {
    placed:
    weighted_random: WeightedRandom::new();
    least_requests: LeastRequests::new();
    locality_over_random: LocalityWeighted::new(Random::new());
    zone_over_random: ZoneAware::new(Random::new(), Locality::new("eu", "a"));
}

#[divan::bench(args = [50, 90, 98])]
fn two_choices_of_10_000_excluded_percent(bencher: Bencher<'_, '_>, percent: usize) {
    picks(bencher, &nodes(10_000, |at| at % 100 < percent), &PowerOfTwoChoices::new());
}

#[divan::bench(args = [50, 90, 98])]
fn round_robin_of_10_000_excluded_percent(bencher: Bencher<'_, '_>, percent: usize) {
    picks(bencher, &nodes(10_000, |at| at % 100 < percent), &RoundRobin::new());
}

#[divan::bench(args = [50, 90, 98])]
fn weighted_random_of_10_000_excluded_percent(bencher: Bencher<'_, '_>, percent: usize) {
    picks(bencher, &placed(10_000, |at| at % 100 < percent), &WeightedRandom::new());
}

#[divan::bench(args = [50, 90, 98])]
fn maglev_of_10_000_excluded_percent(bencher: Bencher<'_, '_>, percent: usize) {
    picks(bencher, &nodes(10_000, |at| at % 100 < percent), &Maglev::new());
}

#[divan::bench(args = [50, 90, 98])]
fn rendezvous_of_10_000_excluded_percent(bencher: Bencher<'_, '_>, percent: usize) {
    picks(bencher, &nodes(10_000, |at| at % 100 < percent), &Rendezvous::new());
}

fn main() {
    divan::main();
}
