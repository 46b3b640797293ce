//! The names of dimensions, as exporters want them.

use super::{CircuitReason, MemberChange, OutlierChange, OutlierReason, PickVerdict};
use crate::core::{Exclusion, Outcome, Phase};

/// One of each kind of outcome; see [`outcome_kind`].
pub(super) const OUTCOMES: [Outcome; 4] =
    [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled];

/// Returns the place of an outcome in [`OUTCOMES`]; what an overload asks for is no dimension.
pub(super) const fn outcome_kind(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Success => 0,
        Outcome::Failure => 1,
        Outcome::Overload { .. } => 2,
        Outcome::Cancelled => 3,
    }
}

pub(super) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "success",
        Outcome::Failure => "failure",
        Outcome::Overload { .. } => "overload",
        Outcome::Cancelled => "cancelled",
    }
}

pub(super) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Readiness => "readiness",
        Phase::Call => "call",
    }
}

pub(super) const fn exclusion(reason: Exclusion) -> &'static str {
    match reason {
        Exclusion::Draining => "draining",
        Exclusion::Unavailable => "unavailable",
        Exclusion::Probe => "probe",
        Exclusion::Circuit => "circuit",
        Exclusion::Outlier => "outlier",
        Exclusion::Capacity => "capacity",
        Exclusion::OutOfScope => "out_of_scope",
        Exclusion::NotReady => "not_ready",
        Exclusion::Attempted => "attempted",
        Exclusion::Custom => "custom",
    }
}

pub(super) const fn verdict(verdict: PickVerdict) -> &'static str {
    match verdict {
        PickVerdict::Selected => "selected",
        PickVerdict::SelectedInPanic => "selected_in_panic",
        PickVerdict::Undiscovered => "undiscovered",
        PickVerdict::Empty => "empty",
        PickVerdict::NoEligible => "no_eligible",
        PickVerdict::AtCapacity => "at_capacity",
        PickVerdict::WeightOverflow => "weight_overflow",
        PickVerdict::DuplicateIdentity => "duplicate_identity",
        PickVerdict::CapacityExceeded => "capacity_exceeded",
        PickVerdict::InconsistentTopology => "inconsistent_topology",
        PickVerdict::PanicRejected => "panic_rejected",
        PickVerdict::InvalidSelection => "invalid_selection",
        PickVerdict::Closed => "closed",
    }
}

pub(super) const fn circuit_reason(reason: CircuitReason) -> &'static str {
    match reason {
        CircuitReason::Failures => "failures",
        CircuitReason::Probe => "probe",
    }
}

pub(super) const fn outlier_change(change: OutlierChange) -> &'static str {
    match change {
        OutlierChange::Ejected => "ejected",
        OutlierChange::Withheld => "withheld",
        OutlierChange::Returned => "returned",
    }
}

pub(super) const fn outlier_reason(reason: OutlierReason) -> &'static str {
    match reason {
        OutlierReason::SuccessRate => "success_rate",
        OutlierReason::FailurePercentage => "failure_percentage",
    }
}

pub(super) const fn member_change(change: MemberChange) -> &'static str {
    match change {
        MemberChange::Drain => "drain",
        MemberChange::Exclude => "exclude",
        MemberChange::ForceOpen => "force_open",
        MemberChange::Restore => "restore",
        MemberChange::Drained => "drained",
    }
}
