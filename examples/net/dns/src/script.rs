//! What happens to the servers and to the zone, and what is to come of it.

use std::net::{Ipv4Addr, SocketAddr};

use poise::core::policy::{PriorityFailover, WeightedRandom};
use poise::discovery::{Discovered, SourceReport};
use poise::tower::BoxError;
use stage::{Endpoint, Follower, Server, Tally, Teller, Traffic, balancer, eventually, follow};
use tokio::time::Instant;

use crate::named::{Named, ZONE};
use crate::pace::{self, Members};
use crate::resolve::Resolve;

/// For how many seconds the A records of `web` live.
const WEB_TTL: u32 = 1;
/// For how many seconds all records of `api` live.
const API_TTL: u32 = 3;
/// For how many seconds the name server is gone.
const OUTAGE: u32 = 10;

const PRIMARY: u16 = 10;
const STANDBY: u16 = 20;

/// Everything on stage: dropping it ends all of it.
pub(crate) struct Play {
    _followers: [Follower; 2],
    teller: Teller,
    named: Named,
    amber: Server,
    birch: Server,
    cedar: Server,
    /// The newcomer, once it is there.
    hazel: Option<Server>,
    dogwood: Server,
    elder: Server,
    fir: Server,
    web_members: Members,
    api_members: Members,
    web: Traffic,
    api: Traffic,
    start: Instant,
}

impl Play {
    pub(crate) async fn set() -> Result<Self, BoxError> {
        let teller = Teller::start();
        let named = Named::start().await?;
        teller.say(format_args!("named serves {ZONE} on {}", named.address()));

        let amber = Server::start("amber", loopback(11, 0))?;
        let port = amber.address().port();
        let birch = Server::start("birch", loopback(12, port))?;
        let cedar = Server::start("cedar", loopback(13, port))?;
        named.update(&[&amber, &birch, &cedar].map(add_to_web)).await?;
        teller.say(format_args!("web has A records: {amber}, {birch}, {cedar}"));

        let dogwood = Server::start("dogwood", loopback(21, 0))?;
        let elder = Server::start("elder", loopback(22, 0))?;
        let fir = Server::start("fir", loopback(23, 0))?;
        named.update(&[&dogwood, &elder, &fir].map(add_target)).await?;
        let services = [(&dogwood, PRIMARY, 3), (&elder, PRIMARY, 1), (&fir, STANDBY, 0)];
        named
            .update(&services.map(|(server, priority, weight)| add_to_api(server, priority, weight)))
            .await?;
        teller.say(format_args!("api has SRV records: {dogwood}, {elder} and, as standby, {fir}"));

        let resolve = Resolve::asking(named.address())?;
        let web_members = pace::keep({
            let resolve = resolve.clone();
            move || resolve.clone().addresses(format!("web.{ZONE}"), port)
        })?;
        let api_members = pace::keep(move || resolve.clone().services(format!("_api._tcp.{ZONE}")))?;
        let followers = [("web", &web_members), ("api", &api_members)]
            .map(|(name, members)| follow(teller, name, members.reader(), members.status().clone()));

        // What RFC 2782 wants: by weight within the priority that comes first.
        let policy = PriorityFailover::new(WeightedRandom::new());
        let web = balancer(teller, "web", web_members.reader().clone())?.spawn()?;
        let api = balancer(teller, "api", api_members.reader().clone())?.policy(policy).spawn()?;
        let (web, api) = (Traffic::start(teller, "web", web), Traffic::start(teller, "api", api));
        let start = Instant::now();
        let hazel = None;
        Ok(Self {
            _followers: followers,
            teller,
            named,
            amber,
            birch,
            cedar,
            hazel,
            dogwood,
            elder,
            fir,
            web_members,
            api_members,
            web,
            api,
            start,
        })
    }

