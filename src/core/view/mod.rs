//! What one pick may look at.
//!
//! A [`View`] is made for one pick. It joins the candidates with what is known beyond them: a scope, the members to avoid,
//! the time, a prepared table, the eligibility, and whether the pool is in panic. Policies read it through few readers
//! ([`first_from`](View::first_from), [`uniform`](View::uniform), [`pair`](View::pair), [`least`](View::least),
//! [`least_of`](View::least_of), [`eligible`](View::eligible), [`exclusions`](View::exclusions)), each of which answers
//! with an eligible candidate or with the precise reason why there is none. A policy of one's own is therefore a handful of
//! lines and right under every view.
//!
//! Candidates are named by *position*, their index in the slice. Within a scope they are also counted by *slot*: the slot
//! `s` is the `s`-th member of the scope. Without a scope both are the same. Tables speak of slots, selections of
//! positions.

mod least;
mod lots;
mod memo;
mod pair;
mod ramp;
mod readers;
mod scope;
mod several;
#[expect(clippy::module_inception, reason = "the file that defines the type of that name")]
mod view;

pub(crate) use self::lots::{Lots, lot, patience};
pub(crate) use self::memo::{Memo, SAMPLES};
pub use self::pair::Pair;
pub(crate) use self::ramp::{DRAWS, part, takes};
pub(crate) use self::readers::Found;
pub(crate) use self::scope::Scope;
pub(crate) use self::several::MOST;
pub(crate) use self::view::LANES;
pub use self::view::View;
