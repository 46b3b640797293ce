//! What is done with an answer before it leaves.

use crate::core::{Outcome, ServerLoad};

/// Says how a request ended, and may let what the server knows of its load ride on the response.
///
/// It is implemented for functions.
pub trait Conclude<Response, Error> {
    /// Looks at the answer, and changes it at will. The request still counts as in flight.
    fn conclude(&self, answer: &mut Result<Response, Error>, load: &ServerLoad) -> Outcome;
}

impl<F, Response, Error> Conclude<Response, Error> for F
where
    F: Fn(&mut Result<Response, Error>, &ServerLoad) -> Outcome,
{
    fn conclude(&self, answer: &mut Result<Response, Error>, load: &ServerLoad) -> Outcome {
        self(answer, load)
    }
}

/// Takes `Ok` for a success and `Err` for a failure, and leaves both as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByResult;

impl<Response, Error> Conclude<Response, Error> for ByResult {
    fn conclude(&self, answer: &mut Result<Response, Error>, _: &ServerLoad) -> Outcome {
        Outcome::of(answer.as_ref())
    }
}
