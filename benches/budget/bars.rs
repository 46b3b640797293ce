//! What a pick may cost.

use crate::measure::Figures;
use crate::pool::Column;

/// The bars of one row.
struct Bar {
    name: &'static str,
    /// In uncontended atomic additions, where the cost is stated so, and with 10,000 members, where caches miss.
    additions: Option<(f64, f64)>,
    minima: Minima,
    flat: Flat,
    /// Whether threads share a word that each pick writes.
    shared: bool,
}

/// How many of its minimum a pick may cost.
enum Minima {
    Always(f64),
    /// With up to eight members, with up to 64, where what is done once per pick is not yet spread over many, and with more.
    Falling(f64, f64, f64),
}

use Minima::{Always, Falling};

/// What the cost must not depend on.
#[derive(PartialEq)]
enum Flat {
    Nothing,
    /// On how many are excluded.
    Exclusion,
    /// Neither on that nor on the number of members.
    Both,
}

const BARS: &[Bar] = &[
    // The minima of these four are one addition or draw and one state, about two nanoseconds. To make a view, to check that a
    // table belongs to it and to answer with a selection or a reason takes longer than that, so the bars in additions say what
    // such a pick may cost, and these only that it stays so on machines on which additions are dear.
    constant("round_robin", Always(6.0)).within(1.8, 2.2).shared(),
    constant("smooth", Always(6.0)).within(3.0, 3.0).shared(),
    constant("random", Always(4.0)).within(1.5, 1.5),
    constant("weighted_random", Always(6.0)).within(3.0, 3.0),
    constant("two_choices_in_flight", Always(2.0)).within(2.2, 2.2),
    constant("two_choices_peak_ewma", Always(2.0)).within(5.0, 6.0),
    constant("least_requests", Always(2.0)),
    scan("least_loaded", Always(1.5)),
    constant("maglev", Always(2.0)).within(2.0, 2.0),
    search("ring", Always(1.7)),
    scan("rendezvous", Always(1.5)),
    // Of eight members the bounds overlap more often than not, and then a logarithm of each decides; its minimum has none.
    scan("weighted_rendezvous", Falling(8.0, 4.0, 2.0)),
    scan("bounded_rendezvous", Always(4.0)),
    constant("maglev_text", Always(2.0)),
    search("ring_text", Always(1.7)),
    scan("rendezvous_text", Always(1.5)),
    scan("weighted_rendezvous_text", Falling(8.0, 4.0, 2.0)),
    scan("bounded_rendezvous_text", Always(4.0)),
    constant("priority_over_maglev", Always(4.0)).within(4.0, 4.0),
    // Their minimum is two draws below a constant and two reads. By shares that change with every flip, a draw takes two
    // passes over them, and the inner policy gets a view of its own.
    constant("locality_over_random", Always(6.0)),
    constant("zone_over_random", Always(6.0)),
    // Their minima, in `adaptive.rs`, copy no answer whole, know no age, and pass over nobody.
    scan("prequal", Always(18.0)).within(36.0, 36.0).shared(),
    scan("utilization", Always(9.0)).within(3.5, 3.5).shared(),
];

/// How far flat costs may differ, beyond what those of their minima do.
const FLAT: f64 = 1.5;
/// What two threads do at least of what one does, when they share nothing that is written.
const TWO_THREADS: f64 = 1.7;
/// Two processors that are threads of one core do much less than twice the work of one, whatever they run. So where the
/// minimum of a row gains less, this part of its gain is enough.
const AS_GOOD: f64 = 0.9;
/// What an addition took where the bars were set, in nanoseconds: between 6 and 7.5.
const REFERENCE_ADDITION: f64 = 6.75;

const fn constant(name: &'static str, minima: Minima) -> Bar {
    Bar { name, additions: None, minima, flat: Flat::Both, shared: false }
}

const fn search(name: &'static str, minima: Minima) -> Bar {
    Bar { flat: Flat::Exclusion, ..constant(name, minima) }
}

const fn scan(name: &'static str, minima: Minima) -> Bar {
    Bar { flat: Flat::Nothing, ..constant(name, minima) }
}

impl Bar {
    const fn within(self, additions: f64, at_10_000: f64) -> Self {
        Self { additions: Some((additions, at_10_000)), ..self }
    }

