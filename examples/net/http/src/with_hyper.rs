//! Under the client of hyper-util: retries inside the balancer, a time limit and a buffer around it.

use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error, ResponseFuture};
use hyper_util::rt::TokioExecutor;
use poise::core::{Backend, Outcome};
use poise::discovery::SnapshotReader;
use poise::tower::{Balancer, BoxError, Retry};
use tower::buffer::Buffer;
use tower::timeout::Timeout;
use tower::{Service, ServiceBuilder, ServiceExt};

/// A request whose body is here as a whole, so that it can be sent again.
pub(crate) type Buffered = Request<Full<Bytes>>;
pub(crate) type Web = Balancer<Server, Buffered>;

/// Sends requests to one server, on connections that it keeps.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    authority: Authority,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Server {
    fn at(address: SocketAddr) -> Result<Self, http::uri::InvalidUri> {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { authority: address.to_string().parse()?, client })
    }
}

impl Service<Buffered> for Server {
    type Response = Response<Incoming>;
    type Error = Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    /// Only the server knows its scheme and authority; the client wants both in the URI.
    fn call(&mut self, mut request: Buffered) -> ResponseFuture {
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.authority.clone());
        parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        // With all three parts it is a URI.
        *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
        self.client.request(request)
    }
}

/// Makes the balancer. Its attempts end with the heads of responses: a body that breaks off is not tried again.
pub(crate) fn balancer(members: SnapshotReader<&'static str, Backend<SocketAddr>>) -> Result<Web, BoxError> {
    let web = Balancer::builder()
        .try_discover(members, |_key, server| Server::at(*server.id()))
        .classify(|answer: Result<&Response<Incoming>, &Error>| match answer {
            Ok(response) if response.status().is_server_error() => Outcome::Failure,
            other => Outcome::of(other),
        })
        .attempt_timeout(Duration::from_secs(2))
        .retry(Retry::attempts(2)?)
        .idempotent(|request: &Buffered| request.method().is_idempotent())
        .unsent(Error::is_connect)
        .spawn()?;
    Ok(web)
}

/// A queue before the balancer; the time limit is for each request as a whole, with all its attempts.
pub(crate) type Stack = Buffer<Buffered, <Timeout<Web> as Service<Buffered>>::Future>;

pub(crate) fn stack(web: Web) -> Stack {
    ServiceBuilder::new().buffer(128).timeout(Duration::from_secs(5)).service(web)
}

/// Gets a path from whichever server.
pub(crate) async fn get(stack: Stack, path: &'static str) -> Result<Bytes, BoxError> {
    let request = Request::get(path).body(Full::default())?;
    let response = stack.oneshot(request).await?;
    Ok(response.into_body().collect().await?.to_bytes())
}
