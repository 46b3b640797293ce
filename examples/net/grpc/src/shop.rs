//! The service: what was generated, and what the servers do.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use self::generated::shop_server::{Shop, ShopServer};
pub(crate) use self::generated::{Item, Order, Price, Receipt, Watch, shop_client::ShopClient};

#[allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "generated")]
mod generated {
    tonic::include_proto!("shop");
}

include!(concat!(env!("OUT_DIR"), "/methods.rs"));

/// How long a server takes to answer.
const LATENCY: Duration = Duration::from_millis(2);

/// Tells whether the protocol says that a method may be sent twice.
pub(crate) fn is_idempotent(path: &str) -> bool {
    IDEMPOTENT.contains(&path)
}

/// Tells whether a method answers with a stream.
pub(crate) fn streams(path: &str) -> bool {
    STREAMING.contains(&path)
}

/// What the servers know together.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    orders: Mutex<HashSet<u64>>,
    /// How often an order came that was there already.
    pub(crate) placed_twice: AtomicU64,
}

/// Serves on `listener`, and counts connections. One that has come to its age is ended by GOAWAY: its streams go on, and new calls
/// need a new one.
///
/// With `max_connection_age_grace` tonic 0.14 says no goodbye, and hangs up on all streams when the grace is over.
pub(crate) async fn serve(
    name: &'static str,
    listener: TcpListener,
    ledger: Arc<Ledger>,
    age: Option<Duration>,
    connections: Arc<AtomicU64>,
) {
    let mut server = tonic::transport::Server::builder();
    if let Some(age) = age {
        server = server.max_connection_age(age);
    }
    let incoming = TcpIncoming::from(listener).inspect(|_| {
        connections.fetch_add(1, Ordering::Relaxed);
    });
    let shop = ShopServer::new(Seller { name, ledger });
    // It ends when it is killed.
    let _ = server.add_service(shop).serve_with_incoming(incoming).await;
}

struct Seller {
    name: &'static str,
    ledger: Arc<Ledger>,
}

#[tonic::async_trait]
impl Shop for Seller {
    type WatchPriceStream = Pin<Box<dyn Stream<Item = Result<Price, Status>> + Send>>;

    async fn get_price(&self, item: Request<Item>) -> Result<Response<Price>, Status> {
        sleep(LATENCY).await;
        Ok(Response::new(self.price(*item.get_ref())?))
    }

    async fn place_order(&self, order: Request<Order>) -> Result<Response<Receipt>, Status> {
        let order = order.get_ref().number;
        let mut orders = self.ledger.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if !orders.insert(order) {
            self.ledger.placed_twice.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Response::new(Receipt { order }))
    }

    async fn watch_price(&self, watch: Request<Watch>) -> Result<Response<Self::WatchPriceStream>, Status> {
        let Watch { item, times, milliseconds_between } = watch.into_inner();
        let price = self.price(item.unwrap_or_default())?;
        let between = Duration::from_millis(milliseconds_between.into());
        let prices = stream::iter(0..times).then(move |_| {
            let price = price.clone();
            async move {
                sleep(between).await;
                Ok(price)
            }
        });
        Ok(Response::new(prices.boxed()))
    }
}

impl Seller {
    fn price(&self, item: Item) -> Result<Price, Status> {
        match item.number {
            0 => Err(Status::not_found("there is no item 0")),
            number => Ok(Price { cents: number * 100, server: self.name.into() }),
        }
    }
}
