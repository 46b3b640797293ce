//! Who hears of services that failed to become ready.

/// Hears of each endpoint whose service failed to become ready, and gets the error.
///
/// Such an error fails no request as long as another endpoint is ready, so nobody else would see it. It is called where the
/// service was polled, returns quickly, and a panic in it is contained.
///
/// Closures are observers, and [`IgnoreFailures`] is the one that drops every error.
pub trait ReadinessObserver<Id: ?Sized, E> {
    /// Takes the error of the endpoint with this identity.
    fn failed(&mut self, endpoint: &Id, error: E);
}

impl<Id: ?Sized, E, F: FnMut(&Id, E)> ReadinessObserver<Id, E> for F {
    fn failed(&mut self, endpoint: &Id, error: E) {
        self(endpoint, error);
    }
}

/// Drops every error.
#[derive(Clone, Copy, Debug, Default)]
pub struct IgnoreFailures;

impl<Id: ?Sized, E> ReadinessObserver<Id, E> for IgnoreFailures {
    fn failed(&mut self, _: &Id, _: E) {}
}
