//! Probing the members of a directory.

use std::future::Future;
use std::hash::Hash;

use super::ProbeDriver;
use crate::core::{Now, ProbeAnswer, Rng, View};
use crate::discovery::{Discovered, SnapshotReader};
use crate::tokio::wait::now;

impl ProbeDriver {
    /// Makes the future that probes the members that `reader` sees, of which it draws those that are
    /// [ready](crate::core::Status::Ready); `probe` makes the probe of one, from its key and its backend.
    ///
    /// Members whose circuits are open are probed like others: their answers are kept, and no request is sent to them. See
    /// [`run`](Self::run) for the rest.
    ///
    /// # Cancel safety
    ///
    /// As for [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// As for [`run`](Self::run).
    #[must_use = "nothing is probed unless the future is polled"]
    pub fn follow<K, B, P, F, E>(
        &self,
        reader: SnapshotReader<K, B>,
        probe: P,
    ) -> impl Future<Output = ()> + use<K, B, P, F, E>
    where
        K: Clone + Hash,
        P: Fn(&K, &B) -> F,
        F: Future<Output = Result<ProbeAnswer, E>>,
    {
        let rng = Rng::thread();
        let draw = move |probes: usize| -> Vec<Discovered<K, B>> {
            let snapshot = reader.load();
            let now = Now::at(now());
            let view = View::new(snapshot.members()).with_now(&now);
            let drawn = view.several(probes, &rng);
            drawn
                .map(|drawn| drawn.map(|at| snapshot.members()[at.index()].clone()).collect())
                .unwrap_or_default()
        };
        self.drive(draw, Discovered::key, move |member| probe(member.key(), member.backend()))
    }
}
