//! What a limit promises where no pool watches it: who is full is passed over before the pick.

use poise::core::{
    Backend, Candidate, Exclusion, InFlight, Limited, LoadTracker, Locality, Now, PickError, Policy,
    Selection, Status, View, Weight,
};

use crate::support::policies::policies;

type Member = Limited<Backend<u64, (), InFlight>>;

fn member(id: u64) -> Member {
    Limited::new(Backend::new(id).with_load(InFlight::with_limit(3).expect("positive")))
}

/// Starts as many attempts as fit.
fn fill(member: &Member) {
    while member.load().start(&Now::lazy()).is_ok() {}
}

/// Fills the members one by one, in an order that has nothing to do with that of any policy, and picks in between.
fn fill_up(name: &str, policy: &dyn Policy<Member, u64>, prepare: bool) {
    let members: Vec<_> = (0..20).map(member).collect();
    let prepared = policy.prepare(&View::new(&members), None).expect("20 members fit");
    let pick = |key| {
        let view = View::new(&members);
        let view = if prepare { view.prepared(&prepared) } else { view };
        policy.pick_from(&view, &key)
    };
    for nth in 0..20 {
        for key in 0..30 {
            let chosen = pick(key).map(|selection| &members[selection.index()]);
            let has_room = chosen.as_ref().is_ok_and(|member| !member.load().is_full());
            assert!(has_room, "{name}: {chosen:?} with {nth} of 20 full");
        }
        fill(&members[nth * 7 % 20]);
    }
    let Err(PickError::NoEligible(counts)) = pick(1) else { panic!("{name}: nobody has room") };
    assert_eq!((counts.candidates(), counts.of(Exclusion::Capacity)), (20, 20), "{name}");
    members[13].load().release((), &Now::lazy());
    assert_eq!(pick(1).map(Selection::index), Ok(13), "{name}: one has room again");
}

#[test]
fn every_policy_passes_over_who_is_full_and_refuses_only_when_all_are() {
    for prepare in [false, true] {
        for (name, policy) in policies(11) {
            fill_up(name, &policy, prepare);
        }
    }
}

#[test]
fn a_limit_hides_no_other_reason_and_changes_nothing_else() {
    let place = Locality::new("eu", "a");
    let backend = Backend::new(7_u64)
        .with_data("data")
        .with_weight(Weight::new(5).expect("positive"))
        .with_priority(2)
        .with_status(Status::Draining)
        .with_locality(place.clone())
        .with_load(InFlight::with_limit(1).expect("positive"));
    let limited = Limited::new(backend);
    let now = Now::lazy();
    assert_eq!(limited.exclusions(&now), Exclusion::Draining.into());
    limited.load().start(&now).expect("there is room for one");
    let both = [Exclusion::Draining, Exclusion::Capacity].into_iter().collect();
    assert_eq!(limited.exclusions(&now), both);
    assert_eq!((limited.id(), limited.data()), (&7, &"data"));
    assert_eq!(limited.attributes(), limited.candidate().attributes());
    assert_eq!((limited.weight().value(), limited.priority()), (5, 2));
    assert_eq!((limited.status(), limited.locality()), (Status::Draining, Some(&place)));
    assert_eq!(limited.into_inner().id(), &7);
}

#[test]
fn a_load_without_a_limit_is_never_full() {
    let limited = Limited::new(Backend::new("a").with_load(InFlight::new()));
    for _ in 0..100 {
        limited.load().start(&Now::lazy()).expect("there is no limit");
    }
    assert!(limited.is_eligible(&Now::lazy()));
    assert!(Limited::new(Backend::new("b")).is_eligible(&Now::lazy()));
}

#[cfg(feature = "health")]
#[test]
fn a_limit_and_a_circuit_nest_in_any_order() {
    use poise::health::{CircuitConfig, HealthChecked, PassiveHealth};
    use std::time::Duration;

    let health = || {
        let config = CircuitConfig::new(1, Duration::from_secs(1)).expect("in range");
        let health = PassiveHealth::new(config);
        health.force_open();
        health
    };
    let outside = Limited::new(HealthChecked::new(member(1).into_inner(), health()));
    let inside = HealthChecked::new(member(2), health());
    let both = [Exclusion::Circuit, Exclusion::Capacity].into_iter().collect();
    for load in [outside.load(), inside.load()] {
        while load.start(&Now::lazy()).is_ok() {}
    }
    assert_eq!(outside.exclusions(&Now::lazy()), both);
    assert_eq!(inside.exclusions(&Now::lazy()), both);
}
