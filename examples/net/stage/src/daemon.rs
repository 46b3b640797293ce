//! A control plane: a process of somebody else's program.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use poise::tower::BoxError;
use tokio::time::{Instant, sleep};

/// How long a process may take until it answers.
const START: Duration = Duration::from_secs(20);

/// Runs a program as long as it lives; it can be killed and started again.
pub struct Daemon {
    program: &'static str,
    package: &'static str,
    arguments: Vec<String>,
    log: PathBuf,
    child: Option<Child>,
}

impl Daemon {
    /// Describes a program that stays in the foreground, the Debian package that has it, and where its output goes.
    #[must_use]
    pub fn new(program: &'static str, package: &'static str, arguments: Vec<String>, log: PathBuf) -> Self {
        Self { program, package, arguments, log, child: None }
    }

    /// Starts the program and waits until `answers` says that it does.
    ///
    /// # Errors
    ///
    /// The program is not there, ends, or does not answer in time; the error then has the end of its output.
    pub async fn start(&mut self, mut answers: impl AsyncFnMut() -> bool) -> Result<(), BoxError> {
        self.kill();
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().map_err(|error| missing(self.program, self.package, &error))?;
        let child = self.child.insert(child);
        let until = Instant::now() + START;
        while !answers().await {
            if let Some(status) = child.try_wait()? {
                return Err(self.failed(&format!("ended with {status}")));
            }
            if Instant::now() > until {
                return Err(self.failed("does not answer"));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Kills the process, which gets no chance to say goodbye.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn failed(&self, how: &str) -> BoxError {
        let output = fs::read_to_string(&self.log).unwrap_or_default();
        let start = output.char_indices().rev().nth(2_000).map_or(0, |(start, _)| start);
        format!("{} {how}; it wrote:\n{}", self.program, &output[start..]).into()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon")
            .field("program", &self.program)
            .field("is_running", &self.child.is_some())
            .finish_non_exhaustive()
    }
}

fn missing(program: &str, package: &str, error: &io::Error) -> BoxError {
    format!("{program} does not start ({error}); on Debian: apt-get install {package}").into()
}

/// Finds ports of loopback that are free for both TCP and UDP, no two the same.
///
/// # Errors
///
/// There are none.
pub fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut held = Vec::new();
    let mut ports = [0; N];
    let mut tries = 100;
    for port in &mut ports {
        *port = loop {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let address: SocketAddr = listener.local_addr()?;
            match UdpSocket::bind(address) {
                Ok(socket) => {
                    held.push((listener, socket));
                    break address.port();
                }
                Err(error) if tries == 0 => return Err(error),
                Err(_) => tries -= 1,
            }
        };
    }
    Ok(ports)
}
