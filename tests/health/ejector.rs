//! Who is ejected, for how long, and who knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::clock::Clock;
use poise::core::{Backend, Candidate, Changes, Exclusion, Now, Outcome, Status};
use poise::health::{
    BudgetConfig, BudgetKind, CircuitConfig, Completion, Ejection, EjectionState, Ejector, EjectorAction,
    EjectorConfig, EjectorConfigError, ExclusionBudget, HealthChecked, HealthSignal, OutcomeWindow,
    OutlierCause, OutlierSample, PassiveHealth,
};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A pool whose first member fails half of its requests, unless a test says otherwise.
struct Pool {
    clock: Clock,
    budget: Arc<ExclusionBudget>,
    members: Vec<Arc<Ejection>>,
    ejector: Ejector,
}

impl Pool {
    fn new(members: usize, caps: BudgetConfig) -> Self {
        Self::with(members, caps, EjectorConfig::default())
    }

    fn with(members: usize, caps: BudgetConfig, config: EjectorConfig) -> Self {
        let budget = Arc::new(ExclusionBudget::new(caps));
        budget.set_members(members);
        let members = (0..members).map(|_| Arc::new(Ejection::new(Arc::clone(&budget)))).collect();
        let mut pool = Self { clock: Clock::new(), budget, members, ejector: Ejector::new(config) };
        assert!(pool.advance(0).is_empty(), "the first interval begins");
        pool
    }

    fn advance(&mut self, at: u64) -> Vec<EjectorAction> {
        self.advance_with(at, 1)
    }

    /// The first so many members fail half of their requests.
    fn advance_with(&mut self, at: u64, bad: usize) -> Vec<EjectorAction> {
        let sample = |member| OutlierSample::new(if member < bad { 50 } else { 100 }, 100);
        self.ejector.advance(&self.clock.at(secs(at)), &self.members, sample)
    }

    fn out(&self, at: u64) -> Vec<usize> {
        let now = self.clock.at(secs(at));
        let is_out = |member: &usize| self.members[*member].exclusions(&now).contains(Exclusion::Outlier);
        (0..self.members.len()).filter(is_out).collect()
    }

    fn taken(&self) -> u32 {
        self.budget.taken(BudgetKind::Outlier)
    }
}

#[test]
fn an_outlier_is_out_for_its_time_and_not_longer() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    let actions = pool.advance(10);
    assert!(matches!(actions[..], [EjectorAction::Eject { member: 0, .. }]));
    let just_before = pool.clock.at(secs(40).checked_sub(Duration::from_nanos(1)).unwrap());
    assert!(pool.members[0].exclusions(&just_before).contains(Exclusion::Outlier));
    assert_eq!(pool.members[0].changes_at(&just_before), Some(pool.clock.instant(secs(40))));
    assert_eq!(pool.out(40), [0; 0], "policies see the return at once");
    assert_eq!(pool.taken(), 1, "the budget sees it at the next turn");
    assert!(matches!(pool.advance_with(40, 0)[..], [EjectorAction::Return { member: 0, .. }]));
    assert_eq!(pool.taken(), 0);
}

#[test]
fn actions_record_signal_and_epoch() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    let at = |seconds| pool.clock.instant(secs(seconds));
    let (ten, forty) = (at(10), at(40));
    let cause = OutlierCause::SuccessRate;
    let out = EjectorAction::Eject { member: 0, cause, epoch: 1, since: ten, until: Some(forty), repeats: 1 };
    assert_eq!(pool.advance(10), [out]);
    assert_eq!(pool.members[0].state(), EjectionState::Ejected { cause, since: ten, until: Some(forty) });
    assert_eq!(
        pool.advance_with(40, 0),
        [EjectorAction::Return { member: 0, cause, epoch: 2, since: forty }]
    );
    assert_eq!((pool.members[0].epoch(), pool.members[0].state()), (2, EjectionState::In));

    let mut pool = Pool::new(5, BudgetConfig::default());
    let since = pool.clock.instant(secs(10));
    let withheld = pool.advance(10);
    assert_eq!(
        withheld,
        [EjectorAction::Withheld { member: 0, cause, epoch: 0, since }],
        "a tenth of five is none"
    );
    let action = withheld[0];
    assert_eq!((action.member(), action.cause(), action.epoch(), action.since()), (0, cause, 0, since));
}

