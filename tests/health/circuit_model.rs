//! The circuit does what its reference model does, whatever happens in whatever order.

use std::time::Duration;

use crate::support::circuit_model::Scenario;
use crate::support::clock::Clock;

fn holds(bytes: &[u8]) {
    Scenario::decode(bytes).check(Clock::new().at(Duration::ZERO).instant());
}

#[test]
fn the_circuit_agrees_with_its_model() {
    #[expect(clippy::needless_pass_by_value, reason = "what quickcheck generates is owned")]
    fn property(bytes: Vec<u8>) -> bool {
        holds(&bytes);
        true
    }
    quickcheck::QuickCheck::new().tests(3_000).quickcheck(property as fn(Vec<u8>) -> bool);
}

#[test]
fn the_circuit_agrees_with_its_model_over_long_runs() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(2_003).collect();
        holds(&bytes);
    }
}
