//! What goes wrong, and when.

use std::time::Duration;

use super::clock::{Nanos, nanos};

/// Describes one fault of one server. It lasts from the start to the end of the simulation unless it is limited.
///
/// A server has one fault at a time: one that begins while another lasts takes its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(super) server: usize,
    pub(super) kind: Kind,
    pub(super) from: Nanos,
    pub(super) until: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Fails { share: f64, latency: Nanos },
    Hangs,
    Slow { factor: f64 },
}

impl Fault {
    /// Fails this share of what arrives, after `latency` and without work. What arrived before is finished.
    pub(crate) fn fails(server: usize, share: f64, latency: Duration) -> Self {
        Self::new(server, Kind::Fails { share, latency: nanos(latency) })
    }

    /// Stops: nothing is answered, neither what arrives nor what is in progress. When the fault ends, all of it goes on.
    pub(crate) fn hangs(server: usize) -> Self {
        Self::new(server, Kind::Hangs)
    }

    /// Makes what arrives take `factor` times the work.
    pub(crate) fn slow(server: usize, factor: f64) -> Self {
        Self::new(server, Kind::Slow { factor })
    }

    /// Sets when the fault begins.
    pub(crate) fn from(self, time: Duration) -> Self {
        Self { from: nanos(time), ..self }
    }

    /// Sets when the fault ends.
    pub(crate) fn until(self, time: Duration) -> Self {
        Self { until: Some(nanos(time)), ..self }
    }

    fn new(server: usize, kind: Kind) -> Self {
        Self { server, kind, from: 0, until: None }
    }
}
