//! The control loop.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Instant;

use crate::core::Now;
use crate::health::{HealthSignal, OutlierCause, OutlierDetector, OutlierSample};

use super::ejection::{Record, Verdict};
use super::{Ejection, EjectorAction, EjectorConfig};

/// Ejects the members of a pool that fare worse than their peers, and lets them return.
///
/// It is a machine without a clock and without tasks: whoever drives it calls [`advance`](Self::advance) at
/// [`next_change`](Self::next_change), and more often if it likes, with the members that the pool has at that time. At the
/// first call the first interval begins. When an interval is over, the call is a sweep: it asks for the sample of each
/// member that takes traffic, ranks the outliers, and ejects the worst as far as the
/// [budget](crate::health::ExclusionBudget) goes. Sweeps that were missed are not made up for.
///
/// An ejection lasts the [configured time](EjectorConfig::with_ejection) multiplied by how often the member was ejected of
/// late. Each sweep that finds nothing against a member that is in takes one off that number; a sweep in which the budget
/// withholds an ejection does not. When the time is over the member returns, at once for policies and with the next call
/// for the budget. The sweep of the call in which it returns does not judge it.
///
/// Members are known by their [`Ejection`]. One that is not given any more has left: its slot goes back and it is not out
/// any more, without an action. When the ejector is dropped, all that it has ejected return.
///
/// # Complexity
///
/// A call is linear in the members; a sweep sorts the outliers besides. It allocates, so it is not for the path of requests.
///
/// # Examples
///
/// ```
/// use poise::core::Now;
/// use poise::health::{
///     BudgetConfig, Ejection, Ejector, EjectorAction, EjectorConfig, ExclusionBudget, OutlierSample,
/// };
/// use std::sync::Arc;
/// use std::time::{Duration, Instant};
///
/// let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default()));
/// let members: Vec<_> = (0..20).map(|_| Arc::new(Ejection::new(Arc::clone(&budget)))).collect();
/// budget.set_members(members.len());
///
/// let start = Instant::now();
/// let at = |seconds| Now::at(start + Duration::from_secs(seconds));
/// let bad_third = |member| OutlierSample::new(if member == 3 { 500 } else { 990 }, 1_000);
///
/// let mut ejector = Ejector::new(EjectorConfig::default());
/// assert!(ejector.advance(&at(0), &members, bad_third).is_empty());
/// let actions = ejector.advance(&at(10), &members, bad_third);
/// assert!(matches!(actions[..], [EjectorAction::Eject { member: 3, repeats: 1, .. }]));
///
/// let actions = ejector.advance(&at(40), &members, bad_third);
/// assert!(matches!(actions[..], [EjectorAction::Return { member: 3, .. }]), "after thirty seconds");
/// ```
pub struct Ejector {
    config: EjectorConfig,
    detector: OutlierDetector,
    next_sweep: Option<Instant>,
    next_return: Option<Instant>,
    turn: u64,
    /// The members of the last turn.
    known: Vec<Weak<Ejection>>,
}

impl Ejector {
    /// Makes an ejector that has judged nobody.
    #[must_use]
    pub fn new(config: EjectorConfig) -> Self {
        Self {
            config,
            detector: OutlierDetector::new(*config.outliers()),
            next_sweep: None,
            next_return: None,
            turn: 0,
            known: Vec::new(),
        }
    }

    /// Lets members return whose time is over, sweeps if that is due, and says what it did, in this order.
    ///
    /// `sample` is asked, at a sweep, for what became of the requests to the member at a position of `members` since the last
    /// one; an [`OutcomeWindow`](crate::health::OutcomeWindow) as long as the interval knows.
    pub fn advance(
        &mut self,
        now: &Now,
        members: &[Arc<Ejection>],
        sample: impl FnMut(usize) -> OutlierSample,
    ) -> Vec<EjectorAction> {
        self.take_attendance(members);
        let mut actions = returns(members, now);
        if self.is_due(now) {
            self.sweep(now, members, sample, &mut actions);
        }
        self.next_return = members.iter().filter_map(|member| member.changes_at(now)).min();
        actions
    }

