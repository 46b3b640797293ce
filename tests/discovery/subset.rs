//! Schemes of subsets: who is in, how evenly, and what moves.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use poise::core::Backend;
use poise::core::policy::{Rendezvous, Replicas};
use poise::core::{Selection, View};
use poise::discovery::subset::{Contender, LotSubset, RendezvousSubset, Subset, SubsetError};
use quickcheck::{Arbitrary, Gen, QuickCheck, Testable};

use crate::support::subsets::Fleet;

/// Members with different keys, a fifth of which drain.
#[derive(Clone, Debug)]
struct Case {
    client: u64,
    size: usize,
    members: Vec<(u16, bool)>,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut seen = HashSet::new();
        let mut members = Vec::<(u16, u8)>::arbitrary(g);
        members.retain(|(key, _)| seen.insert(*key));
        let members = members.into_iter().map(|(key, drains)| (key, drains % 5 == 0)).collect();
        Self { client: u64::arbitrary(g) % 1_000, size: 1 + usize::arbitrary(g) % 40, members }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let case = self.clone();
        let fewer = (0..case.members.len()).map(move |gone| case.without(gone));
        Box::new(fewer)
    }
}

impl Case {
    fn without(&self, gone: usize) -> Self {
        let mut case = self.clone();
        case.members.remove(gone);
        case
    }

    fn drained(&self, at: usize) -> Self {
        let mut case = self.clone();
        case.members[at].1 = true;
        case
    }

    fn larger(&self) -> Self {
        Self { size: self.size + 1, ..self.clone() }
    }

    fn schemes(&self) -> [Box<dyn Subset>; 2] {
        let lots = LotSubset::new(self.client, self.size).and_then(|scheme| scheme.with_lot_size(32));
        [Box::new(RendezvousSubset::new(&self.client, self.size).unwrap()), Box::new(lots.unwrap())]
    }

    /// Returns the keys that each scheme chooses.
    fn subsets(&self) -> [BTreeSet<u16>; 2] {
        let contenders: Vec<_> = self.members.iter().map(|(key, drains)| contender(*key, *drains)).collect();
        self.schemes().map(|scheme| {
            let chosen = scheme.choose(&contenders);
            let keys: BTreeSet<_> = chosen.iter().map(|position| self.members[*position].0).collect();
            assert_eq!(keys.len(), chosen.len(), "nobody is chosen twice");
            keys
        })
    }

    fn drains(&self, key: u16) -> bool {
        self.members.contains(&(key, true))
    }
}

fn contender(key: u16, drains: bool) -> Contender {
    let contender = Contender::new(&key);
    if drains { contender.draining() } else { contender }
}

fn check<T: Testable>(size: usize, law: T) {
    QuickCheck::new().rng(Gen::from_size_and_seed(size, 3)).tests(300).quickcheck(law);
}

#[test]
fn a_subset_has_its_size_or_everybody_and_those_that_drain_cost_no_place() {
    fn law(case: Case) -> bool {
        let staying = case.members.iter().filter(|(_, drains)| !drains).count();
        case.subsets().iter().all(|subset| {
            let chosen = subset.iter().filter(|key| !case.drains(**key)).count();
            chosen == case.size.min(staying) && (staying >= case.size || subset.len() == case.members.len())
        })
    }
    check(100, law as fn(Case) -> bool);
}

#[test]
fn the_order_of_the_members_does_not_count() {
    fn law(case: Case, by: usize) -> bool {
        let mut other = case.clone();
        other.members.reverse();
        other.members.rotate_left(by % case.members.len().max(1));
        case.subsets() == other.subsets()
    }
    check(300, law as fn(Case, usize) -> bool);
}

#[test]
fn a_larger_subset_has_all_of_the_smaller_one() {
    fn law(case: Case) -> bool {
        let pairs = case.subsets().into_iter().zip(case.larger().subsets());
        pairs.into_iter().all(|(small, large)| small.is_subset(&large))
    }
    check(100, law as fn(Case) -> bool);
}

