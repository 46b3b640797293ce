//! Making endpoints of members.

use std::fmt;

use crate::core::{InFlight, LoadTracker};

/// Makes the service and the tracker of one generation of a member.
///
/// It is asked for each allocation of a backend once, in the order of the snapshot, and only what a whole snapshot needs is
/// kept: if it fails for one member, what it made for the others is dropped. It should therefore not hand a service to
/// anybody else before it returns.
///
/// Closures that return `(service, tracker)` are factories; [`in_flight_factory`] makes one of a closure that returns a
/// service alone.
///
/// ```
/// use poise::core::{Backend, PeakEwma};
/// use poise::tower::EndpointFactory;
/// use std::convert::Infallible;
///
/// let mut factory = |_key: &u32, backend: &Backend<&str>| {
///     Ok::<_, Infallible>((format!("a client of {}", backend.id()), PeakEwma::default()))
/// };
/// let (service, _tracker) = factory.build(&7, &Backend::new("10.0.0.1:80"))?;
/// assert_eq!(service, "a client of 10.0.0.1:80");
/// # Ok::<(), Infallible>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` makes no endpoints",
    note = "a factory is a closure over `&K` and `&B` that returns `Ok((service, tracker))`, or a closure that returns \
            `Ok(service)` in `in_flight_factory(..)`"
)]
pub trait EndpointFactory<K, B> {
    /// The service of an endpoint.
    type Service;
    /// What tracks its load.
    type Tracker: LoadTracker;
    /// Why an endpoint could not be made.
    type Error;

    /// Makes an endpoint.
    ///
    /// # Errors
    ///
    /// When it cannot; the snapshot then does not take effect.
    fn build(&mut self, key: &K, backend: &B) -> Result<(Self::Service, Self::Tracker), Self::Error>;
}

impl<K, B, S, L, E, F> EndpointFactory<K, B> for F
where
    F: FnMut(&K, &B) -> Result<(S, L), E>,
    L: LoadTracker,
{
    type Service = S;
    type Tracker = L;
    type Error = E;

    fn build(&mut self, key: &K, backend: &B) -> Result<(S, L), E> {
        self(key, backend)
    }
}

/// Makes a factory of a closure that makes services; each generation gets a fresh [`InFlight`] without a limit.
pub fn in_flight_factory<K, B, S, E, F>(service: F) -> InFlightFactory<F>
where
    F: FnMut(&K, &B) -> Result<S, E>,
{
    InFlightFactory(service)
}

/// The factory that [`in_flight_factory`] makes.
#[derive(Clone, Copy)]
pub struct InFlightFactory<F>(F);

impl<K, B, S, E, F> EndpointFactory<K, B> for InFlightFactory<F>
where
    F: FnMut(&K, &B) -> Result<S, E>,
{
    type Service = S;
    type Tracker = InFlight;
    type Error = E;

    fn build(&mut self, key: &K, backend: &B) -> Result<(S, InFlight), E> {
        Ok(((self.0)(key, backend)?, InFlight::new()))
    }
}

impl<F> fmt::Debug for InFlightFactory<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InFlightFactory")
    }
}