    /// Returns when the next sweep is due; none before the first call of [`advance`](Self::advance), or never.
    #[must_use]
    pub const fn next_sweep(&self) -> Option<Instant> {
        self.next_sweep
    }

    /// Returns when there is something to do next: a sweep, or a return.
    #[must_use]
    pub fn next_change(&self) -> Option<Instant> {
        self.next_sweep.into_iter().chain(self.next_return).min()
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &EjectorConfig {
        &self.config
    }

    /// Takes the slots back from those that have left.
    fn take_attendance(&mut self, members: &[Arc<Ejection>]) {
        self.turn += 1;
        for member in members {
            member.attend(self.turn);
        }
        let known = std::mem::take(&mut self.known);
        for member in known.iter().filter_map(Weak::upgrade) {
            if !member.attended(self.turn) {
                member.release();
            }
        }
        self.known = known;
        self.known.clear();
        self.known.extend(members.iter().map(Arc::downgrade));
    }

    /// Tells whether a sweep is due, and if so sets when the next one is. A clock that went back waits no longer for it
    /// than an interval.
    fn is_due(&mut self, now: &Now) -> bool {
        let following = now.instant().checked_add(self.config.interval());
        let is_due = self.next_sweep.is_some_and(|due| now.has_reached(due));
        let is_later = |due: &Instant| following.is_none_or(|following| *due <= following);
        self.next_sweep = self.next_sweep.filter(|due| !is_due && is_later(due)).or(following);
        is_due
    }

    fn sweep(
        &self,
        now: &Now,
        members: &[Arc<Ejection>],
        mut sample: impl FnMut(usize) -> OutlierSample,
        actions: &mut Vec<EjectorAction>,
    ) {
        let mut judged: Vec<bool> = members.iter().map(|member| member.takes_traffic()).collect();
        for returned in &*actions {
            judged[returned.member()] = false;
        }
        // Those that are not judged have had no requests: nobody is compared with them.
        let of = |(at, judged): (usize, &bool)| if *judged { sample(at) } else { OutlierSample::default() };
        let samples: Vec<_> = judged.iter().enumerate().map(of).collect();
        for outlier in self.detector.rank(&samples) {
            let member = outlier.index();
            judged[member] = false;
            actions.extend(self.act(member, &members[member], outlier.cause(), now));
        }
        let quiet = members.iter().zip(judged).filter(|(_, quiet)| *quiet);
        quiet.for_each(|(member, _)| member.had_quiet_sweep());
    }

    fn act(
        &self,
        member: usize,
        ejection: &Ejection,
        cause: OutlierCause,
        now: &Now,
    ) -> Option<EjectorAction> {
        let since = now.instant();
        match ejection.eject(cause, &self.config, now) {
            Verdict::Ejected(Record { epoch, until, repeats, .. }) => {
                Some(EjectorAction::Eject { member, cause, epoch, since, until, repeats })
            }
            Verdict::Withheld => {
                Some(EjectorAction::Withheld { member, cause, epoch: ejection.epoch(), since })
            }
            Verdict::Moot => None,
        }
    }
}

fn returns(members: &[Arc<Ejection>], now: &Now) -> Vec<EjectorAction> {
    let back = |(member, ejection): (usize, &Arc<Ejection>)| {
        let (cause, epoch) = ejection.return_when_over(now)?;
        Some(EjectorAction::Return { member, cause, epoch, since: now.instant() })
    };
    members.iter().enumerate().filter_map(back).collect()
}

impl Drop for Ejector {
    fn drop(&mut self) {
        self.known.iter().filter_map(Weak::upgrade).for_each(|member| member.release());
    }
}

impl fmt::Debug for Ejector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ejector")
            .field("config", &self.config)
            .field("next_sweep", &self.next_sweep)
            .field("members", &self.known.len())
            .finish_non_exhaustive()
    }
}
