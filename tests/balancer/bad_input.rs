//! Claims on `Balancer`: settings, loads, factories and memberships that make no sense are typed errors or left out.

use std::convert::Infallible;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use poise::core::policy::{LeastLoaded, Maglev, PowerOfTwoChoices, RoundRobin};
use poise::core::{
    AtCapacity, Attributes, Backend, InFlight, LoadMetric, LoadTracker, Now, Outcome, PickError, Policy,
    Weight, ZeroWeight,
};
use poise::discovery::Directory;
use poise::health::{CircuitConfig, CircuitConfigError, CircuitState};
use poise::tower::{Balancer, BalancerErrorKind, Member};

use crate::support::pool_caller::{Came, Contained, assert_serves, send};
use crate::support::pool_endpoints::{Cast, Endpoint, Manner};
use crate::support::pool_policies::{Counted, Mood, Moody, TWINS};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

async fn a_while(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[test]
fn settings_that_make_no_sense_are_typed_errors() {
    assert_eq!(Weight::new(0), Err(ZeroWeight));
    assert_eq!(CircuitConfig::new(1, Duration::ZERO), Err(CircuitConfigError::ZeroOpenFor));
    assert_eq!(CircuitConfig::new(0, Duration::MAX), Err(CircuitConfigError::ZeroFailures));
    assert!(InFlight::with_limit(0).is_err());
}

#[tokio::test(start_paused = true)]
async fn times_without_end_are_no_overflow() {
    let cast = Cast::new(&NAMES, at_once());
    let pool = cast
        .builder()
        .policy(RoundRobin::new())
        .fail_fast(Duration::MAX)
        .attempt_timeout(Duration::MAX)
        .circuit(CircuitConfig::new(1, Duration::MAX).unwrap())
        .spawn()
        .unwrap();
    cast.tell("a", Manner::Fails(Duration::ZERO));
    for request in 0..20 {
        drop(send(&pool, request).await);
    }
    assert_eq!(pool.report().member("a").unwrap().circuit, Some(CircuitState::Open { until: None }));
    assert_serves(&pool, 20).await;
}

#[tokio::test(start_paused = true)]
async fn the_largest_weights_are_served() {
    let mut cast = Cast::new(&NAMES, at_once());
    for name in NAMES {
        cast.directory.amend(&name, Attributes::default().with_weight(Weight::MAX)).unwrap();
    }
    assert_serves(&cast.builder().spawn().unwrap(), 20).await;
    let keyed = cast.builder().policy(Maglev::new()).key(|request: &u64| request).spawn().unwrap();
    assert_serves(&keyed, 20).await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_membership_is_an_error_of_its_own_until_somebody_joins() {
    let mut cast = Cast::new(&[], at_once());
    let pool = cast.builder().fail_fast(Duration::ZERO).spawn().unwrap();
    a_while(1).await;
    let Came::Error(error) = send(&pool, 0).await else { panic!("nobody can answer") };
    assert_eq!((*error.kind(), error.attempts()), (BalancerErrorKind::NoMembers, 0));
    cast.add("a", at_once());
    a_while(1).await;
    assert_serves(&pool, 5).await;
}

/// A load that is what a test says, whatever happens.
struct Fixed(f64);

impl LoadMetric for Fixed {
    fn measure(&self, _: &Now) -> f64 {
        self.0
    }
}

impl LoadTracker for Fixed {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        Ok(())
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), _: &Now) {}
}

type WithFixed = Member<&'static str, Backend<&'static str>, Endpoint, u64, Fixed>;

/// Sends 200 requests to members with these loads, in this order, and returns how many each got.
async fn spread<P>(policy: P, loads: [f64; 3]) -> [u64; 3]
where
    P: Policy<WithFixed> + Send + Sync + 'static,
{
    let cast = Cast::new(&NAMES, at_once());
    let mut loads = loads.into_iter();
    let made = move || Fixed(loads.next().unwrap_or_default());
    let pool = cast.builder().policy(policy).load(made).spawn().unwrap();
    for request in 0..200 {
        pool.send(request).await.unwrap();
    }
    assert!(pool.report().to_string().contains('a'), "a report of such loads prints");
    NAMES.map(|name| cast.calls(name))
}

