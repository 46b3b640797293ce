//! What a large ring promises when little changes: it is the one that would be built at once.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use poise::core::policy::{Replicas, RingHash, RingReport};
use poise::core::{Backend, Candidate, Policy, Prepare, Prepared, Selection, Status, View, Weight};
use quickcheck::{Arbitrary, Gen, QuickCheck};

type Member = Backend<u64>;

/// What happens to a membership.
#[derive(Clone, Debug)]
enum Change {
    /// A newcomer comes after so many.
    Join(usize),
    /// Somebody leaves, and the others close ranks.
    Leave(usize),
    /// Somebody leaves, and the last one takes its slot.
    GiveWay(usize),
    Reweight(usize, usize),
    Swap(usize, usize),
    /// Somebody is excluded, or restored.
    Exclude(usize),
    Restore(usize),
}

impl Arbitrary for Change {
    fn arbitrary(g: &mut Gen) -> Self {
        let (at, other) = (usize::arbitrary(g), usize::arbitrary(g));
        match other % 8 {
            0 => Self::Join(at),
            1 => Self::Leave(at),
            2 => Self::GiveWay(at),
            3 => Self::Swap(at, other),
            4 => Self::Exclude(at),
            5 => Self::Restore(at),
            _ => Self::Reweight(at, other),
        }
    }
}

impl Change {
    /// Changes `members`. Those who are heavy neither leave nor lose weight, so that only few points change; newcomers and
    /// those who change places may stand among them.
    fn apply(&self, members: &mut Vec<Member>, newcomer: u64) {
        let place = |members: &[Member], at: usize| {
            let light = |place: &usize| members[*place].weight().value() < 1_000;
            let places: Vec<usize> = (0..members.len()).filter(light).collect();
            places[at % places.len()]
        };
        match *self {
            Self::Join(at) => {
                members.insert(at % members.len(), Backend::new(newcomer).with_weight(light(at)));
            }
            Self::Leave(at) => drop(members.remove(place(members, at))),
            Self::GiveWay(at) => drop(members.swap_remove(place(members, at))),
            Self::Reweight(at, to) => {
                let at = place(members, at);
                members[at] = members[at].clone().with_weight(light(to));
            }
            Self::Swap(one, other) => {
                let (one, other) = (one % members.len(), other % members.len());
                members.swap(one, other);
            }
            Self::Exclude(at) => {
                let at = at % members.len();
                set_status(&mut members[at], Status::Draining);
            }
            Self::Restore(at) => {
                let at = at % members.len();
                set_status(&mut members[at], Status::Ready);
            }
        }
    }
}

/// How many have most of the points, so that a change of another one is one of few points.
const HEAVY: usize = 20;

fn heavy_and_light() -> Vec<Member> {
    let weight = |at| if at < HEAVY { weight(2_000 + at) } else { light(at) };
    (0..60).map(|at| Backend::new(at as u64).with_weight(weight(at))).collect()
}

fn set_status(member: &mut Member, status: Status) {
    *member = member.clone().with_status(status);
}

fn light(number: usize) -> Weight {
    weight(number % 20 + 1)
}

fn weight(value: usize) -> Weight {
    let weight = u32::try_from(value).ok().and_then(|value| Weight::new(value).ok());
    weight.expect("small and positive")
}

fn policy() -> RingHash {
    RingHash::new().with_points_per_weight(1.0).expect("positive")
}

/// Asserts that two preparations send keys to the same replicas in the same order.
fn assert_alike(members: &[Member], grown: &Prepared, built: &Prepared) {
    let of = |prepared: &Prepared, key: u64| {
        let mut into = [Selection::new(usize::MAX); 5];
        let view = View::new(members).prepared(prepared);
        let pick = policy().pick_from(&view, &key);
        let found = policy().pick_replicas(&view, &key, &mut into);
        (pick, found, into)
    };
    for key in 0..300 {
        assert_eq!(of(grown, key), of(built, key), "key {key}");
    }
}

#[test]
fn a_large_ring_that_follows_another_is_the_one_that_is_built_at_once() {
    fn law(changes: Vec<Change>) {
        let mut members = heavy_and_light();
        let mut previous = policy().prepare(&View::new(&members), None).expect("they fit");
        for (newcomer, change) in (1_000..).zip(&changes) {
            change.apply(&mut members, newcomer);
            let prepare = |previous| policy().prepare(&View::new(&members), previous).expect("they fit");
            let (grown, built) = (prepare(Some(&previous)), prepare(None));
            let points = |prepared| RingReport::of(prepared).map(|report| report.points);
            assert_eq!(points(&grown), points(&built));
            assert_alike(&members, &grown, &built);
            // Every flip must find all the entries of its member, and no other's.
            for slot in (0..members.len()).filter(|slot| slot % 3 != 0) {
                set_status(&mut members[slot], Status::Unavailable);
                for prepared in [&grown, &built] {
                    prepared.set_eligible(slot, false);
                }
            }
            assert_alike(&members, &grown, &built);
            for slot in (0..members.len()).filter(|slot| slot % 3 != 0) {
                set_status(&mut members[slot], Status::Ready);
                for prepared in [&grown, &built] {
                    prepared.set_eligible(slot, true);
                }
            }
            assert_alike(&members, &grown, &built);
            previous = grown;
        }
    }
    QuickCheck::new().rng(Gen::from_size_and_seed(12, 5)).tests(12).quickcheck(law as fn(Vec<Change>));
}
