//! The control plane: an `etcd` of one node.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use etcd_client::{Client, ConnectOptions, Error};
use poise::tower::BoxError;
use stage::{Daemon, free_ports};
use tempfile::TempDir;
use tokio::time::timeout;

/// How long it may take to answer.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);

/// How often a client pings. By default etcd ends connections whose pings are less than 5 s apart.
const PING: Duration = Duration::from_secs(6);

/// Keeps keys on a port of loopback, as long as it lives.
#[derive(Debug)]
pub(crate) struct Etcd {
    daemon: Daemon,
    address: SocketAddr,
    /// Removed after the process has ended.
    _files: TempDir,
}

impl Etcd {
    /// Starts it with no keys.
    pub(crate) async fn start() -> Result<Self, BoxError> {
        let files = tempfile::Builder::new().prefix("poise-etcd-").tempdir()?;
        let [client, peer] = free_ports()?;
        let url = |port| format!("http://127.0.0.1:{port}");
        let arguments = [
            format!("--data-dir={}", files.path().join("data").display()),
            format!("--listen-client-urls={}", url(client)),
            format!("--advertise-client-urls={}", url(client)),
            format!("--listen-peer-urls={}", url(peer)),
            format!("--initial-advertise-peer-urls={}", url(peer)),
            format!("--initial-cluster=default={}", url(peer)),
        ];
        let daemon = Daemon::new("etcd", "etcd-server", arguments.into(), files.path().join("output"));
        let mut etcd = Self { daemon, address: (Ipv4Addr::LOCALHOST, client).into(), _files: files };
        etcd.restart().await?;
        Ok(etcd)
    }

    /// Returns where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills it; keys and leases are on its disk.
    pub(crate) fn kill(&mut self) {
        self.daemon.kill();
    }

    /// Starts it again on the same port.
    pub(crate) async fn restart(&mut self) -> Result<(), BoxError> {
        let address = self.address;
        let answers = async || {
            let status = async { connect(address).await?.status().await };
            matches!(timeout(TIMEOUT, status).await, Ok(Ok(_)))
        };
        self.daemon.start(answers).await
    }
}

/// Makes a client that notices when the other end is gone without a word.
pub(crate) async fn connect(address: SocketAddr) -> Result<Client, Error> {
    let options = ConnectOptions::new()
        .with_connect_timeout(TIMEOUT)
        .with_keep_alive(PING, TIMEOUT)
        .with_keep_alive_while_idle(true);
    Client::connect([address.to_string()], Some(options)).await
}
