//! Who stands out from a group, and who does not.

use poise::health::{
    BudgetConfig, OutlierCause, OutlierConfig, OutlierConfigError, OutlierDetector, OutlierSample,
};

use crate::support::outliers;

fn group(rates: &[u64]) -> Vec<OutlierSample> {
    rates.iter().map(|rate| OutlierSample::new(*rate, 100)).collect()
}

fn ranked(detector: OutlierDetector, samples: &[OutlierSample]) -> Vec<usize> {
    detector.rank(samples).iter().map(poise::health::Outlier::index).collect()
}

fn by_default(rates: &[u64]) -> Vec<usize> {
    ranked(OutlierDetector::default(), &group(rates))
}

#[test]
fn the_published_example_ejects_the_one_below_the_threshold() {
    assert_eq!(by_default(&[50, 100, 100, 100, 100]), [0]);
    let outlier = OutlierDetector::default().rank(&group(&[50, 100, 100, 100, 100]))[0];
    assert_eq!((outlier.cause(), outlier.sample()), (OutlierCause::SuccessRate, OutlierSample::new(50, 100)));
}

#[test]
fn four_hosts_cannot_trip_the_deviations() {
    let config = OutlierConfig::default().with_min_hosts(2).unwrap();
    assert_eq!(ranked(OutlierDetector::new(config), &group(&[0, 100, 100, 100])), [0; 0]);
}

#[test]
fn a_host_exactly_at_the_threshold_stays() {
    // Of five hosts one is two deviations below the mean, exactly, whatever it does.
    for rate in 0..90 {
        let samples = group(&[rate, 100, 100, 100, 100]);
        let with = |deviations| {
            let config = OutlierConfig::default().with_gap(0.0).unwrap().with_deviations(deviations).unwrap();
            ranked(OutlierDetector::new(config), &samples)
        };
        assert_eq!(with(2.0), [0; 0], "{rate} % is at two deviations, not beyond");
        assert_eq!(with(1.999), [0], "{rate} %");
    }
}

#[test]
fn hosts_that_fare_alike_are_never_outliers() {
    fn property(successes: u32, failures: u32, sizes: Vec<u16>) -> bool {
        let whole = u64::from(successes) + u64::from(failures);
        let sample = |size: u16| {
            let times = u64::from(size) + 100;
            OutlierSample::new(u64::from(successes) * times, whole * times)
        };
        let samples: Vec<_> = sizes.into_iter().map(sample).collect();
        let config = OutlierConfig::default().with_gap(0.0).unwrap().with_deviations(0.0).unwrap();
        let config = config.with_min_hosts(2).unwrap();
        samples.len() < 2 || OutlierDetector::new(config).rank(&samples).is_empty()
    }
    quickcheck::QuickCheck::new().tests(2_000).quickcheck(property as fn(u32, u32, Vec<u16>) -> bool);
    for rate in 1..100 {
        assert_eq!(by_default(&[rate; 7]), [0; 0]);
    }
}

#[test]
fn the_detector_agrees_with_plain_arithmetic() {
    #[expect(clippy::needless_pass_by_value, reason = "what quickcheck generates is owned")]
    fn property(hosts: Vec<(u16, u16)>, deviations: u8, gap: u8) -> bool {
        let samples: Vec<_> = hosts
            .iter()
            .map(|(failures, requests)| {
                let requests = u64::from(requests % 400);
                OutlierSample::new(requests.saturating_sub(u64::from(failures % 500)), requests)
            })
            .collect();
        let (deviations, gap) = (f64::from(deviations % 30) / 10.0, f64::from(gap % 40));
        let config = OutlierConfig::default().with_deviations(deviations).unwrap().with_gap(gap).unwrap();
        let found = OutlierDetector::new(config).rank(&samples);
        let found: Vec<_> = found.iter().map(|outlier| (outlier.index(), outlier.cause())).collect();
        outliers::agrees(&found, &samples, deviations, gap);
        true
    }
    let check = property as fn(Vec<(u16, u16)>, u8, u8) -> bool;
    quickcheck::QuickCheck::new().tests(5_000).quickcheck(check);
}

#[test]
fn the_worst_come_first_and_of_equal_ones_the_earlier() {
    let rates =
        [100, 20, 100, 0, 100, 20, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100];
    assert_eq!(by_default(&rates), [3, 1, 5]);
}

