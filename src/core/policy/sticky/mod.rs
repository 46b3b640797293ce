//! The earlier choice, as long as it can be kept.

pub(super) mod identities;
mod key;
#[expect(clippy::module_inception, reason = "the file that defines the policy of that name")]
mod sticky;

pub use self::key::StickyKey;
pub use self::sticky::{Sticky, StickyDecision};
