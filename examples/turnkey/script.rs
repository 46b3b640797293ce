//! The script: what happens to the servers, and when.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use poise::prelude::*;
use poise::tower::MemberReport;
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::{Client, Request};
use crate::servers::{Mode, Server};

/// What discovery says of a server: its name, and its address as data.
pub(crate) type Servers = Directory<&'static str, Backend<&'static str, SocketAddr>>;

/// The servers, and the directory that names them.
#[derive(Debug)]
pub(crate) struct Stage {
    directory: Servers,
    amber: Server,
    birch: Server,
    cedar: Server,
    dogwood: Server,
    /// The newcomer, once it is there.
    elder: Option<Server>,
    start: Instant,
}

/// What the script leaves behind for the summary.
#[derive(Debug)]
pub(crate) struct Played {
    /// The one who left, as it was before it did.
    pub(crate) left: MemberReport,
    /// Who is to get traffic again, and the successes that it had when it recovered or joined.
    pub(crate) returned: Vec<(&'static str, u64)>,
}

impl Stage {
    pub(crate) fn set() -> Result<Self, Box<dyn Error>> {
        let stage = Self {
            directory: Directory::new(),
            amber: Server::start(Duration::from_millis(3))?,
            birch: Server::start(Duration::from_millis(4))?,
            cedar: Server::start(Duration::from_millis(5))?,
            dogwood: Server::start(Duration::from_millis(8))?,
            elder: None,
            start: Instant::now(),
        };
        Ok(stage)
    }

    /// Adds the servers with which it begins.
    pub(crate) fn open(&mut self) -> Result<&Servers, Box<dyn Error>> {
        for (name, server) in [
            ("amber", &self.amber),
            ("birch", &self.birch),
            ("cedar", &self.cedar),
            ("dogwood", &self.dogwood),
        ] {
            self.directory.upsert(name, Backend::new(name).with_data(server.address()))?;
        }
        self.start = Instant::now();
        self.say("amber, birch, cedar and dogwood serve");
        Ok(&self.directory)
    }

    /// Plays the script.
    pub(crate) async fn play(
        &mut self,
        balancer: &Balancer<Client, Request>,
    ) -> Result<Played, Box<dyn Error>> {
        let successes = |name| balancer.report().member(name).map_or(0, |member| member.successes);
        let mut returned = Vec::new();

        self.until(1.0).await;
        self.amber.turn(Mode::Failing);
        self.say("amber answers every request at once with 500");
        self.until(3.3).await;
        self.amber.turn(Mode::Healthy);
        returned.push(("amber", successes("amber")));
        self.say("amber has recovered");

        self.until(3.6).await;
        self.cedar.kill();
        self.say("cedar is killed, with all its connections");
        self.until(5.9).await;
        self.cedar.restart().await?;
        returned.push(("cedar", successes("cedar")));
        self.say("cedar is back on the same port");

        self.until(7.0).await;
        self.birch.turn(Mode::Hanging);
        self.say("birch accepts and never answers");
        self.until(10.2).await;
        self.birch.turn(Mode::Healthy);
        returned.push(("birch", successes("birch")));
        self.say("birch has recovered");

        self.until(12.0).await;
        self.directory.remove(&"dogwood")?;
        self.say("dogwood drains");
        let left = drained(balancer, "dogwood").await?;
        self.directory.finish_drain(&"dogwood")?;
        self.dogwood.kill();
        self.say("dogwood had nothing in flight any more, has left, and is shut down");

        self.until(13.0).await;
        let elder = self.elder.insert(Server::start(Duration::from_millis(4))?);
        self.directory.upsert("elder", Backend::new("elder").with_data(elder.address()))?;
        returned.push(("elder", 0));
        self.say("elder joins");
        Ok(Played { left, returned })
    }

    async fn until(&self, seconds: f64) {
        sleep_until(self.start + Duration::from_secs_f64(seconds)).await;
    }

    fn say(&self, what: &str) {
        println!("{:6.1} s  {what}", self.start.elapsed().as_secs_f64());
    }
}

/// Waits until a member that drains has nothing in flight any more, and returns its report.
async fn drained(balancer: &Balancer<Client, Request>, name: &str) -> Result<MemberReport, Box<dyn Error>> {
    for _ in 0..500 {
        sleep(Duration::from_millis(10)).await;
        let report = balancer.report();
        let member = report.member(name).ok_or("who drains is still a member")?;
        if member.exclusions.contains(poise::core::Exclusion::Draining) && member.in_flight == 0 {
            return Ok(member.clone());
        }
    }
    Err(format!("{name} does not come to an end").into())
}