/// Read backwards it is what happens when one joins.
#[test]
fn one_that_goes_is_replaced_by_one_and_by_rendezvous_nobody_else_moves() {
    fn law(case: Case, at: usize) -> bool {
        if case.members.is_empty() {
            return true;
        }
        let at = at % case.members.len();
        let (gone, drained) = case.members[at];
        let [(rendezvous, after), (lots, lots_after)] = pairs(&case, &case.without(at));
        let joins = after.difference(&rendezvous).filter(|key| !case.drains(**key)).count();
        let leaves: Vec<_> = rendezvous.difference(&after).copied().collect();
        let exact = if rendezvous.contains(&gone) {
            leaves == [gone] && (joins <= usize::from(!drained))
        } else {
            leaves.is_empty() && joins == 0
        };
        let bound = if case.members.len() > 129 { 1 } else { 2 };
        exact && staying(&case, lots.difference(&lots_after)) <= bound
    }
    fn staying<'a>(case: &Case, keys: impl Iterator<Item = &'a u16>) -> usize {
        keys.filter(|key| !case.drains(**key)).count()
    }
    check(400, law as fn(Case, usize) -> bool);
}

#[test]
fn who_begins_to_drain_stays_and_only_its_place_is_filled() {
    fn law(case: Case, at: usize) -> bool {
        if case.members.is_empty() {
            return true;
        }
        let at = at % case.members.len();
        let (key, drained) = case.members[at];
        let changes = pairs(&case, &case.drained(at));
        changes.into_iter().all(|(before, after)| {
            let joins: Vec<_> = after.difference(&before).filter(|key| !case.drains(**key)).collect();
            let room = usize::from(!drained && before.contains(&key));
            before.is_subset(&after) && joins.len() <= room && (room == 1 || before == after)
        })
    }
    check(100, law as fn(Case, usize) -> bool);
}

fn pairs(before: &Case, after: &Case) -> [(BTreeSet<u16>, BTreeSet<u16>); 2] {
    let [rendezvous, lots] = before.subsets();
    let [rendezvous_after, lots_after] = after.subsets();
    [(rendezvous, rendezvous_after), (lots, lots_after)]
}

#[test]
fn rendezvous_subsets_are_the_replicas_of_the_client() {
    let backends: Vec<_> = (0..50u16).map(Backend::new).collect();
    let contenders: Vec<_> = (0..50u16).map(|key| Contender::new(&key)).collect();
    for client in ["a", "b", "client-7"] {
        let mut replicas = [Selection::new(0); 7];
        let view = View::new(&backends);
        assert_eq!(Rendezvous::new().pick_replicas(&view, client, &mut replicas), Ok(7));
        let mut expected = replicas.map(Selection::index);
        expected.sort_unstable();
        assert_eq!(RendezvousSubset::new(client, 7).unwrap().choose(&contenders), expected, "{client}");
    }
}

#[test]
fn subsets_are_the_published_ones() {
    let contenders: Vec<_> = (0..1_000u16).map(|key| Contender::new(&key)).collect();
    let rendezvous = RendezvousSubset::new("client-7", 5).unwrap();
    assert_eq!(rendezvous.choose(&contenders), [33, 67, 443, 500, 811]);
    let lots = [0, 1, 16].map(|client| LotSubset::new(client, 3).unwrap());
    assert_eq!(
        lots.map(|scheme| scheme.choose(&contenders)),
        [[371, 400, 992], [923, 587, 189], [432, 128, 219]]
    );
}

#[test]
fn names_that_are_equal_have_equal_subsets() {
    let owned = RendezvousSubset::new(&String::from("client-7"), 5).unwrap();
    assert_eq!(RendezvousSubset::new("client-7", 5).unwrap(), owned);
    assert_ne!(RendezvousSubset::new("client-8", 5).unwrap(), owned);
}

