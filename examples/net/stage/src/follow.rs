//! Telling what a membership and its source do.

use std::error::Error;
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

use poise::core::{Candidate, Status};
use poise::discovery::{Discovered, Snapshot, SnapshotReader, SourceReport, SourceStatus};
use poise::tokio::next_snapshot;
use tokio::task::JoinHandle;

use crate::{Endpoint, Teller};

/// How often the status of the source is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Ends what it stands for when it is dropped.
#[derive(Debug)]
#[must_use = "nothing is told any more when it is dropped"]
pub struct Follower(JoinHandle<()>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells, in the background, who joins, changes and leaves, and how the source does.
pub fn follow<K, E>(
    teller: Teller,
    source: &'static str,
    reader: &SnapshotReader<K, Endpoint>,
    status: SourceStatus<E>,
) -> Follower
where
    K: Eq + Hash + fmt::Display + Send + Sync + 'static,
    E: Error + Send + Sync + 'static,
{
    let mut snapshots = reader.subscribe();
    Follower(tokio::spawn(async move {
        let mut last = Snapshot::unknown();
        let mut mood = Mood::Well;
        loop {
            tokio::select! {
                next = next_snapshot(&mut snapshots) => {
                    let Some(next) = next else { return };
                    for line in differences(&last, &next) {
                        teller.note(source, line);
                    }
                    last = next;
                }
                () = tokio::time::sleep(LOOK) => {
                    let now = Mood::of(&status.report());
                    if now != mood {
                        teller.note(source, &now);
                        mood = now;
                    }
                }
            }
        }
    }))
}

#[derive(PartialEq)]
enum Mood {
    Well,
    SaysNobody,
    Fails(String),
}

impl Mood {
    fn of<E: Error>(report: &SourceReport<E>) -> Self {
        match report.last_error() {
            Some(error) if report.errors_in_a_row() > 0 => Self::Fails(error.to_string()),
            _ if report.keeps_empty_off() => Self::SaysNobody,
            _ => Self::Well,
        }
    }
}

impl fmt::Display for Mood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => f.write_str("the source answers again"),
            Self::SaysNobody => {
                f.write_str("the source says that there is nobody, and is not believed yet: the members stay")
            }
            Self::Fails(error) => write!(f, "{error}: the members stay"),
        }
    }
}

fn differences<K: Eq + Hash + fmt::Display>(
    before: &Snapshot<K, Endpoint>,
    after: &Snapshot<K, Endpoint>,
) -> Vec<String> {
    let news = after.iter().filter_map(|member| change(before.get(member.key()), member));
    let gone = before.iter().filter(|member| after.get(member.key()).is_none());
    news.chain(gone.map(|member| format!("- {} is gone", member.key()))).collect()
}

fn change<K: fmt::Display>(
    before: Option<&Discovered<K, Endpoint>>,
    member: &Discovered<K, Endpoint>,
) -> Option<String> {
    let key = member.key();
    let Some(before) = before else {
        return Some(format!("+ {key} joins, {}", attributes(member)));
    };
    if !before.same_generation(member) {
        return Some(format!("+ {key} is a new generation, {}", attributes(member)));
    }
    match (before.status(), member.status()) {
        (Status::Ready, Status::Draining) => Some(format!("~ {key} drains")),
        _ if before.attributes() != member.attributes() => Some(format!("~ {key} is {}", attributes(member))),
        _ => None,
    }
}

fn attributes<K>(member: &Discovered<K, Endpoint>) -> String {
    format!("{}, weight {}, priority {}", member.status(), member.weight().value(), member.priority())
}
