//! Servers that are slow, fail or hang.

use super::SEED;
use crate::output::{Output, Table, percent};
use crate::parallel;
use crate::plot::Chart;
use crate::scenes::{SECOND, hung as hangs, linkerd as eleven, sinkhole as sink};
use crate::sim::{Report, Sample, Setup, Stack};

/// Draws the load of one server over time.
fn load_over_time(
    name: &'static str,
    title: &str,
    server: usize,
    stacks: &[Stack],
    reports: &[Report],
) -> Chart {
    let point = |sample: &Sample| (sample.at.as_secs_f64(), f64::from(sample.load[server]));
    let line = |(stack, report): (&Stack, &Report)| {
        (stack.name().to_owned(), report.samples.iter().map(point).collect())
    };
    Chart {
        name,
        title: title.to_owned(),
        x: "seconds",
        y: "requests at the server",
        logarithmic: false,
        lines: stacks.iter().zip(reports).map(line).collect(),
    }
}

/// One of eleven servers becomes slow.
pub(crate) fn linkerd() -> Output {
    let stacks = Stack::all();
    let reports = parallel::map(&stacks, |stack| stack.run(&eleven::scenario(SEED), &Setup::new(SEED)));
    let mut table = Table::of_reports("2 s instead of 167 ms, from 15 s to 45 s of a minute", &["under 1 s"]);
    for (stack, report) in stacks.iter().zip(&reports) {
        table.report(stack.name(), report, vec![percent(report.share_within(SECOND))]);
    }
    table.note("Published, under a second: round robin 95.5 %, least loaded 99.5 %, Peak EWMA 99.93 %.");
    let title = "requests at the slow one of eleven servers";
    let chart = load_over_time("linkerd", title, eleven::SERVERS - 1, &stacks, &reports);
    Output { tables: vec![table], charts: vec![chart] }
}

/// A server that fails at once.
pub(crate) fn sinkhole() -> Output {
    let stacks = Stack::all();
    let reports = parallel::map(&stacks, |stack| stack.run(&sink::scenario(SEED), &sink::setup(SEED)));
    let mut table = Table::of_reports(
        "one of ten fails everything within a millisecond, from 5 s on",
        &["share after 1 s"],
    );
    for (stack, report) in stacks.iter().zip(&reports) {
        let share = report.share_between(sink::BROKEN, sink::FROM + SECOND, 20 * SECOND);
        table.report(stack.name(), report, vec![percent(share)]);
    }
    Output { tables: vec![table], charts: Vec::new() }
}

/// A server that stops answering.
pub(crate) fn hung() -> Output {
    let stacks = Stack::all();
    let mut output = Output::default();
    let run = |heading: &str, scenario: &crate::sim::Scenario, column: &str, count: fn(&Report) -> usize| {
        let reports = parallel::map(&stacks, |stack| stack.run(scenario, &Setup::new(SEED)));
        let mut table = Table::of_reports(heading, &[column]);
        for (stack, report) in stacks.iter().zip(&reports) {
            table.report(stack.name(), report, vec![count(report).to_string()]);
        }
        (table, reports)
    };
    let waiting = hangs::without_timeouts(SEED);
    let (table, reports) =
        run("callers wait for ever, one of five hangs from 5 s to 95 s", &waiting, "stuck", |report| {
            report.stuck
        });
    output.tables.push(table);
    let title = "requests at the server that hangs, when callers wait for ever";
    output.charts.push(load_over_time("hung", title, hangs::HUNG, &stacks, &reports));
    let giving_up = hangs::with_timeouts(SEED);
    let (table, _) = run("callers give up after 100 ms", &giving_up, "given up", |report| report.given_up);
    output.tables.push(table);
    output
}
