//! What a server counts of the requests that pass its layer.

use std::future::pending;
use std::sync::Arc;

use futures_util::FutureExt;
use poise::core::{Now, Outcome, ServerLoad};
use poise::tower::ServerLoadLayer;
use tower::{Layer, Service, ServiceExt, service_fn};

#[test]
fn requests_count_from_their_call_to_their_end_or_their_drop() {
    let load = Arc::new(ServerLoad::new());
    let layer = ServerLoadLayer::new(Arc::clone(&load));
    let mut hanging = layer.layer(service_fn(|()| pending::<Result<(), ()>>()));
    let futures = [(); 3].map(|()| hanging.call(()));
    assert_eq!(load.rif(), 3, "also before they are polled");
    drop(futures);
    assert_eq!((load.rif(), load.answer(&Now::lazy()).failures()), (0, 0), "who gives up blames nobody");

    let failing = layer.layer(service_fn(|()| async { Err::<(), _>("no") }));
    assert_eq!(failing.oneshot(()).now_or_never(), Some(Err("no")));
    assert_eq!((load.rif(), load.answer(&Now::lazy()).failures()), (0, 1));
}

#[test]
fn the_answer_may_ride_on_the_response() {
    let load = Arc::new(ServerLoad::new());
    let layer = ServerLoadLayer::new(Arc::clone(&load)).concluding(
        |answer: &mut Result<String, ()>, load: &ServerLoad| match answer {
            Ok(body) => {
                body.push_str(&load.answer(&Now::lazy()).to_string());
                if body.starts_with("bad") { Outcome::Failure } else { Outcome::Success }
            }
            Err(()) => Outcome::Failure,
        },
    );
    let mut server =
        layer.layer(service_fn(|body: &'static str| async move { Ok::<_, ()>(body.to_owned()) }));
    let mut ask = |body| server.call(body).now_or_never().unwrap().unwrap();
    assert_eq!(ask("bad "), "bad rif=1 latency_us=0 failures=0");
    assert!(ask("good ").ends_with("failures=1"));
    assert!(ask("good ").ends_with("failures=0"));
}
