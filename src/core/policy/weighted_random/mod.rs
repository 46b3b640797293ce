//! A random choice by weight.

mod classes;
mod scan;
#[expect(clippy::module_inception, reason = "the file that defines the policy of that name")]
mod weighted_random;

pub(super) use self::scan::{part, scan};
pub use self::weighted_random::WeightedRandom;
