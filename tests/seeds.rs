//! What the crate was founded on: a test for each statement of its founding documents, by subject.
#![cfg(all(feature = "full", not(loom)))]

#[path = "seeds/discovery.rs"]
mod discovery;
#[path = "seeds/dispatch.rs"]
mod dispatch;
#[path = "seeds/following.rs"]
mod following_a_stream;
#[path = "seeds/health.rs"]
mod health;
#[path = "seeds/reconciliation.rs"]
mod reconciliation;

#[expect(dead_code, reason = "the tests of health use all of it")]
#[path = "support/circuits.rs"]
mod circuits;
#[path = "support/clock.rs"]
mod clock;
#[expect(dead_code, reason = "the tests of the balancer use all of it")]
#[path = "support/fleet.rs"]
mod fleet;
#[path = "support/following.rs"]
mod following;
#[path = "support/membership.rs"]
#[expect(dead_code, reason = "nobody is replaced here")]
mod membership;
#[expect(dead_code, reason = "the tests of health use all of it")]
#[path = "support/probing.rs"]
mod probing;
#[expect(dead_code, reason = "the tests of the balancer use all of it")]
#[path = "support/script.rs"]
mod script;
#[path = "support/standing.rs"]
mod standing;
#[path = "support/wakes.rs"]
mod wakes;
#[expect(dead_code, reason = "the tests of balances use all of it")]
#[path = "support/workshop.rs"]
mod workshop;
