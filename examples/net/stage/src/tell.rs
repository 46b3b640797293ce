//! Telling what happens, and when.

use std::fmt;

use tokio::time::Instant;

/// Prints lines with the seconds since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Teller {
    start: Instant,
}

impl Teller {
    /// Starts to count the seconds.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Prints what the script does.
    pub fn say(self, what: impl fmt::Display) {
        println!("{:6.1} s  {what}", self.start.elapsed().as_secs_f64());
    }

    /// Prints what comes of it, further to the right.
    pub(crate) fn note(self, who: &str, what: impl fmt::Display) {
        self.say(format_args!("        {who}: {what}"));
    }
}
