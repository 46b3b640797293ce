//! Behind a router of axum: what it has no route for goes to whichever server, within limits.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderMap, StatusCode};
use http_body_util::Full;
use poise::tower::{BalancerError, BalancerErrorKind, BoxError};
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::timeout::error::Elapsed;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::with_hyper::{Buffered, Web};

/// So many requests are handed on at the same time; who comes then is told to come later.
const AT_ONCE: usize = 256;
/// How large a body may be that is kept to be sent again.
const LARGEST: usize = 64 * 1024;

/// Makes the router.
pub(crate) fn router(web: Web) -> Router {
    let stack = ServiceBuilder::new()
        .load_shed()
        .layer(GlobalConcurrencyLimitLayer::new(AT_ONCE))
        .timeout(Duration::from_secs(5))
        .service(web);
    let proxy = service_fn(move |request: Request| {
        let stack = stack.clone();
        async move {
            let response = hand_on(stack, request).await;
            Ok::<_, Infallible>(response.unwrap_or_else(IntoResponse::into_response))
        }
    });
    Router::new().route("/health", get(|| async { "well" })).fallback_service(proxy)
}

async fn hand_on<S, B>(stack: S, request: Request) -> Result<Response, StatusCode>
where
    S: Service<Buffered, Response = http::Response<B>, Error = BoxError>,
    B: http_body::Body<Data = hyper::body::Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let (mut head, body) = request.into_parts();
    of_the_connection(&mut head.headers);
    let body = to_bytes(body, LARGEST).await.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    let response = stack.oneshot(Request::from_parts(head, Full::new(body))).await;
    let mut response = response.map_err(|error| status(&error))?.map(Body::new);
    of_the_connection(response.headers_mut());
    Ok(response)
}

/// Takes out what is meant for one connection and not for the next.
fn of_the_connection(headers: &mut HeaderMap) {
    headers.remove(CONNECTION);
    headers.remove(TRANSFER_ENCODING);
}

fn status(error: &BoxError) -> StatusCode {
    if error.is::<Elapsed>() {
        return StatusCode::GATEWAY_TIMEOUT;
    }
    match error.downcast_ref::<BalancerError>().map(BalancerError::kind) {
        Some(BalancerErrorKind::Deadline) => StatusCode::GATEWAY_TIMEOUT,
        Some(BalancerErrorKind::Endpoint) => StatusCode::BAD_GATEWAY,
        // The limit is reached, or there is nobody to hand it on to.
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}
