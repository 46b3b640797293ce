//! What a policy would choose, and why.
//!
//! [`Policy::explain_from`](super::Policy::explain_from) goes through a pick without leaving a trace:
//!
//! 1. The choice is the one that the next pick on this thread would make, if nothing changes and nobody else picks.
//! 2. Cursors, credits and generators of random numbers are as they were. A policy around another runs on a copy of itself,
//!    whose inner policy explains where it would pick.
//! 3. A view without a prepared table may have one made and remembered, as for a pick.

mod explained;
mod explanation;
mod reason;
mod rehearsal;

pub use self::explained::{Explained, PassedOver};
pub use self::explanation::Explanation;
pub use self::reason::Reason;
pub(super) use self::rehearsal::{Rehearsal, explain_owner};
