//! Which requests may be sent twice.

/// Says which requests may be sent twice, so that they may be retried and hedged.
///
/// Only the user knows what an endpoint does with a request: a `GET` may usually be repeated, a payment may not, unless nobody
/// [had it](super::Builder::unsent). Functions from a request to `bool` implement it.
///
/// ```
/// use poise::tower::Idempotent;
///
/// struct Request {
///     method: &'static str,
/// }
///
/// let reads = |request: &Request| matches!(request.method, "GET" | "HEAD");
/// assert!(reads.is_idempotent(&Request { method: "GET" }));
/// assert!(!reads.is_idempotent(&Request { method: "POST" }));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which requests may be sent twice",
    note = "closures do when they name the type of the request: `|request: &Request| ..`"
)]
pub trait Idempotent<Request> {
    /// Tells whether an endpoint may get this request although it, or another one, may have got it before.
    fn is_idempotent(&self, request: &Request) -> bool;
}

impl<Request, F: Fn(&Request) -> bool> Idempotent<Request> for F {
    fn is_idempotent(&self, request: &Request) -> bool {
        self(request)
    }
}
