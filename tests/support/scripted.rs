//! Services that do what a test tells them.

use std::collections::HashMap;
use std::future::{pending, ready};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tower::Service;

/// What a service does with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Answers,
    Fails,
    Hangs,
    Unready,
}

/// What the services of a test do, and how often they were asked to.
#[derive(Clone, Default)]
pub(crate) struct Script {
    modes: Arc<Mutex<HashMap<u32, Mode>>>,
    calls: Arc<Mutex<HashMap<u32, u64>>>,
}

impl Script {
    pub(crate) fn new(modes: &[(u32, Mode)]) -> Self {
        Self { modes: Arc::new(Mutex::new(modes.iter().copied().collect())), ..Self::default() }
    }

    pub(crate) fn set(&self, key: u32, mode: Mode) {
        self.modes.lock().unwrap().insert(key, mode);
    }

    pub(crate) fn calls(&self, key: u32) -> u64 {
        self.calls.lock().unwrap().get(&key).copied().unwrap_or(0)
    }

    pub(crate) fn service(&self, key: u32) -> Scripted {
        Scripted { key, script: self.clone() }
    }

    fn mode(&self, key: u32) -> Mode {
        self.modes.lock().unwrap().get(&key).copied().unwrap_or(Mode::Answers)
    }
}

#[derive(Clone)]
pub(crate) struct Scripted {
    key: u32,
    script: Script,
}

impl Service<()> for Scripted {
    type Response = u32;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<u32>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(match self.script.mode(self.key) {
            Mode::Unready => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => Ok(()),
        })
    }

    fn call(&mut self, (): ()) -> Self::Future {
        *self.script.calls.lock().unwrap().entry(self.key).or_default() += 1;
        match self.script.mode(self.key) {
            Mode::Hangs => Box::pin(pending()),
            Mode::Answers => Box::pin(ready(Ok(self.key))),
            _ => Box::pin(ready(Err(io::ErrorKind::ConnectionReset.into()))),
        }
    }
}
