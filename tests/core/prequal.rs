//! The pool of answers to probes, and what is chosen by them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use poise::core::policy::Prequal;
use poise::core::{
    Attempted, Backend, Now, Outcome, ParseProbeAnswerError, Policy, Prepare, Prepared, ProbeAnswer,
    ProbeConfig, ProbeConfigError, ProbePool, Selection, ServerLoad, View,
};

use crate::support::clock::Clock;
use crate::support::tally::tally;

const MILLI: Duration = Duration::from_millis(1);

fn answer(rif: u32, millis: u32) -> ProbeAnswer {
    ProbeAnswer::new(rif, millis * MILLI)
}

fn members(count: u32) -> Vec<Backend<u32>> {
    (0..count).map(Backend::new).collect()
}

/// Settings without removal, under which answers are used once.
fn plain() -> ProbeConfig {
    let config = ProbeConfig::new().with_seed(3).with_removals_per_query(0.0).unwrap();
    config.with_slack(0.0).unwrap().with_probes_per_query(16.0).unwrap()
}

/// A policy over members that are prepared for.
struct Pool {
    policy: Prequal,
    members: Vec<Backend<u32>>,
    prepared: Prepared,
    clock: Clock,
}

impl Pool {
    fn new(config: ProbeConfig, count: u32) -> Self {
        let policy = Prequal::over(Arc::new(ProbePool::with_config(config)));
        let members = members(count);
        let prepared = policy.prepare(&View::new(&members), None).unwrap();
        Self { policy, members, prepared, clock: Clock::new() }
    }

    fn now(&self, millis: u32) -> Now {
        self.clock.at(millis * MILLI)
    }

    fn hear(&self, member: u32, answer: ProbeAnswer, millis: u32) {
        self.policy.pool().insert(&member, answer, &self.now(millis));
    }

    fn len(&self, millis: u32) -> usize {
        self.policy.pool().len(&self.now(millis))
    }

    fn pick_avoiding(&self, tried: &Attempted, millis: u32) -> usize {
        let now = self.now(millis);
        let view = View::new(&self.members).prepared(&self.prepared).with_now(&now).avoiding(tried);
        self.policy.pick_from(&view, &()).unwrap().index()
    }

    fn pick(&self, millis: u32) -> usize {
        self.pick_avoiding(&Attempted::new(), millis)
    }
}

#[test]
fn the_quickest_of_the_cold_is_chosen_and_of_the_hot_the_one_with_the_fewest() {
    let pool = Pool::new(plain().with_quantile(0.5).unwrap(), 1_000);
    // The median is 2: the first two are cold.
    for (member, rif, millis) in [(1, 1, 50), (2, 2, 40), (3, 3, 1), (4, 9, 2)] {
        pool.hear(member, answer(rif, millis), 0);
    }
    assert_eq!([(); 3].map(|()| pool.pick(0)), [2, 1, 3], "cold by latency, then hot by requests in flight");
}

#[test]
fn quantiles_at_the_ends_look_at_one_thing_only() {
    for (quantile, first) in [(0.0, 7), (1.0, 8)] {
        let pool = Pool::new(plain().with_quantile(quantile).unwrap(), 1_000);
        pool.hear(7, answer(1, 100), 0);
        pool.hear(8, answer(50, 1), 0);
        assert_eq!(pool.pick(0), first, "quantile {quantile}");
    }
}

#[test]
fn a_use_makes_an_answer_older_than_it_is() {
    let config = ProbeConfig::new().with_quantile(0.0).unwrap().with_removals_per_query(0.0).unwrap();
    let pool = Pool::new(config.with_probes_per_query(0.0).unwrap(), 100);
    assert!(
        pool.policy.pool().config().reuse(100).is_infinite(),
        "without probes answers last as long as they may"
    );
    pool.hear(1, answer(0, 5), 0);
    pool.hear(2, answer(2, 5), 0);
    let picks: Vec<_> = (0..8).map(|_| pool.pick(0)).collect();
    assert_eq!(picks[..2], [1, 1], "each use counts one more in flight");
    assert_eq!(tally(3, picks.into_iter())[1..], [5, 3], "then both are even");
}

#[test]
fn with_fewer_than_two_answers_anybody_is_chosen() {
    let pool = Pool::new(plain(), 10);
    pool.hear(3, answer(0, 1), 0);
    let counts = tally(10, (0..2_000).map(|_| pool.pick(0)));
    assert!(counts.iter().all(|count| (140..260).contains(count)), "{counts:?}");
    assert_eq!(pool.len(0), 1, "and the answer is not used");
}

