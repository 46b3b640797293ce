//! Settings for several kinds of traffic.
//!
//! The defaults of a [`Builder`](super::Builder) suit short requests that any member can answer. What differs elsewhere:
//!
//! | traffic | policy | load | beside that |
//! |---|---|---|---|
//! | [stateless HTTP](#stateless-http) | default | default | a classifier, a limit of time, retries of what may be sent twice, or was not sent |
//! | [gRPC with long streams](#grpc-with-long-streams) | `LeastRequests` | `InFlight` | attempts that last as long as streams, no retries |
//! | [a cache with affinity](#a-cache-with-affinity) | `BoundedLoadRendezvous` | `InFlight` | a key |
//! | [active and passive](#active-and-passive) | `PriorityFailover` | default | priorities in the directory |
//! | [zones](#zones) | `ZoneAware` | default | localities in the directory |
//!
//! # Stateless HTTP
//!
//! Statuses are answers to a client, so a classifier says which of them are failures, and which say that the server has too
//! much to do. A limit of time makes a failure of what hangs; only reads are sent twice. What was refused a connection was not
//! sent, and may go elsewhere whatever it is.
//!
//! ```
//! # use poise::discovery::SnapshotReader;
//! # use poise::tower::Balancer;
//! # use std::io::Error;
//! # #[derive(Clone)] struct Request { user: String, is_read: bool }
//! # struct Response { status: u16 }
//! # fn example<S>(reader: SnapshotReader<String, String>, client: impl FnMut(&String, &String) -> S + Send + 'static)
//! # where S: tower::Service<Request, Response = Response, Error = Error> {
//! # use poise::core::Outcome;
//! # use poise::tower::Retry;
//! # use std::io::ErrorKind;
//! # use std::time::Duration;
//! let builder = Balancer::builder()
//!     .discover(reader, client)
//!     .classify(|answer| match answer {
//!         Ok(response) if matches!(response.status, 429 | 503) => Outcome::OVERLOAD,
//!         Ok(response) if response.status >= 500 => Outcome::Failure,
//!         answer => Outcome::of(answer),
//!     })
//!     .attempt_timeout(Duration::from_secs(2))
//!     .retry(Retry::attempts(3).expect("three is a number of attempts"))
//!     .idempotent(|request: &Request| request.is_read)
//!     .unsent(|error: &Error| error.kind() == ErrorKind::ConnectionRefused);
//! # drop(builder); }
//! ```
//!
//! # gRPC with long streams
//!
//! The latency of a head says nothing of a stream that lasts for hours, so that load is what is in flight, and it is in flight
//! until the stream ends: the guard of an attempt travels in the response, by [`Balancer::guarded`](super::Balancer::guarded).
//! A limit of time would end with the head, and a stream that has begun is not tried again.
//!
//! ```
//! # use poise::discovery::SnapshotReader;
//! # use poise::tower::Balancer;
//! # use std::io::Error;
//! # #[derive(Clone)] struct Request { user: String, is_read: bool }
//! # struct Response { status: u16 }
//! # fn example<S>(reader: SnapshotReader<String, String>, client: impl FnMut(&String, &String) -> S + Send + 'static)
//! # where S: tower::Service<Request, Response = Response, Error = Error> {
//! # use poise::core::InFlight;
//! # use poise::core::policy::LeastRequests;
//! let builder = Balancer::builder()
//!     .discover(reader, client)
//!     .policy(LeastRequests::new())
//!     .load(InFlight::new);
//! # drop(builder); }
//! ```
//!
//! and then `balancer.guarded(|guard, response| ..)`, where the body of the response keeps the guard.
//!
//! # A cache with affinity
//!
//! Equal keys meet on the same member, so that each holds a part of the data. A key that is hotter than a member can bear
//! spills to the next in its order, at a quarter above the mean. The load is a count, as only those add up.
//!
//! ```
//! # use poise::discovery::SnapshotReader;
//! # use poise::tower::Balancer;
//! # use std::io::Error;
//! # #[derive(Clone)] struct Request { user: String, is_read: bool }
//! # struct Response { status: u16 }
//! # fn example<S>(reader: SnapshotReader<String, String>, client: impl FnMut(&String, &String) -> S + Send + 'static)
//! # where S: tower::Service<Request, Response = Response, Error = Error> {
//! # use poise::core::InFlight;
//! # use poise::core::policy::BoundedLoadRendezvous;
//! let builder = Balancer::builder()
//!     .discover(reader, client)
//!     .policy(BoundedLoadRendezvous::new())
//!     .load(InFlight::new)
//!     .key(|request: &Request| &request.user);
//! # drop(builder); }
//! ```
//!
//! With thousands of members, `Maglev` finds the owner in constant time; it does not spill.
//!
//! # Active and passive
//!
//! Members of priority 1 serve only as far as those of priority 0 are sick. One circuit that opens moves little by little: a level
//! keeps everything as long as 100/140 of it are healthy.
//!
//! ```
//! # use poise::discovery::SnapshotReader;
//! # use poise::tower::Balancer;
//! # use std::io::Error;
//! # #[derive(Clone)] struct Request { user: String, is_read: bool }
//! # struct Response { status: u16 }
//! # fn example<S>(reader: SnapshotReader<String, String>, client: impl FnMut(&String, &String) -> S + Send + 'static)
//! # where S: tower::Service<Request, Response = Response, Error = Error> {
//! # use poise::core::policy::{PowerOfTwoChoices, PriorityFailover};
//! let builder = Balancer::builder()
//!     .discover(reader, client)
//!     .policy(PriorityFailover::new(PowerOfTwoChoices::new()));
//! # drop(builder); }
//! # use poise::core::Attributes;
//! # use poise::discovery::Directory;
//! # fn members(directory: &mut Directory<String, String>) -> Result<(), Box<dyn std::error::Error>> {
//! directory.upsert_with("main".into(), "10.0.0.1:80".into(), Attributes::default())?;
//! directory.upsert_with("standby".into(), "10.1.0.1:80".into(), Attributes::default().with_priority(1))?;
//! # Ok(()) }
//! ```
//!
//! # Zones
//!
//! Traffic stays in the own zone as far as that can carry it, and what is over goes to the zones that have room. Every
//! caller says where it runs; below six healthy members, zones are not told apart.
//!
//! ```
//! # use poise::core::Locality;
//! # use poise::discovery::SnapshotReader;
//! # use poise::tower::Balancer;
//! # use std::io::Error;
//! # #[derive(Clone)] struct Request { user: String, is_read: bool }
//! # struct Response { status: u16 }
//! # fn example<S>(reader: SnapshotReader<String, String>, client: impl FnMut(&String, &String) -> S + Send + 'static)
//! # where S: tower::Service<Request, Response = Response, Error = Error> {
//! # use poise::core::policy::{PowerOfTwoChoices, ZoneAware};
//! let builder = Balancer::builder()
//!     .discover(reader, client)
//!     .policy(ZoneAware::new(PowerOfTwoChoices::new(), Locality::new("eu", "a")));
//! # drop(builder); }
//! # use poise::core::Attributes;
//! # use poise::discovery::Directory;
//! # fn members(directory: &mut Directory<String, String>) -> Result<(), Box<dyn std::error::Error>> {
//! let near = Attributes::default().with_locality(Locality::new("eu", "a"));
//! directory.upsert_with("near".into(), "10.0.0.1:80".into(), near)?;
//! # Ok(()) }
//! ```
