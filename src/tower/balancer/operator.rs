//! What operators say of members.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::balancer::Balancer;
use super::cluster::Cluster;
use super::pool::Member;
use crate::core::{Exclusion, Exclusions, LoadTracker};
use crate::sync::{AtomicU8, AtomicU32, Ordering, lock};
use crate::tower::Event;

/// Names what an operator may do to a member of a [`Balancer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperatorVerb {
    /// [`Balancer::drain`].
    Drain,
    /// [`Balancer::exclude`].
    Exclude,
    /// [`Balancer::force_open`].
    ForceOpen,
    /// [`Balancer::restore`].
    Restore,
}

impl fmt::Display for OperatorVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Drain => "drain",
            Self::Exclude => "exclude",
            Self::ForceOpen => "force open",
            Self::Restore => "restore",
        })
    }
}

/// Reports that a balancer has no member of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMember {
    endpoint: Box<str>,
}

impl UnknownMember {
    /// Returns the name.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

impl fmt::Display for UnknownMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no member {:?}", self.endpoint)
    }
}

impl Error for UnknownMember {}

/// What an operator has said of one member, as a set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u8);

impl Mark {
    pub(super) const NONE: Self = Self(0);
    const DRAINS: u8 = 1;
    const EXCLUDED: u8 = 2;
    const FORCED_OPEN: u8 = 4;

    pub(super) fn drains(self) -> bool {
        self.0 & Self::DRAINS != 0
    }

    pub(super) fn forces_open(self) -> bool {
        self.0 & Self::FORCED_OPEN != 0
    }

    pub(super) fn exclusions(self) -> Exclusions {
        if self == Self::NONE {
            return Exclusions::NONE;
        }
        Exclusions::NONE
            .with_if(Exclusion::Draining, self.drains())
            .with_if(Exclusion::Unavailable, self.0 & Self::EXCLUDED != 0)
            .with_if(Exclusion::Circuit, self.forces_open())
    }
}

/// Shares a mark. It is part of a handshake wherever it is used, so every access is in the one order of all.
pub(super) struct SharedMark(AtomicU8);

impl SharedMark {
    pub(super) fn new(mark: Mark) -> Self {
        Self(AtomicU8::new(mark.0))
    }

    #[inline]
    pub(super) fn load(&self) -> Mark {
        Mark(self.0.load(Ordering::SeqCst))
    }

    /// Replaces the mark, and returns what it was.
    pub(super) fn swap(&self, mark: Mark) -> Mark {
        Mark(self.0.swap(mark.0, Ordering::SeqCst))
    }

    /// Brings in a verb, and tells whether the member begins to drain by it.
    fn say(&self, verb: OperatorVerb) -> bool {
        let bit = match verb {
            OperatorVerb::Drain => Mark::DRAINS,
            OperatorVerb::Exclude => Mark::EXCLUDED,
            OperatorVerb::ForceOpen => Mark::FORCED_OPEN,
            OperatorVerb::Restore => {
                self.0.store(Mark::NONE.0, Ordering::SeqCst);
                return false;
            }
        };
        let before = Mark(self.0.fetch_or(bit, Ordering::SeqCst));
        verb == OperatorVerb::Drain && !before.drains()
    }
}

/// What all generations of one member share: its name, and what an operator has said of it.
///
/// It comes with the key and goes with it, so a member that has left and returns is one of whom nothing was said.
pub(super) struct Standing {
    name: Arc<str>,
    mark: SharedMark,
    drains: AtomicU32,
}

impl Standing {
    pub(super) fn new(name: Arc<str>) -> Arc<Self> {
        Arc::new(Self { name, mark: SharedMark::new(Mark::NONE), drains: AtomicU32::new(0) })
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark.load()
    }