#[test]
fn answers_of_members_that_are_excluded_or_gone_do_not_count() {
    let pool = Pool::new(plain(), 40);
    for member in [1, 2, 3, 400] {
        pool.hear(member, answer(0, member), 0);
    }
    let tried = Attempted::from_iter([1]);
    assert_eq!(pool.pick_avoiding(&tried, 0), 2, "the best one left, as there is a second one");
    let tried = Attempted::from_iter([1, 2]);
    let counts = tally(40, (0..4_000).map(|_| pool.pick_avoiding(&tried, 0)));
    assert_eq!(counts[1..3], [0, 0]);
    assert!(counts[3] < 200, "one answer alone decides nothing: {counts:?}");
}

#[test]
fn answers_end_by_age_also_when_the_clock_goes_back() {
    let pool = Pool::new(plain(), 10);
    for member in 0..5 {
        pool.hear(member, answer(0, 5), 10_000);
    }
    assert_eq!([10_000, 11_000, 11_001].map(|at| pool.len(at)), [5, 5, 0]);
    assert_eq!([9_500, 8_999, 0].map(|at| pool.len(at)), [5, 0, 0], "one from the future dies too");
}

#[test]
fn a_member_has_one_answer_and_in_a_full_pool_the_oldest_one_goes() {
    let pool = Pool::new(plain().with_capacity(3).unwrap().with_quantile(1.0).unwrap(), 1_000);
    for (at, member) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
        pool.hear(member, answer(1, 10 + member), at);
    }
    assert_eq!(pool.len(3), 3);
    pool.hear(4, answer(1, 1), 4);
    assert_eq!([(); 2].map(|()| pool.pick(4)), [4, 1], "that of 2 was the oldest");
    pool.policy.pool().forget(&1);
    assert_eq!(pool.len(4), 1);
}

#[test]
fn each_query_removes_the_oldest_and_the_worst_in_turn() {
    let config = ProbeConfig::new().with_removals_per_query(0.5).unwrap().with_quantile(0.5).unwrap();
    let pool = Pool::new(config.with_probes_per_query(0.0).unwrap(), 1_000);
    // Of 1..=6 in flight 1, 2 and 3 are cold; 6 is the worst, 3 the oldest, 1 the best.
    for (at, member) in [3, 1, 2, 4, 5, 6].into_iter().enumerate() {
        pool.hear(member, answer(member, 10), u32::try_from(at).unwrap());
    }
    let left = || {
        let has = |member: &u32| {
            let before = pool.len(10);
            let known = pool.policy.pool();
            known.forget(member);
            let had = pool.len(10) < before;
            assert_eq!(had, before != known.len(&pool.now(10)));
            had
        };
        (1..=6).filter(has).collect::<Vec<u32>>()
    };
    let lens: Vec<_> = (0..4).map(|_| (pool.pick(10), pool.len(10)).1).collect();
    assert_eq!(lens, [6, 5, 5, 4], "half a removal for each query");
    assert_eq!(left(), [1, 2, 4, 5], "first the oldest, then the worst");
}

#[test]
fn reuse_is_that_of_the_paper_and_is_kept_on_average() {
    let config = ProbeConfig::new();
    assert!((config.reuse(100) - 1.316).abs() < 1e-3);
    assert!((config.with_capacity(16).unwrap().reuse(1_000_000) - 1.0).abs() < 1e-4, "at least one");
    assert!([0, 1, 16].into_iter().all(|few| config.reuse(few).is_infinite()));
    let small = config.with_capacity(2).unwrap().with_probes_per_query(2.0).unwrap();
    assert!((small.with_removals_per_query(0.5).unwrap().reuse(20) - 2.0 / 1.3).abs() < 1e-9);
    let config = ProbeConfig::new().with_removals_per_query(0.0).unwrap().with_seed(6);
    let pool = Pool::new(config.with_probes_per_query(1.0).unwrap().with_slack(0.5).unwrap(), 100);
    let expected = pool.policy.pool().config().reuse(100);
    assert!((expected - 1.5 / 0.84).abs() < 1e-9, "{expected}");
    let rounds = 4_000;
    let mut uses = 0;
    for round in 0..rounds {
        let at = round * 3;
        pool.hear(1, answer(0, 1), at);
        pool.hear(2, answer(1_000, 900), at);
        while pool.len(at) == 2 {
            uses += u32::from(pool.pick(at) == 1);
        }
    }
    let found = f64::from(uses) / f64::from(rounds);
    assert!((found - expected).abs() < 0.04, "{found} uses instead of {expected}");
}

