//! Claims on policies inside a running `Balancer`, while the membership is swapped and health flips.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use poise::core::policy::{LeastLoaded, Maglev, PowerOfTwoChoices, PriorityFailover, Random, RoundRobin};
use poise::core::{
    Attributes, Backend, Candidate, Exclusion, InvalidSelection, PickError, Policy, Prepare, Prepared,
    Selection, Status, Table, View, Weight,
};
use poise::health::{BudgetConfig, CircuitConfig};
use poise::tower::BalancerErrorKind;

use crate::support::pool_endpoints::{Cast, Manner, Pool, Seen};
use crate::support::pool_policies::{Counted, Stubborn};

const PRIMARIES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const STANDBYS: [&str; 2] = ["y", "z"];
const NEWCOMER: &str = "g";
const KEYS: u64 = 1_000;

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

/// Six primaries and two standbys behind a keyed policy; `g` is known and no member yet.
fn keyed() -> (Cast, Pool, Arc<AtomicU64>) {
    let names: Vec<_> = PRIMARIES.into_iter().chain(STANDBYS).chain([NEWCOMER]).collect();
    let mut cast = Cast::new(&names, at_once());
    for name in STANDBYS {
        cast.directory.amend(&name, Attributes::default().with_priority(1)).unwrap();
    }
    cast.directory.remove(&NEWCOMER).unwrap();
    cast.directory.finish_drain(&NEWCOMER).unwrap();
    let policy = Counted::new(PriorityFailover::new(Maglev::new()).with_seed(1));
    let prepared = policy.prepared();
    let pool = cast.builder().policy(policy).key(|request: &u64| request).spawn().unwrap();
    (cast, pool, prepared)
}

/// Lets the driver bring in what has been published.
async fn brought_in(pool: &Pool, cast: &Cast) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(pool.report().revision, cast.directory.revision());
}

async fn owners(pool: &Pool) -> Vec<&'static str> {
    let mut owners = Vec::new();
    for key in 0..KEYS {
        owners.push(pool.send(key).await.unwrap().by);
    }
    owners
}

/// Counts the keys that moved, and those among them of which neither owner is `whom`.
fn moved(before: &[&str], after: &[&str], whom: &str) -> (usize, usize) {
    let moves = before.iter().zip(after).filter(|(from, to)| from != to);
    let others = moves.clone().filter(|(from, to)| **from != whom && **to != whom);
    (moves.count(), others.count())
}

#[tokio::test(start_paused = true)]
async fn keys_stay_with_their_owners_across_swaps_but_for_those_that_must_move() {
    let (mut cast, pool, _) = keyed();
    let first = owners(&pool).await;
    assert!(PRIMARIES.iter().all(|name| first.contains(name)) && !first.contains(&"z"));
    let of_b = first.iter().filter(|owner| **owner == "b").count();

    cast.directory.upsert("b", Backend::new("b")).unwrap();
    brought_in(&pool, &cast).await;
    assert_eq!(owners(&pool).await, first, "a new allocation of a member moves nothing");

    cast.directory.remove(&"b").unwrap();
    brought_in(&pool, &cast).await;
    let draining = owners(&pool).await;
    assert_eq!(moved(&first, &draining, "b"), (of_b, 0), "only the keys of who drains move");

    cast.directory.amend(&"b", Attributes::default()).unwrap();
    brought_in(&pool, &cast).await;
    assert_eq!(owners(&pool).await, first, "they return with it");

    cast.directory.remove(&"b").unwrap();
    cast.directory.finish_drain(&"b").unwrap();
    brought_in(&pool, &cast).await;
    let (all, others) = moved(&first, &owners(&pool).await, "b");
    assert!(all >= of_b && others <= 50, "{others} of the {KEYS} keys moved for no reason");

    cast.directory.upsert("b", Backend::new("b")).unwrap();
    brought_in(&pool, &cast).await;
    assert_eq!(owners(&pool).await, first, "placement has no memory");

    cast.directory.upsert(NEWCOMER, Backend::new(NEWCOMER)).unwrap();
    brought_in(&pool, &cast).await;
    let (all, others) = moved(&first, &owners(&pool).await, NEWCOMER);
    assert!((90..250).contains(&all) && others <= 50, "{all} moved, {others} of them for no reason");
}

