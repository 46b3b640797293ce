//! A balancer explains itself.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cluster::Ledger;
use super::pool::{Member, Pool};
use super::repeats::RepeatReport;
use super::signals::Outlying;
use super::statistics::Answers;
use crate::core::histogram::quantile;
use crate::core::short::short;
use crate::core::{Candidate, Exclusions, LoadMetric, LoadTracker, Now, Status};
use crate::discovery::Revision;
use crate::health::{CircuitState, EjectionState, PassiveHealth, ProbeState};

/// Describes a pool and every member of it at one moment.
///
/// [`Display`](fmt::Display) prints it as a table.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, to be read by its name")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The revision of the membership that is in effect.
    pub revision: Revision,
    /// The members, in the order of the membership.
    pub members: Vec<MemberReport>,
    /// The number of members whose latest service could not be built, or is still to connect.
    pub unbuilt: usize,
    /// How long ago the membership took effect.
    pub updated: Option<Duration>,
    /// What went wrong with the latest membership.
    pub last_error: Option<Arc<str>>,
    /// Whether nobody has been eligible for so long that requests fail at once.
    pub failing_fast: bool,
    /// Whether so few members are healthy that the balancer is in [panic](super::PanicMode).
    pub panicking: bool,
    /// Whether the driver is alive. Without it the balancer learns of no change: it ends with the runtime that it was
    /// spawned on, or when its future is dropped.
    pub driven: bool,
    /// Whether the balancer was [shut down](super::Balancer::shutdown). Its driver ends by that, and members without attempts
    /// are gone.
    pub closed: bool,
    /// What was sent more than once.
    pub repeats: RepeatReport,
}

/// Describes one member.
///
/// [`Display`](fmt::Display) prints it in one line, as a row of the table of a [`Report`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemberReport {
    /// The key of the member, as text.
    pub endpoint: Arc<str>,
    /// The administrative state by the membership. What an operator says is among the exclusions only.
    pub status: Status,
    /// Everything that excludes it.
    pub exclusions: Exclusions,
    /// For how long these have been its exclusions, as far as transitions go.
    pub since: Duration,
    /// Its weight.
    pub weight: u32,
    /// The part of its weight that it gets, as it is new or has come back.
    pub ramp: f32,
    /// Its load, in the unit of its tracker: nanoseconds by the default, [`PeakEwma`](crate::core::PeakEwma), and requests by
    /// [`InFlight`](crate::core::InFlight).
    pub load: f64,
    /// The attempts that have started and not ended. An attempt ends with the head of its response, and a body that is still
    /// being read is not counted, except with a [`GuardedBalancer`](super::GuardedBalancer).
    pub in_flight: u64,
    /// The attempts that have started.
    pub picks: u64,
    /// The attempts that ended well.
    pub successes: u64,
    /// The attempts that failed.
    pub failures: u64,
    /// The attempts that met an overload.
    pub overloads: u64,
    /// The attempts that were given up.
    pub cancelled: u64,
    /// The median time to an answer, to an eighth. After four thousand answers it goes by one of eight.
    pub p50: Option<Duration>,
    /// The time within which 99 of 100 answers came, to an eighth; it goes by the same answers as the median.
    pub p99: Option<Duration>,
    /// The state of its circuit, if it has one.
    pub circuit: Option<CircuitState>,
    /// How often its circuit has opened.
    pub trips: u64,
    /// What active probes have found, if it is probed.
    pub probe: Option<ProbeState>,
    /// Whether it is ejected as an outlier, and by what it stands out, if members are compared.
    pub ejection: Option<EjectionState>,
    /// How often it was ejected.
    pub ejections: u64,
}

impl Report {
    pub(super) fn new<K, B, S, R, L>(
        pool: &Pool<K, B, S, R, L>,
        ledger: &Ledger,
        [failing_fast, panicking, driven, closed]: [bool; 4],
        now: &Now,
    ) -> Self
    where
        L: LoadTracker + LoadMetric,
    {
        Self {
            revision: pool.revision,
            members: pool.members.iter().map(|member| MemberReport::new(member, now)).collect(),
            unbuilt: ledger.unbuilt,
            updated: ledger.last_update.map(|at: Instant| now.since(at)),
            last_error: ledger.last_error.clone(),
            failing_fast,
            panicking,
            driven,
            closed,
            repeats: RepeatReport::default(),
        }
    }

    pub(super) fn with_repeats(self, repeats: RepeatReport) -> Self {
        Self { repeats, ..self }
    }

    /// Returns the member with this name.
    #[must_use]
    pub fn member(&self, endpoint: &str) -> Option<&MemberReport> {
        self.members.iter().find(|member| *member.endpoint == *endpoint)
    }

    /// Returns the number of members that nothing excludes.
    #[must_use]
    pub fn eligible(&self) -> usize {
        self.members.iter().filter(|member| member.exclusions.is_empty()).count()
    }
}

