//! Events of a balancer as a log has them.

#![cfg(all(feature = "full", not(loom)))]

#[allow(dead_code, reason = "every file uses a part of it")]
#[path = "support/scripted.rs"]
mod scripted;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::scripted::{Mode, Script};
use ::tracing::Instrument;
use ::tracing::instrument::WithSubscriber;
use ::tracing::level_filters::LevelFilter;
use poise::core::Attributes;
use poise::core::policy::RoundRobin;
use poise::discovery::Directory;
use poise::health::CircuitConfig;
use poise::observe::{TracingObserver, request_span};
use poise::tower::{Balancer, Retry};
use tracing_subscriber::fmt::MakeWriter;

/// A buffer that a subscriber writes to.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Buffer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[::tokio::test(start_paused = true)]
async fn a_request_that_is_instrumented_has_its_events_and_its_endpoint_in_its_span() {
    let buffer = Buffer::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(buffer.clone())
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .without_time()
        .finish();
    let mut members = Directory::new();
    for key in 0..2 {
        members.upsert_with(key, (), Attributes::default()).unwrap();
    }
    let script = Script::new(&[(0, Mode::Fails)]);
    let requests = async {
        let balancer = Balancer::builder()
            .discover(members.reader(), move |key, ()| script.service(*key))
            .policy(RoundRobin::starting_at(0))
            .circuit(CircuitConfig::new(1, Duration::from_secs(10)).unwrap())
            .retry(Retry::attempts(2).unwrap())
            .observe(TracingObserver::new().without_spans())
            .spawn()
            .unwrap();
        assert_eq!(balancer.send(()).instrument(request_span()).await.unwrap(), 1);
        assert_eq!(balancer.send(()).await.unwrap(), 1);
    };
    requests.with_subscriber(subscriber).await;

    let written = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
    let line = |with: &str| {
        let lines: Vec<_> = written.lines().filter(|line| line.contains(with)).collect();
        assert_eq!(lines.len(), 1, "{with:?} in\n{written}");
        lines[0]
    };
    let failed = line("an attempt failed");
    assert!(failed.contains(r#"DEBUG request{network.peer.address="0""#), "{failed}");
    assert!(failed.contains(r#"error.type="failure" elapsed_seconds=0"#), "{failed}");
    let tripped = line("a circuit opened");
    assert!(
        tripped.contains("WARN request{")
            && tripped.ends_with(r#"network.peer.address="0" reason="failures" epoch=1"#),
        "{tripped}"
    );
    assert!(line("a membership took effect").contains("INFO poise: "), "no span is entered");
    let ends: Vec<_> = written.lines().filter(|line| line.contains("an attempt ended")).collect();
    assert_eq!(ends.len(), 2, "\n{written}");
    assert!(ends[0].contains(r#"network.peer.address="1""#) && ends[0].contains("request{"), "{}", ends[0]);
    assert!(!ends[1].contains("request{"), "a request without a span has none: {}", ends[1]);
}
