//! Requests that failed although nobody had them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poise::core::{Exclusion, Outcome};
use poise::tower::{Backoff, BalancerErrorKind, Event, Hedge, Hook, Phase, Retry, RetryBudget};

use crate::support::fleet::{Fleet, add, circuit, fleet};
use crate::support::lazy::{Client, Making, generous, is_unconnected, over, refusing};
use crate::support::pace::{Pace, in_time, on_both_runtimes};
use crate::support::script::Script;

#[derive(Clone, Debug, Default)]
struct Contained(Arc<Mutex<Vec<&'static str>>>);

impl Hook for Contained {
    fn on(&self, event: &Event<'_>) {
        if let Event::Contained { what } = event {
            self.0.lock().unwrap().push(what);
        }
    }
}

on_both_runtimes! {
    async fn a_request_that_nobody_had_moves_on_although_it_must_not_be_sent_twice(_pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        let balancer: Client =
            over(&directory).retry(generous(2)).unsent(is_unconnected).spawn().unwrap();
        assert_eq!(in_time(balancer.send(7)).await.unwrap().by, "good");
        assert_eq!((gone.calls(), good.calls()), (1, 1));
        let report = balancer.report();
        assert_eq!((report.member("gone").unwrap().failures, report.repeats.retries), (1, 1));
    }

    async fn it_moves_on_until_somebody_has_it_and_then_no_more(_pace: Pace) {
        let (directory, [first, second, broken, good]) = refusing(["gone", "gone too", "broken", "good"]);
        let balancer: Client =
            over(&directory).retry(generous(9)).unsent(is_unconnected).spawn().unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.endpoint(), error.phase()), (Some("broken"), Some(Phase::Call)));
        assert_eq!((error.attempts(), error.is_retryable()), (3, false), "the third may have had it");
        assert_eq!([first, second, broken, good].map(|script| script.calls()), [1, 1, 1, 0]);
    }

    async fn a_request_that_somebody_may_have_had_stays_where_it_is(_pace: Pace) {
        let (directory, [broken, good]) = refusing(["broken", "good"]);
        let balancer: Client =
            over(&directory).retry(generous(2)).unsent(is_unconnected).spawn().unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.attempts(), error.is_retryable()), (1, false));
        assert_eq!((broken.calls(), good.calls()), (1, 0));
    }

    async fn no_error_is_taken_for_one_unless_asked_for(_pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        let balancer: Client = over(&directory).retry(generous(2)).spawn().unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.attempts(), error.is_retryable()), (1, false));
        assert_eq!((gone.calls(), good.calls()), (1, 0));
    }

    async fn a_request_that_nobody_had_in_all_its_attempts_may_be_sent_again(_pace: Pace) {
        let (directory, scripts) = refusing(["gone", "gone too", "gone as well", "gone for good"]);
        let balancer: Client =
            over(&directory).retry(generous(3)).unsent(is_unconnected).spawn().unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.attempts(), error.is_retryable()), (3, true));
        assert_eq!(scripts.map(|script| script.calls()), [1, 1, 1, 0], "within the number of attempts");
    }

    async fn one_attempt_that_was_sent_counts_whatever_came_after_it(_pace: Pace) {
        let (directory, [broken, gone]) = refusing(["broken", "gone"]);
        let balancer: Client = over(&directory)
            .idempotent(|_: &u32| true)
            .retry(generous(2))
            .unsent(is_unconnected)
            .spawn()
            .unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.endpoint(), error.is_retryable()), (Some("gone"), false));
        assert_eq!((broken.calls(), gone.calls()), (1, 1));
    }

    async fn without_retries_the_caller_learns_that_nobody_had_it(_pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        let balancer: Client = over(&directory).unsent(is_unconnected).spawn().unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (&BalancerErrorKind::Endpoint, true));
        assert_eq!((gone.calls(), good.calls()), (1, 0));
    }

    async fn it_moves_on_after_a_pause_too(pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        let backoff = Backoff::new(pace.second(), pace.second()).unwrap();
        let retry = generous(2).with_backoff(backoff);
        let balancer: Client = over(&directory).retry(retry).unsent(is_unconnected).spawn().unwrap();
        assert_eq!(in_time(balancer.send(7)).await.unwrap().by, "good");
        assert_eq!((gone.calls(), good.calls()), (1, 1));
    }

    async fn a_time_limit_leaves_open_who_had_it(pace: Pace) {
        let (directory, [silent, good]) = fleet(["silent", "good"]);
        silent.hang();
        let balancer: Client = over(&directory)
            .attempt_timeout(pace.second())
            .retry(generous(2))
            .unsent(|_| true)
            .spawn()
            .unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (&BalancerErrorKind::Deadline, false));
        assert_eq!((silent.calls(), good.calls()), (1, 0));
    }

    async fn an_answer_that_counts_as_a_failure_was_sent(_pace: Pace) {
        let (directory, [a, b]) = fleet(["good", "good too"]);
        let balancer: Client = over(&directory)
            .classify(|_| Outcome::Failure)
            .retry(generous(2))
            .unsent(|_| true)
            .spawn()
            .unwrap();
        assert_eq!(in_time(balancer.send(7)).await.expect("it was answered").by, "good");
        assert_eq!((a.calls(), b.calls()), (1, 0));
    }

    async fn an_error_that_is_no_failure_is_the_last_word_also_when_nobody_had_it(_pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        let balancer: Client = over(&directory)
            .classify(|answer| if answer.is_ok() { Outcome::Success } else { Outcome::Cancelled })
            .retry(generous(2))
            .unsent(is_unconnected)
            .spawn()
            .unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.attempts(), error.is_retryable()), (1, true));
        assert_eq!((gone.calls(), good.calls()), (1, 0));
    }

    async fn it_opens_the_circuit_as_any_failure_does(pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        let balancer: Client = over(&directory)
            .circuit(circuit(3, 100 * pace.second()))
            .retry(generous(2))
            .unsent(is_unconnected)
            .spawn()
            .unwrap();
        for request in 0..20 {
            assert_eq!(in_time(balancer.send(request)).await.unwrap().by, "good");
        }
        let report = balancer.report();
        assert!(report.member("gone").unwrap().exclusions.contains(Exclusion::Circuit), "{report}");
        assert_eq!((gone.calls(), good.calls()), (3, 20));
    }

    async fn a_budget_bounds_these_attempts_too(_pace: Pace) {
        let (directory, [first, second]) = refusing(["gone", "gone too"]);
        let budget = RetryBudget::new().with_ratio(0.2).unwrap().with_floor(0);
        let retry = Retry::attempts(2).unwrap().with_budget(budget);
        let balancer: Client = over(&directory).retry(retry).unsent(is_unconnected).spawn().unwrap();
        for request in 0..1_000 {
            let error = in_time(balancer.send(request)).await.unwrap_err();
            assert!(error.is_retryable(), "nobody had it, whether the budget allowed one attempt or two");
        }
        let repeats = balancer.report().repeats;
        assert_eq!((repeats.retries, repeats.retries_denied), (200, 800));
        assert_eq!(first.calls() + second.calls(), 1_200);
    }

    async fn a_panic_in_the_closure_is_contained_and_the_request_counts_as_sent(_pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        let contained = Contained::default();
        let balancer: Client = over(&directory)
            .retry(generous(2))
            .unsent(|_| panic!("it cannot say"))
            .hook(contained.clone())
            .spawn()
            .unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.attempts(), error.is_retryable()), (1, false));
        assert_eq!((gone.calls(), good.calls()), (1, 0));
        assert_eq!(*contained.0.lock().unwrap(), ["unsent"]);
        let report = balancer.report();
        let member = report.member("gone").unwrap();
        assert_eq!((member.failures, member.in_flight), (1, 0), "it failed all the same");
        assert_eq!(in_time(balancer.send(8)).await.unwrap().by, "good");
    }

    async fn a_hedge_that_nobody_had_is_one_attempt_lost(pace: Pace) {
        let (directory, [good, gone]) = refusing(["good", "gone"]);
        good.answer_after(3 * pace.second());
        let balancer: Client = over(&directory)
            .idempotent(|_: &u32| true)
            .hedge(Hedge::after(pace.second()))
            .unsent(is_unconnected)
            .spawn()
            .unwrap();
        assert_eq!(in_time(balancer.send(7)).await.unwrap().by, "good");
        assert_eq!((good.calls(), gone.calls()), (1, 1));
        let report = balancer.report();
        assert_eq!((report.repeats.hedges, report.repeats.hedges_won), (1, 0));
        assert_eq!(report.member("gone").unwrap().failures, 1);
    }

    async fn of_a_request_and_its_hedge_both_count(pace: Pace) {
        let cases = [("gone", "gone too", true), ("gone", "broken", false), ("broken", "gone", false)];
        for (first, second, retryable) in cases {
            let (directory, scripts) = refusing([first, second]);
            scripts[0].answer_after(3 * pace.second());
            let balancer: Client = over(&directory)
                .idempotent(|_: &u32| true)
                .hedge(Hedge::after(pace.second()))
                .unsent(is_unconnected)
                .spawn()
                .unwrap();
            let error = in_time(balancer.send(7)).await.unwrap_err();
            assert_eq!(error.is_retryable(), retryable, "{first}, then {second}");
            assert_eq!(scripts.map(|script| script.calls()), [1, 1]);
        }
    }

    async fn a_request_that_its_hedge_still_has_may_not_be_sent_again(pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        gone.answer_after(2 * pace.second());
        good.hang();
        let balancer: Client = over(&directory)
            .idempotent(|_: &u32| true)
            .classify(|answer| if answer.is_ok() { Outcome::Success } else { Outcome::Cancelled })
            .hedge(Hedge::after(pace.second()))
            .unsent(is_unconnected)
            .spawn()
            .unwrap();
        let error = in_time(balancer.send(7)).await.unwrap_err();
        assert_eq!((error.endpoint(), error.is_retryable()), (Some("gone"), false));
        assert_eq!((gone.calls(), good.calls(), good.under_way()), (1, 1, 0));
    }

    async fn a_request_that_must_not_be_sent_twice_is_not_hedged_for_it(pace: Pace) {
        let (directory, [gone, good]) = refusing(["gone", "good"]);
        gone.answer_after(3 * pace.second());
        good.answer_after(3 * pace.second());
        let balancer: Client = over(&directory)
            .hedge(Hedge::after(pace.second()))
            .retry(generous(2))
            .unsent(is_unconnected)
            .spawn()
            .unwrap();
        assert_eq!(in_time(balancer.send(7)).await.unwrap().by, "good");
        let repeats = balancer.report().repeats;
        assert_eq!((repeats.hedges, repeats.retries), (0, 1));
    }
}

