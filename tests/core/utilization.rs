//! Turns by what members report of their utilisation.

use std::sync::Arc;
use std::time::Duration;

use poise::core::policy::{
    UtilizationConfig, UtilizationConfigError, UtilizationReport, UtilizationReports, UtilizationWeighted,
};
use poise::core::{Attempted, Backend, Eligibility, Policy, Prepare, Prepared, View};

use crate::support::clock::Clock;
use crate::support::tally::tally;

const SECOND: Duration = Duration::from_secs(1);

struct Fleet {
    policy: UtilizationWeighted,
    members: Vec<Backend<u32>>,
    prepared: Prepared,
    clock: Clock,
}

impl Fleet {
    fn new(config: UtilizationConfig, count: u32) -> Self {
        let reports = Arc::new(UtilizationReports::with_config(config));
        let policy = UtilizationWeighted::starting_at(reports, 0);
        let clock = Clock::new();
        let members: Vec<_> = (0..count).map(Backend::new).collect();
        let view = View::new(&members).at(clock.instant(Duration::ZERO));
        let prepared = policy.prepare(&view, None).unwrap();
        Self { policy, members, prepared, clock }
    }

    /// Reports so much for each member.
    fn report(&self, weights: &[f64], seconds: u32) {
        for (id, weight) in (0_u32..).zip(weights) {
            let report = UtilizationReport::new(*weight, 1.0);
            self.policy.reports().record(&id, report, &self.clock.at(seconds * SECOND));
        }
    }

    fn picks(&self, count: usize, seconds: u32, tried: &Attempted) -> Vec<u32> {
        let now = self.clock.at(seconds * SECOND);
        let view = || View::new(&self.members).prepared(&self.prepared).with_now(&now).avoiding(tried);
        let pick = |_| self.policy.pick_from(&view(), &()).unwrap().index();
        tally(self.members.len(), (0..count).map(pick)).into_iter().collect()
    }

    fn shares(&self, count: usize, seconds: u32) -> Vec<u32> {
        self.picks(count, seconds, &Attempted::new())
    }
}

#[test]
fn turns_follow_the_reports_after_the_blackout_and_until_they_expire() {
    let fleet = Fleet::new(UtilizationConfig::new(), 3);
    fleet.report(&[1.0, 2.0, 3.0], 1);
    assert_eq!(fleet.shares(600, 10), [200; 3], "within the blackout all are equal");
    assert_eq!(fleet.shares(600, 11), [100, 200, 300]);
    assert_eq!(fleet.shares(600, 180), [100, 200, 300]);
    assert_eq!(fleet.shares(600, 182), [200; 3], "nobody has said anything for so long");
    fleet.report(&[1.0, 2.0, 3.0], 200);
    assert_eq!(fleet.shares(600, 205), [200; 3], "whoever comes back is new");
    assert_eq!(fleet.shares(600, 210), [100, 200, 300]);
}

#[test]
fn whoever_reports_nothing_gets_the_mean_and_one_report_alone_counts_for_nothing() {
    let fleet = Fleet::new(UtilizationConfig::new().with_blackout(Duration::ZERO), 3);
    fleet.policy.reports().record(&1, UtilizationReport::new(9.0, 1.0), &fleet.clock.at(SECOND));
    assert_eq!(fleet.shares(300, 2), [100; 3]);
    fleet.policy.reports().record(&2, UtilizationReport::new(3.0, 1.0), &fleet.clock.at(SECOND));
    assert_eq!(fleet.shares(1_200, 4), [400, 600, 200]);
    fleet.policy.reports().forget(&1);
    assert_eq!(fleet.shares(300, 6), [100; 3]);
}

