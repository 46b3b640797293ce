//! The pool behind the page: three servers, a balancer over them, and traffic.

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use poise::core::Backend;
use poise::discovery::Directory;
use poise::health::CircuitConfig;
use poise::tower::{Balancer, BoxError, MemberReport};
use serde_json::{Value, json};
use stage::{Client, Get, Teller, Traffic};
use tokio::sync::Mutex;

use crate::demo::Demo;

/// What a button does: the first two tell the balancer, the others happen to the server, and the balancer finds out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Drain,
    Restore,
    Slow,
    Hasten,
    Kill,
    Revive,
}

/// Dropping it ends the servers.
pub(crate) struct Pool {
    balancer: Balancer<Client, Get>,
    traffic: Traffic,
    demos: Mutex<Vec<Demo>>,
    _directory: Directory<&'static str, Backend<SocketAddr>>,
}

impl Pool {
    pub(crate) fn start() -> Result<Self, BoxError> {
        let teller = Teller::start();
        let mut directory = Directory::new();
        let mut demos = Vec::new();
        for name in ["amber", "birch", "cedar"] {
            let demo = Demo::start(name)?;
            directory.upsert(name, Backend::new(demo.address()))?;
            demos.push(demo);
        }
        let balancer = stage::balancer(teller, "pool", directory.reader())?;
        // Whoever has failed is asked less often, so that a longer row of failures would try the patience of who looks on.
        let circuit = CircuitConfig::new(2, Duration::from_secs(2))?;
        let balancer = balancer.circuit(circuit).spawn()?;
        let traffic = Traffic::endless(teller, "pool", balancer.clone());
        Ok(Self { balancer, traffic, demos: Mutex::new(demos), _directory: directory })
    }

    /// Does what a button says, and returns whether there is such a server.
    pub(crate) async fn act(&self, name: &str, action: Action) -> Result<bool, BoxError> {
        let mut demos = self.demos.lock().await;
        let Some(demo) = demos.iter_mut().find(|demo| demo.name() == name) else { return Ok(false) };
        match action {
            Action::Drain => self.balancer.drain(name)?,
            Action::Restore => self.balancer.restore(name)?,
            Action::Slow => demo.set_slow(true),
            Action::Hasten => demo.set_slow(false),
            Action::Kill => demo.kill(),
            Action::Revive => demo.revive().await?,
        }
        Ok(true)
    }

    /// Returns what the page shows.
    pub(crate) async fn report(&self) -> Value {
        let demos = self.demos.lock().await;
        let (report, tally) = (self.balancer.report(), self.traffic.tally());
        let members = report.members.iter().map(|member| {
            let demo = demos.iter().find(|demo| demo.name() == &*member.endpoint);
            row(member, demo)
        });
        json!({
            "requests": tally.requests,
            "failed": tally.failed,
            "eligible": report.eligible(),
            "members": members.collect::<Vec<_>>(),
        })
    }
}

fn row(member: &MemberReport, demo: Option<&Demo>) -> Value {
    let millis = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1_000.0);
    json!({
        "name": &*member.endpoint,
        "address": demo.map(|demo| demo.address().to_string()),
        "server": demo.map(|demo| demo.condition().to_string()),
        "state": member.state(),
        "exclusions": member.exclusions.iter().map(|reason| reason.to_string()).collect::<Vec<_>>(),
        "since_seconds": member.since.as_secs_f64(),
        "in_flight": member.in_flight,
        "picks": member.picks,
        "successes": member.successes,
        "failures": member.failures + member.overloads,
        "p50_ms": millis(member.p50),
        "p99_ms": millis(member.p99),
        "circuit": member.circuit.map(|circuit| circuit.to_string()),
        "trips": member.trips,
    })
}

impl FromStr for Action {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "drain" => Self::Drain,
            "restore" => Self::Restore,
            "slow" => Self::Slow,
            "hasten" => Self::Hasten,
            "kill" => Self::Kill,
            "revive" => Self::Revive,
            _ => return Err(()),
        })
    }
}
