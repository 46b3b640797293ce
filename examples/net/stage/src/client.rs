//! The leaf: what asks one server.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Empty};
use hyper::Uri;
use hyper::body::Bytes;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use poise::tower::BoxError;
use tower_service::Service;

/// Asks for `/`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Get;

/// Asks one server over HTTP, on connections that it keeps, and answers with the whole body.
#[derive(Clone, Debug)]
pub struct Client {
    uri: Uri,
    connections: legacy::Client<HttpConnector, Empty<Bytes>>,
}

impl Client {
    /// Makes the client of a server.
    ///
    /// # Errors
    ///
    /// None that an address can cause.
    pub fn to(server: SocketAddr) -> Result<Self, hyper::http::Error> {
        let uri = Uri::builder().scheme("http").authority(server.to_string()).path_and_query("/").build()?;
        Ok(Self { uri, connections: legacy::Client::builder(TokioExecutor::new()).build_http() })
    }
}

impl Service<Get> for Client {
    type Response = Bytes;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Bytes, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, Get: Get) -> Self::Future {
        let response = self.connections.get(self.uri.clone());
        Box::pin(async move {
            let response = response.await?;
            if !response.status().is_success() {
                return Err(response.status().to_string().into());
            }
            Ok(response.into_body().collect().await?.to_bytes())
        })
    }
}