#[test]
fn probes_are_due_at_the_rate_and_not_made_up_for_when_nobody_took_them() {
    let pool = Pool::new(ProbeConfig::new().with_probes_per_query(0.75).unwrap(), 10);
    let due: Vec<_> = (0..8).map(|_| (pool.pick(0), pool.policy.pool().take_due()).1).collect();
    assert_eq!(due, [0, 1, 1, 1, 0, 1, 1, 1]);
    (0..1_000).for_each(|_| _ = pool.pick(0));
    assert_eq!(pool.policy.pool().take_due(), 16);
    assert_eq!(pool.policy.pool().take_due(), 0);
}

#[test]
fn targets_are_distinct_and_eligible_and_evenly_drawn() {
    let pool = Pool::new(plain(), 10);
    let tried = Attempted::from_iter([4]);
    let view = View::new(&pool.members).avoiding(&tried);
    let mut counts = [0; 10];
    for _ in 0..3_000 {
        let mut targets: Vec<_> =
            pool.policy.probe_targets(&view, 3).unwrap().map(Selection::index).collect();
        for target in &targets {
            counts[*target] += 1;
        }
        targets.sort_unstable();
        targets.dedup();
        assert_eq!(targets.len(), 3);
    }
    assert_eq!(counts[4], 0);
    assert!(
        counts.iter().enumerate().all(|(at, count)| at == 4 || (880..1_120).contains(count)),
        "{counts:?}"
    );
    assert_eq!(pool.policy.probe_targets(&view, 50).unwrap().count(), 9, "there are no more");
    assert_eq!(pool.policy.probe_targets(&view, 0).unwrap().count(), 0);
    assert!(pool.policy.probe_targets(&view.within(&[]), 1).is_err());
}

#[test]
fn a_server_that_fails_does_not_look_idle() {
    let pool = Pool::new(plain().with_quantile(0.8).unwrap(), 1_000);
    for round in 0..20 {
        (10..15).for_each(|member| pool.hear(member, answer(4, 20), round));
    }
    pool.hear(1, answer(0, 1).with_failures(5), 20);
    let picks: Vec<_> = (0..5).map(|_| pool.pick(20)).collect();
    assert!(picks.iter().all(|pick| (10..15).contains(pick)), "{picks:?}");
    assert_eq!(answer(0, 1).with_failures(3).with_failures(2).failures(), 3, "the highest count stays");
}

#[test]
fn of_members_that_have_just_answered_the_best_is_chosen() {
    let pool = Pool::new(plain().with_quantile(0.6).unwrap(), 10);
    let view = View::new(&pool.members);
    let answers = [(3, 1, 30), (5, 2, 20), (7, 9, 1)];
    let answers = answers.map(|(member, rif, millis)| (Selection::new(member), answer(rif, millis)));
    let pick = |view: &View<'_, _>| pool.policy.pick_answered(view, &answers).map(Selection::index);
    assert_eq!(pick(&view), Ok(5));
    let tried = Attempted::from_iter([5]);
    assert_eq!(pick(&View::new(&pool.members).avoiding(&tried)), Ok(3));
    let tried: Attempted = (0..10).filter(|at| *at != 8).collect();
    assert_eq!(pick(&View::new(&pool.members).avoiding(&tried)), Ok(8), "whoever is left");
    assert_eq!(pool.len(0), 0, "nothing of that is kept");
}

#[test]
fn threads_that_share_a_pool_lose_no_query_and_pick_members_of_theirs() {
    let pool = Pool::new(ProbeConfig::new(), 50);
    let per_thread = 20_000_u32;
    thread::scope(|scope| {
        let pool = &pool;
        for thread in 0..3 {
            scope.spawn(move || {
                for step in 0..per_thread {
                    pool.hear((step * 7 + thread) % 60, answer(step % 5, step % 9), step);
                    assert!(pool.pick(step) < 50);
                }
            });
        }
    });
    assert!(pool.len(per_thread) <= 16);
    assert_eq!(pool.policy.pool().take_due(), 16);
}

