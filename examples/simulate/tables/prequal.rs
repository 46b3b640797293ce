//! The results of the paper on Prequal.

use std::time::Duration;

use super::SEED;
use crate::output::{Output, Table, millis, percent};
use crate::parallel;
use crate::plot::Chart;
use crate::scenes::testbed::{self, RAMP};
use crate::sim::{Probing, Report, Stack};

const TIME: Duration = Duration::from_secs(7);

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// The load rises in nine steps.
pub(crate) fn ramp() -> Output {
    let stacks = Stack::all();
    let runs: Vec<_> = RAMP.iter().flat_map(|load| stacks.iter().map(|stack| (*load, *stack))).collect();
    let reports =
        parallel::map(&runs, |(load, stack)| testbed::run(*stack, &testbed::ramp(SEED, *load, TIME), SEED));
    let mut output = Output::default();
    let mut lines: Vec<_> = stacks.iter().map(|stack| (stack.name().to_owned(), Vec::new())).collect();
    for (step, load) in RAMP.iter().enumerate() {
        let mut table = Table::of_reports(format!("load {load} of the allocation"), &[]);
        for (at, stack) in stacks.iter().enumerate() {
            let report = &reports[step * stacks.len() + at];
            table.report(stack.name(), report, Vec::new());
            // Who gives up waits until then.
            let gave_up = report.errors() * 1_000 > report.requests();
            let tail = if gave_up { testbed::TIMEOUT } else { report.quantile(0.999) };
            lines[at].1.push((*load, seconds(tail)));
        }
        output.tables.push(table);
    }
    output.charts.push(Chart {
        name: "ramp",
        title: String::from("p99.9 as load rises, antagonists on all machines"),
        x: "load in multiples of the allocation",
        y: "seconds",
        logarithmic: true,
        lines,
    });
    output
}

/// Half of the servers are twice as slow.
pub(crate) fn rules() -> Output {
    let mut output = Output::default();
    for load in [0.7, 0.9] {
        let stacks = Stack::all();
        let reports =
            parallel::map(&stacks, |stack| testbed::run(*stack, &testbed::uneven(SEED, load, TIME), SEED));
        let mut table =
            Table::of_reports(format!("load {load}, half of the servers twice as slow"), &["fast half"]);
        for (stack, report) in stacks.iter().zip(&reports) {
            let fast: f64 = (0..50).map(|server| report.share_of(server)).sum();
            table.report(stack.name(), report, vec![percent(fast)]);
        }
        output.tables.push(table);
    }
    output
}

fn sweep(settings: &[Probing], load: f64) -> Vec<Report> {
    parallel::map(settings, |probing| {
        testbed::run(Stack::Prequal(*probing), &testbed::ramp(SEED, load, 2 * TIME), SEED)
    })
}

/// Fewer and fewer probes.
pub(crate) fn probes() -> Output {
    let rates = [4.0, 2.83, 2.0, 1.41, 1.0, 0.71, 0.5];
    let settings = rates.map(|rate| Probing { rate, ..testbed::FEW_REMOVALS });
    let reports = sweep(&settings, 1.5);
    let mut table = Table::of_reports("load 1.5 of the allocation", &["probes per query"]);
    for (rate, report) in rates.iter().zip(&reports) {
        table.report("Prequal", report, vec![format!("{rate}")]);
    }
    let default = testbed::run(Stack::Default, &testbed::ramp(SEED, 1.5, 2 * TIME), SEED);
    table.report(Stack::Default.name(), &default, vec![String::from("none")]);
    let points =
        rates.iter().zip(&reports).map(|(rate, report)| (*rate, seconds(report.quantile(0.99)))).collect();
    Output {
        tables: vec![table],
        charts: vec![Chart {
            name: "probes",
            title: String::from("p99 by the number of probes, load 1.5 of the allocation"),
            x: "probes per query",
            y: "seconds",
            logarithmic: false,
            lines: vec![(String::from("Prequal"), points)],
        }],
    }
}

/// From requests in flight alone to latency alone.
pub(crate) fn quantiles() -> Output {
    let quantiles = [0.0, 0.35, 0.59, 0.7, 0.81, 0.84, 0.9, 0.95, 0.99, 1.0];
    let settings = quantiles.map(|quantile| Probing { quantile, ..Probing::new() });
    let reports = parallel::map(&settings, |probing| {
        testbed::run(Stack::Prequal(*probing), &testbed::uneven(SEED, 0.75, 2 * TIME), SEED)
    });
    let heading = "load 0.75, half of the servers twice as slow";
    let mut table = Table::of_reports(heading, &["quantile", "fast half"]);
    for (quantile, report) in quantiles.iter().zip(&reports) {
        let fast: f64 = (0..50).map(|server| report.share_of(server)).sum();
        table.report("Prequal", report, vec![format!("{quantile}"), percent(fast)]);
    }
    let default = testbed::run(Stack::Default, &testbed::uneven(SEED, 0.75, 2 * TIME), SEED);
    let fast: f64 = (0..50).map(|server| default.share_of(server)).sum();
    table.report(Stack::Default.name(), &default, vec![String::from("none"), percent(fast)]);
    table.note(format!("The default stack has its p99 at {}.", millis(default.quantile(0.99))));
    let line = |name: &str, share| {
        let at = quantiles.iter().zip(&reports).map(|(q, report)| (*q, seconds(report.quantile(share))));
        (name.to_owned(), at.collect())
    };
    Output {
        tables: vec![table],
        charts: vec![Chart {
            name: "quantiles",
            title: String::from("latency by the quantile from which a server is hot, load 0.75"),
            x: "quantile",
            y: "seconds",
            logarithmic: true,
            lines: vec![line("p50", 0.5), line("p90", 0.9), line("p99", 0.99), line("p99.9", 0.999)],
        }],
    }
}
