//! Outliers by plain arithmetic on the default thresholds but for deviations and gap.

use poise::health::{OutlierCause, OutlierSample};

/// How sure it is that a host is an outlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    Outlier(OutlierCause),
    Fine,
    /// So near to a threshold that floating point cannot tell.
    Close,
}

const CLOSE: f64 = 1e-3;

/// Judges each host of a group; the gap is in points.
pub(crate) fn judge(samples: &[OutlierSample], deviations: f64, gap: f64) -> Vec<Verdict> {
    let busy: Vec<f64> = samples.iter().filter(|sample| sample.requests() >= 100).map(rate).collect();
    let hosts = busy.len() as f64;
    let mean = busy.iter().sum::<f64>() / hosts;
    let deviation = (busy.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / hosts).sqrt();
    let compared = |sample: &OutlierSample| {
        let far = mean - deviations * deviation - rate(sample);
        let gap = mean - rate(sample) - gap;
        if sample.requests() < 100 || far < -CLOSE || gap < -CLOSE {
            Verdict::Fine
        } else if far > CLOSE && gap > CLOSE {
            Verdict::Outlier(OutlierCause::SuccessRate)
        } else {
            Verdict::Close
        }
    };
    let alone = |sample: &OutlierSample| {
        if sample.requests() >= 50 && sample.failures() * 100 >= sample.requests() * 85 {
            Verdict::Outlier(OutlierCause::FailurePercentage)
        } else {
            Verdict::Fine
        }
    };
    samples.iter().map(|sample| if busy.len() >= 5 { compared(sample) } else { alone(sample) }).collect()
}

/// In points.
fn rate(sample: &OutlierSample) -> f64 {
    100.0 * sample.successes() as f64 / sample.requests() as f64
}

/// Asserts that a ranking names whom plain arithmetic names, the worst first.
pub(crate) fn agrees(found: &[(usize, OutlierCause)], samples: &[OutlierSample], deviations: f64, gap: f64) {
    for (at, verdict) in judge(samples, deviations, gap).into_iter().enumerate() {
        let named = found.iter().find(|(index, _)| *index == at).map(|(_, cause)| *cause);
        match verdict {
            Verdict::Outlier(cause) => assert_eq!(named, Some(cause), "{at} of {samples:?}"),
            Verdict::Fine => assert_eq!(named, None, "{at} of {samples:?}"),
            Verdict::Close => {}
        }
    }
    let rates: Vec<_> = found.iter().map(|(at, _)| (rate(&samples[*at]), *at)).collect();
    assert!(rates.is_sorted_by(|one, other| one.partial_cmp(other).is_some_and(std::cmp::Ordering::is_lt)));
}
