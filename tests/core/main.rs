//! What the core promises: candidates, views, loads and policies.

#[path = "../support"]
mod support {
    pub(crate) mod by_hand;
    pub(crate) mod case;
    pub(crate) mod chance;
    pub(crate) mod clock;
    pub(crate) mod counted;
    pub(crate) mod ewma;
    pub(crate) mod looks;
    pub(crate) mod member;
    pub(crate) mod nginx;
    pub(crate) mod oracle;
    pub(crate) mod owners;
    pub(crate) mod plan;
    pub(crate) mod policies;
    pub(crate) mod ranks;
    pub(crate) mod ring;
    pub(crate) mod shares;
    pub(crate) mod tally;
    pub(crate) mod turns;
    pub(crate) mod weighted;
}

mod bounded;
mod choices;
mod combinators;
mod explain;
mod hash;
mod interop;
mod limited;
mod load;
mod locality;
mod maglev;
mod peak_ewma;
mod policies;
mod prequal;
mod priority;
mod ramp;
mod rendezvous;
mod ring;
mod ring_change;
mod rng;
mod round_robin;
mod smooth;
mod tables;
mod utilization;
mod view;
mod weighted;
mod zone;