    const fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    fn additions(&self, members: usize) -> Option<f64> {
        self.additions.map(|(usual, at_10_000)| if members == 10_000 { at_10_000 } else { usual })
    }

    fn minima(&self, members: usize) -> f64 {
        match self.minima {
            Always(limit) => limit,
            Falling(eight, few, many) => match members {
                0..=8 => eight,
                9..=64 => few,
                _ => many,
            },
        }
    }

    fn is_flat_between(&self, one: Column, other: Column) -> bool {
        let unexcluded = one.excluded == 0 && other.excluded == 0;
        match self.flat {
            Flat::Nothing => false,
            Flat::Exclusion => one.members == other.members,
            Flat::Both => one.members == other.members || unexcluded,
        }
    }
}

pub(crate) fn print_yardstick(figures: &[Figures]) {
    let mut additions: Vec<f64> = figures.iter().map(|row| row.addition).collect();
    additions.sort_unstable_by(f64::total_cmp);
    let Some(median) = additions.get(additions.len() / 2) else { return };
    let normalised = normalised(*median);
    println!("R, an uncontended atomic addition, takes {median:.2} ns here");
    println!(
        "bars in R are normalised: they are checked with max(R, {REFERENCE_ADDITION} ns) = {normalised:.2} ns"
    );
}

/// Returns what counts as one addition: where additions are cheap, the rest of a pick is not as much cheaper.
pub(crate) fn normalised(addition: f64) -> f64 {
    addition.max(REFERENCE_ADDITION)
}

pub(crate) fn misses(figures: &[Figures]) -> Vec<String> {
    figures.iter().flat_map(|row| misses_of(row, figures)).collect()
}

/// Returns the places of the figures that miss a bar.
pub(crate) fn missed(figures: &[Figures]) -> Vec<usize> {
    (0..figures.len()).filter(|at| !misses_of(&figures[*at], figures).is_empty()).collect()
}

fn misses_of(row: &Figures, all: &[Figures]) -> Vec<String> {
    let Some(bar) = BARS.iter().find(|bar| bar.name == row.name) else {
        return vec![format!("{} has no bar", row.name)];
    };
    let Column { members, excluded, threads } = row.column;
    let mut misses = Vec::new();
    let mut require = |holds: bool, what: String| {
        if !holds {
            misses
                .push(format!("{} of {members}, {excluded} % excluded, {threads} threads: {what}", row.name));
        }
    };
    require(row.allocations == 0, format!("{} allocations in 1,000 picks", row.allocations));
    if threads == 1 && excluded == 0 {
        if let Some(limit) = bar.additions(members) {
            let nanos = limit * normalised(row.addition);
            require(row.pick <= nanos, format!("{:.1} ns instead of {limit} R, {nanos:.1} ns", row.pick));
        }
        let limit = bar.minima(members);
        require(row.ratio() <= limit, format!("{:.2} minima instead of {limit}", row.ratio()));
    }
    if threads == 1 {
        for other in all.iter().filter(|other| other.name == row.name && other.column.threads == 1) {
            let flat = !bar.is_flat_between(row.column, other.column) || is_as_flat(row, other);
            let Column { members, excluded, .. } = other.column;
            let beside = format!("{:.1} ns of {members}, {excluded} % excluded", other.pick);
            require(flat, format!("{:.1} ns beside {beside}", row.pick));
        }
    }
    let single = Column { threads: 1, ..row.column };
    let single = all.iter().find(|other| other.name == row.name && other.column == single);
    if let Some(single) = single.filter(|_| threads > 1 && !bar.shared) {
        let gain = single.pick / row.pick;
        let limit = TWO_THREADS.min(AS_GOOD * single.minimum / row.minimum);
        require(gain >= limit, format!("{gain:.2} times the picks of one thread instead of {limit:.2}"));
    }
    misses
}

/// Tells whether a row costs about as much as in another column. What caches miss more of makes its minimum slower, too,
/// and a pick that costs little more than its minimum is not to blame for that.
fn is_as_flat(row: &Figures, other: &Figures) -> bool {
    let missed = (row.minimum / other.minimum).max(1.0);
    row.pick <= FLAT * missed * other.pick
}
