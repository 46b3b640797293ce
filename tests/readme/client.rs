use std::net::SocketAddr;
use std::task::{Context, Poll};

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::{self, ResponseFuture, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;

pub(crate) type Request = hyper::Request<Empty<Bytes>>;
pub(crate) type Response = hyper::Response<Incoming>;
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Sends requests, whose URI is a path, to one server.
#[derive(Clone)]
pub(crate) struct Client {
    server: SocketAddr,
    inner: legacy::Client<HttpConnector, Empty<Bytes>>,
}

impl Client {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let inner = legacy::Client::builder(TokioExecutor::new()).build_http();
        Self { server, inner }
    }
}

impl tower_service::Service<Request> for Client {
    type Response = Response;
    type Error = legacy::Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), legacy::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request) -> ResponseFuture {
        if let Ok(uri) = format!("http://{}{}", self.server, request.uri()).parse() {
            *request.uri_mut() = uri;
        }
        self.inner.request(request)
    }
}
