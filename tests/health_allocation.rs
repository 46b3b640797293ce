//! What health does on the path of requests allocates nothing.
#![cfg(feature = "health")]

#[path = "support/allocations.rs"]
mod allocations;
#[path = "support/clock.rs"]
mod clock;

use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use poise::core::{InFlight, LoadMetric, Now, Outcome, Tracked};
use poise::health::{
    BudgetConfig, Ejection, ExclusionBudget, GradientConfig, GradientLimit, HealthSignal, LimitedLoad,
    OutcomeWindow, PenaltyConfig, PenaltyScore,
};

use crate::allocations::{ALLOCATOR, allocations};

#[test]
fn an_attempt_that_window_penalty_and_limit_learn_from_allocates_nothing() {
    let clock = Clock::new();
    let before = ALLOCATOR.stats().allocations;
    let limit = GradientLimit::new(GradientConfig::default(), &clock.at(Duration::ZERO));
    let score = PenaltyScore::new(Arc::new(OutcomeWindow::default()), PenaltyConfig::default());
    let load = score.over(LimitedLoad::new(InFlight::new(), limit));
    let ejection = Ejection::new(Arc::new(ExclusionBudget::new(BudgetConfig::default())));
    assert!(ALLOCATOR.stats().allocations > before, "what is made is seen");
    let outcomes = [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled];
    let mut time = Duration::ZERO;
    let allocated = allocations(|| {
        for outcome in outcomes.into_iter().cycle().take(2_000) {
            let now: Now = clock.at(time);
            time += Duration::from_millis(7);
            if let Ok(attempt) = Tracked::start(&load, &now) {
                attempt.complete(outcome, &clock.at(time));
            }
            assert!(load.measure(&now) >= 0.0 && ejection.exclusions(&now).is_empty());
        }
    });
    assert_eq!(allocated, 0);
}