#[tokio::test(start_paused = true)]
async fn a_load_that_is_not_a_number_is_never_chosen_over_one_that_is() {
    for loads in [[f64::NAN, 7.0, 1.0e300], [-f64::NAN, 0.0, 7.0]] {
        assert_eq!(spread(PowerOfTwoChoices::seeded(1), loads).await[0], 0);
        assert_eq!(spread(LeastLoaded::seeded(1), loads).await[0], 0);
    }
    let least = spread(LeastLoaded::seeded(1), [f64::NAN, 1.0, f64::INFINITY]).await;
    assert_eq!(least, [0, 200, 0]);
}

#[tokio::test(start_paused = true)]
async fn loads_of_which_none_is_a_number_are_all_alike() {
    for loads in [[f64::NAN; 3], [f64::INFINITY; 3], [f64::NEG_INFINITY, -1.0, 0.0]] {
        let two = spread(PowerOfTwoChoices::seeded(1), loads).await;
        let least = spread(LeastLoaded::seeded(1), loads).await;
        assert!(two.into_iter().chain(least).all(|calls| calls > 30), "{loads:?}: {two:?}, {least:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_factory_that_fails_or_panics_leaves_out_its_member_and_is_asked_again() {
    for panics in [false, true] {
        let cast = Cast::new(&NAMES, at_once());
        let (services, tries) = (cast.services(), Arc::new(AtomicU64::new(0)));
        let counter = Arc::clone(&tries);
        let contained = Contained::default();
        let pool = Balancer::builder()
            .try_discover(cast.directory.reader(), move |name, backend| {
                if *name == "b" && counter.fetch_add(1, Ordering::Relaxed) < 2 {
                    assert!(!panics, "the factory panics");
                    return Err("no such host");
                }
                Ok(services(name, backend))
            })
            .policy(RoundRobin::new())
            .hook(contained.clone())
            .spawn()
            .unwrap();
        let report = pool.report();
        assert_eq!((report.members.len(), report.unbuilt), (2, 1));
        let error = report.last_error.unwrap();
        let expected = if panics { "b: the factory panicked" } else { "b: no such host" };
        assert_eq!(&*error, expected);
        assert_serves(&pool, 50).await;
        assert_eq!(cast.calls("b"), 0);

        a_while(700).await;
        assert_eq!(tries.load(Ordering::Relaxed), 1, "not at once");
        a_while(3_000).await;
        let report = pool.report();
        assert_eq!((report.members.len(), report.unbuilt, report.last_error), (3, 0, None));
        assert_eq!(tries.load(Ordering::Relaxed), 3);
        assert_eq!(contained.all(), if panics { vec!["factory"; 2] } else { vec![] });
        assert_serves(&pool, 50).await;
        assert!(cast.calls("b") > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_new_service_cannot_be_built_goes_on_with_the_old_one() {
    let mut cast = Cast::new(&NAMES, at_once());
    let (services, mut built) = (cast.services(), 0);
    let pool = Balancer::builder()
        .try_discover(cast.directory.reader(), move |name, backend| {
            built += 1;
            if built > 3 { Err("no such host") } else { Ok(services(name, backend)) }
        })
        .policy(RoundRobin::new())
        .spawn()
        .unwrap();
    cast.directory.upsert("b", Backend::new("b")).unwrap();
    a_while(1).await;
    let report = pool.report();
    assert_eq!((report.members.len(), report.unbuilt), (3, 1));
    assert_eq!(report.last_error.as_deref(), Some("b: no such host"));
    assert_serves(&pool, 50).await;
    assert!(cast.calls("b") > 0);
}

#[tokio::test(start_paused = true)]
async fn a_load_factory_that_panics_leaves_out_its_member_and_is_asked_again() {
    let cast = Cast::new(&NAMES, at_once());
    let mut made = 0;
    let load = move || {
        made += 1;
        assert_ne!(made, 2, "the load factory panics");
        InFlight::new()
    };
    let contained = Contained::default();
    let pool = cast.builder().load(load).hook(contained.clone()).spawn().unwrap();
    let report = pool.report();
    assert_eq!((report.members.len(), report.unbuilt), (2, 1));
    assert_eq!(report.last_error.as_deref(), Some("b: the load factory panicked"));
    a_while(1_500).await;
    assert_eq!((pool.report().members.len(), contained.all()), (3, vec!["load factory"]));
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_refuses_a_membership_leaves_the_last_one_in_effect() {
    for (mood, expected) in
        [(Mood::Refuses, TWINS.to_string()), (Mood::Panics, PickError::InconsistentTopology.to_string())]
    {
        let mut cast = Cast::new(&NAMES, at_once());
        let policy = Moody::new(RoundRobin::new());
        let when_preparing = policy.when_preparing();
        let counted = Counted::new(policy);
        let prepared = counted.prepared();
        let pool = cast.builder().policy(counted).spawn().unwrap();
        let revision = pool.report().revision;
        when_preparing.set(mood);
        cast.add("d", at_once());
        a_while(1).await;
        let report = pool.report();
        assert_eq!((report.revision, report.members.len()), (revision, 3));
        assert_eq!(report.last_error.as_deref(), Some(&*expected));
        assert_serves(&pool, 12).await;
        assert_eq!((cast.calls("a"), cast.calls("d")), (4, 0));

        a_while(10_000).await;
        assert_eq!(prepared.load(Ordering::Relaxed), 5, "after 0, 1, 3 and 7 seconds");
        when_preparing.set(Mood::Fine);
        a_while(10_000).await;
        let report = pool.report();
        assert_eq!((report.members.len(), report.last_error), (4, None));
        assert_serves(&pool, 12).await;
        assert_eq!(cast.calls("d"), 3);
    }
}

/// Keys that are different and hash alike.
#[derive(PartialEq, Eq)]
struct Alike(u8);

impl Hash for Alike {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0_u8.hash(state);
    }
}

impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[tokio::test(start_paused = true)]
async fn identities_that_collide_do_not_cost_a_table_policy_its_pool() {
    let mut directory = Directory::new();
    directory.upsert(Alike(1), Backend::new("first")).unwrap();
    let pool = Balancer::builder()
        .discover(directory.reader(), |_, backend| {
            let by = *backend.id();
            tower::service_fn(move |_: u64| async move { Ok::<_, Infallible>(by) })
        })
        .policy(Maglev::new())
        .key(|request: &u64| request)
        .spawn()
        .unwrap();
    assert_eq!(pool.send(0).await.unwrap(), "first");
    directory.upsert(Alike(2), Backend::new("second")).unwrap();
    a_while(1).await;
    let report = pool.report();
    assert_eq!((report.members.len(), report.revision.value()), (1, 1));
    assert_eq!(report.last_error.as_deref(), Some(&*TWINS.to_string()));
    assert_eq!(pool.send(0).await.unwrap(), "first");

    directory.remove(&Alike(1)).unwrap();
    directory.finish_drain(&Alike(1)).unwrap();
    a_while(1).await;
    assert_eq!(pool.send(0).await.unwrap(), "second", "a newer membership is tried at once");
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_refuses_the_first_membership_is_what_callers_are_told() {
    let cast = Cast::new(&NAMES, at_once());
    let policy = Moody::new(RoundRobin::new());
    let when_preparing = policy.when_preparing();
    when_preparing.set(Mood::Refuses);
    let pool = cast.builder().policy(policy).spawn().unwrap();
    let Came::Error(error) = send(&pool, 0).await else { panic!("nobody can answer") };
    assert_eq!(*error.kind(), BalancerErrorKind::Policy(TWINS));
    when_preparing.set(Mood::Fine);
    a_while(8_000).await;
    assert_serves(&pool, 12).await;
}
