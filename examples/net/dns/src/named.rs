//! The name server: a `named` of one zone, which is changed by `nsupdate`.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::time::Duration;

use poise::tower::BoxError;
use stage::{Daemon, free_ports};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use crate::resolve::Resolve;

/// The zone that it has.
pub(crate) const ZONE: &str = "poise.test.";
/// How long one change may take.
const CHANGE: Duration = Duration::from_secs(10);

/// Serves the zone on a port of loopback, as long as it lives.
#[derive(Debug)]
pub(crate) struct Named {
    daemon: Daemon,
    address: SocketAddr,
    /// Removed after the process has ended.
    _files: TempDir,
}

impl Named {
    /// Starts it with an empty zone, which says that negative answers hold for one second.
    pub(crate) async fn start() -> Result<Self, BoxError> {
        let files = tempfile::Builder::new().prefix("poise-dns-").tempdir()?;
        let [port] = free_ports()?;
        let path = |name: &str| files.path().join(name);
        fs::write(path("named.conf"), configuration(&files.path().display().to_string(), port))?;
        fs::write(
            path("zone"),
            format!("$TTL 1\n@ SOA ns.{ZONE} root.{ZONE} (1 60 60 3600 1)\n@ NS ns.{ZONE}\nns A 127.0.0.1\n"),
        )?;
        let arguments = ["-f", "-n", "1", "-c", &path("named.conf").display().to_string()].map(String::from);
        let daemon = Daemon::new("named", "bind9", arguments.into(), path("output"));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut named = Self { daemon, address, _files: files };
        named.restart().await?;
        Ok(named)
    }

    /// Returns where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills it; what the zone has become is in its journal.
    pub(crate) fn kill(&mut self) {
        self.daemon.kill();
    }

    /// Starts it again on the same port.
    pub(crate) async fn restart(&mut self) -> Result<(), BoxError> {
        let resolve = Resolve::asking(self.address)?;
        self.daemon.start(async || resolve.has_zone(ZONE).await).await
    }

    /// Makes some changes at once, as lines of `nsupdate`: `add NAME TTL TYPE DATA`, `delete NAME TYPE DATA`.
    pub(crate) async fn update(&self, changes: &[String]) -> Result<(), BoxError> {
        let mut script = format!("server {} {}\nzone {ZONE}\n", self.address.ip(), self.address.port());
        for change in changes {
            script.extend(["update ", change, "\n"]);
        }
        script.push_str("send\n");
        timeout(CHANGE, nsupdate(&script)).await?
    }
}

fn configuration(directory: &str, port: u16) -> String {
    format!(
        r#"options {{
    directory "{directory}";
    pid-file "{directory}/named.pid";
    session-keyfile "{directory}/session.key";
    listen-on port {port} {{ 127.0.0.1; }};
    listen-on-v6 {{ none; }};
    recursion no;
    dnssec-validation no;
    notify no;
}};
controls {{ }};
zone "{ZONE}" {{
    type primary;
    file "{directory}/zone";
    allow-update {{ 127.0.0.1; }};
}};
"#
    )
}

async fn nsupdate(script: &str) -> Result<(), BoxError> {
    let mut child = Command::new("nsupdate")
        .kill_on_drop(true)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            format!("nsupdate does not start ({error}); on Debian: apt-get install bind9-dnsutils")
        })?;
    let mut input = child.stdin.take().ok_or("nsupdate has no input")?;
    input.write_all(script.as_bytes()).await?;
    drop(input);
    let output = child.wait_with_output().await?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("nsupdate: {} for\n{script}", String::from_utf8_lossy(&output.stderr)).into())
}
