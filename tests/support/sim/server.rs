//! What a server is like.

use super::chance::Work;

/// Describes one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    pub(super) order: Order,
    pub(super) work: Work,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Fifo { workers: usize },
    Sharing { cores: f64 },
}

impl Server {
    /// Serves as many requests at a time as it has workers, first come, first served.
    pub(crate) fn fifo(workers: usize, work: Work) -> Self {
        Self { order: Order::Fifo { workers }, work }
    }

    /// Shares its cores, more than none, among all requests; none of them keeps more than one busy.
    pub(crate) fn sharing(cores: f64, work: Work) -> Self {
        Self { order: Order::Sharing { cores }, work }
    }

    /// Takes the same time however much it has to do.
    pub(crate) fn delay(work: Work) -> Self {
        Self::fifo(usize::MAX, work)
    }
}