#[test]
fn the_worst_are_ejected_first_and_the_rest_when_there_are_slots() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.members[0].force_eject();
    let is_ejected = |action: &EjectorAction| matches!(action, EjectorAction::Eject { .. });
    let done = |actions: Vec<EjectorAction>| -> Vec<_> {
        actions.iter().map(|action| (action.member(), is_ejected(action))).collect()
    };
    let ejected = done(pool.advance_with(10, 4));
    assert_eq!(ejected, [(1, true), (2, false), (3, false)], "one of two slots is the operator's");
    pool.members[0].lift();
    assert_eq!(done(pool.advance_with(20, 4)), [(0, true), (2, false), (3, false)], "the slot is free again");
    assert_eq!(pool.taken(), 2);
}

#[test]
fn circuits_and_ejections_share_one_budget() {
    let caps = BudgetConfig::default().with_outliers(0.5).unwrap().with_min_eligible(7);
    let mut pool = Pool::new(10, caps);
    let circuits: Vec<_> = (0..10)
        .map(|_| {
            let config = CircuitConfig::new(1, secs(60)).unwrap();
            PassiveHealth::new(config).with_budget(Arc::clone(&pool.budget))
        })
        .collect();
    let now = pool.clock.at(Duration::ZERO);
    let trip = |circuit: &PassiveHealth| circuit.try_acquire(&now).unwrap().complete(Outcome::Failure, &now);
    assert_eq!(trip(&circuits[9]), Completion::Tripped);
    assert_eq!(trip(&circuits[8]), Completion::Tripped);
    let actions = pool.advance_with(10, 2);
    assert!(
        matches!(actions[..], [EjectorAction::Eject { .. }, EjectorAction::Withheld { .. }]),
        "{actions:?}"
    );
    assert_eq!(trip(&circuits[7]), Completion::Withheld, "seven stay, whoever asks");
    assert_eq!(pool.advance_with(40, 0).len(), 1);
    assert_eq!(trip(&circuits[7]), Completion::Tripped, "the slot of the one that returned");
}

#[test]
fn ejections_grow_to_the_longest_and_are_forgotten_over_quiet_sweeps() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    let mut now = 0;
    let mut times = Vec::new();
    while times.len() < 12 {
        now += 10;
        for action in pool.advance(now) {
            if let EjectorAction::Eject { until, since, .. } = action {
                times.push((until.unwrap() - since).as_secs());
            }
        }
    }
    assert_eq!(times, [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300]);
    assert_eq!(pool.members[0].repeats(), 10);
    now += 300;
    pool.advance_with(now, 0);
    for left in (0..10).rev() {
        now += 10;
        pool.advance_with(now, 0);
        assert_eq!(pool.members[0].repeats(), left);
    }
    pool.advance_with(now + 10, 0);
    now += 20;
    assert!(matches!(pool.advance(now)[..], [EjectorAction::Eject { repeats: 1, .. }]));
}

#[test]
fn the_sweep_in_which_a_member_returns_does_not_judge_it() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.advance(10);
    let actions = pool.advance(40);
    assert!(matches!(actions[..], [EjectorAction::Return { .. }]), "it had no chance yet: {actions:?}");
    assert!(matches!(pool.advance(50)[..], [EjectorAction::Eject { repeats: 2, .. }]));
}

#[test]
fn an_active_success_returns_nobody_early() {
    /// Says what a probe found.
    struct Probe(AtomicU32);
    impl HealthSignal for Probe {
        fn exclusions(&self, _: &Now) -> poise::core::Exclusions {
            poise::core::Exclusions::NONE.with_if(Exclusion::Probe, self.0.load(Ordering::Relaxed) == 0)
        }
    }
    let mut pool = Pool::new(20, BudgetConfig::default());
    let probe = Probe(AtomicU32::new(0));
    let ejection = Arc::clone(&pool.members[0]);
    let circuit = PassiveHealth::new(CircuitConfig::new(1, secs(5)).unwrap());
    let member = HealthChecked::new(Backend::new("a"), (probe, circuit, ejection));
    pool.advance(10);
    let now = pool.clock.at(secs(15));
    member.health().0.0.store(1, Ordering::Relaxed);
    for _ in 0..100 {
        member.health().1.try_acquire(&now).unwrap().complete(Outcome::Success, &now);
    }
    pool.advance_with(20, 0);
    assert_eq!(member.exclusions(&pool.clock.at(secs(39))), Exclusion::Outlier.into());
    assert!(member.is_eligible(&pool.clock.at(secs(40))));
}