type Set = fn(Making<Copied>) -> Making<Copied>;

/// A request that counts its copies.
#[derive(Debug, Default)]
struct Copied(Arc<AtomicUsize>);

impl Clone for Copied {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Self(Arc::clone(&self.0))
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_must_not_be_sent_twice_is_copied_only_where_that_may_be_of_use() {
    let cases: [(&str, Set, usize); 5] = [
        ("no retries", |making| making.unsent(is_unconnected), 0),
        ("only one attempt", |making| making.retry(generous(1)).unsent(is_unconnected), 0),
        ("only hedges", |making| making.hedge(Hedge::after(Duration::MAX)).unsent(is_unconnected), 0),
        ("nothing unsent", |making| making.retry(generous(3)), 0),
        ("both", |making| making.retry(generous(3)).unsent(is_unconnected), 1),
    ];
    for (case, set, expected) in cases {
        let (directory, [_good]) = refusing(["good"]);
        let balancer: Client<Copied> = set(over(&directory)).spawn().unwrap();
        let request = Copied::default();
        let copies = Arc::clone(&request.0);
        balancer.send(request).await.unwrap();
        assert_eq!(copies.load(Relaxed), expected, "{case}");
    }

    let (directory, _scripts) = refusing(["gone", "gone too", "good"]);
    let balancer: Client<Copied> =
        over(&directory).retry(generous(3)).unsent(is_unconnected).spawn().unwrap();
    let request = Copied::default();
    let copies = Arc::clone(&request.0);
    assert_eq!(balancer.send(request).await.unwrap().by, "good");
    assert_eq!(copies.load(Relaxed), 2, "one for each attempt that may follow");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_fails_no_request_that_must_not_be_sent_twice() {
    for names in [&["gone", "good"][..], &["gone", "b", "c", "d", "e"][..]] {
        let mut directory = Fleet::new();
        for name in names {
            let script = Script::new(name);
            script.answer_after(Duration::from_millis(1));
            script.refuse(*name == "gone");
            add(&mut directory, name, &script);
        }
        let balancer: Client = over(&directory)
            .circuit(circuit(5, Duration::from_secs(1)))
            .retry(Retry::attempts(2).unwrap())
            .unsent(is_unconnected)
            .spawn()
            .unwrap();
        let mut requests = Vec::new();
        for request in 0..4_000 {
            requests.push(tokio::spawn(balancer.send(request)));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        for request in requests {
            request.await.unwrap().expect("somebody else is there");
        }
        let report = balancer.report();
        assert!(report.member("gone").unwrap().failures >= 5, "{report}");
        assert_eq!(report.repeats.retries_denied, 0, "{report}");
    }
}
