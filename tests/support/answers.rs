//! What sources answer, and who takes it.

use std::io;
use std::time::Duration;

use poise::core::{Backend, Status};
use poise::discovery::{Change, Intake, Snapshot, SourcePolicy, Update};

use super::membership::Endpoints;

pub(crate) type Endpoint = Backend<&'static str>;
pub(crate) type Same = fn(&Endpoint, &Endpoint) -> bool;
pub(crate) type Answer = Result<Update<&'static str, Endpoint>, io::Error>;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn intake(policy: SourcePolicy) -> Intake<&'static str, Endpoint, io::Error, Same> {
    Intake::new(Endpoints::new(), policy, Endpoint::is_same_endpoint)
}

/// Never lets go of who has left, so that only answers change the directory.
pub(crate) fn undrained() -> SourcePolicy {
    SourcePolicy::default().with_drain(Duration::MAX)
}

#[expect(clippy::unnecessary_wraps, reason = "answers may be errors, and stand in one script with them")]
pub(crate) fn set(keys: &[&'static str]) -> Answer {
    Ok(Update::full(keys.iter().map(|key| (*key, Backend::new(*key)))))
}

pub(crate) fn upsert(key: &'static str) -> Change<&'static str, Endpoint> {
    Change::upsert(key, Backend::new(key))
}

#[expect(clippy::unnecessary_wraps, reason = "answers may be errors, and stand in one script with them")]
pub(crate) fn changes(changes: impl IntoIterator<Item = Change<&'static str, Endpoint>>) -> Answer {
    Ok(Update::changes(changes))
}

pub(crate) fn error() -> Answer {
    Err(io::Error::other("unreachable"))
}

/// Returns who takes new work.
pub(crate) fn ready(snapshot: &Snapshot<&'static str, Endpoint>) -> Vec<&'static str> {
    let ready = snapshot.iter().filter(|member| member.attributes().status() == Status::Ready);
    ready.map(|member| *member.key()).collect()
}
