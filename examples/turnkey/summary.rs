//! The summary, and the verdict on it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use poise::tower::{Event, Hook, Report};

use crate::script::Played;
use crate::traffic::Tally;

/// Counts retries, and says what circuits do.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    retried: AtomicU64,
}

impl Witness {
    pub(crate) fn retried(&self) -> u64 {
        self.retried.load(Ordering::Relaxed)
    }
}

impl Hook for Witness {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::Retried => {
                self.retried.fetch_add(1, Ordering::Relaxed);
            }
            Event::Tripped { endpoint, .. } => println!("          (the circuit of {endpoint} opens)"),
            Event::Recovered { endpoint, .. } => println!("          (the circuit of {endpoint} closes)"),
            _ => {}
        }
    }
}

/// Prints a row for each endpoint, the one who left too.
pub(crate) fn print_endpoints(mut report: Report, played: &Played) {
    let returned = played.returned.iter();
    let gains: Vec<_> =
        returned.map(|(name, before)| format!("{name} {}", gain(&report, name, *before))).collect();
    report.members.push(played.left.clone());
    println!("\n{report}\nsuccesses since they came or came back: {}", gains.join(", "));
}

/// Returns how many requests an endpoint has answered well since it had answered `before`.
fn gain(report: &Report, name: &str, before: u64) -> u64 {
    report.member(name).map_or(0, |member| member.successes - before)
}

/// Prints the last line.
pub(crate) fn print_total(tally: &mut Tally, retried: u64) {
    tally.latencies.sort_unstable();
    println!(
        "turnkey: requests={} failed={} retried={retried} p50_ms={:.1} p99_ms={:.1}",
        tally.latencies.len(),
        tally.failed,
        quantile(&tally.latencies, 50).as_secs_f64() * 1000.0,
        quantile(&tally.latencies, 99).as_secs_f64() * 1000.0,
    );
}

fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}

/// Says what is wrong with a run of the balancer.
pub(crate) fn faults(tally: &Tally, report: &Report, played: &Played) -> Vec<String> {
    let mut faults = Vec::new();
    if failed_share(tally) > 0.005 {
        faults.push(format!("{} requests failed, more than 0.5 %", tally.failed));
    }
    for member in report.members.iter().filter(|member| !member.exclusions.is_empty()) {
        faults.push(format!("{} is healthy and {}", member.endpoint, member.state()));
    }
    for (name, before) in &played.returned {
        if gain(report, name, *before) == 0 {
            faults.push(format!("{name} got no traffic after it came"));
        }
    }
    faults
}

/// Says what is wrong with a run without protection: that the script did no harm.
pub(crate) fn control_faults(tally: &Tally) -> Vec<String> {
    if failed_share(tally) >= 0.05 {
        return Vec::new();
    }
    vec![format!("only {} requests failed, less than 5 %: the script does not bite", tally.failed)]
}

fn failed_share(tally: &Tally) -> f64 {
    tally.failed as f64 / tally.latencies.len().max(1) as f64
}
