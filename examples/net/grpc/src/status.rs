//! What a status says of the server that sent it, and which status an error of the balancer becomes.

use std::error::Error;
use std::iter::successors;
use std::sync::Arc;

use poise::core::Outcome;
use poise::tower::{BalancerError, BalancerErrorKind, BoxError};
use tonic::{Code, ConnectError, Status};

/// Tells which codes are the server's fault. Who says that an item is not there has done what it should.
pub(crate) fn outcome(code: Code) -> Outcome {
    match code {
        Code::Unknown | Code::DeadlineExceeded | Code::Internal | Code::Unavailable | Code::DataLoss => {
            Outcome::Failure
        }
        Code::ResourceExhausted => Outcome::Overload { retry_after: None },
        _ => Outcome::Success,
    }
}

/// A connection that is not there, or breaks, is `UNAVAILABLE`. Why is at the end of the chain.
pub(crate) fn lost(what: &str, error: impl Into<BoxError>) -> Status {
    let error = error.into();
    let mut cause: &dyn Error = &*error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let mut status = Status::unavailable(format!("{what}: {cause}"));
    status.set_source(Arc::from(error));
    status
}

/// Tells whether no server had the call, as there was no connection to send it on: it may go elsewhere, whatever it does.
pub(crate) fn is_unsent(status: &Status) -> bool {
    successors(status.source(), |&error| error.source()).any(<dyn Error>::is::<ConnectError>)
}

/// What the server said is passed on as it is. Of its failures, and of those of the balancer, the text says where they were.
pub(crate) fn of(error: BalancerError) -> Status {
    let (code, text) = (code(&error), error.to_string());
    let source = error.into_source().and_then(|source| source.downcast::<Status>().ok());
    match source {
        None => Status::new(code, text),
        Some(status) if !outcome(status.code()).is_error() => *status,
        Some(status) => Status::with_details_and_metadata(
            status.code(),
            format!("{text}: {}", status.message()),
            status.details().to_vec().into(),
            status.metadata().clone(),
        ),
    }
}

fn code(error: &BalancerError) -> Code {
    match error.kind() {
        BalancerErrorKind::Deadline => Code::DeadlineExceeded,
        BalancerErrorKind::AtCapacity(_) => Code::ResourceExhausted,
        _ => Code::Unavailable,
    }
}
