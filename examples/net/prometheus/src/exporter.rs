//! The exporter: installed before an observer is made, so that the observer finds it.

use std::net::SocketAddr;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder};
use poise::observe::{MetricsObserver, describe_metrics, names};

/// The upper bounds of the buckets for how long attempts take, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0];

/// Serves `/metrics` at an address from now on, on the runtime that it is called on, and returns an observer for a balancer.
pub(crate) fn install(address: SocketAddr) -> Result<MetricsObserver, BuildError> {
    PrometheusBuilder::new()
        .with_http_listener(address)
        .with_recommended_naming(true)
        .set_buckets_for_metric(Matcher::Full(names::ATTEMPT_DURATION.into()), &BUCKETS)?
        .install()?;
    describe_metrics();
    Ok(MetricsObserver::new())
}
