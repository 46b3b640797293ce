//! A span for each attempt.
#![cfg(all(feature = "full", not(loom)))]

#[path = "support/fields.rs"]
mod fields;
#[path = "support/spans.rs"]
mod spans;

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use ::tracing::instrument::WithSubscriber;
use ::tracing::{Instrument, Span, info, info_span};
use poise::core::policy::RoundRobin;
use poise::core::{Attributes, Outcome};
use poise::discovery::{Directory, SnapshotReader};
use poise::observe::{Fanout, Observer, Recorder, TracingObserver, request_span};
use poise::tower::{Balancer, Hedge, Retry};
use tower::util::BoxCloneSyncService;

use self::spans::Spans;

type Client = BoxCloneSyncService<(), u32, io::Error>;

/// Answers after a millisecond, and says so; the endpoints of `failing` fail.
fn client(key: u32, failing: &'static [u32], takes: Duration) -> Client {
    BoxCloneSyncService::new(tower::service_fn(move |()| async move {
        info!("handed over");
        tokio::time::sleep(takes).await;
        info!("answers");
        if failing.contains(&key) { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(key) }
    }))
}

fn members(count: u32) -> (Directory<u32, ()>, SnapshotReader<u32, ()>) {
    let mut directory = Directory::new();
    (0..count).for_each(|key| directory.upsert_with(key, (), Attributes::default()).map(drop).unwrap());
    let reader = directory.reader();
    (directory, reader)
}

