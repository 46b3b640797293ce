//! The policy.

use std::hash::Hash;
use std::sync::Arc;

use super::index::Index;
use crate::core::policy::identity::{ByIdentity, fingerprint, sorted};
use crate::core::policy::unprepared::Unprepared;
use crate::core::probe::Samples;
use crate::core::view::{DRAWS, Memo, takes};
use crate::core::{
    Candidate, PickError, Policy, Prepare, Prepared, ProbeAnswer, ProbePool, Rng, Selection, View,
};

/// Chooses by what servers answer to probes: the quickest of those that are not busier than most.
///
/// Other policies know of a server what their own client has seen. With many clients each sees little of it, and late;
/// the answers to probes tell of the load that all clients make, and of whatever else runs on the machine.
///
/// # Asynchronous mode
///
/// [`Policy::pick_from`] takes the best answer of the [`ProbePool`], by its rules, whose member the view offers. With fewer
/// than two of those it chooses at random. After requests, whoever drives it sends the probes that are
/// [due](ProbePool::take_due) to [members drawn at random](Self::probe_targets), so that no request waits for a probe.
///
/// # Synchronous mode
///
/// For requests that are worth the wait: draw a few [targets](Self::probe_targets), three to five, probe them, and
/// [choose](Self::pick_answered) once all but one or so have answered. It leaves the answers of the pool alone.
///
/// # Weights and ramps
///
/// Weights are not looked at: servers tell what they can take by their latency. But a member that
/// [ramps up](Candidate::ramp) has little to do, and its answers say so: it takes a request that they would get it with the
/// chance of its part. Otherwise the next best answer decides, and when there is none a member is drawn, of which each gets its
/// part.
///
/// Source: B. Wydrowski, R. Kleinberg, S. M. Rumble and A. Archer, "Load is not what you should balance: introducing
/// Prequal", NSDI 2024. What differs: one answer for each member is kept; failures
/// [are penalised](ProbeAnswer::with_failures) as requests in flight are, where the paper leaves the heuristics open; only
/// queries make probes due. After a pause that is longer than the age limit of answers the pool is empty, and the next
/// requests are placed at random until the first probes have come back.
///
/// # Complexity
///
/// On a prepared view a pick looks at the sixteen answers and finds two members by binary search: `O(log n)`. No lock is
/// taken. On a plain slice each pick hashes every identity, and takes a lock, to find the table among the last four that it
/// built.
///
/// Threads that share a pool write its few cache lines at each pick. A pool for each thread avoids that, at the price of more
/// probes or older answers.
///
/// # Allocation
///
/// None per pick on a prepared view.
///
/// # Membership changes
///
/// Answers follow identity. Those of members that left are passed over. A newcomer is probed with the same chance as
/// anybody, and used when it has answered.
///
/// # Examples
///
/// ```
/// use poise::core::policy::Prequal;
/// use poise::core::{Backend, Candidate, Now, Policy, ProbeAnswer, ProbePool, View};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// # fn ask(_: &str) -> ProbeAnswer { ProbeAnswer::new(1, Duration::from_millis(9)) }
/// let pool = Arc::new(ProbePool::new());
/// let policy = Prequal::over(Arc::clone(&pool));
/// let members = ["a", "b", "c", "d"].map(Backend::new);
/// let view = View::new(&members);
///
/// let chosen = policy.pick_from(&view, &())?;
/// // Send the request to `chosen`, and beside it:
/// for target in policy.probe_targets(&view, pool.take_due())? {
///     let id = members[target.index()].id();
///     pool.insert(id, ask(id), &Now::lazy());
/// }
/// assert_eq!(pool.len(&Now::lazy()), 3);
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prequal {
    pool: Arc<ProbePool>,
    rng: Rng,
    unprepared: Unprepared,
}

/// The best answers that the view offers.
struct Found {
    /// Where it is among the samples.
    at: usize,
    slot: usize,
}

impl Prequal {
    /// Makes a policy that chooses by the answers in a pool, which a clone shares.
    ///
    /// Targets, and candidates while the pool knows too little, are drawn from the generator of the thread, or by the seed
    /// of the pool if it [has one](crate::core::ProbeConfig::with_seed).
    #[must_use]
    pub fn over(pool: Arc<ProbePool>) -> Self {
        let rng = pool.config().seed().map_or_else(Rng::thread, |seed| Rng::seeded_apart(seed, "prequal"));
        Self { pool, rng, unprepared: Unprepared::new() }
    }

    /// Returns the pool.
    #[must_use]
    pub const fn pool(&self) -> &Arc<ProbePool> {
        &self.pool
    }

