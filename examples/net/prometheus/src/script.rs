//! What happens to the servers, and what the scrapes are to say of it.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use poise::core::Backend;
use poise::core::policy::RoundRobin;
use poise::discovery::Directory;
use poise::tower::{Balancer, BoxError, MemberReport};
use reqwest::Url;
use stage::{Client, Get, Server, Tally, Teller, Traffic, balancer, free_ports};
use tokio::time::{Duration, Instant, sleep};

use crate::exporter;
use crate::scrape::Scrape;

const ATTEMPTS: &str = "poise_attempts_total";
const DURATIONS: &str = "poise_attempt_duration_seconds_count";
const PICKS: &str = "poise_picks_total";
const RETRIES: &str = "poise_retries_total";
const CIRCUITS: &str = "poise_circuit_transitions_total";
const MEMBERS: &str = "poise_members";
/// All that a scrape has of poise once there was traffic.
const NAMES: [&str; 19] = [
    ATTEMPTS,
    "poise_attempt_duration_seconds_bucket",
    DURATIONS,
    "poise_attempt_duration_seconds_sum",
    PICKS,
    "poise_exclusions_total",
    "poise_readiness_failures_total",
    RETRIES,
    "poise_hedges_total",
    CIRCUITS,
    "poise_outlier_transitions_total",
    "poise_probe_verdicts_total",
    "poise_panic_transitions_total",
    "poise_balancers_in_panic",
    "poise_memberships_total",
    MEMBERS,
    "poise_fail_fast_transitions_total",
    "poise_balancers_failing_fast",
    "poise_panics_total",
];
/// All labels that there are, `le` being the bound of a bucket.
const LABELS: [&str; 7] = ["phase", "outcome", "result", "reason", "to", "state", "le"];
/// How long a balancer that was dropped may take to close.
const CLOSING: Duration = Duration::from_secs(15);

/// Everything on stage: dropping it ends all of it.
pub(crate) struct Play {
    teller: Teller,
    amber: Server,
    others: [Server; 2],
    _directory: Directory<&'static str, Backend<SocketAddr>>,
    balancer: Balancer<Client, Get>,
    traffic: Traffic,
    scraper: Scraper,
}

impl Play {
    pub(crate) fn set() -> Result<Self, BoxError> {
        let teller = Teller::start();
        let [port] = free_ports()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let observer = exporter::install(address)?;
        let scraper = Scraper::of(address)?;
        teller.say(format_args!("the exporter serves {}", scraper.url));

        let [amber, birch, cedar] = [start("amber")?, start("birch")?, start("cedar")?];
        let mut directory = Directory::new();
        for server in [&amber, &birch, &cedar] {
            directory.upsert(server.name(), Backend::new(server.address()))?;
        }
        // Who takes turns goes on asking one that has died until its circuit opens.
        let balancer = balancer(teller, "pool", directory.reader())?;
        let balancer = balancer.policy(RoundRobin::new()).observe(observer).spawn()?;
        let traffic = Traffic::start(teller, "pool", balancer.clone());
        teller.say(format_args!("{amber}, {birch} and {cedar} serve"));
        let others = [birch, cedar];
        Ok(Self { teller, amber, others, _directory: directory, balancer, traffic, scraper })
    }

    pub(crate) async fn run(mut self) -> Result<Tally, BoxError> {
        let amber = self.amber.name();
        self.traffic.goes_on(2).await?;
        let early = self.scraper.scrape().await?;
        self.amber.kill();
        self.teller.say(format_args!("{amber} dies"));
        self.traffic.notices(amber).await?;
        self.traffic.goes_on(2).await?;
        let late = self.scraper.scrape().await?;
        let success = [("outcome", "success")];
        let (before, after) = (early.count(ATTEMPTS, &success)?, late.count(ATTEMPTS, &success)?);
        check("successes grow between scrapes", 0 < before && before < after)?;
        equal("failures before", early.count(ATTEMPTS, &[("outcome", "failure")])?, 0)?;
        self.amber.restart().await?;
        self.teller.say(format_args!("{amber} is back on the same port"));
        self.traffic.serves(amber).await?;
        self.traffic.goes_on(1).await?;

        let Self { teller, amber, others, balancer, traffic, scraper, .. } = self;
        let tally = traffic.finish().await?;
        let last = scraper.scrape().await?;
        println!("{last}");
        counts_match(&last, tally, &balancer)?;
        named_by_convention(&last)?;
        no_endpoint_is_named(&last, &[&amber, &others[0], &others[1]])?;
        check("traffic makes no series", last.samples().len() == late.samples().len())?;
        teller.say("the scrape says what was sent, and names nobody");

        drop(balancer);
        scraper.members_are_gone().await?;
        teller.say("the balancer is dropped, and its members are gone from the gauge");
        Ok(tally)
    }
}

