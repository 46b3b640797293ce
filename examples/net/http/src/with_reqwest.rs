//! Under reqwest's client, whose requests are not `Clone`: with tower's retry around the balancer.

use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use poise::core::Backend;
use poise::discovery::SnapshotReader;
use poise::tower::{Balancer, BalancerError, BoxError};
use reqwest::{Client, Error, Request, Response, Url};
use tower::retry::{Policy, Retry};
use tower::{Service, ServiceBuilder, ServiceExt};

pub(crate) type Web = Balancer<Server, Request>;
pub(crate) type Stack = Retry<Again, Web>;

/// Sends requests to one server. The client may be one for all servers.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    client: Client,
}

impl Service<Request> for Server {
    type Response = Response;
    type Error = Error;
    type Future = <Client as Service<Request>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.client.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let url = request.url_mut();
        // A URL of HTTP has a host and may have a port.
        let _ = url.set_ip_host(self.address.ip());
        let _ = url.set_port(Some(self.address.port()));
        self.client.call(request)
    }
}

/// Makes the balancer.
pub(crate) fn balancer(members: SnapshotReader<&'static str, Backend<SocketAddr>>) -> Result<Web, BoxError> {
    let client = Client::builder().no_proxy().build()?;
    let web = Balancer::builder()
        .discover(members, move |_key, server| Server { address: *server.id(), client: client.clone() })
        .attempt_timeout(Duration::from_secs(2))
        .unsent(Error::is_connect)
        .spawn()?;
    Ok(web)
}

pub(crate) fn stack(web: Web) -> Stack {
    ServiceBuilder::new().retry(Again { times: 5 }).service(web)
}

/// Sends again what failed, if it may be sent twice or nobody had it.
///
/// A retry around the balancer cannot avoid the server that failed, so it takes more attempts than one inside: as many as failures
/// open a circuit, and one.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    times: u32,
}

impl<T> Policy<Request, T, BalancerError> for Again {
    type Future = Ready<()>;

    fn retry(&mut self, request: &mut Request, result: &mut Result<T, BalancerError>) -> Option<Ready<()>> {
        let error = result.as_ref().err()?;
        if !request.method().is_idempotent() && !error.is_retryable() {
            return None;
        }
        self.times = self.times.checked_sub(1)?;
        Some(ready(()))
    }

    /// A body that is a stream has no copy.
    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        request.try_clone()
    }
}

/// Gets a path from whichever server; the host of the URL is but a name.
pub(crate) async fn get(stack: Stack, path: &str) -> Result<String, BoxError> {
    let url = Url::parse("http://web.test")?.join(path)?;
    let response = stack.oneshot(Request::new(reqwest::Method::GET, url)).await?;
    Ok(response.error_for_status()?.text().await?)
}
