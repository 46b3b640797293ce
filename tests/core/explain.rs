//! What policies say that they would choose.

use poise::core::policy::{
    BoundedLoadRendezvous, Explained, Explanation, Fallback, LeastLoaded, LeastRequests, LocalityWeighted,
    Maglev, PanicMode, PowerOfTwoChoices, PriorityConfig, PriorityFailover, Random, Reason, Rendezvous,
    RingHash, RoundRobin, SmoothWeightedRoundRobin, Sticky, StickyKey, WeightedRandom, WeightedRendezvous,
    ZoneAware,
};
use poise::core::{
    AdditiveLoad, Attempted, Backend, Candidate, Exclusion, InFlight, LoadTracker, Locality, Now, PickError,
    Policy, PolicyExt, Prepare, Prepared, Selection, Status, View, Weight,
};

type Member = Backend<&'static str, (), InFlight>;
type AnyPolicy = Box<dyn Policy<Member, str>>;

fn zone(at: usize) -> Locality {
    Locality::new("eu", ["a", "b"][at % 2])
}

/// Nine members in two zones and two levels, of which two are excluded and each has another load.
fn members() -> Vec<Member> {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let member = |(at, name)| {
        let load = InFlight::new();
        for _ in 0..at {
            load.start(&Now::lazy()).unwrap();
        }
        let status = if at == 2 || at == 5 { Status::Draining } else { Status::Ready };
        Backend::new(name)
            .with_load(load)
            .with_status(status)
            .with_locality(zone(at))
            .with_priority(u32::from(at > 6))
            .with_weight(Weight::new(u32::try_from(at).unwrap() % 3 + 1).unwrap())
    };
    names.into_iter().enumerate().map(|(at, name)| member((at, name))).collect()
}

/// Every policy by name, those by chance with a seed.
fn seeded() -> Vec<(&'static str, AnyPolicy)> {
    vec![
        ("round robin", Box::new(RoundRobin::starting_at(1))),
        ("smooth", Box::new(SmoothWeightedRoundRobin::starting_at(1))),
        ("random", Box::new(Random::seeded(1))),
        ("weighted random", Box::new(WeightedRandom::seeded(1))),
        ("two choices", Box::new(PowerOfTwoChoices::seeded(1))),
        ("four choices", Box::new(PowerOfTwoChoices::seeded(1).choices(4))),
        ("least loaded", Box::new(LeastLoaded::seeded(1))),
        ("least requests", Box::new(LeastRequests::seeded(1))),
        ("least requests of all", Box::new(LeastRequests::seeded(1).with_full_scan())),
        ("rendezvous", Box::new(Rendezvous::new())),
        ("weighted rendezvous", Box::new(WeightedRendezvous::new())),
        ("bounded", Box::new(BoundedLoadRendezvous::new())),
        ("ring", Box::new(RingHash::new())),
        ("maglev", Box::new(Maglev::new())),
        ("levels", Box::new(PriorityFailover::new(Random::seeded(1)).with_seed(2))),
        ("levels in turn", Box::new(PriorityFailover::new(RoundRobin::starting_at(0)).with_seed(2))),
        ("localities", Box::new(LocalityWeighted::new(PowerOfTwoChoices::seeded(1)).with_seed(2))),
        ("zones", Box::new(ZoneAware::new(WeightedRandom::seeded(1), zone(1)).with_seed(2))),
        ("levels of zones", {
            let zones = ZoneAware::new(SmoothWeightedRoundRobin::starting_at(0), zone(1)).with_seed(3);
            Box::new(PriorityFailover::new(zones).with_seed(2))
        }),
        ("fallback", Box::new(Fallback::new(Random::seeded(1), RoundRobin::starting_at(0)))),
    ]
}

/// The same without seeds, where they draw from the generator of the thread.
fn by_chance() -> Vec<(&'static str, AnyPolicy)> {
    vec![
        ("random", Box::new(Random::new())),
        ("weighted random", Box::new(WeightedRandom::new())),
        ("two choices", Box::new(PowerOfTwoChoices::new())),
        ("least loaded", Box::new(LeastLoaded::new())),
        ("least requests", Box::new(LeastRequests::new())),
        ("round robin", Box::new(RoundRobin::new())),
        ("smooth", Box::new(SmoothWeightedRoundRobin::new())),
        ("levels", Box::new(PriorityFailover::new(Random::new()))),
        ("localities", Box::new(LocalityWeighted::new(PowerOfTwoChoices::new()))),
        ("zones", Box::new(ZoneAware::new(WeightedRandom::new(), zone(1)))),
    ]
}

fn chosen(explanation: Result<Explanation, PickError>) -> Result<Selection, PickError> {
    explanation.map(|explanation| explanation.selection.expect("it is one of the crate's"))
}

