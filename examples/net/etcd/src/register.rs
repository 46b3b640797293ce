//! What a server does beside serving: it stays registered.

use std::net::SocketAddr;
use std::time::Duration;

use etcd_client::{Client, Error, LeaseKeepAliveStream, LeaseKeeper, PutOptions};
use poise::tower::BoxError;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::etcd::{TIMEOUT, connect};

/// Where servers register.
pub(crate) const PREFIX: &str = "/poise/example/";
/// For how many seconds a registration outlives its server: the least that etcd grants.
pub(crate) const LEASE: i64 = 2;
/// How often the lease is renewed.
const RENEW: Duration = Duration::from_millis(500);
/// The pause before it tries again.
const AGAIN: Duration = Duration::from_millis(250);

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Serving,
    /// It finishes what it has and wants nothing new.
    Draining,
    /// It wants to be gone from the list.
    Left,
}

/// Keeps a server registered, whatever becomes of etcd, until it has left. When this is dropped, etcd is told nothing.
pub(crate) async fn stay(
    etcd: SocketAddr,
    name: &'static str,
    server: SocketAddr,
    mut state: watch::Receiver<State>,
) {
    while register(etcd, name, server, &mut state).await.is_err() {
        sleep(AGAIN).await;
    }
}

/// Registers, and renews the lease until the server has left. An error may mean that the lease is lost.
async fn register(
    etcd: SocketAddr,
    name: &'static str,
    server: SocketAddr,
    state: &mut watch::Receiver<State>,
) -> Result<(), BoxError> {
    let mut client = connect(etcd).await?;
    let lease = timeout(TIMEOUT, client.lease_grant(LEASE, None)).await??.id();
    let (mut keeper, mut renewed) = timeout(TIMEOUT, client.lease_keep_alive(lease)).await??;
    loop {
        let now = *state.borrow_and_update();
        if now == State::Left {
            timeout(TIMEOUT, client.lease_revoke(lease)).await??;
            return Ok(());
        }
        timeout(TIMEOUT, put(&mut client, name, server, now, lease)).await??;
        tokio::select! {
            // Whoever could change the state is gone, and the process with it.
            changed = state.changed() => changed?,
            error = renew(&mut keeper, &mut renewed) => return Err(error),
        }
    }
}

async fn put(
    client: &mut Client,
    name: &str,
    server: SocketAddr,
    state: State,
    lease: i64,
) -> Result<(), Error> {
    let state = if state == State::Serving { "serving" } else { "draining" };
    let options = PutOptions::new().with_lease(lease);
    client.put(format!("{PREFIX}{name}"), format!("{server} {state}"), Some(options)).await?;
    Ok(())
}

/// Renews the lease until that fails.
async fn renew(keeper: &mut LeaseKeeper, renewed: &mut LeaseKeepAliveStream) -> BoxError {
    let mut once = async || {
        keeper.keep_alive().await?;
        match renewed.message().await? {
            Some(renewed) if renewed.ttl() > 0 => Ok::<_, BoxError>(()),
            _ => Err("the lease has ended".into()),
        }
    };
    loop {
        sleep(RENEW).await;
        match timeout(TIMEOUT, once()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error,
            Err(elapsed) => return elapsed.into(),
        }
    }
}
