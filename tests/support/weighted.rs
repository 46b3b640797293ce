//! Members with weights.

use poise::core::Weight;

use super::member::Member;

pub(crate) fn weight(value: u32) -> Weight {
    Weight::new(value).expect("positive")
}

/// Gives all the same weight.
pub(crate) fn reweight(members: &mut [Member], value: u32) {
    for member in members {
        member.weight = weight(value);
    }
}

/// Makes members with identities from zero.
pub(crate) fn weighted(weights: &[u32]) -> Vec<Member> {
    let mut members = Member::many(weights.len() as u64);
    members.iter_mut().zip(weights).for_each(|(member, value)| member.weight = weight(*value));
    members
}
