//! What servers say of themselves when they are asked, and what a client keeps of it.
//!
//! A *probe* asks a server how many requests it has in flight (RIF) and how long they take there; the [`ProbeAnswer`] may
//! come by itself or ride on a response. A [`ProbePool`] keeps the last few answers, for
//! [`Prequal`](crate::core::policy::Prequal) to choose by. The pool sends nothing: it says how many probes are
//! [due](ProbePool::take_due), and whoever drives it asks that many members and [inserts](ProbePool::insert) what they answer.
//!
//! A server answers from a [`ServerLoad`].
//!
//! Source: B. Wydrowski, R. Kleinberg, S. M. Rumble and A. Archer, "Load is not what you should balance: introducing
//! Prequal", NSDI 2024.

mod answer;
mod config;
mod entry;
#[cfg(all(test, loom))]
mod models;
mod order;
mod pool;
mod rate;
mod recent;
mod server;

pub use self::answer::{ParseProbeAnswerError, ProbeAnswer};
pub use self::config::{ProbeConfig, ProbeConfigError};
pub(crate) use self::order::Order;
pub use self::pool::ProbePool;
pub(crate) use self::pool::Samples;
pub use self::server::{ServerLoad, Serving};
