//! Tables beside what is made by hand of the same members.

use poise::core::{Policy, View};

use super::case::{Case, Hint};
use super::member::Member;

/// Shows a few views of a case, which has a right table or none, with keys, and with what `by_hand` makes of the identities
/// and weights of the members.
pub(crate) fn beside<T>(
    case: &Case,
    policy: &impl Policy<Member, u64>,
    keys: u64,
    by_hand: impl FnOnce(&[(u64, u32)]) -> T,
    check: impl Fn(&View<'_, Member>, &T, u64),
) {
    if matches!(case.prepared, Hint::Stale | Hint::Wrong) {
        return;
    }
    let (members, attempted) = (case.members(), case.attempted());
    let eligibility = case.eligibility(&members);
    let prepared = policy.prepare(&case.bare(&members), None).expect("200 members fit");
    case.change(&members);
    case.tell(&members, Some(&prepared), eligibility.as_ref());
    let prepared = Some(&prepared).filter(|_| case.prepared == Hint::Right);
    let bare = case.bare(&members);
    let place = |slot| bare.candidate(slot).map(|member| (member.id, member.weight.value()));
    let places: Vec<_> = (0..bare.len()).filter_map(place).collect();
    let made = by_hand(&places);
    for key in case.seed..case.seed.saturating_add(keys) {
        check(&case.view(&members, &attempted, prepared, eligibility.as_ref()), &made, key);
    }
}
