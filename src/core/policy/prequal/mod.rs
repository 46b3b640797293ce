//! By what servers answer to probes.

pub(super) mod index;
#[expect(clippy::module_inception, reason = "the file that defines the policy")]
mod prequal;

pub use self::prequal::Prequal;
