//! The candidates that all rows choose among.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use poise::core::{Candidate, Exclusion, Exclusions, Locality, Now, StableBuildHasher, Weight};

use crate::load::Weigh;

pub(crate) type Key = [u8; 16];

/// Keys of requests.
pub(crate) trait Keyed: Hash + Sized + Sync + 'static {
    /// Returns all keys, which rotate.
    fn all() -> &'static [Self];
}

/// Policies that look at no key are measured without.
impl Keyed for () {
    fn all() -> &'static [Self] {
        &[(); KEYS]
    }
}

impl Keyed for Key {
    fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Key>> = LazyLock::new(|| {
            (0..KEYS as u128).map(|at| (at * 0x9E37_79B9_7F4A_7C15).to_le_bytes()).collect()
        });
        &ALL
    }
}

impl Keyed for String {
    fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<String>> =
            LazyLock::new(|| (0..KEYS).map(|at| format!("user:{:010}", scattered(at))).collect());
        &ALL
    }
}

/// Where the keys of a job go on after the last sample. Each pass goes through them in another order.
///
/// Of the same keys in the same order, predictors of branches learn by heart who is chosen, and a scan among eight seems to
/// take a third of its time.
#[derive(Default)]
pub(crate) struct Rotation(AtomicUsize);

impl Rotation {
    /// Goes through the next keys. What makes the order of a pass is found once for the pass.
    #[inline]
    pub(crate) fn each<K: Keyed>(&self, count: usize, mut visit: impl FnMut(&'static K)) {
        let (keys, mut at) = (K::all(), self.0.fetch_add(count, Ordering::Relaxed));
        let end = at + count;
        while at < end {
            let (order, pass) = (scattered(at / KEYS), at / KEYS + 1);
            for at in at..end.min(pass * KEYS) {
                visit(&keys[(at ^ order) % KEYS]);
            }
            at = end.min(pass * KEYS);
        }
    }
}

/// A power of two, so that rotating costs nothing.
const KEYS: usize = 8_192;
/// The entries of the tables of the minima; as many as the default of the policies that have one.
const ENTRIES: usize = 65_537;
/// The points that a ring has for each member of weight one.
const POINTS: usize = 128;
/// How many zones the members are spread over.
pub(crate) const ZONES: [&str; 3] = ["a", "b", "c"];

/// What varies from column to column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) members: usize,
    pub(crate) excluded: usize,
    pub(crate) threads: usize,
}

impl Column {
    pub(crate) fn all() -> Vec<Self> {
        let sizes = [8, 64, 512, 10_000].map(|members| Self { members, excluded: 0, threads: 1 });
        let excluded = [512, 10_000]
            .into_iter()
            .flat_map(|members| [50, 90, 98].map(|excluded| Self { members, excluded, threads: 1 }));
        let two_threads = Self { members: 512, excluded: 0, threads: 2 };
        sizes.into_iter().chain(excluded).chain([two_threads]).collect()
    }
}

/// One candidate.
pub(crate) struct Node<L> {
    id: String,
    priority: u32,
    zone: Arc<Locality>,
    pub(crate) excluded: AtomicU64,
    pub(crate) load: L,
}

impl<L> Node<L> {
    /// What a minimum reads of the state.
    #[inline]
    pub(crate) fn is_excluded(&self) -> bool {
        self.excluded.load(Ordering::Relaxed) != 0
    }
}

impl<L: Weigh> Candidate for Node<L> {
    type Id = str;
    type Data = ();
    type Load = L;

    fn id(&self) -> &str {
        &self.id
    }

    fn data(&self) -> &() {
        &()
    }

    fn load(&self) -> &L {
        &self.load
    }

    fn weight(&self) -> Weight {
        self.load.weight()
    }

    fn priority(&self) -> u32 {
        self.priority
    }

    fn locality(&self) -> Option<&Locality> {
        Some(&self.zone)
    }

    fn exclusions(&self, _: &Now) -> Exclusions {
        Exclusions::NONE.with_if(Exclusion::Circuit, self.excluded.load(Ordering::Relaxed) != 0)
    }
}

