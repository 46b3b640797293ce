//! Load balancing for Rust services: from a selection core to a balancer that is ready to serve.
//!
//! Load balancing is a loop of stages, and here each is a module with one job:
//!
//! ```text
//! discovery -> membership -> eligibility -> selection -> dispatch -> feedback
//!                               ^                           |
//!                               +---------- health ---------+
//! ```
//!
//! A program compiles the stages that it wants and leaves the rest.
//!
//! | feature | adds | needs |
//! |---|---|---|
//! | (none) | [`core`]: candidates, views, policies, load trackers | |
//! | `discovery` | `discovery`: directories, snapshots, streams | |
//! | `health` | `health`: circuits, probes, windows, outliers, ejections, limits, slow start, an exclusion budget | |
//! | `tower` | `tower`: `Balance`, one service made of many | |
//! | `tower` and `discovery` | `tower::DiscoveryBalance` and the one that follows a stream | |
//! | `tower`, `discovery` and `health` | `tower::Balancer`, the turnkey service | |
//! | `tokio` | `tokio`: its timer, with `discovery` a source that is asked again and again, with `health` probes, and with the above `Builder::spawn` | Tokio |
//! | `observe` | `observe`: observers and a recorder of fixed size | |
//! | `metrics` | `observe`'s counts through the `metrics` facade | `observe` |
//! | `tracing` | `observe`'s events through `tracing` | `observe` |
//! | `full` | all of them | |
//!
//! A feature only adds names; it never changes what other code does.
//!
//! # Picking from a slice
//!
//! Without features there is no runtime and no async: a policy turns a slice of candidates into an index.
//!
//! ```
//! use poise::prelude::*;
//!
//! let backends = ["10.0.0.1:80", "10.0.0.2:80"].map(|id| Backend::new(id).with_load(InFlight::new()));
//! let policy = PowerOfTwoChoices::new();
//! let chosen = policy.choose(&backends, &())?;
//! let attempt = Tracked::start(chosen.load(), &Now::lazy())?;
//! // Ask `chosen`; then:
//! attempt.complete(Outcome::Success, &Now::lazy());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Membership and health by hand
//!
//! `discovery` and `health` add coherent membership and circuits, still without a runtime.
//!
#![cfg_attr(all(feature = "discovery", feature = "health"), doc = "```")]
#![cfg_attr(not(all(feature = "discovery", feature = "health")), doc = "```ignore")]
//! use poise::prelude::*;
//! use std::time::Duration;
//!
//! let mut directory = Directory::new();
//! directory.upsert("a", Backend::new("10.0.0.1:80"))?;
//!
//! let circuit = CircuitConfig::new(5, Duration::from_secs(1))?;
//! let members: Vec<_> = directory
//!     .snapshot()
//!     .iter()
//!     .map(|member| HealthChecked::new(member.clone(), PassiveHealth::new(circuit.clone())))
//!     .collect();
//!
//! let now = Now::lazy();
//! let chosen = RoundRobin::new().choose(&members, &())?;
//! let permit = chosen.health().try_acquire(&now)?;
//! permit.complete(Outcome::Success, &now);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Services
//!
//! `tower` beside them makes every member a service, and the whole a `tower_service::Service`. Its background work is a future
//! that runs on any executor, by any timer:
//!
#![cfg_attr(all(feature = "tower", feature = "discovery", feature = "health"), doc = "```")]
#![cfg_attr(not(all(feature = "tower", feature = "discovery", feature = "health")), doc = "```ignore")]
//! # use std::time::Instant;
//! # #[derive(Clone)]
//! # struct MyTimer;
//! # impl poise::tower::Timer for MyTimer {
//! #     type Sleep = std::future::Pending<()>;
//! #     fn now(&self) -> Instant { Instant::now() }
//! #     fn sleep_until(&self, _: Instant) -> Self::Sleep { std::future::pending() }
//! # }
//! # let my_client = |to: &str| {
//! #     let to = to.to_owned();
//! #     tower::service_fn(move |path: String| {
//! #         std::future::ready(Ok::<_, std::io::Error>(format!("{path} from {to}")))
//! #     })
//! # };
//! use poise::prelude::*;
//!
//! let mut directory = Directory::new();
//! directory.upsert("a", Backend::new("10.0.0.1:80"))?;
//!
//! let (balancer, driver) = Balancer::builder()
//!     .discover(directory.reader(), move |_key, backend| my_client(backend.id()))
//!     .policy(RoundRobin::new())
//!     .timer(MyTimer)
//!     .build()?;
//! # let background = |driver| drop(driver);
//! # let response = futures_util::FutureExt::now_or_never(balancer.send(String::from("/"))).unwrap()?;
//! # assert_eq!(response, "/ from 10.0.0.1:80");
//! background(driver);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Turnkey
//!
//! `full` adds the runtime:
//!
#![cfg_attr(all(feature = "full"), doc = "```")]
#![cfg_attr(not(all(feature = "full")), doc = "```ignore")]
//! # #[derive(Clone)]
//! # struct Client(&'static str);
//! # impl Client { fn to(authority: &'static str) -> Self { Self(authority) } }
//! # impl tower_service::Service<String> for Client {
//! #     type Response = String;
//! #     type Error = std::io::Error;
//! #     type Future = std::future::Ready<Result<String, std::io::Error>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), std::io::Error>> {
//! #         std::task::Poll::Ready(Ok(()))
//! #     }
//! #     fn call(&mut self, path: String) -> Self::Future { std::future::ready(Ok(path + self.0)) }
//! # }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use poise::prelude::*;
//!
//! let mut directory = Directory::new();
//! directory.upsert("a", Backend::new("10.0.0.1:80"))?;
//!
//! let balancer = Balancer::builder()
//!     .discover(directory.reader(), |_key, backend| Client::to(backend.id()))
//!     .spawn()?;
//! let response = balancer.send(String::from("/ from ")).await?;
//! # assert_eq!(response, "/ from 10.0.0.1:80");
//! # Ok(())
//! # }
//! ```
//!
//! # Stability and the minimum supported version of Rust
//!
//! Before 1.0, a minor version may change the interface and a patch version may not. Types of `arc-swap`, `pin-project`,
//! `fastrand` and `twox-hash` are no part of the interface; those of `tower-service`, `futures-util` (`Stream`) and `tokio`
//! (`Sleep`) are. The placement of keys is part of it too: members and keys that hash alike are placed alike in all patch
//! versions.
//!
//! The minimum supported version of Rust is 1.88. It is declared, and checked by a lint against the versions in which the
//! standard library's functions were stabilised. A minor version may raise it.

pub mod core;
#[cfg(feature = "discovery")]
pub mod discovery;
#[cfg(feature = "health")]
pub mod health;
#[cfg(feature = "observe")]
pub mod observe;
pub mod prelude;
mod sync;
#[cfg(feature = "tokio")]
pub mod tokio;
#[cfg(feature = "tower")]
pub mod tower;
