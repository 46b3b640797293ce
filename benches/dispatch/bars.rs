//! What a request may cost.

use crate::Figures;

/// What it costs at most of what Tower's balancer by peak EWMA costs.
const OF_TOWER: f64 = 0.5;
/// What an observer to which nobody listens adds at most, in atomic additions.
const TRACED: f64 = 1.0;
/// What `Balance` costs at most of what Tower's balancer by pending requests costs.
const BALANCE_OF_TOWER: f64 = 1.0;
/// At how many endpoints that is checked.
const BALANCE_SIZES: [usize; 2] = [10, 1_000];
/// What two threads do at least of what one does with work to do, where the work by itself gains twice as much.
const GAIN: f64 = 1.6;
/// What two threads do at least of what a minimum by hand does.
const OF_MINIMUM: f64 = 0.8;
/// What two threads do at least of what they do through a buffer.
const OF_BUFFER: f64 = 3.0;

/// Tells how much more two threads do than one where nothing stands in front of the work.
pub(crate) fn print_gain(figures: &[Figures]) {
    let mut gains: Vec<f64> = figures.iter().filter(|line| line.has_work()).map(Figures::bare_gain).collect();
    gains.sort_unstable_by(f64::total_cmp);
    let Some(gain) = gains.get(gains.len() / 2) else { return };
    println!("two threads do {gain:.2} times the bare work of one here");
}

/// What the lines have together: two balancers differ by where their endpoints lie in memory, so that the median of the sizes
/// tells what an observer costs.
pub(crate) fn misses_together(figures: &[Figures]) -> Option<String> {
    let lines = figures.iter().filter(|line| !line.has_work());
    let mut added: Vec<f64> = lines.map(|line| (line.traced - line.balancer[0]) / line.addition).collect();
    added.sort_unstable_by(f64::total_cmp);
    let added = added.get(added.len() / 2).copied().unwrap_or_default();
    (added > TRACED).then(|| format!("spans that nobody wants cost {added:.1} additions, not {TRACED}"))
}

pub(crate) fn misses(line: &Figures) -> Vec<String> {
    let mut misses = Vec::new();
    let mut require = |holds: bool, what: String| {
        if !holds {
            misses.push(format!("{}, {} endpoints: {what}", line.work, line.size));
        }
    };
    require(line.allocations == 0, format!("{} allocations in 1,000 requests", line.allocations));
    let [_, together] = line.balancer;
    if line.has_work() {
        let (gain, wanted) = (line.balancer[0] / together, GAIN / 2.0 * line.bare_gain());
        require(
            gain >= wanted,
            format!("two threads do {gain:.2} times the requests of one, not {wanted:.2}"),
        );
    } else {
        let ratio = line.balancer[0] / line.p2c_ewma;
        require(ratio <= OF_TOWER, format!("{ratio:.2} of Tower's p2c by peak EWMA instead of {OF_TOWER}"));
        let recorded = line.recorded / line.p2c_ewma;
        require(recorded <= OF_TOWER, format!("{recorded:.2} of it with a recorder, not {OF_TOWER}"));
        let balance = line.balance / line.p2c_pending;
        require(
            balance <= BALANCE_OF_TOWER || !BALANCE_SIZES.contains(&line.size),
            format!("`Balance` {balance:.2} of Tower's p2c, not {BALANCE_OF_TOWER}"),
        );
        let of_minimum = line.minimum[1] / together;
        require(
            of_minimum >= OF_MINIMUM,
            format!("{of_minimum:.2} of the minimum of two threads, not {OF_MINIMUM}"),
        );
        let of_buffer = line.buffer[1] / together;
        require(of_buffer >= OF_BUFFER, format!("{of_buffer:.2} times a buffer, not {OF_BUFFER}"));
    }
    misses
}

impl Figures {
    fn has_work(&self) -> bool {
        self.bare[0] > 100.0
    }

    fn bare_gain(&self) -> f64 {
        self.bare[0] / self.bare[1]
    }
}