#[tokio::test(start_paused = true)]
async fn an_amended_weight_or_priority_moves_the_keys_of_that_member() {
    let (mut cast, pool, _) = keyed();
    let first = owners(&pool).await;
    let of_c = first.iter().filter(|owner| **owner == "c").count();

    cast.directory.amend(&"c", Attributes::default().with_weight(Weight::new(2).unwrap())).unwrap();
    brought_in(&pool, &cast).await;
    let heavier = owners(&pool).await;
    let now = heavier.iter().filter(|owner| **owner == "c").count();
    let (_, others) = moved(&first, &heavier, "c");
    assert!(now > of_c * 3 / 2 && others <= 100, "{of_c} keys became {now}, and {others} others moved");

    cast.directory.amend(&"c", Attributes::default().with_priority(1)).unwrap();
    brought_in(&pool, &cast).await;
    let demoted = owners(&pool).await;
    let (_, others) = moved(&first, &demoted, "c");
    assert!(!demoted.contains(&"c") && others <= 50, "{others} of the {KEYS} keys moved for no reason");

    cast.directory.amend(&"c", Attributes::default()).unwrap();
    brought_in(&pool, &cast).await;
    assert_eq!(owners(&pool).await, first);
}

#[tokio::test(start_paused = true)]
async fn a_health_flip_rebuilds_nothing_and_moves_only_the_keys_of_its_member() {
    let (cast, pool, prepared) = keyed();
    let first = owners(&pool).await;
    let of_d = first.iter().filter(|owner| **owner == "d").count();
    let key = (0..KEYS).zip(&first).find(|(_, owner)| **owner == "d").unwrap().0;
    let before = prepared.load(Ordering::Relaxed);
    for _ in 0..20 {
        cast.tell("d", Manner::Fails(Duration::ZERO));
        for _ in 0..5 {
            assert!(pool.send(key).await.is_err());
        }
        cast.tell("d", at_once());
        assert!(pool.report().member("d").unwrap().exclusions.contains(Exclusion::Circuit));
        let tripped = owners(&pool).await;
        assert_eq!(moved(&first, &tripped, "d"), (of_d, 0));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(owners(&pool).await, first, "they return when it recovers");
    }
    assert_eq!(prepared.load(Ordering::Relaxed), before, "no flip made the policy prepare");
}

#[tokio::test(start_paused = true)]
async fn a_level_spills_what_it_cannot_carry_while_its_members_are_sick() {
    let (cast, pool, prepared) = keyed();
    let first = owners(&pool).await;
    let before = prepared.load(Ordering::Relaxed);
    let sick = ["b", "c", "d"];
    for name in sick {
        cast.tell(name, Manner::Fails(Duration::ZERO));
    }
    for key in 0..KEYS {
        drop(pool.send(key).await);
    }
    for name in sick {
        cast.tell(name, at_once());
    }
    assert_eq!(pool.report().eligible(), 5);
    let spilled = owners(&pool).await.into_iter().filter(|owner| STANDBYS.contains(owner)).count();
    assert!((250..350).contains(&spilled), "{spilled} of {KEYS} for half of the first level, 300 are right");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(owners(&pool).await, first, "nothing spills when they are back");
    assert_eq!(prepared.load(Ordering::Relaxed), before);
}

/// Sends each tenant to its home, and while that cannot serve to the next one. It checks that what it prepared belongs to
/// the members that it sees.
struct Homes;

#[derive(Debug)]
struct Names(Vec<&'static str>);

impl Table for Names {}

impl<C: Candidate<Id = &'static str>> Prepare<C> for Homes {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        let names = view.candidates().iter().map(|candidate| *candidate.id()).collect();
        Ok(Prepared::new(view.len(), Names(names)))
    }
}

