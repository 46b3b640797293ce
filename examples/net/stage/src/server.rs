//! The servers: each a thread with a runtime of its own, so that it can die whole, with all its connections.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, ready};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// How long a server takes to answer.
const LATENCY: Duration = Duration::from_millis(2);

type Serve = dyn Fn(tokio::net::TcpListener) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// A server that can die, freeze and come back. By itself it is one of HTTP that answers every request with its name.
pub struct Server {
    name: &'static str,
    address: SocketAddr,
    serve: Arc<Serve>,
    running: Option<Running>,
}

struct Running {
    /// Dropping it ends the thread.
    stop: oneshot::Sender<Infallible>,
    /// Has the thread wait for something that never comes, until whoever sent it drops the other end.
    freeze: tokio::sync::mpsc::UnboundedSender<mpsc::Receiver<Infallible>>,
    frozen: Option<mpsc::Sender<Infallible>>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Starts a server; port 0 lets the system choose one.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on.
    pub fn start(name: &'static str, address: SocketAddr) -> io::Result<Self> {
        Self::start_with(name, address, |_| ready(()))
    }

    /// Starts a server with something that it does beside serving, as long as it lives, and again when it is restarted.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on.
    pub fn start_with<F>(
        name: &'static str,
        address: SocketAddr,
        beside: impl Fn(SocketAddr) -> F + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let beside = Arc::new(beside);
        Self::start_serving(name, address, move |listener| {
            let beside = Arc::clone(&beside);
            async move {
                if let Ok(address) = listener.local_addr() {
                    tokio::spawn(beside(address));
                }
                accept(name, listener).await;
            }
        })
    }

    /// Starts a server that serves as `serve` does, as long as it lives, and again when it is restarted.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on.
    pub fn start_serving<F>(
        name: &'static str,
        address: SocketAddr,
        serve: impl Fn(tokio::net::TcpListener) -> F + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let serve: Arc<Serve> = Arc::new(move |listener| Box::pin(serve(listener)));
        let mut server = Self { name, address, serve, running: None };
        server.run(listener)?;
        Ok(server)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Freezes: its connections stay, new ones are even taken by the system, and nothing is answered.
    pub fn freeze(&mut self) {
        if let Some(running) = &mut self.running {
            let (thaw, thawed) = mpsc::channel();
            // A thread that has ended does not answer either.
            let _ = running.freeze.send(thawed);
            running.frozen = Some(thaw);
        }
    }

    /// Goes on where it froze.
    pub fn thaw(&mut self) {
        if let Some(running) = &mut self.running {
            running.frozen = None;
        }
    }

    /// Dies: the listener, every connection, and what it does beside are gone at once.
    pub fn kill(&mut self) {
        if let Some(Running { stop, frozen, thread, .. }) = self.running.take() {
            drop((stop, frozen));
            // Nothing in the thread panics, and if it did, the server would be as dead.
            let _ = thread.join();
        }
    }

    /// Starts again on the same port, which the system may take a moment to give back.
    ///
    /// # Errors
    ///
    /// The port does not come back.
    pub async fn restart(&mut self) -> io::Result<()> {
        self.kill();
        let mut tries = 100;
        loop {
            match TcpListener::bind(self.address) {
                Ok(listener) => return self.run(listener),
                Err(error) if tries == 0 => return Err(error),
                Err(_) => tries -= 1,
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn run(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let (freeze, mut freezes) = tokio::sync::mpsc::unbounded_channel::<mpsc::Receiver<Infallible>>();
        let serve = Arc::clone(&self.serve);
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let freezing = async {
                    while let Some(thawed) = freezes.recv().await {
                        // The whole thread waits, with all that it has.
                        let _ = thawed.recv();
                    }
                };
                tokio::select! {
                    () = serve(listener) => {}
                    () = freezing => {}
                    _ = stopped => {}
                }
            });
        });
        self.running = Some(Running { stop, freeze, frozen: None, thread });
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .field("address", &self.address)
            .field("is_running", &self.running.is_some())
            .finish_non_exhaustive()
    }
}

/// Its name and address.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.address)
    }
}

async fn accept(name: &'static str, listener: tokio::net::TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let service = service_fn(move |_: Request<Incoming>| async move {
            sleep(LATENCY).await;
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(name.as_bytes()))))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