fn balancer(failing: &'static [u32], observer: impl Observer + 'static) -> Balancer<Client, ()> {
    let (_, reader) = members(2);
    Balancer::builder()
        .discover(reader, move |key, ()| client(*key, failing, Duration::from_millis(1)))
        .policy(RoundRobin::starting_at(0))
        .retry(Retry::attempts(2).unwrap())
        .observe(observer)
        .spawn()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_a_span_below_that_of_the_caller() {
    let spans = Spans::default();
    async {
        let observer = TracingObserver::new().with_server("users.internal");
        let balancer = balancer(&[0], observer);
        assert_eq!(balancer.send(()).instrument(info_span!("caller")).await.unwrap(), 1);
    }
    .with_subscriber(spans.subscriber())
    .await;

    let caller = spans.one("caller");
    let attempts = spans.named("attempt");
    let [first, second] = &attempts[..] else { panic!("{attempts:#?}") };
    for attempt in [first, second] {
        assert_eq!(attempt.parent, Some(caller.id));
        assert_eq!(attempt.target, "poise");
        assert_eq!(attempt.text("server.address"), "users.internal");
        assert_eq!(attempt.text("phase"), "call");
        assert_eq!(Duration::from_secs_f64(attempt.real("elapsed_seconds")), Duration::from_millis(1));
        assert!(attempt.closed, "it ends with the attempt");
        assert_eq!(attempt.events[..2], ["handed over", "answers"], "what the service does is below it");
    }
    assert_eq!((first.text("network.peer.address"), second.text("network.peer.address")), ("0", "1"));
    assert_eq!((first.text("outcome"), second.text("outcome")), ("failure", "success"));
    assert_eq!((first.get("error.type"), second.get("error.type")), (Some("failure"), None));
    assert_eq!(first.events[2..], ["an attempt failed"]);
    assert_eq!(second.events[2..], ["an attempt ended"]);
    assert!(!first.fields.contains_key("http.request.resend_count"), "it is sent for the first time");
    assert_eq!(second.integer("http.request.resend_count"), 1);
}

#[tokio::test(start_paused = true)]
async fn no_span_is_entered_while_an_attempt_waits() {
    let spans = Spans::default();
    async {
        let balancer = balancer(&[], TracingObserver::new());
        let caller = info_span!("caller");
        let mut requests: Vec<_> =
            (0..8).map(|_| Box::pin(balancer.send(()).instrument(caller.clone()))).collect();
        for request in &mut requests {
            let pending = poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx).is_pending())).await;
            assert!(pending, "it takes a millisecond");
            assert!(Span::current().is_none());
        }
        assert_eq!(spans.entered(), 0);
        // Out of order, and one of them not at all.
        drop(requests.pop());
        for request in requests.into_iter().rev() {
            request.await.unwrap();
        }
        assert_eq!(spans.entered(), 0);
    }
    .with_subscriber(spans.subscriber())
    .await;

    let attempts = spans.named("attempt");
    assert_eq!(attempts.len(), 8);
    let cancelled = attempts.iter().filter(|attempt| attempt.text("outcome") == "cancelled").count();
    assert_eq!(cancelled, 1);
    for attempt in &attempts {
        assert!(attempt.closed);
        assert_eq!(attempt.events.iter().filter(|event| *event == "handed over").count(), 1);
        assert!(!attempt.fields.contains_key("error.type"), "{attempt:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedge_is_a_sibling_of_the_attempt_that_it_stands_beside() {
    let spans = Spans::default();
    async {
        let (_directory, reader) = members(2);
        let balancer = Balancer::builder()
            .discover(reader, |key, ()| {
                client(*key, &[], Duration::from_millis(if *key == 0 { 100 } else { 1 }))
            })
            .policy(RoundRobin::starting_at(0))
            .hedge(Hedge::after(Duration::from_millis(10)))
            .observe(TracingObserver::new())
            .spawn()
            .unwrap();
        assert_eq!(balancer.send(()).instrument(info_span!("caller")).await.unwrap(), 1);
    }
    .with_subscriber(spans.subscriber())
    .await;

    let caller = spans.one("caller");
    let attempts = spans.named("attempt");
    let seen: Vec<_> = attempts
        .iter()
        .map(|attempt| (attempt.parent, attempt.text("network.peer.address"), attempt.text("outcome")))
        .collect();
    assert_eq!(seen, [(Some(caller.id), "0", "cancelled"), (Some(caller.id), "1", "success")]);
    assert_eq!(attempts[1].integer("http.request.resend_count"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_guarded_attempt_lasts_until_its_response_ends() {
    let spans = Spans::default();
    async {
        let balancer = balancer(&[], TracingObserver::new()).guarded(|guard, answer| (guard, answer));
        let (guard, _) = balancer.send(()).await.unwrap();
        assert!(!spans.one("attempt").closed);
        guard.finish(Outcome::Failure);
        assert!(spans.one("attempt").closed);
    }
    .with_subscriber(spans.subscriber())
    .await;
    assert_eq!(spans.one("attempt").text("error.type"), "failure");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_not_ready_fails_in_a_span_of_its_own() {
    #[derive(Clone)]
    struct Unready;

    impl tower::Service<()> for Unready {
        type Response = u32;
        type Error = io::Error;
        type Future = std::future::Ready<io::Result<u32>>;

        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
            info!("made ready");
            std::task::Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into()))
        }

        fn call(&mut self, (): ()) -> Self::Future {
            unreachable!("it is not ready")
        }
    }

    let spans = Spans::default();
    async {
        let (_directory, reader) = members(1);
        let balancer = Balancer::builder()
            .discover(reader, |_, ()| Unready)
            .observe(TracingObserver::new())
            .spawn()
            .unwrap();
        balancer.send(()).await.unwrap_err();
    }
    .with_subscriber(spans.subscriber())
    .await;
    let attempt = spans.one("attempt");
    assert_eq!((attempt.text("phase"), attempt.text("error.type")), ("readiness", "failure"));
    assert_eq!(attempt.events, ["made ready", "an attempt failed"]);
    assert!(!attempt.fields.contains_key("http.request.resend_count"));
}

#[tokio::test(start_paused = true)]
async fn without_spans_the_span_of_the_request_takes_their_place() {
    let spans = Spans::default();
    async {
        let balancer = balancer(&[0], TracingObserver::new().without_spans());
        assert_eq!(balancer.send(()).instrument(request_span()).await.unwrap(), 1);
    }
    .with_subscriber(spans.subscriber())
    .await;
    assert_eq!(spans.named("attempt").len(), 0);
    let request = spans.one("request");
    assert_eq!((request.text("network.peer.address"), request.text("outcome")), ("1", "success"));
}

#[tokio::test(start_paused = true)]
async fn observers_beside_it_hear_the_same_and_stand_in_the_same_span() {
    /// Says that an attempt ended.
    struct Says;

    impl Observer for Says {
        fn attempt(&self, _: &poise::observe::AttemptEvent<'_>) {
            info!("heard by another");
        }
    }

    let spans = Spans::default();
    let recorder = Recorder::new();
    async {
        let both = Fanout::new().with(TracingObserver::new()).with(Says).with(recorder.clone());
        balancer(&[], both).send(()).await.unwrap();
    }
    .with_subscriber(spans.subscriber())
    .await;
    assert_eq!(spans.one("attempt").events.last().map(String::as_str), Some("heard by another"));
    assert_eq!(recorder.snapshot().attempts(poise::core::Phase::Call, Outcome::Success), 1);
}

#[test]
fn only_who_wants_spans_gets_them() {
    let spans = Spans::default();
    ::tracing::subscriber::with_default(spans.subscriber_above_info(), || {
        assert!(TracingObserver::new().attempt_scope("a").is_none(), "who wants warnings wants no spans");
    });
    ::tracing::subscriber::with_default(spans.subscriber(), || {
        assert!(TracingObserver::new().attempt_scope("a").is_some());
    });
}
