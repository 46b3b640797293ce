//! Presses the buttons over HTTP, as the page does, and looks whether the report follows.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use poise::tower::BoxError;
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use stage::{Tally, Teller};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::demo::SLOW;
use crate::pool::Pool;
use crate::web;

/// How long something may take that is to come.
const PATIENCE: Duration = Duration::from_secs(20);
/// For how long traffic is watched.
const WINDOW: Duration = Duration::from_secs(1);

/// Serves the page and plays with it; what it returns is what the page says of the clients.
pub(crate) async fn run() -> Result<Tally, BoxError> {
    let teller = Teller::start();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let page = Page::at(listener.local_addr()?)?;
    let router = web::router(Arc::new(Pool::start()?));
    tokio::select! {
        served = axum::serve(listener, router) => Err(format!("the page has ended: {served:?}").into()),
        played = play(teller, &page) => played,
    }
}

async fn play(teller: Teller, page: &Page) -> Result<Tally, BoxError> {
    page.is_there().await?;
    page.comes("all three serve", |report| {
        report.members.len() == 3
            && report.members.iter().all(|member| member.is_well() && member.successes > 0)
    })
    .await?;
    teller.say("the page is there, and all three serve");

    page.press("amber", "drain").await?;
    let drained = page.comes_to("amber", |amber| amber.is_excluded_by("draining") && amber.in_flight == 0);
    let drained = drained.await?;
    demand("draining is all that excludes amber", drained.state == "excluded: draining")?;
    page.serves_without("amber").await?;
    teller.say(format_args!("amber, drained, is {}: it gets nothing, the others serve", drained.state));
    page.press("amber", "restore").await?;
    page.serves_again(&drained).await?;
    teller.say("amber, restored, serves again");

    page.press("birch", "slow").await?;
    page.comes_to("birch", |birch| birch.server == "slow" && birch.p99 >= SLOW / 2).await?;
    page.is_spared("birch").await?;
    page.press("birch", "hasten").await?;
    page.comes_to("birch", |birch| birch.server == "well").await?;
    teller.say("birch, slow, got less than the others");

    page.press("cedar", "kill").await?;
    let dead = page.comes_to("cedar", |cedar| cedar.is_excluded_by("circuit") && cedar.failures > 0).await?;
    demand("cedar is dead, and its circuit has opened", dead.server == "dead" && dead.trips > 0)?;
    page.serves_without("cedar").await?;
    teller.say(format_args!("cedar, killed, is {}: the others serve", dead.state));
    page.press("cedar", "revive").await?;
    page.serves_again(&dead).await?;
    teller.say("cedar, revived, serves again");

    page.refuses_nonsense().await?;
    Ok(page.report().await?.tally)
}

/// The page, as a browser has it.
struct Page {
    address: SocketAddr,
    client: Client,
}

