//! What a source of health says about one member.

use std::sync::Arc;
use std::time::Instant;

use crate::core::{Changes, Exclusions, Now};

/// Says whether one member may be chosen, and why not.
///
/// A signal only adds reasons: it cannot take back what the administrative state or another signal says. Circuits,
/// probes and ejections are signals; a type of one's own is one with a single method. References, boxes, `Arc`s,
/// vectors and tuples of signals are signals that give all reasons together, and `()` is the one that never objects.
///
/// # Examples
///
/// ```
/// use poise::core::{Exclusion, Exclusions, Now};
/// use poise::health::HealthSignal;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// struct Flag(AtomicBool);
///
/// impl HealthSignal for Flag {
///     fn exclusions(&self, _: &Now) -> Exclusions {
///         Exclusions::NONE.with_if(Exclusion::Custom, !self.0.load(Ordering::Relaxed))
///     }
/// }
///
/// let flag = Flag(AtomicBool::new(false));
/// assert_eq!((&flag, ()).exclusions(&Now::lazy()).deciding(), Some(Exclusion::Custom));
/// ```
pub trait HealthSignal {
    /// Returns every reason not to choose the member now. It has no effect on what it reports.
    fn exclusions(&self, now: &Now) -> Exclusions;

    /// Takes the handle to notify after each change of what [`exclusions`](Self::exclusions) says that is not the mere
    /// passing of time; by default it is dropped.
    ///
    /// A signal keeps the last handle that it was given.
    fn watch(&self, changes: Changes) {
        drop(changes);
    }

    /// Returns the next instant at which the answer changes although nothing happens, if there is one; by default there
    /// is none.
    fn changes_at(&self, now: &Now) -> Option<Instant> {
        let _ = now;
        None
    }
}

impl HealthSignal for () {
    fn exclusions(&self, _: &Now) -> Exclusions {
        Exclusions::NONE
    }
}

macro_rules! delegate_signal {
    ($($pointer:ty),+) => {$(
        impl<S: HealthSignal + ?Sized> HealthSignal for $pointer {
            fn exclusions(&self, now: &Now) -> Exclusions {
                (**self).exclusions(now)
            }
            fn watch(&self, changes: Changes) {
                (**self).watch(changes);
            }
            fn changes_at(&self, now: &Now) -> Option<Instant> {
                (**self).changes_at(now)
            }
        }
    )+};
}

delegate_signal!(&S, Box<S>, Arc<S>);

impl<S: HealthSignal> HealthSignal for Vec<S> {
    fn exclusions(&self, now: &Now) -> Exclusions {
        self.iter().fold(Exclusions::NONE, |all, signal| all | signal.exclusions(now))
    }

    fn watch(&self, changes: Changes) {
        for signal in self {
            signal.watch(changes.clone());
        }
    }

    fn changes_at(&self, now: &Now) -> Option<Instant> {
        self.iter().filter_map(|signal| signal.changes_at(now)).min()
    }
}

macro_rules! join_signals {
    ($($signal:ident . $place:tt),+) => {
        impl<$($signal: HealthSignal),+> HealthSignal for ($($signal,)+) {
            fn exclusions(&self, now: &Now) -> Exclusions {
                Exclusions::NONE $(| self.$place.exclusions(now))+
            }
            fn watch(&self, changes: Changes) {
                $(self.$place.watch(changes.clone());)+
            }
            fn changes_at(&self, now: &Now) -> Option<Instant> {
                [$(self.$place.changes_at(now)),+].into_iter().flatten().min()
            }
        }
    };
}

join_signals!(A.0);
join_signals!(A.0, B.1);
join_signals!(A.0, B.1, C.2);
join_signals!(A.0, B.1, C.2, D.3);
