//! A server to play with.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use stage::Server;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// How long an answer takes.
const QUICK: Duration = Duration::from_millis(5);
/// How long an answer of a slow server takes.
pub(crate) const SLOW: Duration = Duration::from_millis(250);

/// Answers with its name, quickly or slowly, or is dead.
#[derive(Debug)]
pub(crate) struct Demo {
    server: Server,
    is_slow: Arc<AtomicBool>,
    is_alive: bool,
}

/// How a server is, which a balancer can only find out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    Well,
    Slow,
    Dead,
}

impl Demo {
    pub(crate) fn start(name: &'static str) -> io::Result<Self> {
        let is_slow = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&is_slow);
        let server = Server::start_serving(name, (Ipv4Addr::LOCALHOST, 0).into(), move |listener| {
            answer(name, listener, Arc::clone(&asked))
        })?;
        Ok(Self { server, is_slow, is_alive: true })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.server.name()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn condition(&self) -> Condition {
        match (self.is_alive, self.is_slow.load(Ordering::Relaxed)) {
            (false, _) => Condition::Dead,
            (true, true) => Condition::Slow,
            (true, false) => Condition::Well,
        }
    }

    pub(crate) fn set_slow(&self, is_slow: bool) {
        self.is_slow.store(is_slow, Ordering::Relaxed);
    }

    pub(crate) fn kill(&mut self) {
        self.server.kill();
        self.is_alive = false;
    }

    pub(crate) async fn revive(&mut self) -> io::Result<()> {
        if !self.is_alive {
            self.server.restart().await?;
            self.is_alive = true;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Well => "well",
            Self::Slow => "slow",
            Self::Dead => "dead",
        })
    }
}

async fn answer(name: &'static str, listener: TcpListener, is_slow: Arc<AtomicBool>) {
    let router = Router::new().fallback(move || {
        let latency = if is_slow.load(Ordering::Relaxed) { SLOW } else { QUICK };
        async move {
            sleep(latency).await;
            name
        }
    });
    // It serves until the server dies around it.
    let _ = axum::serve(listener, router).await;
}
