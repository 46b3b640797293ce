//! What happens to the servers and to etcd, and what is to come of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use poise::discovery::{Directory, Intake, SnapshotReader, SourcePolicy, SourceStatus, drive};
use poise::tokio::TokioTimer;
use poise::tower::BoxError;
use stage::{Endpoint, Follower, Server, Tally, Teller, Traffic, balancer, eventually, follow};
use tokio::sync::watch;

use crate::etcd::Etcd;
use crate::register::{self, LEASE, State};
use crate::source::{WatchError, updates};

/// For how many seconds etcd is gone.
const OUTAGE: u32 = 10;
/// How long who has left still finishes what it has.
const DRAIN: Duration = Duration::from_secs(2);

/// A server, and what it says of itself.
struct Registered {
    server: Server,
    state: watch::Sender<State>,
}

impl Registered {
    fn start(name: &'static str, etcd: SocketAddr) -> io::Result<Self> {
        let (state, said) = watch::channel(State::Serving);
        let at = (Ipv4Addr::LOCALHOST, 0).into();
        let server =
            Server::start_with(name, at, move |server| register::stay(etcd, name, server, said.clone()))?;
        Ok(Self { server, state })
    }

    fn name(&self) -> &'static str {
        self.server.name()
    }
}

/// Everything on stage: dropping it ends all of it.
pub(crate) struct Play {
    _follower: Follower,
    teller: Teller,
    etcd: Etcd,
    amber: Registered,
    birch: Registered,
    cedar: Registered,
    /// The newcomer, once it is there.
    dogwood: Option<Registered>,
    members: SnapshotReader<String, Endpoint>,
    status: SourceStatus<WatchError>,
    traffic: Traffic,
}

impl Play {
    pub(crate) async fn set() -> Result<Self, BoxError> {
        let teller = Teller::start();
        let etcd = Etcd::start().await?;
        let address = etcd.address();
        teller.say(format_args!("etcd serves on {address}"));

        let amber = Registered::start("amber", address)?;
        let birch = Registered::start("birch", address)?;
        let cedar = Registered::start("cedar", address)?;
        teller.say(format_args!(
            "{}, {} and {} register, with leases of {LEASE} s",
            amber.server, birch.server, cedar.server
        ));

        let directory = Directory::new();
        let members = directory.reader();
        let policy = SourcePolicy::default().with_drain(DRAIN);
        let intake = Intake::new(directory, policy, Endpoint::is_same_endpoint);
        let status = intake.status();
        let follower = follow(teller, "etcd", &members, status.clone());
        tokio::spawn(drive(intake, updates(address), TokioTimer));
        eventually("all have registered", || members.load().len() == 3).await?;

        let balancer = balancer(teller, "etcd", members.clone())?.spawn()?;
        let traffic = Traffic::start(teller, "etcd", balancer);
        let dogwood = None;
        Ok(Self { _follower: follower, teller, etcd, amber, birch, cedar, dogwood, members, status, traffic })
    }

    pub(crate) async fn run(mut self) -> Result<Tally, BoxError> {
        for server in [&self.amber, &self.birch, &self.cedar] {
            self.traffic.serves(server.name()).await?;
        }
        self.one_joins().await?;
        self.one_leaves().await?;
        self.one_dies().await?;
        self.etcd_is_gone().await?;
        self.traffic.goes_on(2).await?;
        self.traffic.finish().await
    }

    async fn one_joins(&mut self) -> Result<(), BoxError> {
        let dogwood = self.dogwood.insert(Registered::start("dogwood", self.etcd.address())?);
        self.teller.say(format_args!("{} registers", dogwood.server));
        self.traffic.serves(dogwood.name()).await
    }

    async fn one_leaves(&mut self) -> Result<(), BoxError> {
        let name = self.birch.name();
        self.birch.state.send_replace(State::Draining);
        self.teller.say(format_args!("{name} says that it drains"));
        self.traffic.drained(name).await?;
        self.birch.state.send_replace(State::Left);
        self.teller.say(format_args!("{name} has finished what it had, and gives its lease back"));
        self.traffic.gone(name).await?;
        self.birch.server.kill();
        self.teller.say(format_args!("{name} is shut down"));
        Ok(())
    }

    async fn one_dies(&mut self) -> Result<(), BoxError> {
        let name = self.cedar.name();
        self.cedar.server.kill();
        self.teller.say(format_args!("{name} dies; its lease goes on for {LEASE} s at most"));
        self.traffic.drained(name).await?;
        self.teller.say(format_args!("{name} has left by itself: its lease has ended"));
        self.traffic.gone(name).await?;
        self.cedar.server.restart().await?;
        self.teller.say(format_args!("{name} is back, and registers anew"));
        self.traffic.serves(name).await
    }

    async fn etcd_is_gone(&mut self) -> Result<(), BoxError> {
        let before = self.members.load();
        self.etcd.kill();
        self.teller.say(format_args!("etcd is killed, for {OUTAGE} s"));
        let dead = self.amber.name();
        self.amber.server.kill();
        self.teller.say(format_args!("{dead} dies meanwhile, and nobody can say so"));
        self.traffic.goes_on(OUTAGE).await?;
        if self.status.report().errors_in_a_row() == 0 {
            return Err("etcd was killed, and still there are answers".into());
        }
        if self.members.load().revision() != before.revision() {
            return Err("etcd was killed, and the members have changed".into());
        }
        self.etcd.restart().await?;
        self.teller.say("etcd is back");
        eventually("the watch has started anew", || self.status.report().is_synced()).await?;
        self.teller.say("the watch has started anew, with a full set");
        self.traffic.gone(dead).await?;
        for kept in [self.cedar.name(), "dogwood"] {
            let [then, now] =
                [&before, &self.members.load()].map(|members| members.get(&kept.into()).cloned());
            if !then.zip(now).is_some_and(|(then, now)| then.same_generation(&now)) {
                return Err(format!("{kept} stayed, and was made anew").into());
            }
        }
        self.teller.say(format_args!("{dead} has left by itself; the others are as they were"));
        self.amber.server.restart().await?;
        self.teller.say(format_args!("{dead} is back, and registers anew"));
        self.traffic.serves(dead).await
    }
}