#[test]
fn ejection_never_touches_the_administrative_state() {
    let pool = Pool::new(20, BudgetConfig::default());
    let member =
        HealthChecked::new(Backend::new("a").with_status(Status::Draining), Arc::clone(&pool.members[0]));
    let now = pool.clock.at(Duration::ZERO);
    pool.members[0].force_return();
    assert_eq!(member.exclusions(&now), Exclusion::Draining.into());
    pool.members[0].force_eject();
    assert_eq!(member.exclusions(&now).deciding(), Some(Exclusion::Draining));
    assert_eq!(member.status(), Status::Draining);
}

// --- membership ---

#[test]
fn a_member_that_is_built_anew_starts_with_a_clean_record() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.advance(10);
    assert_eq!(pool.out(15), [0]);
    pool.members[0] = Arc::new(Ejection::new(Arc::clone(&pool.budget)));
    assert_eq!((pool.out(15), pool.taken()), (vec![], 0), "the slot went with the last handle");
    assert!(matches!(pool.advance(20)[..], [EjectorAction::Eject { member: 0, repeats: 1, epoch: 1, .. }]));
}

#[test]
fn a_member_that_leaves_gives_its_slot_back_though_handles_live_on() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.advance(10);
    let gone = pool.members.remove(0);
    assert!(pool.advance_with(15, 0).is_empty());
    assert_eq!((pool.taken(), gone.state()), (0, EjectionState::In));
    assert_eq!(gone.repeats(), 1, "it is the same member if it comes back");
}

#[test]
fn with_the_ejector_gone_nobody_stays_ejected() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.advance(10);
    pool.ejector = Ejector::new(EjectorConfig::default());
    assert_eq!((pool.out(11), pool.taken()), (vec![], 0));
}

// --- forced ---

#[test]
fn a_forced_state_holds_at_once_and_until_it_is_lifted() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.members[0].force_return();
    for sweep in 1..5 {
        assert!(pool.advance(sweep * 10).is_empty(), "it is kept in");
    }
    pool.members[0].force_eject();
    assert_eq!(pool.out(1_000_000), [0]);
    assert!(pool.advance(60).is_empty());
    assert_eq!(pool.members[0].changes_at(&pool.clock.at(secs(60))), None);
    assert!(pool.members[0].lift() && !pool.members[0].lift());
    assert_eq!((pool.out(60), pool.taken()), (vec![], 0));
}

#[test]
fn forcing_needs_no_slot_and_takes_one_if_there_is_one() {
    let pool = Pool::new(20, BudgetConfig::default());
    for member in &pool.members {
        member.force_eject();
    }
    assert_eq!((pool.out(0).len(), pool.taken()), (20, 2));
    for member in &pool.members {
        member.lift();
    }
    assert_eq!(pool.taken(), 0);
}

#[test]
fn forcing_a_member_to_return_ends_its_ejection() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.advance(10);
    pool.members[0].force_return();
    assert_eq!((pool.out(11), pool.taken()), (vec![], 0));
    pool.members[0].lift();
    assert_eq!(pool.members[0].repeats(), 0, "its record is clean");
}

#[test]
fn every_transition_is_told_once() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    let told = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&told);
    let member = Arc::clone(&pool.members[0]);
    // A listener may ask the member: no lock is held.
    let asked = Arc::downgrade(&member);
    member.watch(Changes::new(Arc::new(move || {
        let _ = asked.upgrade().map(|member| member.state());
        counter.fetch_add(1, Ordering::Relaxed);
    })));
    let expect = |times: u32, what: &str| {
        assert_eq!(told.swap(0, Ordering::Relaxed), times, "{what}");
    };
    pool.advance(10);
    expect(1, "ejected");
    pool.advance_with(20, 0);
    expect(0, "nothing new");
    pool.advance_with(40, 0);
    expect(1, "returned");
    member.force_eject();
    expect(1, "forced out");
    member.force_eject();
    expect(0, "forced out again");
    member.force_return();
    expect(1, "forced in");
    member.lift();
    expect(1, "lifted");
}

// --- time ---

