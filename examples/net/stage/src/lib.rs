//! What the examples share: servers that can die, traffic through a balancer, a control plane as a process, and telling what
//! happens.
//!
//! A play owns all that it starts. Whichever way it ends, by its script, by an error, by a signal or because it takes too long,
//! dropping it ends the processes and servers and removes the files.

mod client;
mod daemon;
mod follow;
mod play;
mod server;
mod tell;
mod traffic;

pub use self::client::{Client, Get};
pub use self::daemon::{Daemon, free_ports};
pub use self::follow::{Follower, follow};
pub use self::play::{eventually, play, play_flawlessly};
pub use self::server::Server;
pub use self::tell::Teller;
pub use self::traffic::{Tally, Traffic, Unfinished, balancer};

/// What discovery says of a server: its address.
pub type Endpoint = poise::core::Backend<std::net::SocketAddr>;