#[test]
fn settings_out_of_range_are_typed_errors() {
    let config = ProbeConfig::new();
    assert_eq!([0, 1, 17].map(|count| config.with_capacity(count)), [Err(ProbeConfigError::Capacity); 3]);
    assert_eq!(config.with_max_age(Duration::ZERO), Err(ProbeConfigError::ZeroAge));
    for wrong in [-0.1, f64::NAN, f64::INFINITY, 16.1] {
        assert_eq!(config.with_probes_per_query(wrong), Err(ProbeConfigError::Rate));
        assert_eq!(config.with_removals_per_query(wrong), Err(ProbeConfigError::Rate));
        assert_eq!(config.with_quantile(wrong), Err(ProbeConfigError::Quantile));
        assert_eq!(config.with_slack(wrong * 1_000.0), Err(ProbeConfigError::Slack));
    }
    let extreme = ProbeAnswer::new(u32::MAX, Duration::MAX).with_failures(u32::MAX);
    let pool = Pool::new(plain(), 10);
    (0..10).for_each(|member| pool.hear(member, extreme, 0));
    assert!(pool.pick(0) < 10);
}

#[test]
fn answers_are_read_as_they_are_written_and_nonsense_is_a_typed_error() {
    let full = ProbeAnswer::new(7, Duration::from_micros(1_500)).with_failures(2);
    assert_eq!(full.to_string().parse(), Ok(full));
    assert_eq!("latency_us=3 later=x rif=1".parse(), Ok(ProbeAnswer::new(1, Duration::from_micros(3))));
    let error = |text: &str| text.parse::<ProbeAnswer>().unwrap_err();
    assert_eq!(error("rif=1"), ParseProbeAnswerError::Incomplete);
    assert_eq!(error("rif"), ParseProbeAnswerError::NoValue);
    assert!(matches!(error("rif=-1 latency_us=1"), ParseProbeAnswerError::Number(_)));
}

#[test]
fn a_server_answers_with_the_latency_at_about_its_load() {
    let (clock, load) = (Clock::new(), ServerLoad::new());
    let at = |millis: u32| clock.at(millis * MILLI);
    let serve = |beside: u32, millis| {
        let others: Vec<_> = (0..beside).map(|_| load.start(&at(0))).collect();
        load.start(&at(0)).end(Outcome::Success, &at(millis));
        drop(others);
    };
    assert_eq!(load.answer(&at(90)), ProbeAnswer::new(0, Duration::ZERO), "nothing is known");
    for _ in 0..40 {
        serve(0, 10);
        serve(8, 90);
    }
    assert_eq!(load.answer(&at(90)), ProbeAnswer::new(0, 10 * MILLI));
    let busy: Vec<_> = (0..8).map(|_| load.start(&at(0))).collect();
    assert_eq!(load.answer(&at(90)), ProbeAnswer::new(8, 90 * MILLI));
    drop(busy);
    assert_eq!(load.rif(), 0, "what is dropped is over");
    for _ in 0..3 {
        load.start(&at(0)).end(Outcome::Failure, &at(1));
        load.start(&at(0)).end(Outcome::Cancelled, &at(1));
    }
    assert_eq!(
        load.answer(&at(90)),
        ProbeAnswer::new(0, 10 * MILLI).with_failures(3),
        "failures take no time"
    );
    serve(0, 10);
    assert_eq!(load.answer(&at(90)).failures(), 0);
}

#[test]
fn a_server_that_nobody_comes_to_does_not_look_slow_for_ever() {
    let (clock, load) = (Clock::new(), ServerLoad::new());
    let at = |millis: u32| clock.at(millis * MILLI);
    for _ in 0..20 {
        load.start(&at(0)).end(Outcome::Success, &at(1_000));
    }
    let latency = |millis| load.answer(&at(millis)).latency();
    assert_eq!(latency(3_000), 1_000 * MILLI, "two seconds old");
    assert!((360..370).contains(&latency(5_000).as_millis()), "{:?}", latency(5_000));
    assert!(latency(30_000) < MILLI);
    load.start(&at(30_000)).end(Outcome::Success, &at(30_500));
    assert_eq!(latency(30_500), 500 * MILLI, "what is known now counts alone");
    assert_eq!(latency(0), 1_000 * MILLI, "to a clock that went back all are recent");
}
