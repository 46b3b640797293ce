//! A service that does what a test says.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tower_service::Service;

/// Says what `poll_ready` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    Pending,
    Failing,
}

/// Directs all services of one endpoint, and counts what happens to them.
#[derive(Clone, Debug)]
pub(crate) struct Script(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: &'static str,
    scene: Mutex<Scene>,
    calls: AtomicUsize,
    under_way: AtomicUsize,
    readiness_errors: AtomicUsize,
    polls: AtomicUsize,
    live: AtomicUsize,
    built: AtomicUsize,
}

#[derive(Debug)]
struct Scene {
    readiness: Readiness,
    /// `None` never answers.
    latency: Option<Duration>,
    refuses: bool,
    wakers: Vec<Waker>,
}

impl Script {
    pub(crate) fn new(name: &'static str) -> Self {
        let scene = Scene {
            readiness: Readiness::Ready,
            latency: Some(Duration::ZERO),
            refuses: false,
            wakers: Vec::new(),
        };
        Self(Arc::new(Shared {
            name,
            scene: Mutex::new(scene),
            calls: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            readiness_errors: AtomicUsize::new(0),
            polls: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            built: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.0.name
    }

    pub(crate) fn service(&self) -> Fake {
        self.0.built.fetch_add(1, SeqCst);
        Fake::new(Arc::clone(&self.0))
    }

    /// Changes what `poll_ready` answers, and wakes whoever waits for it.
    pub(crate) fn turn(&self, readiness: Readiness) {
        let wakers = {
            let mut scene = self.0.scene.lock().unwrap();
            scene.readiness = readiness;
            std::mem::take(&mut scene.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn readiness(&self) -> Readiness {
        self.0.scene.lock().unwrap().readiness
    }

    pub(crate) fn answer_after(&self, latency: Duration) {
        self.0.scene.lock().unwrap().latency = Some(latency);
    }

    pub(crate) fn hang(&self) {
        self.0.scene.lock().unwrap().latency = None;
    }

    /// Has calls fail, at once or after the latency, while `poll_ready` goes on as before.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.0.scene.lock().unwrap().refuses = refuses;
    }

    /// Counts how often services were asked whether they are ready.
    pub(crate) fn polls(&self) -> usize {
        self.0.polls.load(SeqCst)
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(SeqCst)
    }

    /// Counts the calls that have neither been answered nor dropped.
    pub(crate) fn under_way(&self) -> usize {
        self.0.under_way.load(SeqCst)
    }

    pub(crate) fn readiness_errors(&self) -> usize {
        self.0.readiness_errors.load(SeqCst)
    }

    /// Counts the services that exist, clones included.
    pub(crate) fn live(&self) -> usize {
        self.0.live.load(SeqCst)
    }

    /// Counts the services that were made, clones not included.
    pub(crate) fn built(&self) -> usize {
        self.0.built.load(SeqCst)
    }
}

/// Shows who answered what.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<R> {
    pub(crate) by: &'static str,
    pub(crate) request: R,
}

/// Refuses a request, or to become ready.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection refused")
    }
}

impl Error for Refused {}

#[derive(Debug)]
pub(crate) struct Fake(Arc<Shared>);

impl Fake {
    fn new(shared: Arc<Shared>) -> Self {
        shared.live.fetch_add(1, SeqCst);
        Self(shared)
    }
}

impl Clone for Fake {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, SeqCst);
    }
}

/// Counts a call as under way.
struct UnderWay(Arc<Shared>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, SeqCst);
    }
}

impl<R: Send + 'static> Service<R> for Fake {
    type Response = Answer<R>;
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Answer<R>, Refused>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Refused>> {
        self.0.polls.fetch_add(1, SeqCst);
        let mut scene = self.0.scene.lock().unwrap();
        match scene.readiness {
            Readiness::Ready => Poll::Ready(Ok(())),
            Readiness::Failing => {
                self.0.readiness_errors.fetch_add(1, SeqCst);
                Poll::Ready(Err(Refused))
            }
            Readiness::Pending => {
                scene.wakers.push(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn call(&mut self, request: R) -> Self::Future {
        self.0.calls.fetch_add(1, SeqCst);
        self.0.under_way.fetch_add(1, SeqCst);
        let under_way = UnderWay(Arc::clone(&self.0));
        let (latency, refuses) = {
            let scene = self.0.scene.lock().unwrap();
            (scene.latency, scene.refuses)
        };
        Box::pin(async move {
            match latency {
                Some(Duration::ZERO) => {}
                Some(latency) => tokio::time::sleep(latency).await,
                None => std::future::pending().await,
            }
            if refuses { Err(Refused) } else { Ok(Answer { by: under_way.0.name, request }) }
        })
    }
}