impl<C: Candidate<Id = &'static str>> Policy<C, u64> for Homes {
    fn pick_from(&self, view: &View<'_, C>, tenant: &u64) -> Result<Selection, PickError> {
        let names = view.table::<Names>().ok_or(PickError::InconsistentTopology)?;
        if view.candidates().iter().zip(&names.0).any(|(candidate, name)| candidate.id() != name) {
            return Err(PickError::InconsistentTopology);
        }
        let home = usize::try_from(*tenant).unwrap_or(0) % names.0.len().max(1);
        view.first_from(home)
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_ones_own_sees_the_request_and_one_membership() {
    let mut cast = Cast::new(&["a", "b", "c", "d"], at_once());
    let pool = cast.builder().policy(Homes).key(|request: &u64| request).spawn().unwrap();
    let by = async |tenant| pool.send(tenant).await.unwrap().by;
    assert_eq!([by(0).await, by(5).await, by(10).await, by(15).await], ["a", "b", "c", "d"]);
    cast.directory.remove(&"b").unwrap();
    brought_in(&pool, &cast).await;
    assert_eq!([by(0).await, by(5).await, by(10).await], ["a", "c", "c"], "the next one stands in");
    cast.directory.finish_drain(&"b").unwrap();
    brought_in(&pool, &cast).await;
    assert_eq!([by(0).await, by(1).await, by(2).await], ["a", "c", "d"], "there are three homes now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_pick_mixes_two_memberships_while_they_are_swapped() {
    let mut cast = Cast::new(&["a", "b", "c", "d"], at_once());
    let pool = cast.builder().policy(Homes).key(|request: &u64| request).spawn().unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let (sender, until) = (pool.clone(), Arc::clone(&done));
    let senders = tokio::spawn(async move {
        let mut tenant = 0;
        while until.load(Ordering::Relaxed) == 0 {
            sender.send(tenant).await.unwrap();
            tenant += 1;
            tokio::task::yield_now().await;
        }
        tenant
    });
    for turn in 0..300 {
        let name = ["a", "b", "c"][turn % 3];
        cast.directory.remove(&name).unwrap();
        cast.directory.finish_drain(&name).unwrap();
        cast.directory.upsert(name, Backend::new(name)).unwrap();
        while pool.report().revision < cast.directory.revision() {
            tokio::task::yield_now().await;
        }
    }
    done.store(1, Ordering::Relaxed);
    let sent = senders.await.expect("every pick saw the table of its own members");
    assert_eq!(cast.all_calls(), sent);
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_names_whom_it_must_not_is_a_typed_error_and_calls_nobody() {
    let mut cast = Cast::new(&["a", "b"], at_once());
    cast.directory.amend(&"b", Attributes::default().with_status(Status::Unavailable)).unwrap();
    for (position, expected) in [
        (2, InvalidSelection::OutOfRange { index: 2, candidates: 2 }),
        (usize::MAX, InvalidSelection::OutOfRange { index: usize::MAX, candidates: 2 }),
        (1, InvalidSelection::Excluded { index: 1, exclusions: Exclusion::Unavailable.into() }),
    ] {
        let pool = cast.builder().policy(Stubborn(position)).spawn().unwrap();
        let error = pool.send(0).await.unwrap_err();
        assert_eq!(*error.kind(), BalancerErrorKind::InvalidSelection(expected));
        assert_eq!((error.attempts(), error.is_retryable()), (0, false));
        assert!(pool.report().members.iter().all(|member| member.picks == 0));
    }
    assert_eq!(cast.all_calls(), 0);
}

fn crowd(members: usize) -> Vec<&'static str> {
    (0..members).map(|member| &*format!("member {member}").leak()).collect()
}

async fn finds_the_only_one<P>(policy: P)
where
    P: Policy<Seen, u64> + Send + Sync + 'static,
{
    let names = crowd(512);
    let mut cast = Cast::new(&names, at_once());
    for (position, name) in names.iter().enumerate().filter(|(_, name)| **name != "member 300") {
        let status = if position % 2 == 0 { Status::Draining } else { Status::Unavailable };
        cast.directory.amend(name, Attributes::default().with_status(status)).unwrap();
    }
    let pool = cast.builder().policy(policy).key(|request: &u64| request).spawn().unwrap();
    for request in 0..200 {
        assert_eq!(pool.send(request).await.unwrap().by, "member 300");
    }
}

#[tokio::test(start_paused = true)]
async fn every_policy_finds_the_one_that_is_eligible_among_many() {
    finds_the_only_one(RoundRobin::new()).await;
    finds_the_only_one(Random::seeded(1)).await;
    finds_the_only_one(PowerOfTwoChoices::seeded(1)).await;
    finds_the_only_one(LeastLoaded::seeded(1)).await;
    finds_the_only_one(Maglev::new()).await;
    finds_the_only_one(PriorityFailover::new(Maglev::new()).with_seed(1)).await;
    finds_the_only_one(Homes).await;
}

#[tokio::test(start_paused = true)]
async fn the_one_whose_circuit_is_closed_is_found_among_many_that_tripped() {
    let names = crowd(64);
    let cast = Cast::new(&names, Manner::Fails(Duration::ZERO));
    cast.tell("member 40", at_once());
    let pool = cast
        .builder()
        .policy(RoundRobin::new())
        .circuit(CircuitConfig::new(1, Duration::from_secs(60)).unwrap())
        .exclusions(BudgetConfig::default().with_circuits(1.0).unwrap())
        .spawn()
        .unwrap();
    for request in 0..64 {
        drop(pool.send(request).await);
    }
    assert_eq!(pool.report().eligible(), 1);
    for request in 0..200 {
        assert_eq!(pool.send(request).await.unwrap().by, "member 40");
    }
}
