//! Keys go where other systems send them.

use poise::core::policy::{Maglev, RingHash, RingHashError, RingReport};
use poise::core::{
    Backend, Candidate, PickError, Policy, Prehashed, PrehashedBuildHasher, Prepare, Selection, View, Weight,
};
use twox_hash::XxHash64;

fn ports() -> [Backend<String>; 6] {
    [90, 91, 92, 93, 94, 95].map(|port| Backend::new(format!("127.0.0.1:{port}")))
}

fn weighted(weights: &[u32]) -> Vec<Backend<String>> {
    let backend = |(at, value): (usize, &u32)| {
        Backend::new(format!("10.0.0.{at}:80")).with_weight(Weight::new(*value).expect("positive"))
    };
    weights.iter().enumerate().map(backend).collect()
}

/// The ring of Envoy, written out: hashes and positions.
fn envoy_ring(members: &[Backend<String>], min: f64, max: f64) -> Vec<(u64, usize)> {
    let total: f64 = members.iter().map(|member| f64::from(member.weight().value())).sum();
    let shares: Vec<f64> = members.iter().map(|member| f64::from(member.weight().value()) / total).collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let scale = f64::min((least * min).ceil() / least, max);
    let (mut ring, mut current, mut target) = (Vec::new(), 0.0, 0.0);
    for (at, share) in shares.iter().enumerate() {
        target += scale * share;
        for nth in 0.. {
            if current >= target {
                break;
            }
            current += 1.0;
            ring.push((XxHash64::oneshot(0, format!("{}_{nth}", members[at].id()).as_bytes()), at));
        }
    }
    ring.sort_unstable();
    ring
}

#[test]
fn the_first_points_of_the_ring_of_envoy_are_where_envoy_has_them() {
    let members = ports();
    let policy = RingHash::envoy(12, 8_388_608).expect("a valid size").with_hasher(PrehashedBuildHasher);
    let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
    assert_eq!(RingReport::of(&prepared).map(|report| report.points), Some(12));
    let owner = |hash: u64| {
        let view = View::new(&members).prepared(&prepared);
        policy.pick_from(&view, &Prehashed(hash)).map(|pick| members[pick.index()].id().as_str())
    };
    let points: [(u64, &str); 6] = [
        (833_437_586_790_550_860, "127.0.0.1:94"),
        (928_266_305_478_181_108, "127.0.0.1:92"),
        (1_033_482_794_131_418_490, "127.0.0.1:90"),
        (3_551_244_743_356_806_947, "127.0.0.1:95"),
        (3_851_675_632_748_031_481, "127.0.0.1:93"),
        (5_583_722_120_771_150_861, "127.0.0.1:91"),
    ];
    for (at, (point, member)) in points.iter().enumerate() {
        assert_eq!(owner(*point), Ok(*member), "at the point {point}");
        let before = at.checked_sub(1).map_or(0, |before| points[before].0 + 1);
        assert_eq!(owner(before), Ok(*member), "from {before} on");
    }
    assert_eq!(owner(u64::MAX), Ok("127.0.0.1:94"), "around the ring");
}

#[test]
fn keys_on_the_ring_are_where_envoy_sends_them_whatever_the_weights() {
    let sizes: [(u32, u32); 4] = [(1_024, 8_388_608), (1, 8_388_608), (100, 100), (7, 50)];
    for weights in [&[1, 1, 1][..], &[1, 2, 7, 100], &[3, 1_000, 1_000, 999], &[5]] {
        for (min, max) in sizes {
            let members = weighted(weights);
            let policy = RingHash::envoy(min, max).expect("valid sizes");
            let ring = envoy_ring(&members, min.into(), max.into());
            let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
            assert_eq!(RingReport::of(&prepared).map(|report| report.points), Some(ring.len()));
            for key in 0..500 {
                let key = format!("/path/{key}");
                let hash = XxHash64::oneshot(0, key.as_bytes());
                let owner = ring.iter().find(|(point, _)| *point >= hash).unwrap_or(&ring[0]).1;
                let view = View::new(&members).prepared(&prepared);
                assert_eq!(policy.pick_from(&view, &key).map(Selection::index), Ok(owner), "{weights:?}");
            }
        }
    }
}

