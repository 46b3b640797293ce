//! Membership and circuits by hand: no service trait, no runtime, and time is an argument.
//!
//! A server breaks, its circuit opens, the other one gets everything, and after the cooldown one probe closes it again.
//!
//! ```text
//! cargo run --example by_hand --features discovery,health
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use poise::core::Tracked;
use poise::discovery::Discovered;
use poise::health::{CircuitState, Completion};
use poise::prelude::*;

/// A member of the directory, with a circuit. Its backend brings the load.
type Checked = HealthChecked<Discovered<&'static str, Server>, PassiveHealth>;
type Server = Backend<&'static str, (), InFlight>;

/// Keeps what a dispatcher keeps.
struct Pool {
    members: Vec<Checked>,
    policy: RoundRobin,
}

impl Pool {
    fn new(directory: &Directory<&'static str, Server>) -> Result<Self, Box<dyn Error>> {
        let circuit = CircuitConfig::new(2, Duration::from_secs(1))?;
        let members = directory
            .snapshot()
            .iter()
            .map(|member| HealthChecked::new(member.clone(), PassiveHealth::new(circuit.clone())))
            .collect();
        Ok(Self { members, policy: RoundRobin::starting_at(0) })
    }

    /// Sees one request through: pick, permit, ticket, call, outcome. Returns who got it and what that did to the circuit.
    fn request(&self, instant: Instant, broken: bool) -> Result<(&'static str, Completion), Box<dyn Error>> {
        let now = Now::at(instant);
        let view = View::new(&self.members).with_now(&now);
        let selection = self.policy.pick_from(&view, &())?;
        let member = view.validate(selection)?;

        let permit = member.health().try_acquire(&now)?;
        let ticket = Tracked::start(member.data().load(), &now)?;
        let outcome = if broken && *member.id() == "a" { Outcome::Failure } else { Outcome::Success };
        ticket.complete(outcome, &now);
        Ok((member.id(), permit.complete(outcome, &now)))
    }

    fn state_of_a(&self, instant: Instant) -> CircuitState {
        self.members[0].health().state(&Now::at(instant))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one time that this program asks for; the rest is added to it"
)]
fn main() -> Result<(), Box<dyn Error>> {
    let mut directory = Directory::new();
    for (name, address) in [("a", "10.0.0.1:80"), ("b", "10.0.0.2:80")] {
        directory.upsert(name, Backend::new(address).with_load(InFlight::new()))?;
    }
    let pool = Pool::new(&directory)?;
    let start = Instant::now();
    let mut got = Vec::new();
    for (millis, broken) in [
        (0, false),
        (10, false),
        (20, true),
        (30, true),
        (40, true),
        (50, true),
        (60, true),
        (1_060, false),
        (1_070, false),
        (1_080, false),
    ] {
        let at = start + Duration::from_millis(millis);
        let (name, did) = pool.request(at, broken)?;
        println!("{millis:>5} ms  {name}  {did:?}, the circuit of a is {}", pool.state_of_a(at));
        got.push(name);
    }
    assert_eq!(
        got.concat(),
        "abababbaab",
        "b gets the turns of a while its circuit is open, and the one that a is owed it gets when it is back"
    );
    assert_eq!(directory.len(), 2, "the membership has not changed");
    Ok(())
}
