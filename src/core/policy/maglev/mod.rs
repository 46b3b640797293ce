//! Affinity by a lookup table.

mod fill;
#[expect(clippy::module_inception, reason = "the file that defines the type of that name")]
mod maglev;
mod modulus;
mod size;
pub(super) mod table;

pub use self::maglev::Maglev;
pub use self::size::MaglevError;
