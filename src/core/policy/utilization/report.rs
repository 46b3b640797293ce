//! What a member reports.

/// Holds what a member reports of its work, by itself or with each response: the fields of an ORCA load report that weights
/// are made of.
///
/// # Examples
///
/// ```
/// use poise::core::policy::UtilizationReport;
///
/// let report = UtilizationReport::new(10.0, 0.1);
/// assert_eq!(report.weight(1.0), Some(100.0));
/// assert_eq!(report.with_errors(1.0).weight(1.0), Some(50.0), "a tenth of the requests failed");
/// assert_eq!(UtilizationReport::new(10.0, f64::NAN).weight(1.0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UtilizationReport {
    qps: f64,
    utilization: f64,
    eps: f64,
}

impl UtilizationReport {
    /// Makes the report of a member that serves `qps` requests per second and is busy to this part: 1 is as busy as it
    /// should be, more is possible. It is the application's own measure if it has one, else that of the processors.
    #[must_use]
    pub const fn new(qps: f64, utilization: f64) -> Self {
        Self { qps, utilization, eps: 0.0 }
    }

    /// Adds the number of requests per second that fail.
    #[must_use]
    pub const fn with_errors(self, eps: f64) -> Self {
        Self { eps, ..self }
    }

    /// Returns the weight: `qps / (utilization + eps / qps * penalty)`. A report that says nothing, because its rate or
    /// utilisation is not a positive number, or its errors are none that is not negative, has no weight.
    ///
    /// Source: gRPC A58, `weighted_round_robin`.
    #[must_use]
    pub fn weight(&self, penalty: f64) -> Option<f64> {
        let valid = self.qps > 0.0 && self.utilization > 0.0 && self.eps >= 0.0;
        let weight = self.qps / (self.utilization + self.eps / self.qps * penalty);
        Some(weight).filter(|weight| valid && weight.is_finite() && *weight > 0.0)
    }
}
