//! Attempts beyond the first.

use super::SEED;
use crate::output::{Output, Table, percent};
use crate::parallel;
use crate::plot::Chart;
use crate::scenes::{SECOND, hedging as page, storm as outage};
use crate::sim::{Report, Stack};

/// An outage of two seconds, and what retries make of it.
pub(crate) fn storm() -> Output {
    let stacks = Stack::all();
    let mut output = Output::default();
    let mut lines = Vec::new();
    for (heading, budgeted) in [("with the default budget", true), ("without a budget", false)] {
        let setup = outage::setup(SEED);
        let setup = if budgeted { setup } else { setup.without_budget() };
        let reports = parallel::map(&stacks, |stack| stack.run(&outage::scenario(SEED), &setup));
        let mut table = Table::of_reports(
            format!("all servers hang from 10 s to 12 s, three retries, {heading}"),
            &["good from 17 s on", "attempts per request"],
        );
        for (stack, report) in stacks.iter().zip(&reports) {
            let good = report.goodput(outage::UNTIL + 5 * SECOND, outage::END);
            let further = vec![percent(good), format!("{:.2}", report.amplification())];
            table.report(stack.name(), report, further);
            if [Stack::RoundRobin, Stack::Default].contains(stack) {
                lines.push((format!("{}, {heading}", stack.name()), goodput(report)));
            }
        }
        output.tables.push(table);
    }
    output.charts.push(Chart {
        name: "storm",
        title: String::from("requests that succeed, before and after two seconds of outage"),
        x: "seconds",
        y: "% of those that end",
        logarithmic: false,
        lines,
    });
    output
}

fn goodput(report: &Report) -> Vec<(f64, f64)> {
    let points = report.samples.windows(2).filter_map(|pair| {
        let good = pair[1].answered - pair[0].answered;
        let all = good + pair[1].unanswered - pair[0].unanswered;
        (all > 0).then(|| (pair[1].at.as_secs_f64(), good as f64 / all as f64 * 100.0))
    });
    points.collect()
}

/// A page of a hundred answers.
pub(crate) fn hedging() -> Output {
    let stacks = [Stack::RoundRobin, Stack::TwoByCount, Stack::TwoByLatency, Stack::Default];
    let mut output = Output::default();
    for (heading, hedged) in [("without hedging", false), ("hedged after p95", true)] {
        let reports =
            parallel::map(&stacks, |stack| stack.run(&page::scenario(SEED, hedged), &page::setup(SEED)));
        let mut table = Table::of_reports(
            format!(
                "pages of a hundred answers, of which one in 1,000 takes a second instead of 10 ms; {heading}"
            ),
            &["attempts per answer"],
        );
        for (stack, report) in stacks.iter().zip(&reports) {
            table.report(stack.name(), report, vec![format!("{:.3}", report.amplification() / 100.0)]);
        }
        if hedged {
            table.note("The quantile is up to an eighth too long: where all take about as long, fewer than one in twenty are hedged.");
        }
        output.tables.push(table);
    }
    output
}
