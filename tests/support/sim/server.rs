//! What a server is like.

use std::time::Duration;

use super::antagonist::Antagonist;
use super::chance::Work;

/// Describes one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    pub(super) order: Order,
    pub(super) work: Work,
    pub(super) limit: u32,
    pub(super) antagonist: Option<Antagonist>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Fifo { workers: usize },
    Sharing { cores: f64 },
}

impl Server {
    /// Serves as many requests at a time as it has workers, first come, first served.
    pub(crate) fn fifo(workers: usize, work: Work) -> Self {
        Self { order: Order::Fifo { workers }, work, limit: u32::MAX, antagonist: None }
    }

    /// Shares its cores, more than none, among all requests; none of them keeps more than one busy.
    pub(crate) fn sharing(cores: f64, work: Work) -> Self {
        Self { order: Order::Sharing { cores }, ..Self::fifo(1, work) }
    }

    /// Takes the same time however much it has to do.
    pub(crate) fn delay(work: Work) -> Self {
        Self::fifo(usize::MAX, work)
    }

    /// Refuses what arrives while so many requests are here.
    pub(crate) fn with_limit(self, limit: u32) -> Self {
        Self { limit, ..self }
    }

    /// Has others on the same machine, which has `machine` cores; the server's own are guaranteed, and it may use whatever
    /// they leave. What they demand is drawn anew every `period` on average.
    pub(crate) fn with_antagonist(self, machine: f64, period: Duration) -> Self {
        Self { antagonist: Some(Antagonist { machine, period }), ..self }
    }

    /// Returns how many cores count as fully busy.
    pub(super) fn allocation(&self) -> f64 {
        match self.order {
            Order::Fifo { workers } => f64::from(u32::try_from(workers).unwrap_or(u32::MAX)),
            Order::Sharing { cores } => cores,
        }
    }
}
