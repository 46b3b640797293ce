//! The servers: each a thread with a runtime of its own, so that it can be killed whole.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// How a server treats its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Healthy,
    /// Answers every request at once, with 500.
    Failing,
    /// Accepts and never answers.
    Hanging,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Healthy, Self::Failing, Self::Hanging];
}

/// Says how long the next request takes, asked when it arrives.
pub(crate) type Latency = Arc<dyn Fn() -> Duration + Send + Sync>;

/// A server on a port of loopback.
pub(crate) struct Server {
    address: SocketAddr,
    latency: Latency,
    mode: Arc<AtomicU8>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    /// Dropping it ends the thread.
    stop: oneshot::Sender<Infallible>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Starts a server that takes the same time for all requests, on a port of the system's choice.
    pub(crate) fn start(latency: Duration) -> Result<Self, Box<dyn Error>> {
        Self::with_latency(Arc::new(move || latency))
    }

    pub(crate) fn with_latency(latency: Latency) -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let mut server = Self { address, latency, mode: Arc::default(), running: None };
        server.serve(listener)?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn turn(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// Drops the runtime, and with it the listener and every connection.
    pub(crate) fn kill(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            drop(stop);
            // Nothing in the thread panics, and if it did, the server would be as dead.
            let _ = thread.join();
        }
    }

    /// Starts again on the same port, which the system may take a moment to give back.
    pub(crate) async fn restart(&mut self) -> Result<(), Box<dyn Error>> {
        self.kill();
        for _ in 0..100 {
            if let Ok(listener) = TcpListener::bind(self.address) {
                return self.serve(listener);
            }
            sleep(Duration::from_millis(20)).await;
        }
        Err(format!("port {} does not come back", self.address.port()).into())
    }

    fn serve(&mut self, listener: TcpListener) -> Result<(), Box<dyn Error>> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let (mode, latency) = (Arc::clone(&self.mode), Arc::clone(&self.latency));
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, mode, latency) => {}
                    _ = stopped => {}
                }
            });
        });
        self.running = Some(Running { stop, thread });
        Ok(())
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn accept(listener: TcpListener, mode: Arc<AtomicU8>, latency: Latency) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (mode, latency) = (Arc::clone(&mode), Arc::clone(&latency));
        let service = service_fn(move |_: Request<Incoming>| answer(Arc::clone(&mode), Arc::clone(&latency)));
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(mode: Arc<AtomicU8>, latency: Latency) -> Result<Response<Full<Bytes>>, Infallible> {
    let mode = Mode::ALL[usize::from(mode.load(Ordering::Relaxed))];
    let mut response = Response::new(Full::from("here you are"));
    match mode {
        Mode::Healthy => sleep(latency()).await,
        Mode::Failing => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
        Mode::Hanging => pending().await,
    }
    Ok(response)
}