    pub(crate) async fn run(mut self) -> Result<Tally, BoxError> {
        self.web.serves(self.amber.address()).await?;
        self.api.serves(self.dogwood.address()).await?;
        self.one_joins().await?;
        self.one_leaves().await?;
        self.one_dies().await?;
        self.weights_change().await?;
        self.the_standby_takes_over().await?;
        self.there_is_nobody().await?;
        self.the_name_server_is_gone().await?;
        tokio::try_join!(self.web.goes_on(2), self.api.goes_on(2))?;
        self.times_were_honoured()?;
        let (web, api) = (self.web.finish().await?, self.api.finish().await?);
        Ok([web, api].into_iter().sum())
    }

    async fn one_joins(&mut self) -> Result<(), BoxError> {
        let port = self.amber.address().port();
        let hazel = self.hazel.insert(Server::start("hazel", loopback(14, port))?);
        self.teller.say(format_args!("web: {hazel} is added to the zone"));
        self.named.update(&[add_to_web(hazel)]).await?;
        self.web.serves(hazel.address()).await
    }

    async fn one_leaves(&mut self) -> Result<(), BoxError> {
        let birch = self.birch.address();
        self.teller.say(format_args!("web: {} is taken from the zone", self.birch));
        // It drains for a while only, which may be over when a slow update returns: so it is watched from before.
        let removal = [format!("delete web.{ZONE} A {}", birch.ip())];
        tokio::try_join!(self.web.drained(birch), self.named.update(&removal))?;
        self.web.gone(birch).await?;
        self.birch.kill();
        self.teller.say("web: birch has finished what it had, and is shut down");
        Ok(())
    }

    async fn one_dies(&mut self) -> Result<(), BoxError> {
        self.cedar.kill();
        self.teller.say(format_args!("web: {} dies; the zone still has it", self.cedar));
        self.web.notices(self.cedar.address()).await?;
        self.web.goes_on(2).await?;
        self.cedar.restart().await?;
        self.teller.say("web: cedar is back on the same port");
        self.web.serves(self.cedar.address()).await
    }

    async fn weights_change(&mut self) -> Result<(), BoxError> {
        let (dogwood, elder) = (self.dogwood.address(), self.elder.address());
        let before = self.api_member(dogwood).ok_or("dogwood is no member")?;
        self.teller.say("api: dogwood and elder swap their weights");
        let changes = [
            delete_from_api(&self.dogwood, PRIMARY, 3),
            delete_from_api(&self.elder, PRIMARY, 1),
            add_to_api(&self.dogwood, PRIMARY, 1),
            add_to_api(&self.elder, PRIMARY, 3),
        ];
        self.named.update(&changes).await?;
        eventually("the weights are swapped", || {
            let [light, heavy] = [dogwood, elder].map(|key| self.api_member(key));
            light.zip(heavy).is_some_and(|(light, heavy)| {
                light.same_generation(&before) && light.attributes().weight() < heavy.attributes().weight()
            })
        })
        .await
    }

    async fn the_standby_takes_over(&mut self) -> Result<(), BoxError> {
        let fir = self.fir.address();
        if self.api.served_by(fir) > 0 {
            return Err("fir is standby, and served while the others could".into());
        }
        self.teller.say("api: dogwood and elder are taken from the zone, fir is left");
        let changes = [delete_from_api(&self.dogwood, PRIMARY, 1), delete_from_api(&self.elder, PRIMARY, 3)];
        self.named.update(&changes).await?;
        self.api.serves(fir).await?;
        self.api.gone(self.dogwood.address()).await?;
        self.teller.say("api: dogwood and elder return");
        let changes = [add_to_api(&self.dogwood, PRIMARY, 1), add_to_api(&self.elder, PRIMARY, 3)];
        self.named.update(&changes).await?;
        self.api.serves(self.dogwood.address()).await?;
        self.api.serves(self.elder.address()).await
    }

