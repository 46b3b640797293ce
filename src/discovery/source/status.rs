//! What others may know of a source.

use std::error::Error;
use std::fmt;
use std::time::Instant;

use super::error::SourceError;
use crate::core::Now;
use crate::sync::{Arc, Mutex, lock};

/// Shows others how a source does.
///
/// A clone shows the same source, and goes on showing what was last when the source has ended. It keeps no source alive.
pub struct SourceStatus<E>(Arc<Mutex<SourceReport<E>>>);

impl<E> SourceStatus<E> {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(SourceReport::new())))
    }

    /// Returns how things stand now.
    #[must_use]
    pub fn report(&self) -> SourceReport<E> {
        lock(&self.0).clone()
    }

    pub(super) fn note(&self, edit: impl FnOnce(&mut SourceReport<E>)) {
        edit(&mut lock(&self.0));
    }
}

impl<E> Clone for SourceStatus<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E: fmt::Debug> fmt::Debug for SourceStatus<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SourceStatus").field(&self.report()).finish()
    }
}

/// Tells how a source did up to one moment.
#[derive(Debug)]
pub struct SourceReport<E> {
    updates: u64,
    errors: u64,
    errors_in_a_row: u64,
    empty_kept_off: u64,
    duplicates: u64,
    is_synced: bool,
    keeps_empty_off: bool,
    last_update: Option<Instant>,
    last_error: Option<(std::sync::Arc<SourceError<E>>, Instant)>,
}

impl<E> SourceReport<E> {
    fn new() -> Self {
        Self {
            updates: 0,
            errors: 0,
            errors_in_a_row: 0,
            empty_kept_off: 0,
            duplicates: 0,
            is_synced: false,
            keeps_empty_off: false,
            last_update: None,
            last_error: None,
        }
    }

    /// Returns how many answers were applied, those without effect among them.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Returns how many answers were errors or were refused.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Returns how many of them have come since an answer was last good.
    #[must_use]
    pub fn errors_in_a_row(&self) -> u64 {
        self.errors_in_a_row
    }

    /// Returns how many empty answers were kept off.
    #[must_use]
    pub fn empty_kept_off(&self) -> u64 {
        self.empty_kept_off
    }

    /// Returns how many endpoints were left out because their set named their key already.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Tells whether changes of what the source has would be understood.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Tells whether the source says that there is nobody, and is not believed yet.
    #[must_use]
    pub fn keeps_empty_off(&self) -> bool {
        self.keeps_empty_off
    }

    /// Returns when an answer was last applied.
    #[must_use]
    pub fn last_update(&self) -> Option<Instant> {
        self.last_update
    }

    /// Returns the last error, also when the source has recovered from it.
    #[must_use]
    pub fn last_error(&self) -> Option<&std::sync::Arc<SourceError<E>>> {
        self.last_error.as_ref().map(|(error, _)| error)
    }

    /// Returns when the last error came.
    #[must_use]
    pub fn last_error_at(&self) -> Option<Instant> {
        self.last_error.as_ref().map(|(_, at)| *at)
    }

    pub(super) fn applied(&mut self, duplicates: u64, now: &Now) {
        self.updates = self.updates.saturating_add(1);
        self.duplicates = self.duplicates.saturating_add(duplicates);
        self.errors_in_a_row = 0;
        self.last_update = Some(now.instant());
    }

    pub(super) fn kept_off(&mut self) {
        self.empty_kept_off = self.empty_kept_off.saturating_add(1);
        self.errors_in_a_row = 0;
    }

    pub(super) fn failed(&mut self, error: std::sync::Arc<SourceError<E>>, now: &Now) {
        self.errors = self.errors.saturating_add(1);
        self.errors_in_a_row = self.errors_in_a_row.saturating_add(1);
        self.last_error = Some((error, now.instant()));
    }

    pub(super) fn stands(&mut self, is_synced: bool, keeps_empty_off: bool) {
        self.is_synced = is_synced;
        self.keeps_empty_off = keeps_empty_off;
    }
}

impl<E> Clone for SourceReport<E> {
    fn clone(&self) -> Self {
        Self { last_error: self.last_error.clone(), ..*self }
    }
}

/// One line for logs.
impl<E: Error> fmt::Display for SourceReport<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} updates, {} errors", self.updates, self.errors)?;
        match &self.last_error {
            Some((error, _)) if self.errors_in_a_row > 0 => write!(f, ", failing: {error}"),
            _ => Ok(()),
        }
    }
}
