//! Claims on `Balance`: a load tracker of the user that panics keeps nothing that an attempt was issued.

use std::convert::Infallible;
use std::future::ready;

use futures_util::FutureExt;
use poise::core::policy::RoundRobin;
use poise::core::{AtCapacity, Backend, InFlight, LoadMetric, LoadTracker, Now, Outcome};
use poise::tower::{Balance, Endpoint};
use tower::{Service, ServiceExt, service_fn};

/// Has one place, and panics when it is told how an attempt ended.
struct Fragile(InFlight);

impl LoadMetric for Fragile {
    fn measure(&self, now: &Now) -> f64 {
        self.0.measure(now)
    }
}

impl LoadTracker for Fragile {
    type Ticket = ();

    fn start(&self, now: &Now) -> Result<(), AtCapacity> {
        self.0.start(now)
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {
        panic!("told to panic");
    }

    fn release(&self, ticket: (), now: &Now) {
        self.0.release(ticket, now);
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn has_limit(&self) -> bool {
        true
    }
}

#[test]
fn the_place_at_a_tracker_that_panics_at_the_answer_comes_back() {
    let service = service_fn(|request: u32| ready(Ok::<_, Infallible>(request)));
    let tracker = Fragile(InFlight::with_limit(1).expect("a positive limit"));
    let endpoint = Endpoint::new(Backend::new("a"), service).with_tracker(tracker);
    let mut balance = Balance::new(RoundRobin::new(), [endpoint]);
    for request in 0..5 {
        let ready = balance.ready().now_or_never().expect("there is a place").expect("it is ready");
        assert_eq!(ready.call(request).now_or_never().expect("it answers at once").ok(), Some(request));
        assert_eq!(balance.endpoints()[0].tracker().0.current(), 0);
    }
}
