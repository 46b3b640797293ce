//! The slow, right way of policies with tables when a view brings none.

use std::fmt;

use crate::core::{PickError, Prepared};
use crate::sync::{Mutex, lock};

/// Keeps the last table that was built for a plain slice.
pub(super) struct Unprepared {
    last: Mutex<Option<(u64, Prepared)>>,
}

impl Unprepared {
    pub(super) fn new() -> Self {
        Self { last: Mutex::new(None) }
    }

    /// Returns the table for the members with this fingerprint, building it unless it is the last one.
    pub(super) fn get_or_build(
        &self,
        fingerprint: u64,
        build: impl FnOnce() -> Result<Prepared, PickError>,
    ) -> Result<Prepared, PickError> {
        let mut last = lock(&self.last);
        if let Some((of, prepared)) = &*last
            && *of == fingerprint
        {
            return Ok(prepared.clone());
        }
        let prepared = build()?;
        *last = Some((fingerprint, prepared.clone()));
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