/// Scrapes as Prometheus would.
struct Scraper {
    client: reqwest::Client,
    url: Url,
}

impl Scraper {
    fn of(address: SocketAddr) -> Result<Self, BoxError> {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        Ok(Self { client, url: Url::parse(&format!("http://{address}/metrics"))? })
    }

    async fn scrape(&self) -> Result<Scrape, BoxError> {
        Scrape::get(&self.client, self.url.clone()).await
    }

    async fn members_are_gone(&self) -> Result<(), BoxError> {
        let until = Instant::now() + CLOSING;
        while self.scrape().await?.count(MEMBERS, &[])? > 0 {
            check("members leave the gauge with their balancer", Instant::now() < until)?;
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

/// Every request is an attempt, and every retry one more; all of them are picks, have their time taken, and are in the report.
fn counts_match(scrape: &Scrape, sent: Tally, balancer: &Balancer<Client, Get>) -> Result<(), BoxError> {
    let retries = scrape.count(RETRIES, &[("result", "granted")])?;
    let attempts = sent.requests + retries;
    let succeeded = sent.requests - sent.failed;
    equal("attempts", scrape.count(ATTEMPTS, &[])?, attempts)?;
    equal("times of attempts", scrape.count(DURATIONS, &[])?, attempts)?;
    equal("picks", scrape.count(PICKS, &[("result", "selected")])?, attempts)?;
    let success = [("outcome", "success")];
    equal("attempts that succeeded", scrape.count(ATTEMPTS, &success)?, succeeded)?;
    equal("times of attempts that succeeded", scrape.count(DURATIONS, &success)?, succeeded)?;

    let members = balancer.report().members;
    let reported = |count: fn(&MemberReport) -> u64| members.iter().map(count).sum::<u64>();
    equal("picks in the report", reported(|member| member.picks), attempts)?;
    equal("successes in the report", reported(|member| member.successes), succeeded)?;
    let failures = scrape.count(ATTEMPTS, &[("outcome", "failure")])?;
    equal("failures in the report", reported(|member| member.failures), failures)?;
    let trips = scrape.count(CIRCUITS, &[("to", "open")])?;
    equal("trips in the report", reported(|member| member.trips), trips)?;

    check("a dead server makes failures and retries", failures > 0 && retries > 0)?;
    check("its circuit opens", trips > 0)?;
    equal("circuits that close", scrape.count(CIRCUITS, &[("to", "closed")])?, 1)?;
    equal("members", scrape.count(MEMBERS, &[("state", "built")])?, 3)?;
    equal("members that could not be built", scrape.count(MEMBERS, &[("state", "unbuilt")])?, 0)?;
    equal("contained panics", scrape.count("poise_panics_total", &[])?, 0)
}

fn named_by_convention(scrape: &Scrape) -> Result<(), BoxError> {
    let (found, expected) = (scrape.names(), BTreeSet::from(NAMES));
    if found == expected {
        return Ok(());
    }
    let (more, missing) = (found.difference(&expected), expected.difference(&found));
    Err(format!("unexpected names: {more:?}; missing ones: {missing:?}").into())
}

fn no_endpoint_is_named(scrape: &Scrape, servers: &[&Server]) -> Result<(), BoxError> {
    for (label, value) in scrape.samples().iter().flat_map(|sample| &sample.labels) {
        check(&format!("the label {label} is known"), LABELS.contains(&&**label))?;
        let names = |server: &&Server| {
            value.contains(server.name()) || value.contains(&server.address().port().to_string())
        };
        if let Some(server) = servers.iter().copied().find(names) {
            return Err(format!("{label}=\"{value}\" names {server}").into());
        }
    }
    Ok(())
}

fn check(what: &str, holds: bool) -> Result<(), BoxError> {
    if holds { Ok(()) } else { Err(format!("it does not hold: {what}").into()) }
}

fn equal(what: &str, scraped: u64, expected: u64) -> Result<(), BoxError> {
    if scraped == expected { Ok(()) } else { Err(format!("{what}: {scraped}, and not {expected}").into()) }
}

fn start(name: &'static str) -> io::Result<Server> {
    Server::start(name, (Ipv4Addr::LOCALHOST, 0).into())
}
