//! A server at work.

use std::sync::Arc;

use poise::core::policy::UtilizationReport;
use poise::core::{Now, Outcome, ServerLoad, Serving};

use super::chance::{Chance, Work};
use super::clock::Nanos;
use super::fault::Kind;
use super::fifo::Fifo;
use super::meter::Meter;
use super::server::{Order, Server};
use super::sharing::Sharing;
use super::slab::Slot;

/// Holds the state of one server.
///
/// It works by a clock of its own, which stands still while the server hangs.
#[derive(Debug)]
pub(super) struct Station {
    line: Line,
    work: Work,
    /// The most requests that may be here.
    limit: u32,
    /// The fault and its number in the scenario.
    fault: Option<(usize, Kind)>,
    stopped: Option<Nanos>,
    /// How far the clock of this server is behind.
    lost: Nanos,
    expected: Option<Nanos>,
    expectation: u32,
    present: u32,
    meter: Meter,
    load: Option<Arc<ServerLoad>>,
}

#[derive(Debug)]
enum Line {
    Fifo(Fifo),
    Sharing(Sharing),
}

/// Says what becomes of a request that arrives.
#[derive(Debug)]
pub(super) enum Reception {
    /// It takes so much work.
    Accepted(Nanos),
    /// It fails after this time.
    Fails(Nanos, Outcome),
}

impl Station {
    /// Makes an idle server, which answers probes or not.
    pub(super) fn new(server: &Server, is_probed: bool) -> Self {
        let line = match server.order {
            Order::Fifo { workers } => Line::Fifo(Fifo::new(workers)),
            Order::Sharing { cores } => Line::Sharing(Sharing::new(cores)),
        };
        Self {
            line,
            work: server.work,
            limit: server.limit,
            fault: None,
            stopped: None,
            lost: 0,
            expected: None,
            expectation: 0,
            present: 0,
            meter: Meter::new(server.allocation()),
            load: is_probed.then(|| Arc::new(ServerLoad::new())),
        }
    }

    /// Returns how many requests are here, those of callers that gave up included.
    pub(super) fn present(&self) -> u32 {
        self.present
    }

    /// Returns the load that probes ask for, unless the server hangs.
    pub(super) fn probed(&self) -> Option<&ServerLoad> {
        self.load.as_deref().filter(|_| self.stopped.is_none())
    }

    /// Counts a request for those that probe.
    pub(super) fn serve(&self, now: &Now) -> Option<Serving<Arc<ServerLoad>>> {
        self.load.as_ref().map(|load| Serving::start(Arc::clone(load), now))
    }

    pub(super) fn arrive(&mut self, slot: Slot, now: Nanos, chance: &Chance) -> Reception {
        self.present += 1;
        let factor = match self.fault {
            Some((_, Kind::Fails { share, latency })) if chance.happens(share) => {
                return Reception::Fails(latency, Outcome::Failure);
            }
            Some((_, Kind::Slow { factor })) => factor,
            _ => 1.0,
        };
        if self.present > self.limit {
            return Reception::Fails(0, Outcome::OVERLOAD);
        }
        let (work, at) = (self.work.draw(chance, factor), self.local(now));
        match &mut self.line {
            Line::Fifo(line) => line.arrive(slot, work, at),
            Line::Sharing(line) => line.arrive(slot, work, at),
        }
        Reception::Accepted(work)
    }

    /// Takes one request that is finished by now.
    pub(super) fn finish(&mut self, now: Nanos) -> Option<Slot> {
        let at = self.local(now);
        match &mut self.line {
            Line::Fifo(line) => line.finish(at),
            Line::Sharing(line) => line.finish(at),
        }
    }

    /// Sees a request off that is finished, and returns what the server reports with the answer.
    pub(super) fn leave(&mut self, work: Nanos, now: Nanos) -> Option<UtilizationReport> {
        self.present -= 1;
        self.meter.finished(work, now)
    }

    /// Sees a request off that failed.
    pub(super) fn leave_failed(&mut self) {
        self.present -= 1;
        self.meter.failed();
    }

    /// Changes how many cores there are.
    pub(super) fn set_cores(&mut self, cores: f64, now: Nanos) {
        let at = self.local(now);
        if let Line::Sharing(line) = &mut self.line {
            line.set_cores(cores, at);
        }
    }

    /// Returns when to look for finished requests, unless that is when it was before.
    pub(super) fn expect(&mut self) -> Option<(Nanos, u32)> {
        let next = match &self.line {
            Line::Fifo(line) => line.next(),
            Line::Sharing(line) => line.next(),
        };
        let next = next.filter(|_| self.stopped.is_none()).map(|at| at + self.lost);
        if next == self.expected {
            return None;
        }
        self.expected = next;
        self.expectation = self.expectation.wrapping_add(1);
        next.map(|at| (at, self.expectation))
    }

    /// Tells whether an expectation is the last one, and forgets it.
    pub(super) fn is_expected(&mut self, expectation: u32) -> bool {
        let holds = self.expected.is_some() && self.expectation == expectation;
        if holds {
            self.expected = None;
        }
        holds
    }

    pub(super) fn begin(&mut self, fault: usize, kind: Kind, now: Nanos) {
        self.resume(now);
        self.fault = Some((fault, kind));
        if matches!(kind, Kind::Hangs) {
            self.stopped = Some(now);
        }
    }

    pub(super) fn end(&mut self, fault: usize, now: Nanos) {
        if self.fault.is_some_and(|(current, _)| current == fault) {
            self.resume(now);
            self.fault = None;
        }
    }

    fn resume(&mut self, now: Nanos) {
        if let Some(stopped) = self.stopped.take() {
            self.lost += now - stopped;
        }
    }

    fn local(&self, now: Nanos) -> Nanos {
        self.stopped.unwrap_or(now) - self.lost
    }
}
