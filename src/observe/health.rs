//! What observers hear of health.

use std::fmt;

use super::labels;

/// Says what became of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CircuitChange {
    /// It opened: the endpoint takes no more requests for a time.
    Tripped,
    /// It was to open, but the budget has it stay closed. It asks again at each further failure.
    Withheld,
    /// It closed: the endpoint takes requests again.
    Recovered,
}

impl CircuitChange {
    /// Every change.
    pub const ALL: [Self; 3] = [Self::Tripped, Self::Withheld, Self::Recovered];
}

/// Says which attempts changed a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CircuitReason {
    /// As many in a row as the circuit bears failed while it was closed.
    Failures,
    /// Those that it let through to try the endpoint: one failed, or enough succeeded.
    Probe,
}

impl CircuitReason {
    /// Every reason.
    pub const ALL: [Self; 2] = [Self::Failures, Self::Probe];
}

impl fmt::Display for CircuitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(labels::circuit_reason(*self))
    }
}

/// Tells that a circuit opened or closed, or was to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CircuitEvent<'a> {
    /// The name of the endpoint.
    pub endpoint: &'a str,
    /// What became of its circuit.
    pub change: CircuitChange,
    /// Which attempts changed it.
    pub reason: CircuitReason,
    /// The epoch of the circuit after that.
    pub epoch: u64,
}

impl<'a> CircuitEvent<'a> {
    /// Tells what became of the circuit of an endpoint, and why.
    #[must_use]
    pub const fn new(endpoint: &'a str, change: CircuitChange, reason: CircuitReason, epoch: u64) -> Self {
        Self { endpoint, change, reason, epoch }
    }
}

/// Says what became of a member that fares worse than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutlierChange {
    /// It takes no requests for a time.
    Ejected,
    /// It was to be ejected, but the budget has it stay.
    Withheld,
    /// Its time is over.
    Returned,
}

impl OutlierChange {
    /// Every change.
    pub const ALL: [Self; 3] = [Self::Ejected, Self::Withheld, Self::Returned];
}

/// Says what a member stands out by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutlierReason {
    /// Its success rate is far below that of the others.
    SuccessRate,
    /// Most of its requests fail, in a group that is too small to compare.
    FailurePercentage,
}

impl OutlierReason {
    /// Every reason.
    pub const ALL: [Self; 2] = [Self::SuccessRate, Self::FailurePercentage];
}

/// Tells that a member was ejected as an outlier, was to be, or returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutlierEvent<'a> {
    /// The name of the endpoint.
    pub endpoint: &'a str,
    /// What became of it.
    pub change: OutlierChange,
    /// What it stands out by.
    pub reason: OutlierReason,
    /// The epoch of its ejection after that.
    pub epoch: u64,
}

impl<'a> OutlierEvent<'a> {
    /// Tells what became of an endpoint, and why.
    #[must_use]
    pub const fn new(endpoint: &'a str, change: OutlierChange, reason: OutlierReason, epoch: u64) -> Self {
        Self { endpoint, change, reason, epoch }
    }
}

/// Tells that active probes have changed their verdict on an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeEvent<'a> {
    /// The name of the endpoint.
    pub endpoint: &'a str,
    /// Whether it was found healthy.
    pub healthy: bool,
    /// The epoch that the verdict started.
    pub epoch: u64,
}

impl<'a> ProbeEvent<'a> {
    /// Tells that an endpoint was found healthy.
    #[must_use]
    pub const fn healthy(endpoint: &'a str, epoch: u64) -> Self {
        Self { endpoint, healthy: true, epoch }
    }

    /// Tells that an endpoint was found unhealthy.
    #[must_use]
    pub const fn unhealthy(endpoint: &'a str, epoch: u64) -> Self {
        Self { endpoint, healthy: false, epoch }
    }
}

/// Tells that too few members are healthy from now on, so that the balancer is in panic, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PanicModeEvent {
    /// Whether it is in panic now.
    pub on: bool,
    /// The number of members that are eligible.
    pub eligible: usize,
    /// The number of members that would be if all were healthy.
    pub members: usize,
}

impl PanicModeEvent {
    /// Tells that so many of so many members are eligible, which is too few.
    #[must_use]
    pub const fn started(eligible: usize, members: usize) -> Self {
        Self { on: true, eligible, members }
    }

    /// Tells that so many of so many members are eligible, which is enough.
    #[must_use]
    pub const fn ended(eligible: usize, members: usize) -> Self {
        Self { on: false, eligible, members }
    }
}