    async fn there_is_nobody(&mut self) -> Result<(), BoxError> {
        self.teller.say("web: all its records are taken from the zone: NXDOMAIN");
        self.named.update(&[format!("delete web.{ZONE}")]).await?;
        self.is_kept_off().await?;
        self.teller.say("web: it gets a record that is no address: NODATA");
        self.named.update(&[format!("add web.{ZONE} {WEB_TTL} TXT \"under construction\"")]).await?;
        self.is_kept_off().await?;
        self.web.goes_on(2).await?;
        self.teller.say("web: the addresses are back");
        let hazel = self.hazel.as_ref().ok_or("hazel has not joined")?;
        self.named.update(&[&self.amber, &self.cedar, hazel].map(add_to_web)).await?;
        eventually("the source is believed again", || !self.web_report().keeps_empty_off()).await?;
        self.web.goes_on(1).await
    }

    /// Waits until two more empty answers were kept off: the second was asked for after all that was done before.
    async fn is_kept_off(&self) -> Result<(), BoxError> {
        let before = self.web_report().empty_kept_off();
        eventually("empty answers are kept off", || self.web_report().empty_kept_off() >= before + 2).await
    }

    async fn the_name_server_is_gone(&mut self) -> Result<(), BoxError> {
        self.named.kill();
        self.teller.say(format_args!("named is killed, for {OUTAGE} s"));
        self.elder.kill();
        self.teller.say(format_args!("api: {} dies meanwhile, and nobody can say so", self.elder));
        tokio::try_join!(self.web.goes_on(OUTAGE), self.api.goes_on(OUTAGE))?;
        if self.web_report().errors_in_a_row() == 0 {
            return Err("named was killed, and still there are answers".into());
        }
        self.named.restart().await?;
        self.teller.say("named is back");
        self.elder.restart().await?;
        self.teller.say("api: elder is back on the same port");
        self.birch.restart().await?;
        self.teller.say(format_args!("web: {} is back, and in the zone again", self.birch));
        self.named.update(&[add_to_web(&self.birch)]).await?;
        self.web.serves(self.birch.address()).await?;
        self.api.serves(self.elder.address()).await
    }

    /// Nobody asks while an answer holds.
    fn times_were_honoured(&self) -> Result<(), BoxError> {
        let seconds = self.start.elapsed().as_secs();
        for (who, members, ttl) in [("web", &self.web_members, WEB_TTL), ("api", &self.api_members, API_TTL)]
        {
            let report = members.status().report();
            let answers = report.updates() + report.empty_kept_off();
            self.teller.say(format_args!("{who}: {answers} answers in {seconds} s, each good for {ttl} s"));
            if answers > seconds / u64::from(ttl) + 2 {
                return Err(format!("{who} was asked while its answer held").into());
            }
        }
        Ok(())
    }

    fn web_report(&self) -> SourceReport<hickory_resolver::net::NetError> {
        self.web_members.status().report()
    }

    fn api_member(&self, key: SocketAddr) -> Option<Discovered<SocketAddr, Endpoint>> {
        self.api_members.reader().load().get(&key).cloned()
    }
}

fn loopback(host: u8, port: u16) -> SocketAddr {
    (Ipv4Addr::new(127, 0, 0, host), port).into()
}

fn add_to_web(server: &Server) -> String {
    format!("add web.{ZONE} {WEB_TTL} A {}", server.address().ip())
}

fn add_target(server: &Server) -> String {
    format!("add {}.{ZONE} {API_TTL} A {}", server.name(), server.address().ip())
}

fn add_to_api(server: &Server, priority: u16, weight: u16) -> String {
    let service = service(server, priority, weight);
    format!("add _api._tcp.{ZONE} {API_TTL} SRV {service}")
}

fn delete_from_api(server: &Server, priority: u16, weight: u16) -> String {
    let service = service(server, priority, weight);
    format!("delete _api._tcp.{ZONE} SRV {service}")
}

fn service(server: &Server, priority: u16, weight: u16) -> String {
    format!("{priority} {weight} {} {}.{ZONE}", server.address().port(), server.name())
}
