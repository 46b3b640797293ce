//! The leaf: what sends a request to one server.

use std::net::SocketAddr;
use std::task::{Context, Poll};

use http_body_util::Empty;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::http::uri::{Authority, InvalidUri, Scheme, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, ResponseFuture};
use tower_service::Service;

pub(crate) type Request = hyper::Request<Empty<Bytes>>;
pub(crate) type Connections = legacy::Client<HttpConnector, Empty<Bytes>>;

/// Sends every request to one authority, over connections that all clients share.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    authority: Authority,
    inner: Connections,
}

impl Client {
    pub(crate) fn to(address: SocketAddr, inner: Connections) -> Result<Self, InvalidUri> {
        Ok(Self { authority: address.to_string().parse()?, inner })
    }
}

impl Service<Request> for Client {
    type Response = Response<Incoming>;
    type Error = legacy::Error;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), legacy::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request) -> ResponseFuture {
        let mut uri = request.uri().clone().into_parts();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(self.authority.clone());
        // With an authority and the path that came with the request, the parts are whole.
        if let Ok(uri) = Uri::from_parts(uri) {
            *request.uri_mut() = uri;
        }
        self.inner.request(request)
    }
}
