//! The sample that the crate was founded on, unchanged but for its `use` lines.
#![cfg(all(feature = "tower", feature = "discovery", not(loom)))]

#[test]
fn the_sample_of_discovery_and_tower_compiles_and_holds() {
    main().unwrap();
}

#[allow(unused)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use poise::core::{Backend, policy::RoundRobin};
    use poise::discovery::Directory;
    use poise::tower::{DiscoveryBalance, in_flight_factory};
    use std::convert::Infallible;
    let mut directory = Directory::new();
    directory.upsert("west", Backend::new("http://west"))?;

    let factory = in_flight_factory(|_key: &&str, backend: &Backend<&str>| {
        // A real factory would construct a protocol client from this value.
        Ok::<_, Infallible>(backend.id().to_string())
    });
    let mut balance = DiscoveryBalance::new(RoundRobin::new(), factory);
    let report = balance.apply_snapshot(&directory.snapshot())?;
    assert_eq!(report.added(), 1);
    Ok::<(), Box<dyn std::error::Error>>(())
}
