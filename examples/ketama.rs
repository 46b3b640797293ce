//! Shares keys with clients that use libmemcached's weighted ketama: the same servers, weights and keys meet on the same
//! server.
//!
//! ```console
//! $ cargo run --example ketama -- some keys
//! ```

use poise::core::policy::{RingHash, RingMembers};
use poise::core::{
    Backend, Candidate, PickError, Policy, PolicyExt, Prehashed, PrehashedBuildHasher, Weight,
};

/// libmemcached leaves out the port where it is this one.
const DEFAULT_PORT: u16 = 11_211;
/// The hashes that a server has on the average, and the points that each hash yields.
const HASHES: f64 = 40.0;

type Server = Backend<(String, u16)>;

fn server(host: impl Into<String>, weight: Weight) -> Server {
    Backend::new((host.into(), DEFAULT_PORT)).with_weight(weight)
}

/// Appends the points of one server: four for each hash, of which it has as many as its weight asks for.
fn points(server: &Server, all: &RingMembers, points: &mut Vec<u64>) {
    let (host, port) = server.id();
    let name = if *port == DEFAULT_PORT { host.clone() } else { format!("{host}:{port}") };
    let share = f64::from(server.weight().value()) / all.weight as f64;
    let hashes = (share * HASHES * all.count as f64 + 1e-10).floor();
    for nth in (0_u32..).take_while(|nth| f64::from(*nth) < hashes) {
        let digest = md5::compute(format!("{name}-{nth}"));
        points.extend(digest.0.chunks_exact(4).map(little_endian));
    }
}

/// Hashes a key as libmemcached does.
fn hash(key: &str) -> Prehashed {
    Prehashed(little_endian(&md5::compute(key).0[..4]))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn ketama() -> impl Policy<Server, Prehashed> {
    RingHash::new().with_points(points).with_hasher(PrehashedBuildHasher)
}

fn servers() -> Vec<Server> {
    let weights = [600, 300, 200, 350, 1_000, 800, 950, 100];
    let weights = weights.into_iter().filter_map(|weight| Weight::new(weight).ok());
    (1..).zip(weights).map(|(at, weight)| server(format!("10.0.1.{at}"), weight)).collect()
}

fn main() -> Result<(), PickError> {
    let (policy, servers) = (ketama(), servers());
    let keys: Vec<String> = std::env::args().skip(1).collect();
    let defaults = ["user:1", "user:2", "user:3"].map(String::from);
    for key in if keys.is_empty() { &defaults[..] } else { &keys } {
        println!("{key} is on {}", policy.choose(&servers, &hash(key))?.id().0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{hash, ketama, points, servers};
    use poise::core::policy::{RingMembers, RingReport};
    use poise::core::{PolicyExt, Prepare, View};

    #[test]
    fn each_server_has_the_points_that_libmemcached_gives_it() {
        let servers = servers();
        let all = RingMembers { count: 8, weight: 4_300 };
        let counts = servers.iter().map(|server| {
            let mut of_server = Vec::new();
            points(server, &all, &mut of_server);
            of_server.len()
        });
        assert_eq!(counts.collect::<Vec<_>>(), [176, 88, 56, 104, 296, 236, 280, 28]);
        let prepared = ketama().prepare(&View::new(&servers), None).expect("they fit");
        assert_eq!(RingReport::of(&prepared).map(|report| report.points), Some(1_264));
    }

    #[test]
    fn keys_are_where_the_tests_of_libmemcached_have_them() {
        let (policy, servers) = (ketama(), servers());
        for (key, hashed, host) in [
            ("SVa_]_V41)", 443_691_461, "10.0.1.7"),
            ("*/Z;?V(.\\8", 1_422_915_503, "10.0.1.1"),
            ("30C1*Z*S/_", 1_473_165_754, "10.0.1.2"),
            ("ERR:EC58G>", 2_148_406_511, "10.0.1.7"),
            ("]VG<`I*Z8)", 1_103_544_263, "10.0.1.5"),
        ] {
            assert_eq!(hash(key).0, hashed, "{key}");
            assert_eq!(policy.choose(&servers, &hash(key)).expect("all are ready").id().0, host, "{key}");
        }
    }
}
