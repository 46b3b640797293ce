//! What discovery promises: directories, snapshots, sources and subsets.

#![cfg(feature = "discovery")]

#[path = "../support"]
mod support {
    pub(crate) mod answers;
    pub(crate) mod clock;
    pub(crate) mod membership;
    pub(crate) mod snapshots;
    pub(crate) mod subsets;
    pub(crate) mod wakes;
}

mod channel;
mod directory;
mod drive;
mod model;
mod races;
mod replace;
mod source;
mod subset;
mod subset_filter;
