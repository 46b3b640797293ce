//! Picking from a slice: no features, no runtime, no async.
//!
//! ```text
//! cargo run --example quickstart
//! ```

use poise::core::{Status, Tracked};
use poise::prelude::*;

type Server = Backend<&'static str, (), InFlight>;

fn servers() -> Vec<Server> {
    ["ash", "beech", "cherry"].map(|name| Backend::new(name).with_load(InFlight::new())).into()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    turns()?;
    loads()?;
    draining()?;
    Ok(failover()?)
}

/// A policy turns a slice into an index; [`PolicyExt::choose`] into the candidate itself.
fn turns() -> Result<(), PickError> {
    let servers = servers();
    let policy = RoundRobin::starting_at(0);
    let mut chosen = Vec::new();
    for _ in 0..6 {
        chosen.push(*policy.choose(&servers, &())?.id());
    }
    println!("round robin:  {}", chosen.join(" "));
    assert_eq!(chosen, ["ash", "beech", "cherry", "ash", "beech", "cherry"]);
    Ok(())
}

/// A policy reads loads and never changes them: whoever dispatches starts an attempt, and its guard ends it.
fn loads() -> Result<(), Box<dyn std::error::Error>> {
    let servers = servers();
    let now = Now::lazy();
    let _first = Tracked::start(servers[0].load(), &now)?;
    let _second = Tracked::start(servers[0].load(), &now)?;
    let third = Tracked::start(servers[1].load(), &now)?;

    let loads: Vec<_> = servers.iter().map(|server| server.load().current()).collect();
    let idle = LeastLoaded::new().choose(&servers, &())?;
    println!("least loaded: {} of {loads:?} in flight", idle.id());
    assert_eq!(*idle.id(), "cherry");

    let _fourth = Tracked::start(idle.load(), &now)?;
    third.complete(Outcome::Success, &now);
    assert_eq!(*LeastLoaded::new().choose(&servers, &())?.id(), "beech", "it has nothing in flight any more");
    Ok(())
}

/// Who drains or is unavailable is passed over by every policy, and an error says why nobody is left.
fn draining() -> Result<(), PickError> {
    let mut servers = servers();
    let ash = servers.remove(0);
    servers.push(ash.with_status(Status::Draining));
    let policy = PowerOfTwoChoices::new();
    for _ in 0..100 {
        assert_ne!(*policy.choose(&servers, &())?.id(), "ash");
    }

    let servers: Vec<_> = servers.into_iter().map(|server| server.with_status(Status::Draining)).collect();
    let error = policy.choose(&servers, &()).expect_err("all of them drain");
    println!("draining:     {error}");
    assert_eq!(error.to_string(), "no candidate is eligible (3 candidates: 3 draining)");
    Ok(())
}

/// Policies wrap policies: here, the standby gets what the first level cannot carry.
fn failover() -> Result<(), PickError> {
    let policy = PriorityFailover::new(RoundRobin::new()).with_seed(1);
    let mut shares = Vec::new();
    for down in 0..=3 {
        let servers: Vec<_> = ["ash", "beech", "cherry"]
            .into_iter()
            .enumerate()
            .map(|(place, name)| {
                let status = if place < down { Status::Unavailable } else { Status::Ready };
                Backend::new(name).with_status(status)
            })
            .chain([Backend::new("standby").with_priority(1)])
            .collect();
        let mut standby = 0;
        for _ in 0..1000 {
            standby += u32::from(*policy.choose(&servers, &())?.id() == "standby");
        }
        println!("failover:     with {down} of 3 down, the standby gets {standby} of 1000");
        shares.push(standby);
    }
    assert_eq!((shares[0], shares[3]), (0, 1000));
    assert!(shares.is_sorted(), "the less is left of the first level, the more goes to the next");
    Ok(())
}
