//! The slow, right way of policies with tables when a view brings none.

use std::fmt;

use crate::core::{PickError, Prepared};
use crate::sync::{Mutex, lock};

/// How many tables are kept: one each for the few parts that an outer policy divides a plain slice into.
const KEPT: usize = 4;

/// Keeps the last few tables that were built for plain slices.
pub(super) struct Unprepared {
    /// Fingerprints and tables, the last used first.
    recent: Mutex<Vec<(u64, Prepared)>>,
}

impl Unprepared {
    pub(super) fn new() -> Self {
        Self { recent: Mutex::new(Vec::new()) }
    }

    /// Returns the table for the members with this fingerprint, building it unless it is one of the last.
    pub(super) fn get_or_build(
        &self,
        fingerprint: u64,
        build: impl FnOnce() -> Result<Prepared, PickError>,
    ) -> Result<Prepared, PickError> {
        self.get_or_follow(fingerprint, |_| build())
    }

    /// As [`get_or_build`](Self::get_or_build); `build` is told which table was used last.
    pub(super) fn get_or_follow(
        &self,
        fingerprint: u64,
        build: impl FnOnce(Option<&Prepared>) -> Result<Prepared, PickError>,
    ) -> Result<Prepared, PickError> {
        let mut recent = lock(&self.recent);
        if let Some(at) = recent.iter().position(|(of, _)| *of == fingerprint) {
            recent[..=at].rotate_right(1);
            return Ok(recent[0].1.clone());
        }
        let prepared = build(recent.first().map(|(_, last)| last))?;
        recent.truncate(KEPT - 1);
        recent.insert(0, (fingerprint, prepared.clone()));
        Ok(prepared)
    }
}

impl Default for Unprepared {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Unprepared {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl fmt::Debug for Unprepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unprepared").finish_non_exhaustive()
    }
}
