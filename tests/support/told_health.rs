//! A hook that keeps what it hears of health.

use std::sync::{Arc, Mutex};

use poise::health::OutlierCause;
use poise::tower::{Event, Hook};

#[derive(Clone, Debug, Default)]
pub(crate) struct ToldHealth(Arc<Mutex<Vec<String>>>);

impl ToldHealth {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Hook for ToldHealth {
    fn on(&self, event: &Event<'_>) {
        let of = |what: &str, endpoint: &str, cause, epoch| {
            let cause = match cause {
                OutlierCause::FailurePercentage => "failure percentage",
                _ => "success rate",
            };
            format!("{what} {endpoint} by {cause} in epoch {epoch}")
        };
        let told = match *event {
            Event::Ejected { endpoint, cause, epoch, .. } => of("ejected", endpoint, cause, epoch),
            Event::Withheld { endpoint, cause, epoch } => of("withheld", endpoint, cause, epoch),
            Event::Returned { endpoint, cause, epoch } => of("returned", endpoint, cause, epoch),
            Event::Probed { endpoint, healthy, epoch } => {
                let verdict = if healthy { "healthy" } else { "unhealthy" };
                format!("found {endpoint} {verdict} in epoch {epoch}")
            }
            Event::Panic { on, eligible, members } => {
                format!("panic {}: {eligible} of {members}", if on { "begins" } else { "ends" })
            }
            Event::Contained { what } => format!("contained {what}"),
            _ => return,
        };
        self.0.lock().unwrap().push(told);
    }
}
