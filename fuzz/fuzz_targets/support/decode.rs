//! Members made of bytes.

use poise::core::{Exclusion, Locality, Weight};

use crate::member::Member;

/// Makes one member of each three bytes, up to `most`.
pub(crate) fn members(bytes: &[u8], most: usize) -> Vec<Member> {
    bytes
        .chunks_exact(3)
        .take(most)
        .zip(0..)
        .map(|(bytes, id)| member(id, [bytes[0], bytes[1], bytes[2]]))
        .collect()
}

fn member(id: u64, [kind, weight, load]: [u8; 3]) -> Member {
    let mut member = Member::new(id);
    let zones = [None, Some("a"), Some("b"), Some("c")];
    let zone = zones[usize::from(kind >> 5 & 1) + usize::from(weight & 2)];
    member.locality = zone.map(|zone| Locality::new("eu", zone));
    member.priority = u32::from(kind >> 6);
    // Few distinct ones: what it takes to lay out turns grows with their number.
    let weights = [1, 1, 1, 2, 7, 100, 65_537, u32::MAX];
    member.weight = Weight::new(weights[usize::from(weight >> 5)]).unwrap_or(Weight::ONE);
    member.load.set(if load == 255 { f64::NAN } else { f64::from(load) - 1.0 });
    exclude(&member, kind);
    member
}

/// Excludes a member for what the low five bits of a byte say: about half of them nothing.
pub(crate) fn exclude(member: &Member, kind: u8) {
    if let 2 | 3 = kind % 4 {
        member.exclude([Exclusion::Draining, Exclusion::Unavailable][usize::from(kind % 2)]);
    }
    if kind & 4 != 0 {
        let reasons = [Exclusion::Probe, Exclusion::Circuit, Exclusion::Outlier, Exclusion::Capacity];
        member.exclude(reasons[usize::from(kind >> 3) % 4]);
    }
}