#[test]
fn a_small_difference_is_no_outlier_however_many_deviations_it_is() {
    let rates = [91, 100, 100, 100, 100, 100, 100, 100, 100, 100];
    assert_eq!(by_default(&rates), [0; 0], "nine points below the mean");
    let config = OutlierConfig::default().with_gap(8.0).unwrap();
    assert_eq!(ranked(OutlierDetector::new(config), &group(&rates)), [0]);
}

#[test]
fn small_groups_are_judged_by_failure_percentage() {
    let samples = [(50, 0), (49, 0), (100, 14), (100, 15), (100, 16), (7, 0)];
    let samples = samples.map(|(requests, good)| OutlierSample::new(good, requests));
    let outliers = OutlierDetector::default().rank(&samples);
    let found: Vec<_> = outliers.iter().map(|outlier| (outlier.index(), outlier.cause())).collect();
    let cause = OutlierCause::FailurePercentage;
    assert_eq!(found, [(0, cause), (2, cause), (3, cause)], "fifty requests, 85 % of which failed");
}

#[test]
fn hosts_with_few_requests_are_no_part_of_the_group() {
    let mut samples = group(&[100, 100, 100, 100]);
    samples.extend([OutlierSample::new(0, 99); 5]);
    let found = OutlierDetector::default().rank(&samples);
    assert!(
        found.iter().all(|outlier| outlier.cause() == OutlierCause::FailurePercentage),
        "four are too few"
    );
    samples.push(OutlierSample::new(100, 100));
    assert!(OutlierDetector::default().rank(&samples).is_empty(), "five that are good, the rest unknown");
}

#[test]
fn no_more_are_named_than_the_caps_allow() {
    let detector = OutlierDetector::default();
    let caps = BudgetConfig::default();
    for hosts in [5_usize, 9, 10, 19, 20, 35] {
        let mut rates = vec![100; hosts];
        rates[..hosts / 5].fill(0);
        let samples = group(&rates);
        assert_eq!(detector.detect(&samples, &caps).len(), hosts / 10, "a tenth of {hosts}, rounded down");
        let at_least_one = detector.detect(&samples, &caps.with_at_least_one()).len();
        assert_eq!(at_least_one, (hosts / 10).max(1), "of {hosts}");
        let stay = u32::try_from(hosts).unwrap();
        assert!(detector.detect(&samples, &caps.with_at_least_one().with_min_eligible(stay)).is_empty());
    }
}

#[test]
fn extreme_counts_are_judged_as_others() {
    let mut samples = vec![OutlierSample::new(u64::MAX, u64::MAX); 9];
    samples.push(OutlierSample::new(u64::MAX / 2, u64::MAX));
    assert_eq!(ranked(OutlierDetector::default(), &samples), [9]);
    assert_eq!(OutlierSample::new(7, 3), OutlierSample::new(3, 3), "no more succeed than there are");
    assert!(OutlierDetector::default().rank(&[]).is_empty());
    assert!(OutlierDetector::default().rank(&[OutlierSample::default(); 10]).is_empty());
    let all = vec![OutlierSample::new(0, u64::MAX); 3];
    assert_eq!(ranked(OutlierDetector::default(), &all), [0, 1, 2]);
}

#[test]
fn thresholds_out_of_range_are_typed_errors() {
    let config = OutlierConfig::default();
    for number in [-0.1, 1_000.1, f64::NAN, f64::INFINITY] {
        assert_eq!(config.with_deviations(number), Err(OutlierConfigError::InvalidDeviations));
        assert_eq!(config.with_gap(number), Err(OutlierConfigError::InvalidGap));
        let percentage = config.with_failure_percentage(number, 50);
        assert_eq!(percentage, Err(OutlierConfigError::InvalidPercentage));
    }
    assert_eq!(config.with_failure_percentage(0.0, 50), Err(OutlierConfigError::InvalidPercentage));
    assert_eq!(config.with_failure_percentage(85.0, 0), Err(OutlierConfigError::ZeroRequests));
    assert_eq!(config.with_min_requests(0), Err(OutlierConfigError::ZeroRequests));
    assert_eq!(config.with_min_hosts(1), Err(OutlierConfigError::TooFewHosts));
}