impl Page {
    fn at(address: SocketAddr) -> Result<Self, BoxError> {
        Ok(Self { address, client: Client::builder().no_proxy().timeout(PATIENCE).build()? })
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn is_there(&self) -> Result<(), BoxError> {
        let page = self.client.get(self.url("/")).send().await?.error_for_status()?;
        let kind = page.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        demand("the page is HTML", kind.starts_with("text/html"))?;
        let text = page.text().await?;
        let parts =
            ["<table>", "/report", "/servers/", "drain", "restore", "slow", "hasten", "kill", "revive"];
        demand("the page has the table and all buttons", parts.iter().all(|part| text.contains(part)))
    }

    async fn press(&self, name: &str, action: &str) -> Result<(), BoxError> {
        let path = self.url(&format!("/servers/{name}/{action}"));
        let answer = self.client.post(path).send().await?.error_for_status()?;
        demand("a button has nothing to say", answer.status() == StatusCode::NO_CONTENT)
    }

    async fn refuses_nonsense(&self) -> Result<(), BoxError> {
        for (method, path, status) in [
            (Method::POST, "/servers/dogwood/drain", StatusCode::NOT_FOUND),
            (Method::POST, "/servers/amber/paint", StatusCode::NOT_FOUND),
            (Method::GET, "/servers/amber/kill", StatusCode::METHOD_NOT_ALLOWED),
        ] {
            let answer = self.client.request(method, self.url(path)).send().await?;
            demand(&format!("{path} is refused"), answer.status() == status)?;
        }
        Ok(())
    }

    async fn report(&self) -> Result<Report, BoxError> {
        let text = self.client.get(self.url("/report")).send().await?.error_for_status()?.text().await?;
        Report::parse(&serde_json::from_str(&text)?).ok_or_else(|| format!("what is this? {text}").into())
    }

    /// Waits until the report says something.
    async fn comes(&self, what: &str, says: impl Fn(&Report) -> bool) -> Result<Report, BoxError> {
        let said = async {
            loop {
                let report = self.report().await?;
                if says(&report) {
                    return Ok(report);
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        match timeout(PATIENCE, said).await {
            Ok(said) => said,
            Err(_) => {
                Err(format!("it did not come to this: {what}; {:#?}", self.report().await?.members).into())
            }
        }
    }

    /// Waits until the report says something of a member, and returns what it says.
    async fn comes_to(&self, name: &str, says: impl Fn(&Member) -> bool) -> Result<Member, BoxError> {
        let report = self.comes(name, |report| report.member(name).is_some_and(&says)).await?;
        report.member(name).cloned().ok_or_else(|| format!("{name} is gone").into())
    }

    /// Waits until a member is eligible and has served more than it had.
    async fn serves_again(&self, before: &Member) -> Result<(), BoxError> {
        self.comes_to(&before.name, |now| now.is_well() && now.successes > before.successes).await.map(drop)
    }

    /// Demands that one gets nothing for a while, that the others serve, and that no client notices.
    async fn serves_without(&self, name: &str) -> Result<(), BoxError> {
        let (before, after) = self.watch().await?;
        let rest = |report: &Report| report.successes(|member| member.name != name);
        let gone = |report: &Report| report.successes(|member| member.name == name);
        demand("the others serve", rest(&after) > rest(&before))?;
        demand(&format!("{name} gets nothing"), gone(&after) == gone(&before))?;
        demand("no request fails", after.tally.requests > before.tally.requests && after.tally.failed == 0)
    }

    /// Waits until one gets less than half of what each of the others gets.
    async fn is_spared(&self, name: &str) -> Result<(), BoxError> {
        let spared = async {
            loop {
                let (before, after) = self.watch().await?;
                let taken = |now: &Member| now.picks - before.member(&now.name).map_or(0, |then| then.picks);
                let less = after.member(name).map_or(0, taken);
                if after
                    .members
                    .iter()
                    .filter(|other| other.name != name)
                    .all(|other| 2 * less < taken(other))
                {
                    return Ok(());
                }
            }
        };
        timeout(PATIENCE, spared).await.map_err(|_| format!("{name} is not spared"))?
    }

    async fn watch(&self) -> Result<(Report, Report), BoxError> {
        let before = self.report().await?;
        sleep(WINDOW).await;
        Ok((before, self.report().await?))
    }
}

/// What the page shows.
#[derive(Debug)]
struct Report {
    tally: Tally,
    members: Vec<Member>,
}

#[derive(Clone, Debug)]
struct Member {
    name: String,
    server: String,
    state: String,
    exclusions: Vec<String>,
    in_flight: u64,
    picks: u64,
    successes: u64,
    failures: u64,
    trips: u64,
    p99: Duration,
}

impl Report {
    fn parse(report: &Value) -> Option<Self> {
        let [requests, failed] = [&report["requests"], &report["failed"]].map(Value::as_u64);
        let members = report["members"].as_array()?.iter().map(Member::parse);
        let tally = Tally { requests: requests?, failed: failed? };
        Some(Self { tally, members: members.collect::<Option<_>>()? })
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    fn successes(&self, of: impl Fn(&Member) -> bool) -> u64 {
        self.members.iter().filter(|member| of(member)).map(|member| member.successes).sum()
    }
}

impl Member {
    fn parse(member: &Value) -> Option<Self> {
        let text = |what: &str| member[what].as_str().map(String::from);
        let number = |what: &str| member[what].as_u64();
        let exclusions = member["exclusions"].as_array()?.iter();
        Some(Self {
            name: text("name")?,
            server: text("server")?,
            state: text("state")?,
            exclusions: exclusions.map(|reason| reason.as_str().map(String::from)).collect::<Option<_>>()?,
            in_flight: number("in_flight")?,
            picks: number("picks")?,
            successes: number("successes")?,
            failures: number("failures")?,
            trips: number("trips")?,
            // Without any answer there is none.
            p99: Duration::from_secs_f64(member["p99_ms"].as_f64().unwrap_or_default() / 1_000.0),
        })
    }

    fn is_well(&self) -> bool {
        self.state == "eligible"
    }

    fn is_excluded_by(&self, reason: &str) -> bool {
        self.exclusions.iter().any(|exclusion| exclusion == reason)
    }
}

fn demand(what: &str, holds: bool) -> Result<(), BoxError> {
    if holds { Ok(()) } else { Err(format!("it does not hold: {what}").into()) }
}
