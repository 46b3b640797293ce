//! Twenty servers of uneven speed.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::queue::{Queue, WORKERS};
use crate::servers::Server;

const SERVERS: u32 = 20;
/// The mean work of a request at the fastest server; the slowest one takes six times as long.
const FASTEST: Duration = Duration::from_millis(20);
const SPREAD: u32 = 6;

/// Servers on loopback, which end with this.
pub(crate) struct Fleet(Vec<Server>);

impl Fleet {
    /// Starts servers whose work follows from a seed.
    pub(crate) fn start(seed: u64) -> Result<Self, Box<dyn Error>> {
        let start = |number| {
            let queue = Queue::new(mean(number), seed.wrapping_mul(1_000) + u64::from(number));
            Server::with_latency(Arc::new(move || queue.enter()))
        };
        Ok(Self((0..SERVERS).map(start).collect::<Result<_, _>>()?))
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.0.iter().map(Server::address)
    }
}

/// Returns how many requests a second keep all workers busy.
pub(crate) fn capacity() -> f64 {
    (0..SERVERS).map(|number| WORKERS as f64 / mean(number).as_secs_f64()).sum()
}

/// Speeds are spread evenly.
fn mean(number: u32) -> Duration {
    FASTEST + FASTEST * (SPREAD - 1) * number / (SERVERS - 1)
}