#[test]
fn reports_that_say_nothing_and_those_of_strangers_are_ignored() {
    let fleet = Fleet::new(UtilizationConfig::new().with_blackout(Duration::ZERO), 2);
    fleet.report(&[1.0, 3.0, 100.0], 1);
    let now = fleet.clock.at(SECOND);
    for (qps, utilization, eps) in
        [(0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (-1.0, 1.0, 0.0), (f64::NAN, 1.0, 0.0), (1.0, 1.0, f64::NAN)]
    {
        let report = UtilizationReport::new(qps, utilization).with_errors(eps);
        assert_eq!(report.weight(1.0), None);
        fleet.policy.reports().record(&0, report, &now);
    }
    assert_eq!(fleet.shares(400, 3), [100, 300]);
}

#[test]
fn the_turn_of_one_that_cannot_be_chosen_goes_to_all_others_by_weight() {
    let fleet = Fleet::new(UtilizationConfig::new().with_blackout(Duration::ZERO), 4);
    fleet.report(&[1.0, 2.0, 4.0, 1.0], 1);
    let shares = fleet.picks(7_000, 3, &Attempted::from_iter([3]));
    for (share, expected) in shares.iter().zip([1_000, 2_000, 4_000, 0]) {
        assert!(share.abs_diff(expected) <= 20, "{shares:?}");
    }
    let shares = fleet.picks(4_000, 5, &Attempted::from_iter([2, 3, 1]));
    assert_eq!(shares, [4_000, 0, 0, 0]);
}

#[test]
fn shares_hold_among_the_few_that_are_left_of_many() {
    let fleet = Fleet::new(UtilizationConfig::new().with_blackout(Duration::ZERO), 500);
    fleet.report(&(0..500).map(|at| if at % 200 == 0 { 3.0 } else { 1.0 }).collect::<Vec<_>>(), 1);
    let left = [0, 100, 200, 300, 400];
    let tried: Attempted = (0..500).filter(|at| !left.contains(at)).collect();
    let eligibility = Eligibility::new(500, |slot| left.contains(&slot));
    let now = fleet.clock.at(3 * SECOND);
    let pick = |_| {
        let view = View::new(&fleet.members).prepared(&fleet.prepared).eligibility(&eligibility);
        fleet.policy.pick_from(&view.with_now(&now).avoiding(&tried), &()).unwrap().index()
    };
    let counts = tally(500, (0..22_000).map(pick));
    for (at, expected) in left.into_iter().zip([6_000_u32, 2_000, 6_000, 2_000, 6_000]) {
        assert!(counts[at].abs_diff(expected) <= 300, "{at}: {}", counts[at]);
    }
}

#[test]
fn reports_follow_identity_to_the_next_membership_and_the_walk_goes_on() {
    let fleet = Fleet::new(UtilizationConfig::new().with_blackout(Duration::ZERO), 3);
    fleet.report(&[1.0, 2.0, 3.0], 1);
    let members: Vec<_> = [2, 0].map(Backend::new).into();
    let view = || View::new(&members).at(fleet.clock.instant(2 * SECOND));
    let prepared = fleet.policy.prepare(&view(), Some(&fleet.prepared)).unwrap();
    let pick = |_| fleet.policy.pick_from(&view().prepared(&prepared), &()).unwrap().index();
    assert_eq!(tally(2, (0..400).map(pick)), [300, 100]);
    let elsewhere = fleet.policy.pick_from(&view(), &()).unwrap().index();
    assert!(elsewhere < 2, "a plain slice finds the same reports");
}

#[test]
fn settings_out_of_range_are_typed_errors() {
    let config = UtilizationConfig::new();
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(config.with_error_penalty(wrong), Err(UtilizationConfigError::Penalty));
    }
    assert_eq!(config.with_expiry(Duration::ZERO), Err(UtilizationConfigError::ZeroExpiry));
    assert_eq!(config.with_update_period(Duration::ZERO), Err(UtilizationConfigError::ZeroPeriod));
    let longest = config.with_update_period(Duration::MAX).unwrap().with_expiry(Duration::MAX).unwrap();
    let fleet = Fleet::new(longest.with_blackout(Duration::MAX), 3);
    fleet.report(&[1.0, 2.0, 3.0], 1);
    assert_eq!(fleet.shares(30, 1_000), [10; 3]);
}
