//! Signals beside candidates, and signals together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::clock::Clock;
use poise::core::{
    Backend, Candidate, Changes, Exclusion, Exclusions, InFlight, Limited, Locality, Now, Outcome, Status,
    Weight,
};
use poise::health::{CircuitConfig, HealthChecked, HealthSignal, PassiveHealth, SlowStart, SlowStartConfig};

const OPEN_FOR: Duration = Duration::from_secs(10);

fn circuit() -> PassiveHealth {
    PassiveHealth::new(CircuitConfig::new(1, OPEN_FOR).unwrap())
}

fn open_circuit(now: &Now) -> PassiveHealth {
    let circuit = circuit();
    circuit.try_acquire(now).unwrap().complete(Outcome::Failure, now);
    circuit
}

/// Gives one reason, always.
struct Always(Exclusion);

impl HealthSignal for Always {
    fn exclusions(&self, _: &Now) -> Exclusions {
        self.0.into()
    }
}

#[test]
fn nested_health_never_revives_the_draining_and_the_unavailable() {
    let now = Clock::new().at(Duration::ZERO);
    for (status, reason) in
        [(Status::Draining, Exclusion::Draining), (Status::Unavailable, Exclusion::Unavailable)]
    {
        let inner = HealthChecked::new(Backend::new("a").with_status(status), circuit());
        let outer = HealthChecked::new(inner, circuit());
        outer.health().force_close();
        outer.backend().health().force_close();
        assert_eq!(outer.exclusions(&now), reason.into());
        assert_eq!(outer.status(), status);
        assert!(!outer.is_eligible(&now));
    }
}

#[test]
fn an_open_circuit_leaves_the_status_as_it_is() {
    let now = Clock::new().at(Duration::ZERO);
    let checked = HealthChecked::new(Backend::new("a"), open_circuit(&now));
    assert!(!checked.is_eligible(&now));
    assert_eq!(checked.status(), Status::Ready);
    assert_eq!(checked.attributes().status(), Status::Ready);
}

#[test]
fn nested_gates_must_all_agree_and_all_reasons_are_kept() {
    let now = Clock::new().at(Duration::ZERO);
    let inner =
        HealthChecked::new(Backend::new("a").with_status(Status::Draining), Always(Exclusion::Outlier));
    let middle = HealthChecked::new(inner, open_circuit(&now));
    let outer = HealthChecked::new(middle, Always(Exclusion::Probe));
    let exclusions = outer.exclusions(&now);
    let expected = [Exclusion::Draining, Exclusion::Probe, Exclusion::Circuit, Exclusion::Outlier];
    assert!(exclusions.iter().eq(expected), "in the order of precedence: {exclusions}");
    assert_eq!(exclusions.deciding(), Some(Exclusion::Draining));
}

#[test]
fn everything_but_exclusions_is_the_candidates_own() {
    struct Ramping(Backend<&'static str, u8, u16>);
    impl Candidate for Ramping {
        type Id = &'static str;
        type Data = u8;
        type Load = u16;
        fn id(&self) -> &&'static str {
            self.0.id()
        }
        fn data(&self) -> &u8 {
            self.0.data()
        }
        fn load(&self) -> &u16 {
            self.0.load()
        }
        fn weight(&self) -> Weight {
            self.0.weight()
        }
        fn priority(&self) -> u32 {
            self.0.priority()
        }
        fn locality(&self) -> Option<&Locality> {
            self.0.locality()
        }
        fn ramp(&self, _: &Now) -> f32 {
            0.25
        }
    }
    let backend = Backend::new("a")
        .with_data(7)
        .with_load(9)
        .with_weight(Weight::new(3).unwrap())
        .with_priority(2)
        .with_locality(Locality::new("eu", "a"));
    let checked = HealthChecked::new(Ramping(backend.clone()), circuit());
    assert_eq!((checked.id(), checked.data(), checked.load()), (&"a", &7, &9));
    assert_eq!((checked.weight(), checked.priority()), (backend.weight(), 2));
    assert_eq!(Candidate::locality(&checked), backend.locality());
    assert!((checked.ramp(&Now::lazy()) - 0.25).abs() < f32::EPSILON);
    assert_eq!(checked.attributes(), backend.attributes());
    let (Ramping(inner), _) = checked.into_parts();
    assert_eq!(inner, backend);
}

#[test]
fn signals_together_give_all_reasons_and_the_first_change() {
    let clock = Clock::new();
    let early = open_circuit(&clock.at(Duration::ZERO));
    let late = open_circuit(&clock.at(Duration::from_secs(3)));
    let now = clock.at(Duration::from_secs(4));
    let first = Some(clock.instant(OPEN_FOR));

    let all = (&late, Box::new(Always(Exclusion::Probe)), (), vec![&early]);
    assert_eq!(all.exclusions(&now).iter().count(), 2);
    assert_eq!(all.changes_at(&now), first);
    assert_eq!(().exclusions(&now), Exclusions::NONE);
    assert_eq!(Vec::<Always>::new().exclusions(&now), Exclusions::NONE);
}

#[test]
fn signals_together_are_all_watched() {
    let circuits = [Arc::new(circuit()), Arc::new(circuit())];
    let told = Arc::new(AtomicU32::new(0));
    let listener = Arc::clone(&told);
    let all = (Arc::clone(&circuits[0]), vec![Arc::clone(&circuits[1])], Always(Exclusion::Custom));
    all.watch(Changes::new(Arc::new(move || {
        listener.fetch_add(1, Ordering::Relaxed);
    })));
    circuits[0].force_open();
    circuits[1].force_open();
    assert_eq!(told.load(Ordering::Relaxed), 2);
}

// --- wrappers ---

/// Counts how often it was asked to tell of its changes, and knows when it changes.
struct Told {
    load: InFlight,
    asked: AtomicU32,
    at: Instant,
}

impl Candidate for Told {
    type Id = ();
    type Data = ();
    type Load = InFlight;

    fn id(&self) -> &() {
        &()
    }

    fn data(&self) -> &() {
        &()
    }

    fn load(&self) -> &InFlight {
        &self.load
    }

    fn watch(&self, _: Changes) {
        self.asked.fetch_add(1, Ordering::SeqCst);
    }

    fn changes_at(&self, _: &Now) -> Option<Instant> {
        Some(self.at)
    }
}

#[test]
fn every_wrapper_passes_on_who_listens_and_when_it_changes() {
    fn check(wrapper: &dyn Candidate<Id = (), Data = (), Load = InFlight>, told: &Told) {
        let before = told.asked.load(Ordering::SeqCst);
        wrapper.watch(Changes::new(Arc::new(|| {})));
        assert_eq!(told.asked.load(Ordering::SeqCst), before + 1);
        assert_eq!(wrapper.changes_at(&Now::at(told.at)), Some(told.at));
    }
    let at = Clock::new().instant(OPEN_FOR);
    let told = Arc::new(Told { load: InFlight::new(), asked: AtomicU32::new(0), at });
    let inner = || Arc::clone(&told);
    check(&inner(), &told);
    check(&Limited::new(inner()), &told);
    check(&HealthChecked::new(inner(), Always(Exclusion::Probe)), &told);
    let slow_start = SlowStartConfig::new(OPEN_FOR).unwrap();
    check(&SlowStart::new(inner(), slow_start), &told);
    check(&Limited::new(SlowStart::new(HealthChecked::new(inner(), circuit()), slow_start)), &told);
}
