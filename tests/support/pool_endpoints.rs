//! Endpoints that do what a test says, and how often each was called.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use poise::core::{Backend, PeakEwma, StableHasher};
use poise::discovery::{Change, Directory};
use poise::tower::{Balancer, Builder, Member, NoContext, Report};
use tower::Service;

/// What an endpoint does with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// Answers well, after this time.
    Answers(Duration),
    /// Answers after this time that it could not do what it was asked.
    AnswersBadly(Duration),
    /// Fails after this time.
    Fails(Duration),
    /// Fails one request in so many, in turn, and answers the others well, at once.
    FailsOneIn(u64),
    /// Fails so many of a hundred requests by chance, and answers the others well, at once.
    FailsAtRandom {
        percent: u64,
        seed: u64,
    },
    /// Never answers.
    Hangs,
    PanicsInClone,
    PanicsInReadiness,
    PanicsInCall,
    PanicsInFuture,
}

impl Manner {
    /// Says what it does with the request of this number.
    fn at(self, name: &str, number: u64) -> Self {
        let fails = match self {
            Self::FailsOneIn(requests) => number.is_multiple_of(requests),
            Self::FailsAtRandom { percent, seed } => {
                let mut hasher = StableHasher::with_seed(seed);
                (name, number).hash(&mut hasher);
                hasher.finish() % 100 < percent
            }
            other => return other,
        };
        if fails { Self::Fails(Duration::ZERO) } else { Self::Answers(Duration::ZERO) }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) by: &'static str,
    pub(crate) is_good: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

impl Error for Refused {}

#[derive(Debug)]
struct Script {
    manner: Mutex<Manner>,
    calls: AtomicU64,
}

impl Script {
    fn new(manner: Manner) -> Arc<Self> {
        Arc::new(Self { manner: Mutex::new(manner), calls: AtomicU64::new(0) })
    }
}

/// The service of one endpoint.
#[derive(Debug)]
pub(crate) struct Endpoint {
    name: &'static str,
    script: Arc<Script>,
}

impl Endpoint {
    fn manner(&self) -> Manner {
        *self.script.manner.lock().unwrap()
    }
}

impl Clone for Endpoint {
    fn clone(&self) -> Self {
        assert!(!matches!(self.manner(), Manner::PanicsInClone), "told to panic");
        Self { name: self.name, script: Arc::clone(&self.script) }
    }
}

impl Service<u64> for Endpoint {
    type Response = Answer;
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Refused>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refused>> {
        assert!(!matches!(self.manner(), Manner::PanicsInReadiness), "told to panic");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u64) -> Self::Future {
        let (by, manner) = (self.name, self.manner());
        let number = self.script.calls.fetch_add(1, Ordering::Relaxed);
        let manner = manner.at(by, number);
        assert!(!matches!(manner, Manner::PanicsInCall), "told to panic");
        Box::pin(async move {
            match manner {
                Manner::Answers(after) | Manner::AnswersBadly(after) | Manner::Fails(after)
                    if !after.is_zero() =>
                {
                    tokio::time::sleep(after).await;
                }
                _ => {}
            }
            match manner {
                Manner::Answers(_) => Ok(Answer { by, is_good: true }),
                Manner::AnswersBadly(_) => Ok(Answer { by, is_good: false }),
                Manner::Fails(_) => Err(Refused),
                Manner::Hangs => std::future::pending().await,
                _ => panic!("told to panic"),
            }
        })
    }
}

pub(crate) type Pool = Balancer<Endpoint, u64>;
/// What a policy sees of a member.
pub(crate) type Seen = Member<&'static str, Backend<&'static str>, Endpoint, u64, PeakEwma>;
pub(crate) type Plain<P> =
    Builder<&'static str, Backend<&'static str>, Endpoint, u64, PeakEwma, P, NoContext>;

/// A membership whose endpoints are told what to do.
pub(crate) struct Cast {
    pub(crate) directory: Directory<&'static str, Backend<&'static str>>,
    scripts: Scripts,
}

type Scripts = Arc<Mutex<Vec<(&'static str, Arc<Script>)>>>;

impl Cast {
    /// Makes a membership of these, who all behave alike.
    pub(crate) fn new(names: &[&'static str], manner: Manner) -> Self {
        let mut directory = Directory::new();
        directory.apply(names.iter().map(|name| Change::upsert(*name, Backend::new(*name)))).unwrap();
        let scripts = names.iter().map(|name| (*name, Script::new(manner))).collect();
        Self { directory, scripts: Arc::new(Mutex::new(scripts)) }
    }

    /// Adds a member.
    pub(crate) fn add(&mut self, name: &'static str, manner: Manner) {
        self.scripts.lock().unwrap().push((name, Script::new(manner)));
        self.directory.upsert(name, Backend::new(name)).unwrap();
    }

    /// Gives a member a new allocation, whose service does as the old one.
    pub(crate) fn replace(&mut self, name: &'static str) {
        self.directory.upsert(name, Backend::new(name)).unwrap();
    }

    fn script(&self, name: &str) -> Arc<Script> {
        script_of(&self.scripts, name)
    }

    pub(crate) fn tell(&self, name: &str, manner: Manner) {
        *self.script(name).manner.lock().unwrap() = manner;
    }

    pub(crate) fn tell_all(&self, manner: Manner) {
        for (_, script) in self.scripts.lock().unwrap().iter() {
            *script.manner.lock().unwrap() = manner;
        }
    }

    pub(crate) fn calls(&self, name: &str) -> u64 {
        self.script(name).calls.load(Ordering::Relaxed)
    }

    pub(crate) fn all_calls(&self) -> u64 {
        let scripts = self.scripts.lock().unwrap();
        scripts.iter().map(|(_, script)| script.calls.load(Ordering::Relaxed)).sum()
    }

    /// Returns the part of all calls that went to `name`.
    pub(crate) fn share(&self, name: &str) -> f64 {
        self.calls(name) as f64 / self.all_calls() as f64
    }

    /// Returns the service of the member with this key.
    pub(crate) fn services(
        &self,
    ) -> impl Fn(&&'static str, &Backend<&'static str>) -> Endpoint + Send + 'static {
        let scripts = Arc::clone(&self.scripts);
        move |name, _| Endpoint { name, script: script_of(&scripts, name) }
    }

    /// Starts a balancer over these, with the defaults.
    pub(crate) fn builder(&self) -> Plain<poise::core::policy::PowerOfTwoChoices> {
        Balancer::builder().discover(self.directory.reader(), self.services())
    }
}

fn script_of(scripts: &Scripts, name: &str) -> Arc<Script> {
    Arc::clone(&scripts.lock().unwrap().iter().find(|(of, _)| *of == name).unwrap().1)
}

/// Returns the attempts that are under way, by the count of everybody.
pub(crate) fn in_flight(report: &Report) -> u64 {
    report.members.iter().map(|member| member.in_flight).sum()
}
