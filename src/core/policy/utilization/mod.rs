//! By what members report of their utilisation.

mod config;
mod record;
mod report;
mod reports;
mod stride;
pub(super) mod table;
mod weighted;

pub use self::config::{UtilizationConfig, UtilizationConfigError};
pub use self::report::UtilizationReport;
pub use self::reports::UtilizationReports;
pub use self::weighted::UtilizationWeighted;
