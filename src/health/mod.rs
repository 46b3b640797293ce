//! Health: who should get no traffic for now, and when that ends.
//!
//! Everything here is a state machine over events and time. Nothing sends a probe, sleeps, spawns a task or decides which
//! answer is a failure: whoever drives it does, and passes each attempt's [`Outcome`](crate::core::Outcome) and the
//! [`Now`](crate::core::Now) of the event.
//!
//! - [`HealthSignal`] is what all sources of health have in common: the reasons not to choose a member, a handle to notify
//!   of changes, and the next instant at which the answer changes by itself.
//! - [`HealthChecked`] puts a signal beside a candidate.
//! - [`PassiveHealth`] is a circuit: it opens after failures in a row and lets probes through after a cooldown.
//! - [`ActiveHealth`] classifies a member by probes apart from the traffic, and says when the next one is due;
//!   [`ProbeSchedule`] does so for many.
//! - [`SlowStart`] lets a member that is new or back take its share little by little.
//! - [`OutcomeWindow`] counts what became of the attempts of late, and [`PenaltyScore`] makes a load of it.
//! - [`OutlierDetector`] finds the members of a group that fare worse than the others.
//! - [`Ejector`] ejects them for a time; an [`Ejection`] is its signal for one member.
//! - [`Limit`]s admit so many attempts at once: as many as they are told, or as a member seems to bear.
//! - [`ExclusionBudget`] caps how many members of a pool may be out at once.
//!
//! [`guide`] says how to choose thresholds, and computes how soon a configuration finds a fault and forgives it.
//!
//! # Precedence
//!
//! Signals are independent and all their reasons are kept. Where one has to be named, it is the first of:
//! administrative state (draining, unavailable), active probe, circuit, outlier. So a member that is draining and whose
//! circuit is open counts as draining, and no signal can make it take traffic.
//!
//! # Time
//!
//! Every deadline is compared with the `Now` of the call, so a simulated clock or a runtime's clock works as well as the
//! system's; events of one machine should all come from the same one. At a deadline counts as after it.

mod active;
mod budget;
mod checked;
mod circuit;
mod ejector;
pub mod guide;
mod limit;
mod outlier;
mod signal;
pub(crate) mod slow_start;
mod window;

pub use self::active::{
    ActiveHealth, ActiveHealthConfig, ActiveHealthConfigError, ActiveHealthReport, ProbeCompletion,
    ProbeCounts, ProbeOutcome, ProbeRejection, ProbeReservation, ProbeSchedule, ProbeState, ProbeTicket,
    StartedProbe, UnknownPolicy,
};
pub use self::budget::{BudgetConfig, BudgetConfigError, BudgetKind, BudgetSlot, ExclusionBudget};
pub use self::checked::HealthChecked;
pub use self::circuit::{
    CircuitConfig, CircuitConfigError, CircuitPermit, CircuitRejection, CircuitState, CircuitTicket,
    Completion, PassiveHealth, TripCause,
};
pub use self::ejector::{Ejection, EjectionState, Ejector, EjectorAction, EjectorConfig, EjectorConfigError};
pub use self::limit::{
    FixedLimit, GradientConfig, GradientConfigError, GradientLimit, GradientTicket, Limit, LimitedLoad,
};
pub use self::outlier::{
    Outlier, OutlierCause, OutlierConfig, OutlierConfigError, OutlierDetector, OutlierSample,
};
pub use self::signal::HealthSignal;
pub use self::slow_start::{SlowStart, SlowStartConfig, SlowStartConfigError};
pub use self::window::{
    OutcomeCounts, OutcomeWindow, Penalized, PenaltyConfig, PenaltyConfigError, PenaltyScore, WindowConfig,
    WindowConfigError,
};
