//! Reading the file again when it changes.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use poise::discovery::SourcePolicy;
use poise::tokio::{Refresh, Refreshed};
use poise::tower::BoxError;
use stage::Endpoint;
use tokio::fs;

use crate::members::{BadMembers, parse};

/// How often the file is read when nobody says that it has changed, as on file systems that do not tell.
const INTERVAL: Duration = Duration::from_secs(2);
/// How far apart two reads are, however often it changes.
const SPACING: Duration = Duration::from_millis(100);
/// The pauses while it cannot be read.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(1));
/// How long who has left the file still finishes what it has.
const DRAIN: Duration = Duration::from_secs(2);

/// The members, and the watcher, which stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) members: Refreshed<String, Endpoint, FileError>,
    _watcher: RecommendedWatcher,
}

/// Keeps a membership as the file says.
pub(crate) fn watch(path: PathBuf) -> Result<Watched, BoxError> {
    // Of the folder, as a file that is put in the place of another is another file.
    let folder = path.parent().ok_or("the file is in no folder")?.to_owned();
    let read = move || {
        let path = path.clone();
        async move { Ok(parse(&fs::read_to_string(&path).await?)?) }
    };
    let members = Refresh::every(INTERVAL)?
        .with_backoff(BACKOFF.0, BACKOFF.1)?
        .with_hint_spacing(SPACING)
        .with_policy(SourcePolicy::default().with_drain(DRAIN))
        .spawn(read, Endpoint::is_same_endpoint)?;
    let hint = members.hint();
    // Whatever it was, or if the watcher has lost track: looking is cheap. Reading is no change, or it would never end.
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if !event.is_ok_and(|event| event.kind.is_access()) {
            hint.hint();
        }
    })?;
    watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    Ok(Watched { members, _watcher: watcher })
}

/// Why the file says nothing.
#[derive(Debug)]
pub(crate) enum FileError {
    Unreadable(io::Error),
    Bad(BadMembers),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Bad(error) => error.fmt(f),
        }
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Bad(error) => Some(error),
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<BadMembers> for FileError {
    fn from(error: BadMembers) -> Self {
        Self::Bad(error)
    }
}
