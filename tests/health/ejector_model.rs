//! The ejector does what its reference model does, whatever happens in whatever order beside circuits over one budget.

use std::time::Duration;

use crate::support::clock::Clock;
use crate::support::ejector_model::Scenario;

fn holds(bytes: &[u8]) -> usize {
    Scenario::decode(bytes).check(Clock::new().at(Duration::ZERO).instant())
}

#[test]
fn the_ejector_agrees_with_its_model() {
    #[expect(clippy::needless_pass_by_value, reason = "what quickcheck generates is owned")]
    fn property(bytes: Vec<u8>) -> bool {
        holds(&bytes);
        true
    }
    quickcheck::QuickCheck::new().tests(3_000).quickcheck(property as fn(Vec<u8>) -> bool);
}

#[test]
fn ejection_respects_both_caps() {
    let mut ejected = 0;
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(1_002).collect();
        ejected += holds(&bytes);
    }
    assert!(ejected > 1_000, "{ejected} ejections are too few to say so");
}
