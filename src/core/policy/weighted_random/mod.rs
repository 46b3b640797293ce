//! A random choice by weight.

pub(super) mod classes;
#[expect(clippy::module_inception, reason = "the file that defines the policy of that name")]
mod weighted_random;

pub use self::weighted_random::WeightedRandom;
