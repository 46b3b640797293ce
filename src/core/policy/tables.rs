//! The tables of the policies of this crate.

use std::fmt::Debug;
use std::sync::Arc;

use super::{
    fallback, locality, maglev, prequal, priority, rendezvous, ring_hash, round_robin, smooth, sticky,
    utilization, weighted_random, zone,
};
use crate::core::Table;

/// A table that this crate knows by name: what it is then takes a comparison to find out, and no virtual call.
pub(crate) trait OwnTable: Table + Sized {
    fn keep(self) -> Kept;
    fn of(kept: &Kept) -> Option<&Self>;
}

/// Lists the tables, each under the name of its variant.
macro_rules! tables {
    ($($name:ident($table:ty)),+ $(,)?) => {
        /// Any table.
        #[derive(Clone, Debug)]
        pub(crate) enum Kept {
            $($name(Arc<$table>),)+
            /// Of a policy of somebody else.
            Other(Arc<dyn Table>),
        }

        impl Kept {
            /// Tells the table that the member at `slot` became eligible or ineligible.
            pub(crate) fn set_eligible(&self, slot: usize, eligible: bool) {
                match self {
                    $(Self::$name(table) => table.set_eligible(slot, eligible),)+
                    Self::Other(table) => table.set_eligible(slot, eligible),
                }
            }
        }

        $(impl OwnTable for $table {
            fn keep(self) -> Kept {
                Kept::$name(Arc::new(self))
            }

            #[inline]
            fn of(kept: &Kept) -> Option<&Self> {
                if let Kept::$name(table) = kept { Some(table) } else { None }
            }
        })+
    };
}

tables! {
    Fallback(fallback::FallbackTable),
    Locality(locality::table::LocalityTable),
    Maglev(maglev::table::MaglevTable),
    Prequal(prequal::index::Index),
    Priority(priority::table::PriorityTable),
    Rendezvous(rendezvous::identity::Identities),
    WeightedRendezvous(rendezvous::identity::Members),
    RingHash(ring_hash::table::RingTable),
    RoundRobin(round_robin::rotation::Rotation),
    Smooth(smooth::table::Schedule),
    Sticky(sticky::identities::Identities),
    Utilization(utilization::table::Turns),
    WeightedRandom(weighted_random::classes::Classes),
    Zone(zone::table::ZoneTable),
}