#[test]
fn the_table_of_maglev_is_that_of_envoy() {
    let members = ports();
    let policy = Maglev::envoy().with_table_size(7).expect("a prime").with_hasher(PrehashedBuildHasher);
    let owner = |entry| policy.pick(&members, &Prehashed(entry)).map(|pick| pick.index() + 90);
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(owner), [92, 94, 90, 91, 95, 90, 93].map(Ok));
}

#[test]
fn heavier_members_take_more_turns_of_the_fill_as_in_envoy() {
    let (size, weights) = (1_009_u64, [1, 2, 7, 100]);
    let members = weighted(&weights);
    let policy = Maglev::envoy().with_table_size(1_009).expect("a prime").with_hasher(PrehashedBuildHasher);
    let hash = |at: usize, seed| XxHash64::oneshot(seed, members[at].id().as_bytes());
    let mut owners = vec![None; 1_009];
    let (mut taken, mut targets, mut nexts) = (0, [0.0; 4], [0_u64; 4]);
    for turn in 1.. {
        for at in 0..4 {
            let weight = f64::from(weights[at]) / 110.0;
            if taken == 1_009 || f64::from(turn) * weight < targets[at] {
                continue;
            }
            targets[at] += 100.0 / 110.0;
            let entry = std::iter::repeat_with(|| {
                nexts[at] += 1;
                let entry = hash(at, 0) % size + (nexts[at] - 1) * (hash(at, 1) % (size - 1) + 1);
                usize::try_from(entry % size).expect("small")
            });
            let mut entry = entry;
            let free = entry.find(|entry| owners[*entry].is_none()).expect("there is one");
            owners[free] = Some(at);
            taken += 1;
        }
        if taken == 1_009 {
            break;
        }
    }
    for (entry, owner) in (0..).zip(owners) {
        assert_eq!(policy.pick(&members, &Prehashed(entry)).ok().map(Selection::index), owner);
    }
}

#[test]
fn a_key_is_hashed_by_its_bytes_alone() {
    let members = ports();
    let ring = RingHash::envoy(1_024, 8_388_608).expect("valid sizes");
    let raw = RingHash::envoy(1_024, 8_388_608).expect("valid sizes").with_hasher(PrehashedBuildHasher);
    for key in ["", "a", "user:42"] {
        let hashed = Prehashed(XxHash64::oneshot(0, key.as_bytes()));
        let owner = raw.pick(&members, &hashed);
        assert_eq!(ring.pick(&members, key), owner);
        assert_eq!(ring.pick(&members, key.as_bytes()), owner, "as a slice");
        assert_eq!(ring.pick(&members, &key.to_owned()), owner, "as a string");
    }
}

#[test]
fn sizes_of_an_envoy_ring_are_checked() {
    let refused = |min, max| RingHash::envoy(min, max).err();
    assert_eq!(refused(0, 10), Some(RingHashError::Sizes { min: 0, max: 10 }));
    assert_eq!(refused(11, 10), Some(RingHashError::Sizes { min: 11, max: 10 }));
    assert_eq!(refused(1, 0), Some(RingHashError::MaxPoints { points: 0 }));
    assert_eq!(refused(1, 8_388_609), Some(RingHashError::MaxPoints { points: 8_388_609 }));
    let small = RingHash::envoy(1, 5).expect("valid sizes");
    let full = PickError::CapacityExceeded { candidates: 6, places: 5 };
    assert_eq!(small.pick(&ports(), "key"), Err(full));
}

#[test]
fn names_are_what_identities_show_as() {
    let texts = ports();
    let addresses = texts
        .clone()
        .map(|member| Backend::new(member.id().parse::<std::net::SocketAddr>().expect("an address")));
    let (ring, maglev) = (RingHash::envoy(1_024, 2_048).expect("valid sizes"), Maglev::envoy());
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(ring.pick(&texts, key), ring.pick(&addresses, key));
        assert_eq!(maglev.pick(&texts, key), maglev.pick(&addresses, key));
    }
}
