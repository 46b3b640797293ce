//! Servers that come and go.

use std::time::Duration;

use super::SEED;
use crate::output::{Output, Table, millis, percent};
use crate::parallel;
use crate::plot::Chart;
use crate::scenes::{SECOND, newcomer as joins, restart as restarts};
use crate::sim::{Report, Sample, Stack};

/// An eleventh server joins ten.
pub(crate) fn newcomer() -> Output {
    let stacks = Stack::all();
    let mut output = Output::default();
    for (heading, cold) in
        [("a newcomer that is warm", Duration::ZERO), ("one that is three times as slow for 5 s", 5 * SECOND)]
    {
        let reports =
            parallel::map(&stacks, |stack| stack.run(&joins::scenario(SEED, cold), &joins::setup(SEED)));
        let mut table = Table::of_reports(heading, &["first request", "share in 1 s", "share in 5 s"]);
        for (stack, report) in stacks.iter().zip(&reports) {
            let first = report.first[joins::NEWCOMER]
                .map_or_else(|| String::from("never"), |at| millis(at.saturating_sub(joins::JOINS)));
            let share =
                |time| percent(report.share_between(joins::NEWCOMER, joins::JOINS, joins::JOINS + time));
            table.report(stack.name(), report, vec![first, share(SECOND), share(5 * SECOND)]);
        }
        table.note(format!("The fair share is {}.", percent(1.0 / joins::SERVERS as f64)));
        output.tables.push(table);
    }
    output
}

/// Ten servers are restarted in turn.
pub(crate) fn restart() -> Output {
    let stacks = Stack::all();
    let mut output = Output::default();
    for (heading, announced) in [("announced half a second before", true), ("not announced", false)] {
        let reports = parallel::map(&stacks, |stack| {
            stack.run(&restarts::scenario(SEED, announced), &restarts::setup(SEED))
        });
        let mut table = Table::of_reports(
            format!("each of ten is down for a second, {heading}; failures are tried again once"),
            &["attempts per request"],
        );
        for (stack, report) in stacks.iter().zip(&reports) {
            table.report(stack.name(), report, vec![format!("{:.4}", report.amplification())]);
        }
        output.tables.push(table);
        if !announced {
            output.charts.push(retries_over_time(&stacks, &reports));
        }
    }
    output
}

/// Draws how many attempts there were beyond the requests that ended, second by second.
fn retries_over_time(stacks: &[Stack], reports: &[Report]) -> Chart {
    let attempts = |sample: &Sample| sample.picks.iter().sum::<u64>() as f64;
    let ended = |sample: &Sample| (sample.answered + sample.unanswered) as f64;
    let line = |(stack, report): (&Stack, &Report)| {
        // Samples are a tenth of a second apart.
        let seconds: Vec<_> = report.samples.iter().step_by(10).collect();
        let points = seconds.windows(2).map(|pair| {
            let further = (attempts(pair[1]) - attempts(pair[0])) / (ended(pair[1]) - ended(pair[0])) - 1.0;
            (pair[1].at.as_secs_f64(), further.max(0.0) * 100.0)
        });
        (stack.name().to_owned(), points.collect())
    };
    Chart {
        name: "restart",
        title: String::from("retries while ten servers are restarted in turn, unannounced"),
        x: "seconds",
        y: "attempts beyond the first, % of requests",
        logarithmic: false,
        lines: stacks.iter().zip(reports).map(line).collect(),
    }
}
