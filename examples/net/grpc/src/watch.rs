//! Streams that are watched to their ends.

use std::time::Duration;

use poise::tower::BoxError;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tonic::Status;

use crate::balanced::Balanced;
use crate::shop::{Item, ShopClient, Watch};

/// How many prices a stream has, and how far apart they come: it lasts for two seconds.
const PRICES: u32 = 40;
const BETWEEN: u32 = 50;
/// By when a stream has ended, well or not.
const END: Duration = Duration::from_secs(10);
/// With so many streams, somebody has its share.
const STREAMS: usize = 60;

/// A stream that has begun.
pub(crate) struct Watched {
    server: String,
    end: JoinHandle<(Result<u32, Status>, Instant)>,
}

impl Watched {
    /// Opens a stream, and waits for its first price.
    pub(crate) async fn begin(balanced: &Balanced) -> Result<Self, BoxError> {
        let watch = Watch { item: Some(Item { number: 1 }), times: PRICES, milliseconds_between: BETWEEN };
        let mut prices = ShopClient::new(balanced.clone()).watch_price(watch).await?.into_inner();
        let first = prices.message().await?.ok_or("a stream without a price")?;
        let end = tokio::spawn(async move {
            let mut seen = 1;
            loop {
                match prices.message().await {
                    Ok(Some(_)) => seen += 1,
                    Ok(None) => return (Ok(seen), Instant::now()),
                    Err(status) => return (Err(status), Instant::now()),
                }
            }
        });
        Ok(Self { server: first.server, end })
    }

    /// Opens streams until a server has some of them, and returns those and the others.
    pub(crate) async fn begin_at(
        server: &str,
        wanted: usize,
        balanced: &Balanced,
    ) -> Result<(Vec<Self>, Vec<Self>), BoxError> {
        let (mut there, mut elsewhere) = (Vec::new(), Vec::new());
        while there.len() < wanted {
            if there.len() + elsewhere.len() == STREAMS {
                return Err(format!("{server} gets no streams").into());
            }
            let watched = Self::begin(balanced).await?;
            if watched.server == server { &mut there } else { &mut elsewhere }.push(watched);
        }
        Ok((there, elsewhere))
    }

    /// Waits until it has come to a good end.
    pub(crate) async fn ends(self) -> Result<(), BoxError> {
        let server = self.server.clone();
        match self.end().await?.0 {
            Ok(PRICES) => Ok(()),
            Ok(seen) => Err(format!("a stream of {server} ended after {seen} of {PRICES} prices").into()),
            Err(status) => Err(format!("a stream of {server} has failed: {status}").into()),
        }
    }

    /// Waits until it has broken off, and returns when and with what; that has to name the server.
    pub(crate) async fn breaks_off(self) -> Result<(Instant, Status), BoxError> {
        let server = self.server.clone();
        match self.end().await? {
            (Err(status), at) if status.message().contains(&server) => Ok((at, status)),
            (Err(status), _) => Err(format!("an error does not name {server}: {status}").into()),
            (Ok(_), _) => Err(format!("a stream of {server} ended well, and it was dead").into()),
        }
    }

    async fn end(self) -> Result<(Result<u32, Status>, Instant), BoxError> {
        Ok(timeout(END, self.end).await.map_err(|_| format!("a stream of {} hangs", self.server))??)
    }
}
