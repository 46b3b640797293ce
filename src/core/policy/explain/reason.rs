//! One step of a choice.

use std::borrow::Cow;
use std::fmt;

use crate::core::Locality;
use crate::core::short::short;

/// Says how one policy came to its part of a choice. `Display` makes a clause of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The policy does not say: it is one of the user's own, without an
    /// [`explain_from`](crate::core::policy::Policy::explain_from).
    Untold,
    /// It was the turn of the one that was chosen, or of one before it that is excluded.
    Turn,
    /// It was drawn by chance.
    Chance,
    /// It was drawn by chance, in proportion to its weight.
    WeightedChance {
        /// Its weight.
        weight: u32,
    },
    /// It cost the least of those that were compared.
    Least {
        /// How many were drawn to be compared; none when all were.
        drawn: Option<usize>,
        /// Its load or cost for its weight.
        cost: f64,
    },
    /// It stands first in the order of the key, among those that can be chosen.
    Key {
        /// The position of the owner, which would serve the key if nobody were excluded.
        owner: usize,
        /// Whether the owner was chosen.
        kept: bool,
    },
    /// It is the first in the order of the key that has room.
    Bounded {
        /// The position of the first eligible one in the order of the key.
        owner: usize,
        /// Whether another one was chosen because the owner had no room.
        spilled: bool,
        /// How many requests it has.
        load: u64,
        /// Below how many it has room.
        cap: u64,
    },
    /// This level was drawn.
    Level {
        /// Its priority.
        level: u32,
        /// Whether it is in panic.
        panic: bool,
    },
    /// This locality was drawn.
    Locality {
        /// The locality, if its members say one.
        locality: Option<Locality>,
        /// Whether localities were drawn by weight alone.
        panic: bool,
    },
    /// This zone was drawn.
    Zone {
        /// Where the one runs that was chosen, if it says so.
        zone: Option<Locality>,
        /// Whether that is the own zone.
        local: bool,
    },
    /// One of two policies chose.
    Fallback {
        /// Whether it was the second.
        fell_back: bool,
    },
    /// There was an earlier choice to keep, or there was not.
    Earlier {
        /// Whether it was kept.
        kept: bool,
    },
    /// What a policy of the user's own says, as a clause: `"with the most room"`.
    Own(Cow<'static, str>),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untold => f.write_str("the policy does not say, as it has no `explain_from` of its own"),
            Self::Turn => f.write_str("in turn"),
            Self::Chance => f.write_str("by chance"),
            Self::WeightedChance { weight } => write!(f, "by chance, with weight {weight}"),
            Self::Least { drawn: Some(drawn), cost } => {
                write!(f, "the least of {drawn} drawn, at {}", short(*cost))
            }
            Self::Least { drawn: None, cost } => write!(f, "the least of all, at {}", short(*cost)),
            Self::Key { kept: true, .. } => f.write_str("the owner of the key"),
            Self::Key { owner, kept: false } => {
                write!(f, "next in the order of the key after its owner at {owner}, which is excluded")
            }
            Self::Bounded { spilled: false, load, cap, .. } => {
                write!(f, "the owner of the key, with {load} requests below {cap}")
            }
            Self::Bounded { owner, load, cap, .. } => {
                write!(f, "with {load} requests below {cap}, as the owner at {owner} is full")
            }
            Self::Level { level, panic } => write!(f, "level {level}{}", in_panic(*panic)),
            Self::Locality { locality, panic } => {
                place(f, "locality", locality.as_ref())?;
                f.write_str(in_panic(*panic))
            }
            Self::Zone { zone, local } => place(f, if *local { "own zone" } else { "zone" }, zone.as_ref()),
            Self::Fallback { fell_back: false } => f.write_str("by the first policy"),
            Self::Fallback { fell_back: true } => {
                f.write_str("by the second policy, as the first found nobody")
            }
            Self::Earlier { kept: true } => f.write_str("the earlier choice"),
            Self::Earlier { kept: false } => f.write_str("anew, without an earlier choice to keep"),
            Self::Own(clause) => f.write_str(clause),
        }
    }
}

fn in_panic(panic: bool) -> &'static str {
    if panic { ", in panic" } else { "" }
}

fn place(f: &mut fmt::Formatter<'_>, what: &str, place: Option<&Locality>) -> fmt::Result {
    match place {
        Some(place) => write!(f, "{what} {place}"),
        None => write!(f, "{what} of those without one"),
    }
}