#[test]
fn what_is_said_is_what_the_next_pick_does() {
    let members = members();
    let tried = Attempted::from_iter([3]);
    for (name, policy) in seeded().into_iter().chain(by_chance()) {
        let prepared = policy.prepare(&View::new(&members), None).unwrap();
        let views = [
            View::new(&members),
            View::new(&members).prepared(&prepared),
            View::new(&members).prepared(&prepared).avoiding(&tried),
        ];
        for (at, view) in views.iter().enumerate() {
            for round in 0..40 {
                let key = format!("key {round}");
                let said = policy.explain_from(view, &key);
                assert_eq!(said, policy.explain_from(view, &key), "{name}: it says the same again");
                let said = chosen(said);
                assert_eq!(said, policy.pick_from(view, &key), "{name}, view {at}, round {round}");
            }
        }
    }
}

#[test]
fn a_policy_that_is_explained_goes_on_as_one_that_is_not() {
    let members = members();
    for ((name, explained), (_, alone)) in seeded().into_iter().zip(seeded()) {
        let of_explained = explained.prepare(&View::new(&members), None).unwrap();
        let of_alone = alone.prepare(&View::new(&members), None).unwrap();
        for round in 0..100 {
            let key = format!("key {round}");
            let (view, twin) =
                (View::new(&members).prepared(&of_explained), View::new(&members).prepared(&of_alone));
            (0..round % 4).for_each(|_| drop(explained.explain_from(&view, &key)));
            assert_eq!(explained.pick_from(&view, &key), alone.pick_from(&twin, &key), "{name}, {round}");
        }
    }
    assert_eq!(members[4].load().count(), 4, "nothing was started");
}

#[test]
fn the_generator_of_the_thread_is_left_as_it_was() {
    let members = members();
    for (name, policy) in by_chance() {
        let before = fastrand::get_seed();
        policy.explain_from(&View::new(&members), "a key").unwrap();
        assert_eq!(fastrand::get_seed(), before, "{name}");
    }
}

#[test]
fn the_owner_of_a_key_is_named_also_when_it_is_passed_over() {
    let mut members = members();
    for policy in [
        Box::new(Maglev::new()) as AnyPolicy,
        Box::new(RingHash::new()),
        Box::new(Rendezvous::new()),
        Box::new(WeightedRendezvous::new()),
    ] {
        let all: Vec<Member> = members.drain(..).map(|member| member.with_status(Status::Ready)).collect();
        let owner = policy.pick(&all, "a key").unwrap().index();
        let said = policy.explain_from(&View::new(&all), "a key").unwrap();
        assert_eq!(said.reasons, [Reason::Key { owner, kept: true }]);
        let drains = |(at, member): (usize, Member)| {
            member.with_status(if at == owner { Status::Draining } else { Status::Ready })
        };
        members = all.into_iter().enumerate().map(drains).collect();
        let prepared = policy.prepare(&View::new(&members), None).unwrap();
        for view in [View::new(&members), View::new(&members).prepared(&prepared)] {
            let said = policy.explain_from(&view, "a key").unwrap();
            assert_eq!(said.reasons, [Reason::Key { owner, kept: false }]);
            assert_ne!(said.selection.unwrap().index(), owner);
        }
    }
}

#[test]
fn each_policy_adds_its_reason_outside_of_the_inner_one() {
    let members = members();
    let policy: Box<dyn Policy<Member, str>> = {
        let zones = ZoneAware::new(Maglev::new(), zone(0)).with_min_healthy(2).with_seed(1);
        Box::new(PriorityFailover::new(zones).with_seed(1))
    };
    let said = policy.explain_from(&View::new(&members), "a key").unwrap();
    assert!(
        matches!(
            said.reasons[..],
            [Reason::Level { panic: false, .. }, Reason::Zone { .. }, Reason::Key { .. }]
        ),
        "{said:?}"
    );
}

#[test]
fn an_earlier_choice_is_kept_or_not_and_so_it_says() {
    let members = members();
    let policy = Sticky::new(RoundRobin::starting_at(0));
    let key = |earlier| StickyKey::<(), str>::new(&()).with_earlier(earlier);
    let kept = policy.explain_from(&View::new(&members), &key("e")).unwrap();
    assert_eq!(
        (kept.selection.unwrap().index(), &kept.reasons[..]),
        (4, &[Reason::Earlier { kept: true }][..])
    );
    let anew = policy.explain_from(&View::new(&members), &key("c")).unwrap();
    assert_eq!(anew.reasons, [Reason::Earlier { kept: false }, Reason::Turn]);
}

