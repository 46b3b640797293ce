//! Bounded loads are sampled into memory that a thread keeps.

#[path = "support/allocations.rs"]
mod allocations;

use poise::core::policy::{BoundedLoadRendezvous, Rendezvous, Replicas, WeightedRendezvous};
use poise::core::{Backend, Eligibility, InFlight, Now, Policy, Prepare, Selection, View};

use self::allocations::allocations;

// The only test of its binary, as allocations are counted for the whole process.
#[test]
fn picks_by_score_allocate_nothing_once_the_thread_has_picked_from_as_many() {
    let members: Vec<_> =
        (0..500).map(|at| Backend::new(format!("10.0.0.{at}:80")).with_load(InFlight::new())).collect();
    let view = View::new(&members);
    let [plain, weighted] = [
        Prepare::prepare(&Rendezvous::new(), &view, None).expect("identities are distinct"),
        Prepare::prepare(&WeightedRendezvous::new(), &view, None).expect("identities are distinct"),
    ];
    let eligibility = Eligibility::of(&members, &Now::lazy());
    let bounded = BoundedLoadRendezvous::new();
    let first = bounded.pick(&members, "a key").expect("all are ready");
    let counted = allocations(|| {
        for key in 0..100 {
            for prepared in [None, Some((&plain, &weighted))] {
                let view = |of| match prepared {
                    Some((plain, weighted)) => View::new(&members)
                        .prepared(if of { weighted } else { plain })
                        .eligibility(&eligibility),
                    None => View::new(&members),
                };
                let mut into = [first; 3];
                let picks = [
                    Rendezvous::new().pick_from(&view(false), &key),
                    WeightedRendezvous::new().pick_from(&view(true), &key),
                    bounded.pick_from(&view(true), &key),
                    Rendezvous::new().pick_replicas(&view(false), &key, &mut into).map(Selection::new),
                ];
                assert!(picks.iter().all(Result::is_ok));
            }
        }
    });
    assert_eq!(counted, 0);
}