/// A membership, and what the minima know of it.
pub(crate) struct Pool<L> {
    pub(crate) nodes: Vec<Arc<Node<L>>>,
    pub(crate) start: Instant,
    /// The positions of the eligible ones.
    pub(crate) live: Vec<u32>,
    /// The owner of each entry of a lookup table.
    pub(crate) owners: Vec<u32>,
    /// For each level, up to which of a hundred draws it is chosen, by health, and its lookup table.
    pub(crate) levels: Vec<(usize, Vec<u32>)>,
    /// The positions of the eligible ones of each zone.
    pub(crate) zones: Vec<Vec<u32>>,
    /// For each eligible one, up to which of 2^32 lots it is chosen, itself, and who is chosen otherwise.
    pub(crate) aliases: Vec<(u64, u32, u32)>,
    /// The hashes of the identities of the eligible ones, with their positions.
    pub(crate) hashes: Vec<(u64, u32)>,
    /// The points of the eligible ones around a ring, ascending, and their owners.
    pub(crate) points: (Vec<u64>, Vec<u32>),
    pub(crate) cursor: Cursor,
}

/// Alone in its cache line.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Cursor(pub(crate) AtomicUsize);

impl<L> Pool<L> {
    pub(crate) fn new(column: Column, start: Instant, load: impl Fn(usize) -> L) -> Self {
        let zones = ZONES.map(|zone| Arc::new(Locality::new("eu", zone)));
        let node = |at: usize| Node {
            id: format!("10.0.0.{at}:80"),
            priority: u32::from(at % 4 == 3),
            zone: Arc::clone(&zones[at % ZONES.len()]),
            excluded: AtomicU64::new(u64::from(scattered(at) % 100 < column.excluded)),
            load: load(at),
        };
        let nodes: Vec<_> = (0..column.members).map(|at| Arc::new(node(at))).collect();
        let live = positions(&nodes, |_| true);
        let level = |priority| positions(&nodes, |node| node.priority == priority);
        let health = |priority| {
            let total = nodes.iter().filter(|node| node.priority == priority).count();
            (level(priority).len() * 140 / total).min(100)
        };
        let (first, all) = (health(0), (health(0) + health(1)).min(100));
        let levels =
            [(first * 100 / all, 0), (100, 1)].map(|(up_to, priority)| (up_to, table(&level(priority))));
        let hash = |at: u32| StableBuildHasher::default().hash_one(&nodes[at as usize].id);
        let zone = |zone: &Arc<Locality>| positions(&nodes, |node| Arc::ptr_eq(&node.zone, zone));
        Self {
            zones: zones.iter().map(zone).collect(),
            aliases: (0..)
                .zip(&live)
                .map(|(lot, at)| (scattered(lot) as u64 * 2, *at, live[scattered(*at as usize) % live.len()]))
                .collect(),
            hashes: live.iter().map(|at| (hash(*at), *at)).collect(),
            points: ring(&live),
            start,
            owners: table(&live),
            levels: levels.into(),
            live,
            nodes,
            cursor: Cursor::default(),
        }
    }
}

/// Lists the eligible nodes that `wanted` accepts.
fn positions<L>(nodes: &[Arc<Node<L>>], wanted: impl Fn(&Node<L>) -> bool) -> Vec<u32> {
    (0..).zip(nodes).filter(|(_, node)| !node.is_excluded() && wanted(node)).map(|(at, _)| at).collect()
}

fn table(live: &[u32]) -> Vec<u32> {
    (0..ENTRIES).map(|entry| live[scattered(entry) % live.len()]).collect()
}

/// Places as many points as a ring of that many members has.
fn ring(live: &[u32]) -> (Vec<u64>, Vec<u32>) {
    let hash = |point: &(u32, usize)| StableBuildHasher::default().hash_one(point);
    let points = live.iter().flat_map(|at| (0..POINTS).map(|point| (*at, point)));
    let mut points: Vec<_> = points.map(|point| (hash(&point), point.0)).collect();
    points.sort_unstable();
    points.into_iter().unzip()
}

/// Spreads numbers that follow each other.
pub(crate) fn scattered(at: usize) -> usize {
    ((at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize
}
