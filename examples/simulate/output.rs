//! What a scenario shows.

use std::fmt;
use std::time::Duration;

use crate::plot::Chart;
use crate::sim::Report;

/// Tables and pictures of one scenario.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) tables: Vec<Table>,
    pub(crate) charts: Vec<Chart>,
}

/// Rows under a heading, with notes below.
#[derive(Debug)]
pub(crate) struct Table {
    heading: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Table {
    /// Makes a table with columns of its own.
    pub(crate) fn new(heading: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { heading: heading.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Makes a table of reports, with further columns.
    pub(crate) fn of_reports(heading: impl Into<String>, further: &[&str]) -> Self {
        let columns = ["policy", "p50", "p90", "p99", "p99.9", "errors", "max/mean load"];
        Self::new(heading, &[&columns, further].concat())
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Adds a report, with the cells of further columns.
    pub(crate) fn report(&mut self, name: &str, report: &Report, further: Vec<String>) {
        let quantiles = report.quantiles([0.5, 0.9, 0.99, 0.999]).map(millis);
        let mut cells = vec![name.to_owned()];
        cells.extend(quantiles);
        cells.extend([percent(report.errors() as f64 / report.requests() as f64)]);
        cells.push(format!("{:.2}", report.peak_to_mean()));
        cells.extend(further);
        self.rows.push(cells);
    }

    /// Adds a line below the table.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

/// Shows a duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}

/// Shows a share.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.iter().try_for_each(|table| writeln!(f, "{table}"))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<_> = (0..self.columns.len()).filter_map(width).collect();
        writeln!(f, "{}\n", self.heading)?;
        for (number, line) in lines().enumerate() {
            write!(f, "|")?;
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                if column == 0 { write!(f, " {cell:width$} |")? } else { write!(f, " {cell:>width$} |")? }
            }
            writeln!(f)?;
            if number == 0 {
                let rules = widths.iter().enumerate().map(|(column, width)| {
                    let rule = "-".repeat(width + 1);
                    if column == 0 { format!(" {rule}|") } else { format!("{rule}:|") }
                });
                writeln!(f, "|{}", rules.collect::<String>())?;
            }
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "\n{note}"))
    }
}
