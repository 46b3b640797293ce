//! What a pick may cost.

use crate::measure::Figures;
use crate::pool::Column;

/// The bars of one row.
struct Bar {
    name: &'static str,
    cost: Cost,
    /// With 10,000 members, where caches miss.
    at_10_000: Cost,
    /// Whether the cost depends neither on the number of members nor on how many are excluded.
    flat: bool,
    /// Whether threads share a word that each pick writes.
    shared: bool,
}

enum Cost {
    /// In uncontended atomic additions.
    Additions(f64),
    /// In minima written by hand.
    Minima(f64),
}

use Cost::{Additions, Minima};

const BARS: &[Bar] = &[
    bar("round_robin", Additions(1.8), Additions(2.2), true, true),
    bar("random", Additions(1.5), Additions(1.5), true, false),
    bar("two_choices_in_flight", Additions(2.2), Additions(2.2), true, false),
    bar("two_choices_peak_ewma", Additions(5.0), Additions(6.0), true, false),
    bar("least_loaded", Minima(1.5), Minima(1.5), false, false),
    bar("maglev", Additions(2.0), Additions(2.0), true, false),
    bar("priority_over_maglev", Additions(4.0), Additions(4.0), true, false),
];

/// How far flat costs may differ.
const FLAT: f64 = 1.5;
/// What two threads do at least of what one does, when they share nothing that is written.
const TWO_THREADS: f64 = 1.7;
/// Where the bars were set, in nanoseconds.
const ADDITION: f64 = 6.0;

const fn bar(name: &'static str, cost: Cost, at_10_000: Cost, flat: bool, shared: bool) -> Bar {
    Bar { name, cost, at_10_000, flat, shared }
}

pub(crate) fn print_yardstick(figures: &[Figures]) {
    let mut additions: Vec<f64> = figures.iter().map(|row| row.addition).collect();
    additions.sort_unstable_by(f64::total_cmp);
    let Some(median) = additions.get(additions.len() / 2) else { return };
    println!("R, an uncontended atomic addition, takes {median:.2} ns here");
    if *median < ADDITION {
        println!("bars in R were set where it takes {ADDITION} to 7.5 ns, so they are harder here");
    }
}

pub(crate) fn misses(figures: &[Figures]) -> Vec<String> {
    figures.iter().flat_map(|row| misses_of(row, figures)).collect()
}

fn misses_of(row: &Figures, all: &[Figures]) -> Vec<String> {
    let Some(bar) = BARS.iter().find(|bar| bar.name == row.name) else {
        return vec![format!("{} has no bar", row.name)];
    };
    let Column { members, excluded, threads } = row.column;
    let at = |column: Column| all.iter().find(|other| other.name == row.name && other.column == column);
    let mut misses = Vec::new();
    let mut require = |holds: bool, what: String| {
        if !holds {
            misses
                .push(format!("{} of {members}, {excluded} % excluded, {threads} threads: {what}", row.name));
        }
    };
    require(row.allocations == 0, format!("{} allocations in 1,000 picks", row.allocations));
    if threads == 1 && excluded == 0 {
        let (found, limit, unit) = match if members == 10_000 { &bar.at_10_000 } else { &bar.cost } {
            Additions(limit) => (row.in_additions(), limit, "R"),
            Minima(limit) => (row.ratio(), limit, "minima"),
        };
        require(found <= *limit, format!("{found:.2} {unit} instead of {limit}"));
    }
    if threads == 1 && bar.flat {
        let least = all.iter().filter(|other| other.name == row.name && is_beside(other.column, row.column));
        let least = least.map(|other| other.pick).fold(row.pick, f64::min);
        require(row.pick <= FLAT * least, format!("{:.1} ns beside {least:.1} ns", row.pick));
    }
    if let Some(single) = at(Column { threads: 1, ..row.column }).filter(|_| threads > 1 && !bar.shared) {
        let gain = single.pick / row.pick;
        require(gain >= TWO_THREADS, format!("{gain:.2} times the picks of one thread"));
    }
    misses
}

/// Tells whether a flat row costs about the same in both columns: they differ in the number of members, with nobody
/// excluded, or in how many are excluded.
fn is_beside(one: Column, other: Column) -> bool {
    let alike = one.excluded == 0 && other.excluded == 0 || one.members == other.members;
    one.threads == other.threads && alike
}