    pub(super) fn say(&self, verb: OperatorVerb) {
        if self.mark.say(verb) {
            self.drains.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts how often an operator had it drain, so that a new drain is not taken for the last one. Whoever says so wakes
    /// the driver afterwards, and that orders it.
    pub(super) fn drains(&self) -> u32 {
        self.drains.load(Ordering::Relaxed)
    }
}

/// # Operators
///
/// What an operator says of a member holds for its key, until it is [restored](Self::restore): through new attributes, new
/// allocations and everything that health finds out. It is forgotten when the member leaves the membership; who returns
/// later is a new member. Several of these verbs hold at the same time, and the [report](Self::report) shows each among
/// the exclusions of the member, whose `status` stays what the membership says.
///
/// Members are named by their keys as text, as in reports and errors. A verb holds from its return on for all picks that
/// begin afterwards, also for a member whose service is still to be built. Should several keys have the same text, it is for all of them.
impl<S, R, L: LoadTracker> Balancer<S, R, L> {
    /// Makes a member finish what it has and take nothing new.
    ///
    /// When its last attempt has ended, or after the [deadline](super::Builder::drain_deadline),
    /// [`Event::Drained`](crate::tower::Event::Drained) says so. It stays excluded, as
    /// [`Exclusion::Draining`], until it is restored.
    ///
    /// # Errors
    ///
    /// [`UnknownMember`].
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::{Backend, Exclusion};
    /// use poise::discovery::Directory;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    /// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |key, _backend| {
    ///         let name = *key;
    ///         tower::service_fn(move |_request: ()| async move { Ok::<_, Infallible>(name) })
    ///     })
    ///     .spawn()?;
    ///
    /// balancer.drain("a")?;
    /// assert_eq!(balancer.send(()).await?, "b");
    /// let report = balancer.report();
    /// assert!(report.member("a").is_some_and(|a| a.exclusions.contains(Exclusion::Draining)));
    ///
    /// balancer.restore("a")?;
    /// assert_eq!(balancer.report().eligible(), 2);
    /// assert!(balancer.drain("c").is_err());
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn drain(&self, endpoint: &str) -> Result<(), UnknownMember> {
        self.operate(endpoint, OperatorVerb::Drain)
    }

    /// Takes a member out: it gets nothing new, as [`Exclusion::Unavailable`].
    ///
    /// Neither health nor panic revives it. What it has is seen through.
    ///
    /// # Errors
    ///
    /// [`UnknownMember`].
    pub fn exclude(&self, endpoint: &str) -> Result<(), UnknownMember> {
        self.operate(endpoint, OperatorVerb::Exclude)
    }

    /// Forces the circuit of a member open, as [`Exclusion::Circuit`].
    ///
    /// It is a verdict of health: no probe is let through, and results of attempts that were under way are ignored, but a
    /// policy that overrides health in panic may choose the member. It asks for no slot of the budget. Without a circuit the member
    /// is excluded in the same way.
    ///
    /// # Errors
    ///
    /// [`UnknownMember`].
    pub fn force_open(&self, endpoint: &str) -> Result<(), UnknownMember> {
        self.operate(endpoint, OperatorVerb::ForceOpen)
    }

    /// Takes back all that an operator has said of a member, and wakes whoever waits.
    ///
    /// A circuit that was forced open is closed and has seen no failure; one that had opened by itself stays as it is.
    /// What the membership says is left alone too.
    ///
    /// # Errors
    ///
    /// [`UnknownMember`].
    pub fn restore(&self, endpoint: &str) -> Result<(), UnknownMember> {
        self.operate(endpoint, OperatorVerb::Restore)
    }

    fn operate(&self, endpoint: &str, verb: OperatorVerb) -> Result<(), UnknownMember> {
        let is_known = self.handle().cluster().operate(endpoint, verb);
        if is_known { Ok(()) } else { Err(UnknownMember { endpoint: endpoint.into() }) }
    }
}

impl<K, B, S, R, L: LoadTracker> Cluster<K, B, S, R, L> {
    /// Brings into effect what an operator says of the members of this name, and tells whether there are any.
    pub(super) fn obey(&self, endpoint: &str, verb: OperatorVerb) -> bool {
        let pool = {
            // Whoever swaps the pool holds it too: either the new pool is found here, or its endpoints find the mark.
            let _ledger = lock(&self.ledger);
            let pool = self.pool.load_full();
            let standings =
                pool.members.iter().map(|member| member.endpoint().standing()).chain(&pool.absent);
            standings
                .filter(|standing| **standing.name() == *endpoint)
                .for_each(|standing| standing.say(verb));
            pool
        };
        let mut is_known = pool.absent.iter().any(|standing| **standing.name() == *endpoint);
        for member in pool.members.iter().map(Member::endpoint).filter(|member| **member.name() == *endpoint)
        {
            is_known = true;
            member.obey();
            self.refresh(member);
        }
        if is_known {
            self.settings.conduct.tell(&Event::Operator { endpoint, verb });
        }
        is_known
    }
}