    /// Draws eligible members to probe, none of them twice: at most sixteen, and all when there are fewer than `probes`.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`], unless no probes are wanted.
    ///
    /// # Complexity
    ///
    /// As for [`View::least_of`].
    pub fn probe_targets<'v, 'a, C: Candidate>(
        &self,
        view: &'v View<'a, C>,
        probes: usize,
    ) -> Result<impl Iterator<Item = Selection> + use<'v, 'a, C>, PickError> {
        let drawn = if probes == 0 { None } else { Some(view.several(probes, &self.rng)?) };
        Ok(drawn.into_iter().flatten())
    }

    /// Chooses among members that have just answered: the synchronous mode. When none of them can be chosen any more, or all of
    /// these ramp up and leave the request to others, any eligible member is.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    ///
    /// # Complexity
    ///
    /// The number of answers, and a short lock to learn what servers have in flight.
    pub fn pick_answered<C: Candidate>(
        &self,
        view: &View<'_, C>,
        answers: &[(Selection, ProbeAnswer)],
    ) -> Result<Selection, PickError> {
        self.pool.observe(answers.iter().map(|(_, answer)| *answer));
        let order = self.pool.order();
        let takes = |member: &C| takes(member.ramp(view.now()), || 1.0 - self.rng.unit());
        let valid = answers.iter().filter(|(member, _)| view.validate(*member).is_ok_and(takes));
        match valid.min_by_key(|(_, answer)| order.rank_of(*answer)) {
            Some((member, _)) => Ok(*member),
            None => view.uniform(&self.rng),
        }
    }

    /// Finds the best answer whose member can be chosen and takes the request if it ramps up, when there is another one whose
    /// member can be chosen.
    #[inline]
    fn find<C: Candidate>(
        &self,
        view: &View<'_, C>,
        index: &Index,
        samples: &Samples,
        memo: &mut Memo<DRAWS>,
    ) -> Option<Found> {
        let order = self.pool.order();
        // Mostly the best one and any other will do, so they are not sorted.
        let mut untried = u32::MAX;
        let mut usable = |identity: u64| {
            index.find(identity).filter(|slot| view.is_promising(*slot) && view.try_slot(*slot, memo))
        };
        let mut passed = false;
        let best = loop {
            let left = samples.iter().filter(|(at, _)| untried >> at & 1 == 1);
            let (at, sample) = left.min_by_key(|(_, sample)| order.rank(sample.rif(), sample.latency))?;
            untried &= !(1 << at);
            let Some(slot) = usable(sample.identity) else { continue };
            if view.takes_turn(slot, || 1.0 - self.rng.unit()) {
                break Found { at, slot };
            }
            passed = true;
        };
        let mut others = samples.iter().filter(|(at, _)| untried >> at & 1 == 1);
        (passed || others.any(|(_, sample)| usable(sample.identity).is_some())).then_some(best)
    }

    fn choose<C: Candidate>(
        &self,
        view: &View<'_, C>,
        index: &Index,
        samples: &mut Samples,
    ) -> Result<Selection, PickError> {
        let mut memo = Memo::new();
        match self.find(view, index, samples, &mut memo) {
            Some(found) => {
                self.pool.spend(samples, found.at, view.len());
                Ok(view.select(found.slot))
            }
            None => view.uniform_beyond(&self.rng, memo),
        }
    }

    /// Chooses from a view that brings no table.
    #[cold]
    fn unprepared<C: Candidate<Id: Hash>>(
        &self,
        view: &View<'_, C>,
        samples: &mut Samples,
    ) -> Result<Selection, PickError> {
        let build = || Ok(Index::prepare(&sorted(view, &ByIdentity)?));
        let prepared = self.unprepared.get_or_build(fingerprint(view, &ByIdentity), build)?;
        let index = prepared.own::<Index>(view.len()).ok_or(PickError::InconsistentTopology)?;
        self.choose(view, index, samples)
    }
}

impl<C: Candidate<Id: Hash>> Prepare<C> for Prequal {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        Ok(Index::prepare(&sorted(view, &ByIdentity)?))
    }
}

impl<C: Candidate<Id: Hash>, K: ?Sized> Policy<C, K> for Prequal {
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        let mut samples = self.pool.samples(view.now());
        let picked = match view.own_table::<Index>() {
            Some(index) => self.choose(view, index, &mut samples),
            None if samples.len < 2 => view.uniform(&self.rng),
            None => self.unprepared(view, &mut samples),
        }?;
        self.pool.end_query(&mut samples, self.pool.order());
        Ok(picked)
    }
}
