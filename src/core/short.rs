//! Loads as people read them.

/// Writes a load in whatever unit: all digits of one in nanoseconds would say more than anybody knows.
pub(crate) fn short(load: f64) -> String {
    if load < 1e4 { format!("{load:.2}") } else { format!("{load:.1e}") }
}
