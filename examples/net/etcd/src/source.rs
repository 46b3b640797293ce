//! What the clients do: they watch who is registered.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use etcd_client::{EventType, GetOptions, KeyValue, WatchOptions, WatchStream};
use futures_util::stream::{self, Stream};
use poise::core::{Backend, Candidate, Status};
use poise::discovery::{Change, Update};
use stage::Endpoint;
use tokio::time::{sleep, timeout};

use crate::etcd::{TIMEOUT, connect};
use crate::register::PREFIX;

/// The pause before the watch starts anew.
const AGAIN: Duration = Duration::from_millis(500);

/// Yields who is registered: a full set whenever the watch starts, then changes until it fails, then an error.
pub(crate) fn updates(etcd: SocketAddr) -> impl Stream<Item = Result<Update<String, Endpoint>, WatchError>> {
    stream::unfold(Watch::New, move |watch| async move {
        Some(match watch.next(etcd).await {
            Ok((update, watch)) => (Ok(update), watch),
            Err(error) => (Err(error), Watch::Failed),
        })
    })
}

enum Watch {
    New,
    Failed,
    On(Box<Watching>),
}

struct Watching {
    stream: WatchStream,
    /// Where the servers are that are registered.
    known: HashMap<String, SocketAddr>,
}

impl Watch {
    async fn next(self, etcd: SocketAddr) -> Result<(Update<String, Endpoint>, Self), WatchError> {
        let (update, watching) = match self {
            Self::On(mut watching) => (watching.changes().await?, watching),
            Self::New => Watching::start(etcd).await?,
            Self::Failed => {
                sleep(AGAIN).await;
                Watching::start(etcd).await?
            }
        };
        Ok((update, Self::On(watching)))
    }
}

impl Watching {
    /// Reads what is there now, and watches from the revision after that: nothing in between is missed.
    async fn start(etcd: SocketAddr) -> Result<(Update<String, Endpoint>, Box<Self>), WatchError> {
        let started = async {
            let mut client = connect(etcd).await?;
            let there = client.get(PREFIX, Some(GetOptions::new().with_prefix())).await?;
            let next = there.header().map_or(0, |header| header.revision() + 1);
            let options = WatchOptions::new().with_prefix().with_start_revision(next);
            Ok::<_, etcd_client::Error>((there, client.watch(PREFIX, Some(options)).await?))
        };
        let (there, stream) = timeout(TIMEOUT, started).await.map_err(|_| WatchError::Silent)??;
        let members: Vec<(String, Endpoint)> = there.kvs().iter().filter_map(member).collect();
        let known = members.iter().map(|(name, server)| (name.clone(), *server.id())).collect();
        Ok((Update::full(members), Box::new(Self { stream, known })))
    }

    /// Waits for the next changes.
    async fn changes(&mut self) -> Result<Update<String, Endpoint>, WatchError> {
        loop {
            let response = self.stream.message().await?.ok_or(WatchError::Ended)?;
            if response.canceled() {
                return Err(WatchError::Canceled(response.cancel_reason().to_owned()));
            }
            let events = response.events().iter();
            let changes: Vec<_> = events
                .filter_map(|event| match event.event_type() {
                    EventType::Put => self.put(event.kv()?),
                    EventType::Delete => self.deleted(event.kv()?),
                })
                .collect();
            if !changes.is_empty() {
                return Ok(Update::Changes(changes));
            }
        }
    }

    /// Whoever registers anew on the same address is the same server: what is known of it stays.
    fn put(&mut self, registered: &KeyValue) -> Option<Change<String, Endpoint>> {
        let (key, server) = member(registered)?;
        let before = self.known.insert(key.clone(), *server.id());
        Some(if before == Some(*server.id()) {
            Change::Amend { key, attributes: server.attributes() }
        } else {
            Change::upsert(key, server)
        })
    }

    fn deleted(&mut self, deleted: &KeyValue) -> Option<Change<String, Endpoint>> {
        let key = name(deleted)?;
        self.known.remove(&key);
        Some(Change::Remove { key })
    }
}

/// Reads a registration. One that cannot be read is as good as none: it must not keep the others out.
fn member(registered: &KeyValue) -> Option<(String, Endpoint)> {
    let (address, state) = registered.value_str().ok()?.split_once(' ')?;
    let status = match state {
        "serving" => Status::Ready,
        "draining" => Status::Draining,
        _ => return None,
    };
    Some((name(registered)?, Backend::new(address.parse().ok()?).with_status(status)))
}

fn name(registered: &KeyValue) -> Option<String> {
    registered.key_str().ok()?.strip_prefix(PREFIX).map(String::from)
}

/// Why the watch starts anew.
#[derive(Debug)]
pub(crate) enum WatchError {
    /// It cannot be reached, or the connection broke.
    Etcd(etcd_client::Error),
    /// It does not answer.
    Silent,
    /// The stream of changes has ended.
    Ended,
    /// It gives this watch up: the changes that it would need are compacted, say.
    Canceled(String),
}

impl fmt::Display for WatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Etcd(etcd_client::Error::GRpcStatus(status)) => f.write_str(status.message()),
            Self::Etcd(error) => error.fmt(f),
            Self::Silent => f.write_str("no answer"),
            Self::Ended => f.write_str("the watch has ended"),
            Self::Canceled(reason) => write!(f, "the watch was cancelled: {reason}"),
        }
    }
}

impl Error for WatchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Etcd(error) => Some(error),
            Self::Silent | Self::Ended | Self::Canceled(_) => None,
        }
    }
}

impl From<etcd_client::Error> for WatchError {
    fn from(error: etcd_client::Error) -> Self {
        Self::Etcd(error)
    }
}
