//! An observed policy answers as it would without, and tells its answers once.

use std::sync::Mutex;

use poise::core::policy::{Maglev, Random, RoundRobin};
use poise::core::{
    Attempted, Backend, Eligibility, Exclusion, ExclusionCounts, PickError, Policy, Prepare, Prepared,
    Selection, Status, View,
};
use poise::observe::{Fanout, ObservedPolicy, Observer, PickEvent, PickVerdict, Recorder};

type Peer = Backend<&'static str>;

fn peers() -> Vec<Peer> {
    ["a", "b", "c", "d", "e"].map(Backend::new).into()
}

/// Keeps what it heard.
#[derive(Default)]
struct Heard(Mutex<Vec<Told>>);

type Told = (PickVerdict, Option<Selection>, Option<PickError>);

impl Observer for Heard {
    fn pick(&self, event: &PickEvent<'_>) {
        self.0.lock().unwrap().push((event.verdict, event.selection, event.error));
    }
}

struct Panics;

impl Observer for Panics {
    fn pick(&self, _: &PickEvent<'_>) {
        panic!("an observer panics");
    }
}

#[test]
fn picks_are_those_of_the_policy_and_told_exactly() {
    let peers = peers();
    let plain = Random::seeded(7);
    let heard = Heard::default();
    let observed = ObservedPolicy::new(Random::seeded(7), &heard);
    let picks: Vec<Selection> = (0..100).map(|_| observed.pick(&peers, &()).unwrap()).collect();
    assert!(picks.iter().all(|pick| *pick == plain.pick(&peers, &()).unwrap()));
    let told: Vec<_> = picks.into_iter().map(|pick| (PickVerdict::Selected, Some(pick), None)).collect();
    assert_eq!(*heard.0.lock().unwrap(), told, "each pick is told once, as it was");
}

#[test]
fn tables_are_prepared_and_used_through_it() {
    let peers = peers();
    let (plain, observed) = (Maglev::new(), ObservedPolicy::new(Maglev::new(), Recorder::new()));
    let view = View::new(&peers);
    let (mine, theirs) =
        (observed.prepare(&view, None).unwrap(), Prepare::prepare(&plain, &view, None).unwrap());
    let eligibility = Eligibility::new(peers.len(), |_| true);
    for key in 0..200u32 {
        let at = |prepared| View::new(&peers).prepared(prepared).eligibility(&eligibility);
        assert_eq!(observed.pick_from(&at(&mine), &key), plain.pick_from(&at(&theirs), &key));
    }
    assert_eq!(observed.observer().snapshot().picks(PickVerdict::Selected), 200);
}

#[test]
fn refusals_keep_their_reason() {
    let mut peers: Vec<_> = peers().into_iter().map(|peer| peer.with_status(Status::Draining)).collect();
    peers[1] = Backend::new("b").with_status(Status::Unavailable);
    let recorder = Recorder::new();
    let observed = ObservedPolicy::new(RoundRobin::starting_at(0), recorder.clone());
    assert_eq!(observed.pick(&peers[..0], &()), Err(PickError::Empty));
    let error = observed.pick(&peers, &()).unwrap_err();
    assert!(matches!(error, PickError::NoEligible(counts) if counts.of(Exclusion::Draining) == 4));
    let counts = recorder.snapshot();
    assert_eq!(counts.picks(PickVerdict::Empty), 1);
    assert_eq!(counts.picks(PickVerdict::NoEligible), 1);
    assert_eq!(counts.exclusions(Exclusion::Draining), 4);
    assert_eq!(counts.exclusions(Exclusion::Unavailable), 1);
}

#[test]
fn those_who_were_tried_count_as_attempted() {
    let peers = peers();
    let recorder = Recorder::new();
    let observed = ObservedPolicy::new(RoundRobin::new(), recorder.clone());
    let tried: Attempted = (0..5).collect();
    assert!(observed.pick_from(&View::new(&peers).avoiding(&tried), &()).is_err());
    assert_eq!(recorder.snapshot().exclusions(Exclusion::Attempted), 5);
}

/// Answers what it is told to.
struct Answers(Result<Selection, PickError>);

impl<C> Prepare<C> for Answers {}

impl<C> Policy<C> for Answers {
    fn pick_from(&self, _: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        self.0
    }
}

#[test]
fn each_error_has_a_verdict_of_its_own() {
    let counts = ExclusionCounts::default();
    let answers = [
        (Ok(Selection::new(1)), PickVerdict::Selected),
        (Ok(Selection::new(1).in_panic(true)), PickVerdict::SelectedInPanic),
        (Err(PickError::Empty), PickVerdict::Empty),
        (Err(PickError::NoEligible(counts)), PickVerdict::NoEligible),
        (Err(PickError::WeightOverflow), PickVerdict::WeightOverflow),
        (Err(PickError::DuplicateIdentity { first: 0, second: 1 }), PickVerdict::DuplicateIdentity),
        (Err(PickError::CapacityExceeded { candidates: 2, places: 1 }), PickVerdict::CapacityExceeded),
        (Err(PickError::InconsistentTopology), PickVerdict::InconsistentTopology),
        (Err(PickError::PanicRejected(counts)), PickVerdict::PanicRejected),
    ];
    for (answer, verdict) in answers {
        let heard = Heard::default();
        let observed = ObservedPolicy::new(Answers(answer), &heard);
        assert_eq!(observed.pick(&peers(), &()), answer);
        assert_eq!(*heard.0.lock().unwrap(), [(verdict, answer.ok(), answer.err())]);
    }
}

#[test]
fn an_observer_that_panics_changes_no_pick_and_hides_none_from_others() {
    let peers = peers();
    let recorder = Recorder::new();
    let observers = Fanout::new().with(Panics).with(recorder.clone()).with(Panics);
    let through_all = ObservedPolicy::new(RoundRobin::starting_at(0), observers);
    let through_one = ObservedPolicy::new(RoundRobin::starting_at(0), Panics);
    for turn in 0..10 {
        assert_eq!(through_all.pick(&peers, &()), Ok(Selection::new(turn % 5)));
        assert_eq!(through_one.pick(&peers, &()), Ok(Selection::new(turn % 5)));
    }
    assert_eq!(recorder.snapshot().picks(PickVerdict::Selected), 10);
}

#[test]
fn it_stays_object_safe() {
    let peers = peers();
    let recorder = Recorder::new();
    let boxed: Box<dyn Policy<Peer>> =
        Box::new(ObservedPolicy::new(RoundRobin::starting_at(2), recorder.clone()));
    assert_eq!(boxed.pick(&peers, &()), Ok(Selection::new(2)));
    assert!(boxed.prepare(&View::new(&peers), Some(&Prepared::none())).is_ok());
    assert_eq!(recorder.snapshot().picks(PickVerdict::Selected), 1);
}