#[test]
fn sweeps_are_due_after_each_interval_and_are_not_made_up_for() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    let at = |pool: &Pool, seconds| Some(pool.clock.instant(secs(seconds)));
    assert_eq!(pool.ejector.next_sweep(), at(&pool, 10));
    assert!(pool.advance(9).is_empty(), "too early");
    assert_eq!(pool.ejector.next_change(), at(&pool, 10));
    pool.advance(1_000);
    assert_eq!(pool.ejector.next_sweep(), at(&pool, 1_010));
    pool.advance_with(1_025, 0);
    assert_eq!(pool.ejector.next_change(), at(&pool, 1_030), "the return comes before the next sweep");
}

#[test]
fn a_clock_that_goes_back_delays_a_sweep_by_an_interval_at_most() {
    let mut pool = Pool::new(20, BudgetConfig::default());
    pool.advance_with(100_000, 0);
    pool.advance_with(50, 0);
    assert_eq!(pool.ejector.next_sweep(), Some(pool.clock.instant(secs(60))));
    assert_eq!(pool.advance(60).len(), 1);
}

#[test]
fn extreme_times_are_right_or_typed_errors() {
    let config = EjectorConfig::default();
    assert_eq!(config.with_interval(Duration::ZERO), Err(EjectorConfigError::ZeroInterval));
    assert_eq!(config.with_ejection(Duration::ZERO, secs(1)), Err(EjectorConfigError::ZeroEjection));
    assert_eq!(config.with_ejection(secs(2), secs(1)), Err(EjectorConfigError::LongestBelowFirst));

    let for_ever = config.with_ejection(Duration::MAX, Duration::MAX).unwrap();
    let mut pool = Pool::with(20, BudgetConfig::default(), for_ever);
    pool.advance(10);
    assert_eq!(pool.out(1 << 32), [0], "after a century and more");

    let never = config.with_interval(Duration::MAX).unwrap();
    let mut pool = Pool::with(20, BudgetConfig::default(), never);
    assert_eq!((pool.ejector.next_sweep(), pool.ejector.next_change()), (None, None));
    assert!(pool.advance(1 << 32).is_empty());
}

// --- chance ---

/// Sends to each member that is in a number of requests of which a share fails, through windows as a pool would.
struct Traffic {
    pool: Pool,
    windows: Vec<OutcomeWindow>,
    random: fastrand::Rng,
    now: u64,
}

impl Traffic {
    fn new(seed: u64) -> Self {
        let pool = Pool::new(20, BudgetConfig::default());
        let windows = (0..20).map(|_| OutcomeWindow::default()).collect();
        Self { pool, windows, random: fastrand::Rng::with_seed(seed), now: 0 }
    }

    /// Runs to the next sweep; each member gets twelve requests a second.
    fn sweep(&mut self, errors: impl Fn(usize) -> f64) -> Vec<EjectorAction> {
        for _ in 0..10 {
            self.now += 1;
            let now = self.pool.clock.at(secs(self.now).checked_sub(Duration::from_millis(1)).unwrap());
            for (member, window) in self.windows.iter().enumerate() {
                let is_in = self.pool.members[member].exclusions(&now).is_empty();
                for _ in 0..if is_in { 12 } else { 0 } {
                    let fails = self.random.f64() < errors(member);
                    window.record(if fails { Outcome::Failure } else { Outcome::Success }, &now);
                }
            }
        }
        let now = self.pool.clock.at(secs(self.now));
        let sample = |member: usize| self.windows[member].counts(&now).into();
        self.pool.ejector.advance(&now, &self.pool.members, sample)
    }
}

#[test]
fn one_of_twenty_that_fails_half_the_time_is_ejected_within_two_sweeps() {
    for seed in 0..200 {
        let mut traffic = Traffic::new(seed);
        let errors = |member| if member == 7 { 0.5 } else { 0.01 };
        let mut actions = traffic.sweep(errors);
        actions.extend(traffic.sweep(errors));
        let ejected = matches!(actions[..], [EjectorAction::Eject { member: 7, .. }]);
        assert!(ejected, "with seed {seed}: {actions:?}");
    }
}

#[test]
fn of_twenty_equally_healthy_ones_hardly_any_is_ejected_in_a_thousand_sweeps() {
    let mut traffic = Traffic::new(1);
    let sweeps = (0..2_000).map(|_| traffic.sweep(|_| 0.01).len());
    assert_eq!(sweeps.sum::<usize>(), 0, "one is expected in a hundred million or so");
}
