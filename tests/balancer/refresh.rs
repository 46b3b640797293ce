//! A source that is asked again and again, a balancer over it, and failures that make it ask early.

use std::error::Error;
use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use poise::core::{Backend, Outcome};
use poise::discovery::FullSet;
use poise::tokio::{Refresh, RefreshHint};
use poise::tower::{Balancer, BalancerErrorKind, Event, Hook};
use tokio::time::{Instant, sleep};
use tower_service::Service;

type Fallible = Result<(), Box<dyn Error>>;

const SECOND: Duration = Duration::from_secs(1);

/// The servers that run and the answer of the source, which may be out of date.
#[derive(Clone, Default)]
struct World(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    running: Vec<&'static str>,
    registered: Option<Vec<&'static str>>,
    asked: u32,
}

impl World {
    fn of(servers: &[&'static str]) -> Self {
        let world = Self::default();
        world.run(servers);
        world.register(Some(servers));
        world
    }

    fn run(&self, servers: &[&'static str]) {
        self.0.lock().unwrap().running = servers.to_vec();
    }

    /// Sets what the source answers; nothing is an error.
    fn register(&self, servers: Option<&[&'static str]>) {
        self.0.lock().unwrap().registered = servers.map(<[_]>::to_vec);
    }

    fn asked(&self) -> u32 {
        self.0.lock().unwrap().asked
    }

    fn resolve(&self) -> io::Result<FullSet<&'static str, Backend<&'static str>>> {
        let mut state = self.0.lock().unwrap();
        state.asked += 1;
        let registered = state.registered.as_ref().ok_or_else(|| io::Error::other("unreachable"))?;
        Ok(registered.iter().map(|server| (*server, Backend::new(*server))).collect())
    }
}

/// Answers with the name of its server while that runs.
#[derive(Clone)]
struct Client {
    server: &'static str,
    world: World,
}

impl Service<()> for Client {
    type Response = &'static str;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<&'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let Self { server, world } = self.clone();
        Box::pin(async move {
            let runs = world.0.lock().unwrap().running.contains(&server);
            if !runs {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            sleep(SECOND / 200).await;
            Ok(server)
        })
    }
}

/// Asks the source early when an attempt has failed.
struct HintOnFailure(RefreshHint);

impl Hook for HintOnFailure {
    fn on(&self, event: &Event<'_>) {
        if matches!(event, Event::Ended { outcome: Outcome::Failure, .. }) {
            self.0.hint();
        }
    }
}

fn balancer(world: &World) -> Result<Balancer<Client, ()>, Box<dyn Error>> {
    let source = world.clone();
    let members = Refresh::every(30 * SECOND)?
        .with_jitter(0.0)?
        .spawn(move || ready(source.resolve()), Backend::is_same_endpoint)?;
    let world = world.clone();
    let balancer = Balancer::builder()
        .discover(members.reader().clone(), move |server, _| Client { server, world: world.clone() })
        .hook(HintOnFailure(members.hint()))
        .spawn()?;
    Ok(balancer)
}

/// Sends a request every ten milliseconds and returns who answered, and how many failed.
async fn traffic(balancer: &Balancer<Client, ()>, requests: u32) -> (Vec<&'static str>, u32) {
    let (mut answers, mut failed) = (Vec::new(), 0);
    for _ in 0..requests {
        match balancer.send(()).await {
            Ok(server) => answers.push(server),
            Err(_) => failed += 1,
        }
        sleep(SECOND / 100).await;
    }
    answers.sort_unstable();
    answers.dedup();
    (answers, failed)
}

#[tokio::test(start_paused = true)]
async fn the_first_request_waits_for_the_first_answer_of_the_source() -> Fallible {
    let world = World::of(&["a", "b"]);
    let balancer = balancer(&world)?;
    assert!(["a", "b"].contains(&balancer.send(()).await?));
    assert_eq!(world.asked(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn failures_make_the_source_be_asked_early_so_that_who_moved_is_followed_at_once() -> Fallible {
    let world = World::of(&["a", "b"]);
    let balancer = balancer(&world)?;
    assert_eq!(traffic(&balancer, 2_000).await, (vec!["a", "b"], 0), "what they cost is known now");

    world.run(&["b", "c"]);
    world.register(Some(&["b", "c"]));
    let began = Instant::now();
    let (_, failed) = traffic(&balancer, 200).await;
    assert!(failed <= 2, "the source was asked after the first failure, not after a minute: {failed} failed");
    assert_eq!(traffic(&balancer, 200).await, (vec!["b", "c"], 0));

    assert!(began.elapsed() < 10 * SECOND, "long before the source would have been asked anyway");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_down_or_says_that_there_is_nobody_stops_no_traffic() -> Fallible {
    let world = World::of(&["a", "b"]);
    let balancer = balancer(&world)?;
    balancer.send(()).await?;
    for answer in [None, Some(&[][..]), None] {
        world.register(answer);
        let asked = world.asked();
        sleep(40 * SECOND).await;
        assert!(world.asked() > asked);
        assert_eq!(traffic(&balancer, 100).await, (vec!["a", "b"], 0), "after {answer:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_source_that_never_answers_is_told_from_one_without_members() -> Fallible {
    let world = World::default();
    let silent = balancer(&world)?;
    let began = Instant::now();
    assert_eq!(silent.send(()).await.unwrap_err().kind(), &BalancerErrorKind::Undiscovered);
    assert_eq!(began.elapsed().as_secs(), 3, "it fails fast");

    world.register(Some(&[]));
    let empty = balancer(&world)?;
    assert_eq!(empty.send(()).await.unwrap_err().kind(), &BalancerErrorKind::NoMembers);
    Ok(())
}
