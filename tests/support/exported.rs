//! An exporter of metrics that keeps what it got.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::HashMap;
use std::sync::Mutex;

use metrics::{Key, Unit};
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use poise::observe::{MetricsObserver, describe_metrics};

/// Adds up what an exporter saw, whose snapshots set every value to zero.
pub(crate) struct Exported {
    snapshotter: Snapshotter,
    values: Mutex<HashMap<String, i64>>,
}

impl Exported {
    /// Makes an exporter, and an observer that exports to it.
    pub(crate) fn new() -> (Self, MetricsObserver) {
        let exporter = DebuggingRecorder::new();
        let snapshotter = exporter.snapshotter();
        let observer = metrics::with_local_recorder(&exporter, || {
            describe_metrics();
            MetricsObserver::new()
        });
        (Self { snapshotter, values: Mutex::default() }, observer)
    }

    /// Returns the value of one series, a histogram's being the number of samples.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let labels = labels.iter().map(|(key, value)| format!(",{key}={value}"));
        let series = std::iter::once(name.to_owned()).chain(labels).collect::<String>();
        let value = self.collect().get(&series).copied();
        let value = value.unwrap_or_else(|| panic!("there is no series {series}"));
        u64::try_from(value).expect("no value stays below zero")
    }

    /// Returns every series with what was added to it since this was last asked, or with what a histogram was given.
    pub(crate) fn news(&self) -> Vec<(String, DebugValue)> {
        let news = self.snapshotter.snapshot().into_vec().into_iter();
        news.map(|(key, unit, description, value)| {
            assert!(unit.is_some() && description.is_some(), "{key:?} is not described");
            (series(key.key()), value)
        })
        .collect()
    }

    /// Returns every series with its kind, its unit and its description.
    pub(crate) fn descriptions(&self) -> Vec<(String, MetricKind, Option<Unit>, String)> {
        let all = self.snapshotter.snapshot().into_vec().into_iter();
        all.map(|(key, unit, description, _)| {
            (
                series(key.key()),
                key.kind(),
                unit,
                description.map(|text| text.to_string()).unwrap_or_default(),
            )
        })
        .collect()
    }

    #[expect(clippy::cast_possible_truncation, reason = "gauges show whole numbers here")]
    pub(crate) fn collect(&self) -> HashMap<String, i64> {
        let mut values = self.values.lock().unwrap();
        for (series, value) in self.news() {
            *values.entry(series).or_default() += match value {
                DebugValue::Counter(count) => i64::try_from(count).unwrap(),
                DebugValue::Gauge(value) => value.0 as i64,
                DebugValue::Histogram(samples) => i64::try_from(samples.len()).unwrap(),
            };
        }
        values.clone()
    }
}

/// Writes a series as its name and its labels.
fn series(key: &Key) -> String {
    let labels = key.labels().map(|label| format!(",{}={}", label.key(), label.value()));
    std::iter::once(key.name().to_owned()).chain(labels).collect()
}
