//! How members are found to be unwell.

use super::builder::Builder;
use crate::health::{BudgetConfig, CircuitConfig, EjectorConfig};

/// # Health
impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    /// Sets when circuits open and for how long.
    pub fn circuit(mut self, circuit: CircuitConfig) -> Self {
        self.rest_mut().health.circuit = Some(circuit);
        self
    }

    /// Goes without circuits.
    pub fn without_circuit(mut self) -> Self {
        self.rest_mut().health.circuit = None;
        self
    }

    /// Sets who is an outlier, and for how long it is left out.
    ///
    /// The [`Driver`](super::Driver) compares what became of the attempts of each member since it last did. Who is ejected
    /// takes no requests until its time is over, as [`Exclusion::Outlier`](crate::core::Exclusion::Outlier), whatever a circuit
    /// or a probe finds meanwhile; then nothing is held against it. A new allocation of a member is a new one.
    ///
    /// How many are out at once is limited by [`exclusions`](Self::exclusions), together with the circuits.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::{Backend, Exclusion};
    /// use poise::discovery::Directory;
    /// use poise::health::EjectorConfig;
    /// use poise::tower::Balancer;
    /// use std::time::Duration;
    ///
    /// let mut directory = Directory::new();
    /// for name in ["a", "b", "c", "d", "e", "f"] {
    ///     directory.upsert(name, Backend::new(name))?;
    /// }
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |key, _backend| {
    ///         let name = *key;
    ///         // Every other request to `a` fails, so that there are never many failures in a row.
    ///         tower::service_fn(move |request: u32| async move {
    ///             if name == "a" && request % 2 == 0 { Err("broken") } else { Ok(name) }
    ///         })
    ///     })
    ///     .policy(poise::core::policy::Random::seeded(1))
    ///     .outliers(EjectorConfig::default().with_interval(Duration::from_secs(1))?)
    ///     .spawn()?;
    ///
    /// for request in 0..2_000 {
    ///     tokio::time::sleep(Duration::from_millis(1)).await;
    ///     let _answer = balancer.send(request).await;
    /// }
    /// let report = balancer.report();
    /// assert!(report.member("a").is_some_and(|a| a.exclusions.contains(Exclusion::Outlier)));
    /// assert_eq!(report.eligible(), 5);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn outliers(mut self, outliers: EjectorConfig) -> Self {
        self.rest_mut().health.outliers = Some(outliers);
        self
    }

    /// Compares nobody.
    pub fn without_outliers(mut self) -> Self {
        self.rest_mut().health.outliers = None;
        self
    }

    /// Sets how many members may be excluded at the same time by circuits and as outliers.
    pub fn exclusions(mut self, budget: BudgetConfig) -> Self {
        self.rest_mut().budget = budget;
        self
    }
}