#[test]
fn loads_and_bounds_are_told() {
    let members = members();
    let least = LeastLoaded::new().explain_from(&View::new(&members), &()).unwrap();
    assert_eq!(least.reasons, [Reason::Least { drawn: None, cost: 0.0 }]);
    let bounded: &dyn Policy<Member, str> = &BoundedLoadRendezvous::new();
    let spilled = (0..100).find_map(|key| {
        let said = bounded.explain_from(&View::new(&members), &format!("key {key}")).unwrap();
        match said.reasons[..] {
            [Reason::Bounded { owner, spilled: true, load, cap }] => {
                Some((owner, said.selection.unwrap().index(), load, cap))
            }
            _ => None,
        }
    });
    let (owner, chosen, load, cap) = spilled.expect("the last ones are full");
    assert!(owner != chosen && load < cap);
    assert_eq!(load, members[chosen].load().count());
}

#[test]
fn who_is_passed_over_is_named_with_every_reason() {
    let members = members();
    let tried = Attempted::from_iter([0, 2]);
    let view = View::new(&members).avoiding(&tried);
    let explained: Explained = RoundRobin::starting_at(0).explain(&view, &());
    assert_eq!(explained.chosen.as_deref(), Some("b"));
    assert_eq!((explained.eligible, explained.candidates), (6, 9));
    let over: Vec<_> = explained.passed_over.iter().map(|over| (over.position, &over.name[..])).collect();
    assert_eq!(over, [(0, "a"), (2, "c"), (5, "f")]);
    assert!(explained.passed_over[1].exclusions.contains(Exclusion::Attempted));
    assert_eq!(
        explained.to_string(),
        "6 of 9 are eligible\n\
         chooses b at 1: in turn\n\
         passes over a at 0: attempted\n\
         passes over c at 2: draining, attempted\n\
         passes over f at 5: draining\n"
    );
}

#[test]
fn nobody_is_said_with_its_counts() {
    let members = members().into_iter().map(|member| member.with_status(Status::Unavailable));
    let members: Vec<_> = members.collect();
    let config = PriorityConfig::default().with_panic_mode(PanicMode::FailClosed);
    let policy = PriorityFailover::new(Random::new()).with_config(config);
    let explained = policy.explain(&View::new(&members), &());
    assert_eq!(explained.decision, Err(policy.pick(&members, &()).unwrap_err()));
    assert!(explained.to_string().starts_with("0 of 9 are eligible\nchooses nobody: "), "{explained}");
    let nobody: [Member; 0] = [];
    assert_eq!(RoundRobin::new().explain_from(&View::new(&nobody), &()), Err(PickError::Empty));
    let policy: AnyPolicy = Box::new(SmoothWeightedRoundRobin::new());
    assert_eq!(policy.explain_from(&View::new(&nobody), ""), Err(PickError::Empty));
}

#[test]
fn a_policy_of_ones_own_need_not_say_also_within_others() {
    struct First;

    impl<C> Prepare<C> for First {
        fn prepare(&self, _: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
            Ok(Prepared::none())
        }
    }

    impl<C: Candidate> Policy<C> for First {
        fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
            view.first_from(0)
        }
    }

    let members = members();
    let explained = PriorityFailover::new(First).with_seed(1).explain(&View::new(&members), &());
    assert_eq!(explained.chosen, None);
    let reasons = explained.decision.clone().unwrap().reasons;
    assert_eq!(reasons, [Reason::Level { level: 0, panic: false }, Reason::Untold]);
    assert!(
        explained.to_string().contains("chooses somebody: level 0; the policy does not say"),
        "{explained}"
    );
}

#[test]
fn a_policy_of_ones_own_says_why_in_its_own_words() {
    struct First;

    impl<C> Prepare<C> for First {}

    impl<C: Candidate> Policy<C> for First {
        fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
            view.first_from(0)
        }

        fn explain_from(&self, view: &View<'_, C>, key: &()) -> Result<Explanation, PickError> {
            Ok(Explanation::new(self.pick_from(view, key)?, Reason::Own("the first".into())))
        }
    }

    let explained = PriorityFailover::new(First).with_seed(1).explain(&View::new(&members()), &());
    assert!(explained.to_string().contains("chooses a at 0: level 0; the first\n"), "{explained}");
}

#[test]
fn a_load_is_told_as_reports_show_it() {
    for (load, told) in [(29_671_401.241_456_218, "3.0e7"), (2.0, "2.00")] {
        let explained = LeastLoaded::new().explain(&View::new(&[Backend::new("a").with_load(load)]), &());
        let line = format!("chooses a at 0: the least of all, at {told}\n");
        assert!(explained.to_string().contains(&line), "{explained}");
    }
}
