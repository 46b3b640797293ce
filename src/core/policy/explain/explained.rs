//! A choice among members with names.

use std::fmt;

use super::Explanation;
use crate::core::{Candidate, Exclusions, PickError, View};

/// Names a candidate that cannot be chosen, and says why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedOver {
    /// Its position.
    pub position: usize,
    /// Its name.
    pub name: String,
    /// Every reason.
    pub exclusions: Exclusions,
}

/// Says what a policy would choose for a key now, why, and whom it would pass over.
///
/// `Display` prints it as lines.
///
/// ```
/// use poise::core::policy::{PriorityFailover, RoundRobin};
/// use poise::core::{Backend, PolicyExt, Status, View};
///
/// let a = Backend::new("a").with_status(Status::Draining);
/// let members = [a, Backend::new("b"), Backend::new("c")];
/// let policy = PriorityFailover::new(RoundRobin::starting_at(0));
/// let explained = policy.explain(&View::new(&members), &());
/// assert_eq!(explained.chosen.as_deref(), Some("b"));
/// assert_eq!(
///     explained.to_string(),
///     "2 of 3 are eligible\n\
///      chooses b at 1: level 0; in turn\n\
///      passes over a at 0: draining\n"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explained {
    /// The name of the one that would be chosen, when the policy says.
    pub chosen: Option<String>,
    /// What the policy says, or why nobody can be chosen.
    pub decision: Result<Explanation, PickError>,
    /// The number of candidates.
    pub candidates: usize,
    /// The number of those that can be chosen.
    pub eligible: usize,
    /// The others.
    pub passed_over: Vec<PassedOver>,
}

impl Explained {
    /// Joins what a policy said of this view with the names of the candidates.
    pub fn new<C: Candidate>(
        view: &View<'_, C>,
        decision: Result<Explanation, PickError>,
        name: impl Fn(&C) -> String,
    ) -> Self {
        let named = |position: usize| view.candidates().get(position).map(&name);
        let passed_over: Vec<_> = (0..view.len())
            .filter_map(|slot| {
                let (position, exclusions) = (view.position(slot), view.exclusions_at(slot));
                let name = named(position).filter(|_| !exclusions.is_empty())?;
                Some(PassedOver { position, name, exclusions })
            })
            .collect();
        let selection = decision.as_ref().ok().and_then(|explanation| explanation.selection);
        Self {
            chosen: selection.and_then(|selection| named(selection.index())),
            decision,
            candidates: view.len(),
            eligible: view.len() - passed_over.len(),
            passed_over,
        }
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} are eligible", self.eligible, self.candidates)?;
        match &self.decision {
            Err(error) => writeln!(f, "chooses nobody: {error}")?,
            Ok(explanation) => {
                match (&self.chosen, explanation.selection) {
                    (Some(name), Some(selection)) => write!(f, "chooses {name} at {}", selection.index())?,
                    _ => f.write_str("chooses somebody")?,
                }
                for (place, reason) in explanation.reasons.iter().enumerate() {
                    write!(f, "{} {reason}", if place == 0 { ":" } else { ";" })?;
                }
                writeln!(f)?;
            }
        }
        for PassedOver { position, name, exclusions } in &self.passed_over {
            writeln!(f, "passes over {name} at {position}: {exclusions}")?;
        }
        Ok(())
    }
}
