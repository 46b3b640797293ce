//! Each case runs on a paused clock and once more on several threads, as fast as the real clock lets it.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Says how fast time goes in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The clock is paused: waits are exact and take no time.
    Paused,
    /// The clock is real: all waits are shortened, and may take longer than asked for.
    Real,
}

impl Pace {
    const SHORTENED: u32 = 10;

    /// Returns a second of the case.
    pub(crate) fn second(self) -> Duration {
        self.of(Duration::from_secs(1))
    }

    pub(crate) fn of(self, time: Duration) -> Duration {
        match self {
            Self::Paused => time,
            Self::Real => time / Self::SHORTENED,
        }
    }

    /// Checks that `expected` has passed since `start`: exactly, where the clock allows that.
    pub(crate) fn check(self, start: Instant, expected: Duration) {
        let elapsed = start.elapsed();
        // Timers work in whole milliseconds.
        let slack = Duration::from_millis(2);
        assert!(elapsed + slack >= expected, "{elapsed:?} is too early for {expected:?}");
        if self == Self::Paused {
            assert!(elapsed <= expected + slack, "{elapsed:?} is too late for {expected:?}");
        }
    }

    /// Checks that no time has passed since `start`, as far as the clock allows that.
    pub(crate) fn check_at_once(self, start: Instant) {
        let elapsed = start.elapsed();
        let slack = if self == Self::Paused { Duration::ZERO } else { Duration::from_secs(2) };
        assert!(elapsed <= slack, "that took {elapsed:?}");
    }
}

/// Waits until `holds`, and fails when that takes too long.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
        sleep(Duration::from_millis(1)).await;
    }
}

/// Awaits `future`, and fails when that takes too long to be anything but a lost wake-up.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("nothing woke this task")
}

/// Makes two tests of each case: on the current thread with a paused clock, and on several threads with the real one.
macro_rules! on_both_runtimes {
    ($($(#[$meta:meta])* async fn $name:ident($pace:ident: Pace) $body:block)+) => {
        $(async fn $name($pace: Pace) $body)+

        mod on_a_paused_clock {
            $(
                $(#[$meta])*
                #[tokio::test(start_paused = true)]
                async fn $name() {
                    super::$name(super::Pace::Paused).await;
                }
            )+
        }

        mod on_several_threads {
            $(
                $(#[$meta])*
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(super::Pace::Real).await;
                }
            )+
        }
    };
}
pub(crate) use on_both_runtimes;
