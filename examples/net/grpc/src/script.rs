//! What happens to the servers, and what is to come of it.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use poise::core::Backend;
use poise::discovery::Directory;
use poise::tower::BoxError;
use stage::{Server, Tally, Teller, Traffic, eventually};
use tokio::time::Instant;
use tonic::Code;

use crate::balanced::Balanced;
use crate::server::{self, Call};
use crate::shop::{self, Item, Ledger, Order, ShopClient};
use crate::watch::Watched;

/// How long connections to cedar last.
const AGE: Duration = Duration::from_secs(1);
/// How many connections cedar is to have ended.
const GOODBYES: u64 = 3;

type Calls = Traffic<server::Server, Call>;

/// Everything on stage: dropping it ends all of it.
pub(crate) struct Play {
    teller: Teller,
    amber: Server,
    birch: Server,
    cedar: Server,
    /// The connections that cedar has had.
    connections: Arc<AtomicU64>,
    ledger: Arc<Ledger>,
    _directory: Directory<&'static str, Backend<std::net::SocketAddr>>,
    balanced: Balanced,
}

impl Play {
    pub(crate) fn set() -> Result<Self, BoxError> {
        let teller = Teller::start();
        let (ledger, connections) = <(Arc<Ledger>, Arc<AtomicU64>)>::default();
        let amber = start("amber", &ledger, None, &Arc::default())?;
        let birch = start("birch", &ledger, None, &Arc::default())?;
        let cedar = start("cedar", &ledger, Some(AGE), &connections)?;
        let mut directory = Directory::new();
        for server in [&amber, &birch, &cedar] {
            directory.upsert(server.name(), Backend::new(server.address()))?;
        }
        teller.say(format_args!("{amber}, {birch} and {cedar} serve; cedar ends connections after {AGE:?}"));
        let balanced = Balanced::over(directory.reader())?;
        Ok(Self { teller, amber, birch, cedar, connections, ledger, _directory: directory, balanced })
    }

    pub(crate) async fn run(mut self) -> Result<Tally, BoxError> {
        self.streams_are_in_flight_to_their_ends().await?;
        self.what_servers_say_is_passed_on().await?;
        let (prices, orders) = (self.prices(), self.orders());
        for server in [&self.amber, &self.birch, &self.cedar] {
            prices.serves(server.name()).await?;
        }
        self.one_dies(&prices).await?;
        self.one_freezes(&prices).await?;
        self.one_says_goodbye(&prices).await?;
        prices.goes_on(1).await?;
        let (prices, orders) = (prices.finish().await?, orders.finish().await?);
        self.nothing_is_left_over(orders).await?;
        Ok(prices)
    }

    /// Asks for prices, which may be asked for twice.
    fn prices(&self) -> Calls {
        let client = ShopClient::new(self.balanced.clone());
        Traffic::asking(self.teller, "prices", self.balanced.balancer().clone(), move || {
            let mut client = client.clone();
            async move { Ok(client.get_price(Item { number: 7 }).await.map(drop)?) }
        })
    }

    /// Places orders, each once.
    fn orders(&self) -> Calls {
        let (client, number) = (ShopClient::new(self.balanced.clone()), AtomicU64::new(1));
        Traffic::asking(self.teller, "orders", self.balanced.balancer().clone(), move || {
            let (mut client, number) = (client.clone(), number.fetch_add(1, Ordering::Relaxed));
            async move { Ok(client.place_order(Order { number }).await.map(drop)?) }
        })
    }

    async fn streams_are_in_flight_to_their_ends(&self) -> Result<(), BoxError> {
        let mut streams = Vec::new();
        for _ in 0..6 {
            streams.push(Watched::begin(&self.balanced).await?);
        }
        self.teller.say("6 streams have begun");
        if self.in_flight() != 6 {
            return Err(format!("6 streams are open\n{}", self.balanced.balancer().report()).into());
        }
        for stream in streams {
            stream.ends().await?;
        }
        self.teller.say("they have come to their ends, and nothing is in flight any more");
        eventually("nothing is in flight", || self.in_flight() == 0).await
    }

