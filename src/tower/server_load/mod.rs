//! The server's side of probes: what it has in flight, and how long that takes.

mod conclude;
mod future;
mod layer;
mod service;

pub use self::conclude::{ByResult, Conclude};
pub use self::future::ServerLoadFuture;
pub use self::layer::ServerLoadLayer;
pub use self::service::ServerLoadService;
