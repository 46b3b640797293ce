//! A body that keeps its attempt open to its end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use http_body::{Body as _, Frame, SizeHint};
use poise::core::Outcome;
use poise::tower::{BoxError, ResponseGuard};
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic::{Code, Status};

use crate::status::{lost, outcome};

/// Ends its attempt with the status, which comes last; a body that breaks off before ends in an error that names the
/// server.
pub(crate) struct GuardedBody {
    body: Body,
    guard: Option<ResponseGuard>,
    server: String,
}

/// Lets the guard travel in the body.
pub(crate) fn guard(guard: ResponseGuard, response: Response<Body>) -> Response<Body> {
    let server = guard.endpoint().unwrap_or_default().to_owned();
    response.map(|body| {
        let mut body = GuardedBody { body, guard: Some(guard), server };
        if body.body.is_end_stream() {
            body.finish(Outcome::Success);
        }
        Body::new(body)
    })
}

impl GuardedBody {
    fn finish(&mut self, outcome: Outcome) {
        if let Some(guard) = self.guard.take() {
            guard.finish(outcome);
        }
    }

    fn broken(&mut self, why: impl Into<BoxError>) -> Status {
        self.finish(Outcome::Failure);
        lost(&format!("the answer of {} broke off", self.server), why)
    }
}

impl http_body::Body for GuardedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(self.broken(error)))),
            None if self.guard.is_some() => return Poll::Ready(Some(Err(self.broken("there is no status")))),
            None => return Poll::Ready(None),
        };
        if let Some(trailers) = frame.trailers_ref() {
            let code = Status::from_header_map(trailers).map_or(Code::Unknown, |status| status.code());
            self.finish(outcome(code));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