    async fn what_servers_say_is_passed_on(&self) -> Result<(), BoxError> {
        let failures = self.failures();
        let status = ShopClient::new(self.balanced.clone()).get_price(Item { number: 0 }).await.map(drop);
        let status = status.err().ok_or("item 0 has a price")?;
        self.teller.say(format_args!("item 0: {} ({})", status.message(), status.code()));
        if status.code() != Code::NotFound || self.failures() != failures {
            return Err(format!("that was an answer, and no failure: {status}").into());
        }
        Ok(())
    }

    async fn one_dies(&mut self, prices: &Calls) -> Result<(), BoxError> {
        let name = self.amber.name();
        let (there, elsewhere) = Watched::begin_at(name, 2, &self.balanced).await?;
        let at = Instant::now();
        self.amber.kill();
        self.teller.say(format_args!("{name} dies, with {} streams", there.len()));
        self.break_off(there, at).await?;
        for stream in elsewhere {
            stream.ends().await?;
        }
        self.teller.say("the streams of the others have come to their ends");
        prices.goes_on(1).await?;
        self.amber.restart().await?;
        self.teller.say(format_args!("{name} is back on the same port"));
        self.serves_again(name, prices).await
    }

    async fn one_freezes(&mut self, prices: &Calls) -> Result<(), BoxError> {
        let name = self.birch.name();
        let (there, elsewhere) = Watched::begin_at(name, 2, &self.balanced).await?;
        let at = Instant::now();
        self.birch.freeze();
        self.teller.say(format_args!("{name} freezes, with {} streams: it answers nothing", there.len()));
        let (broken, on) = tokio::join!(self.break_off(there, at), prices.goes_on(4));
        broken?;
        on?;
        for stream in elsewhere {
            stream.ends().await?;
        }
        self.birch.thaw();
        self.teller.say(format_args!("{name} goes on"));
        self.serves_again(name, prices).await
    }

    async fn one_says_goodbye(&self, prices: &Calls) -> Result<(), BoxError> {
        let (name, before) = (self.cedar.name(), self.connections.load(Ordering::Relaxed));
        let failures = self.failures();
        let (there, elsewhere) = Watched::begin_at(name, 2, &self.balanced).await?;
        let has_ended = || self.connections.load(Ordering::Relaxed) >= before + GOODBYES;
        eventually("cedar ends connections", has_ended).await?;
        for stream in there.into_iter().chain(elsewhere) {
            stream.ends().await?;
        }
        let failures = self.failures() - failures;
        let ended = self.connections.load(Ordering::Relaxed) - before;
        self.teller.say(format_args!(
            "{name} has ended {ended} connections by GOAWAY: {failures} attempts failed, and no stream broke off"
        ));
        prices.serves(name).await
    }

    async fn serves_again(&self, name: &str, prices: &Calls) -> Result<(), BoxError> {
        prices.serves(name).await?;
        self.teller.say(format_args!("{name} serves again"));
        Ok(())
    }

    async fn break_off(&self, streams: Vec<Watched>, since: Instant) -> Result<(), BoxError> {
        for stream in streams {
            let (at, status) = stream.breaks_off().await?;
            let after = at.saturating_duration_since(since);
            self.teller.say(format_args!(
                "        after {after:.1?}: {} ({:?})",
                status.message(),
                status.code()
            ));
            if status.code() != Code::Unavailable {
                return Err("a stream that breaks off is UNAVAILABLE".into());
            }
        }
        Ok(())
    }

    async fn nothing_is_left_over(&self, orders: Tally) -> Result<(), BoxError> {
        println!("of the orders, which are sent once: {orders}");
        if self.ledger.placed_twice.load(Ordering::Relaxed) > 0 {
            return Err("an order was placed twice".into());
        }
        eventually("nothing is in flight", || self.in_flight() == 0).await
    }

    fn in_flight(&self) -> u64 {
        self.balanced.balancer().report().members.iter().map(|member| member.in_flight).sum()
    }

    fn failures(&self) -> u64 {
        self.balanced.balancer().report().members.iter().map(|member| member.failures).sum()
    }
}

fn start(
    name: &'static str,
    ledger: &Arc<Ledger>,
    age: Option<Duration>,
    connections: &Arc<AtomicU64>,
) -> io::Result<Server> {
    let (ledger, connections) = (Arc::clone(ledger), Arc::clone(connections));
    Server::start_serving(name, (Ipv4Addr::LOCALHOST, 0).into(), move |listener| {
        shop::serve(name, listener, Arc::clone(&ledger), age, Arc::clone(&connections))
    })
}
