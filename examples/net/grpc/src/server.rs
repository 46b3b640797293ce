//! The leaf: what sends a call to one server.

use std::future::{Future, poll_fn};
use std::iter::successors;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic::transport::{Channel, Endpoint, Error};
use tonic::{Code, Status};
use tower_service::Service;

use crate::shop;
use crate::status::lost;

/// A call whose message is here as a whole, so that it can be sent again.
pub(crate) type Call = Request<Full<Bytes>>;

/// How often a connection is asked whether it is alive, and how long it may take to say so. Without it, a stream from a server
/// that freezes waits for ever: a time limit of attempts ends with the head.
const ALIVE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));

/// Sends calls to one server, over a connection that is made when it is needed.
///
/// Whatever is no success is an error, also when a server says so in the trailers, so that the balancer sees it. The
/// answer of a unary call is taken as a whole, so that one that breaks off is tried again elsewhere.
#[derive(Clone)]
pub(crate) struct Server {
    channel: Channel,
}

impl Server {
    pub(crate) fn at(address: SocketAddr) -> Result<Self, Error> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?
            .connect_timeout(Duration::from_secs(1))
            .http2_keep_alive_interval(ALIVE.0)
            .keep_alive_timeout(ALIVE.1);
        Ok(Self { channel: endpoint.connect_lazy() })
    }
}

impl Service<Call> for Server {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.channel.poll_ready(cx).map_err(|error| lost("no connection", error))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let streams = shop::streams(call.uri().path());
        let answer = self.channel.call(call.clone().map(Body::new));
        let mut channel = self.channel.clone();
        Box::pin(async move {
            let answer = match answer.await {
                Err(error) if is_too_late(&error) => {
                    poll_fn(|cx| channel.poll_ready(cx))
                        .await
                        .map_err(|error| lost("no connection", error))?;
                    channel.call(call.map(Body::new)).await
                }
                answer => answer,
            };
            let answer = answer.map_err(|error| lost("no answer", error))?;
            match Status::from_header_map(answer.headers()) {
                Some(status) if status.code() == Code::Ok => return Ok(answer),
                Some(status) => return Err(status),
                None if streams && !answer.body().is_end_stream() => return Ok(answer),
                None => {}
            }
            let (head, body) = answer.into_parts();
            let body = body.collect().await.map_err(|error| lost("half an answer", error))?;
            match body.trailers().and_then(Status::from_header_map) {
                Some(status) if status.code() == Code::Ok => Ok(Response::from_parts(head, Body::new(body))),
                Some(status) => Err(status),
                None => Err(lost("half an answer", "there is no status")),
            }
        })
    }
}

/// Tells whether a connection had said goodbye before the call was sent on it. That is no failure of the server, and what gRPC
/// calls a transparent retry is right for every method.
fn is_too_late(error: &Error) -> bool {
    let chain = successors(Some(error as &dyn std::error::Error), |error| error.source());
    chain.filter_map(|error| error.downcast_ref::<hyper::Error>()).any(hyper::Error::is_canceled)
}