#[test]
fn schemes_that_give_nobody_a_subset_are_refused() {
    let refused = [RendezvousSubset::new("a", 0).err(), LotSubset::new(0, 0).err()];
    assert_eq!(refused, [Some(SubsetError::NoMembers); 2]);
    let scheme = LotSubset::new(u64::MAX, usize::MAX).unwrap();
    for lot_size in [0, 3, 12, u64::MAX] {
        assert_eq!(scheme.with_lot_size(lot_size), Err(SubsetError::NoPowerOfTwo { lot_size }));
    }
    assert_eq!(scheme.lot_size(), 16);
    let extreme = scheme.with_lot_size(1 << 63).unwrap();
    assert_eq!(extreme.choose(&[Contender::new("a")]), [0]);
    assert_eq!(extreme.choose(&[]), [0; 0]);
    assert_eq!(SubsetError::NoMembers.to_string(), "a subset of 0 members: it must have at least 1");
    let text = SubsetError::NoPowerOfTwo { lot_size: 3 }.to_string();
    assert_eq!(text, "lots of 3 clients: it must be a power of two");
}

fn rendezvous(client: u64) -> RendezvousSubset {
    RendezvousSubset::new(&format!("client-{client}"), 20).unwrap()
}

fn lots(lot_size: u64) -> impl Fn(u64) -> LotSubset {
    move |client| LotSubset::new(client, 20).unwrap().with_lot_size(lot_size).unwrap()
}

/// A thousand clients with twenty of ten thousand members each: two connections of each member on average.
static BY_RENDEZVOUS: LazyLock<Fleet<RendezvousSubset>> =
    LazyLock::new(|| Fleet::new(1_000, 10_000, rendezvous));
static BY_LOTS: LazyLock<Fleet<LotSubset>> = LazyLock::new(|| Fleet::new(1_000, 10_000, lots(1_024)));

#[test]
fn rendezvous_spreads_connections_like_chance() {
    let spread = BY_RENDEZVOUS.spread();
    assert!((0.9..1.1).contains(&spread.dispersion), "{spread:?}");
    assert!(spread.most <= 12, "at most six times the mean: {spread:?}");
}

#[test]
fn lots_spread_connections_evenly() {
    let spread = BY_LOTS.spread();
    assert!(spread.dispersion < 0.125, "an eighth of that of chance: {spread:?}");
    assert!(spread.most <= 4, "at most twice the mean: {spread:?}");
    assert!(spread.idle <= 30, "three in a thousand without: {spread:?}");
}

#[test]
fn independent_lots_are_even_together() {
    let spread = Fleet::new(1_024, 1_000, lots(128)).spread();
    assert!(spread.dispersion < 0.15, "{spread:?}");
    assert!(spread.most <= 26 && spread.least >= 14, "{spread:?}");
}

#[test]
fn means_of_all_places_stand_evenly() {
    for members in [43, 129] {
        let spread = Fleet::new(128, members, lots(128)).spread();
        assert_eq!(spread.most - spread.least, 1, "{spread:?}");
    }
}

#[test]
fn in_a_large_fleet_rendezvous_moves_the_connections_of_who_goes_and_no_others() {
    let gone = BY_RENDEZVOUS.most_connected();
    let churn = BY_RENDEZVOUS.without(gone);
    assert_eq!(churn.worst, 1, "one member of each subset");
    assert_eq!(churn.touched, BY_RENDEZVOUS.connections(gone), "the subsets in which it was");
}

#[test]
fn in_a_large_fleet_lots_move_at_most_one_member_of_few_subsets() {
    let gone = BY_LOTS.most_connected();
    let churn = BY_LOTS.without(gone);
    assert_eq!(churn.worst, 1, "one member of each subset");
    assert!(churn.touched <= 15, "thrice the average of (k + 32)/n: {churn:?}");
}

#[test]
fn lots_move_on_average_what_is_stated() {
    let fleet = Fleet::new(256, 1_000, lots(128));
    let churns: Vec<_> = (0..1_000).step_by(25).map(|gone| fleet.without(gone)).collect();
    assert!(churns.iter().all(|churn| churn.worst <= 1), "one member of each subset");
    let touched: usize = churns.iter().map(|churn| churn.touched).sum();
    let share = touched as f64 / (256 * churns.len()) as f64;
    assert!((0.02..0.052).contains(&share), "between k/n and (k + 32)/n: {share}");
}
