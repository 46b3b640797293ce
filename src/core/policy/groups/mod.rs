//! The parts into which topology policies divide a membership: what they share.

#[expect(clippy::module_inception, reason = "the file that defines the type of that name")]
mod groups;
mod refusals;

pub(super) use self::groups::{Group, Groups, Health};
pub(super) use self::refusals::Refusals;
