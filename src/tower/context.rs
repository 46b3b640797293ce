//! By which key a request is routed.

use std::fmt;

/// Shows a policy the key of a request.
///
/// The key is lent for the time of a pick: it may be borrowed from the request or computed on the spot, and nothing is
/// cloned. Equal users must have equal keys, so make case, normal form and encoding the same before.
///
/// ```
/// use poise::tower::{BorrowedKey, RequestContext};
///
/// struct Request {
///     user: String,
/// }
///
/// let context = BorrowedKey::new(|request: &Request| request.user.as_str());
/// let request = Request { user: "ann".into() };
/// assert_eq!(context.with_key(&request, str::len), 3);
/// ```
pub trait RequestContext<Request> {
    /// What the policy sees.
    type Key: ?Sized;

    /// Calls `f` with the key of `request`.
    fn with_key<T>(&self, request: &Request, f: impl FnOnce(&Self::Key) -> T) -> T;
}

/// Gives policies no key: `()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContext;

impl<Request> RequestContext<Request> for NoContext {
    type Key = ();

    fn with_key<T>(&self, _: &Request, f: impl FnOnce(&()) -> T) -> T {
        f(&())
    }
}

/// Gives policies the whole request.
#[derive(Clone, Copy, Debug, Default)]
pub struct UseRequest;

impl<Request> RequestContext<Request> for UseRequest {
    type Key = Request;

    fn with_key<T>(&self, request: &Request, f: impl FnOnce(&Request) -> T) -> T {
        f(request)
    }
}

/// Gives policies a part of the request.
#[derive(Clone, Copy)]
pub struct BorrowedKey<F>(F);

impl<F> BorrowedKey<F> {
    /// Makes a context of a function that borrows the key from the request.
    pub fn new<Request, Key: ?Sized>(key: F) -> Self
    where
        F: for<'a> Fn(&'a Request) -> &'a Key,
    {
        Self(key)
    }
}

impl<Request, Key: ?Sized, F> RequestContext<Request> for BorrowedKey<F>
where
    F: for<'a> Fn(&'a Request) -> &'a Key,
{
    type Key = Key;

    fn with_key<T>(&self, request: &Request, f: impl FnOnce(&Key) -> T) -> T {
        f((self.0)(request))
    }
}

impl<F> fmt::Debug for BorrowedKey<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BorrowedKey")
    }
}

/// Gives policies a key that is computed from the request.
#[derive(Clone, Copy)]
pub struct ComputedKey<F>(F);

impl<F> ComputedKey<F> {
    /// Makes a context of a function that computes the key.
    pub fn new<Request, Key>(key: F) -> Self
    where
        F: Fn(&Request) -> Key,
    {
        Self(key)
    }
}

impl<Request, Key, F: Fn(&Request) -> Key> RequestContext<Request> for ComputedKey<F> {
    type Key = Key;

    fn with_key<T>(&self, request: &Request, f: impl FnOnce(&Key) -> T) -> T {
        f(&(self.0)(request))
    }
}

impl<F> fmt::Debug for ComputedKey<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ComputedKey")
    }
}