impl MemberReport {
    fn new<K, B, S, R, L>(member: &Member<K, B, S, R, L>, now: &Now) -> Self
    where
        L: LoadTracker + LoadMetric,
    {
        let endpoint = member.endpoint();
        let ejection = endpoint.signals().outlying().map(Outlying::ejection);
        let statistics = endpoint.statistics();
        let (counts, latency) = (statistics.counts(), statistics.latency());
        let Answers { answered, failed } = counts.answers();
        Self {
            endpoint: Arc::clone(endpoint.name()),
            status: member.status(),
            exclusions: member.exclusions(now),
            since: now.since(endpoint.since()),
            weight: member.weight().value(),
            ramp: member.ramp(now),
            load: member.load().measure(now),
            in_flight: counts.in_flight(),
            picks: counts.picks,
            successes: answered.saturating_sub(failed),
            failures: counts.failures,
            overloads: counts.overloads,
            cancelled: counts.cancelled,
            p50: quantile(&latency, 0.5),
            p99: quantile(&latency, 0.99),
            circuit: endpoint.circuit().map(|circuit| circuit.state(now)),
            trips: endpoint.circuit().map_or(0, PassiveHealth::trips),
            probe: endpoint.signals().probed().map(|health| health.state()),
            ejection: ejection.map(|ejection| ejection.state()),
            ejections: ejection.map_or(0, |ejection| ejection.ejections()),
        }
    }

    /// Says whether the member is eligible and, if not, what decides and what else excludes it.
    #[must_use]
    pub fn state(&self) -> String {
        match self.exclusions.deciding() {
            None => "eligible".into(),
            Some(deciding) if self.exclusions.iter().count() == 1 => format!("excluded: {deciding}"),
            Some(deciding) => format!("excluded: {deciding} (of {})", self.exclusions),
        }
    }
}

impl fmt::Display for MemberReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.row().join("  "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let eligible = self.eligible();
        write!(f, "revision {}: {eligible} of {} members eligible", self.revision, self.members.len())?;
        if self.unbuilt > 0 {
            write!(f, ", {} not built", self.unbuilt)?;
        }
        // Of what is closed it is no news that requests fail, or that nobody drives it.
        let open = !self.closed;
        for (holds, what) in [
            (self.closed, ", closed"),
            (open && self.failing_fast, ", failing fast"),
            (open && self.panicking, ", in panic"),
            (open && !self.driven, ", NOT DRIVEN"),
        ] {
            f.write_str(if holds { what } else { "" })?;
        }
        self.repeats.fmt(f)?;
        if let Some(error) = &self.last_error {
            write!(f, ", last error: {error}")?;
        }
        writeln!(f)?;
        let rows: Vec<[String; COLUMNS]> = self.members.iter().map(MemberReport::row).collect();
        let widths: Vec<usize> = (0..HEADER.len())
            .map(|column| {
                rows.iter().map(|row| row[column].len()).chain([HEADER[column].len()]).max().unwrap_or(0)
            })
            .collect();
        write_row(f, &HEADER, &widths)?;
        rows.iter().try_for_each(|row| write_row(f, row, &widths))
    }
}

const COLUMNS: usize = 15;
const HEADER: [&str; COLUMNS] = [
    "endpoint",
    "weight",
    "load",
    "in flight",
    "picks",
    "successes",
    "failures",
    "cancelled",
    "p50",
    "p99",
    "probe",
    "trips",
    "ejections",
    "since",
    "state",
];

impl MemberReport {
    fn row(&self) -> [String; COLUMNS] {
        [
            self.endpoint.to_string(),
            weight(self.weight, self.ramp),
            short(self.load),
            self.in_flight.to_string(),
            self.picks.to_string(),
            self.successes.to_string(),
            (self.failures + self.overloads).to_string(),
            self.cancelled.to_string(),
            self.p50.map_or("-".into(), millis),
            self.p99.map_or("-".into(), millis),
            self.probe.map_or("-".into(), |state| state.to_string()),
            self.trips.to_string(),
            self.ejections.to_string(),
            format!("{:.1} s", self.since.as_secs_f64()),
            self.state(),
        ]
    }
}

/// Writes a weight, and the part of it that is in effect where that is not all.
fn weight(weight: u32, ramp: f32) -> String {
    if ramp < 1.0 { format!("{:.0} % of {weight}", f64::from(ramp) * 100.0) } else { weight.to_string() }
}

fn millis(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

/// Writes one line: the first and the last column to the left, what lies between to the right.
fn write_row(f: &mut fmt::Formatter<'_>, cells: &[impl AsRef<str>], widths: &[usize]) -> fmt::Result {
    let last = cells.len() - 1;
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = cell.as_ref();
        match column {
            0 => write!(f, "{cell:<width$}")?,
            _ if column == last => write!(f, "  {cell}")?,
            _ => write!(f, "  {cell:>width$}")?,
        }
    }
    writeln!(f)
}
