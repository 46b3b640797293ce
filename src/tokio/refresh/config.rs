//! When a source is asked.

use std::time::Duration;

use super::RefreshError;
use crate::discovery::SourcePolicy;

/// Asks a source for its full set again and again.
///
/// What an answer may do is for [`Intake`](crate::discovery::Intake) to say: errors and, for a while, empty answers keep the
/// last good set.
///
/// 1. **One at a time.** The source is asked again when it has answered or its time is over. An answer that was given up, or
///    that was asked for before something newer came, is never seen.
/// 2. **Early when that helps, late when it must.** A [`RefreshHint`](super::RefreshHint) moves the next start forward,
///    within limits; errors move it back.
/// 3. **It ends with its readers.** It goes on as long as somebody can read, as a balancer does.
///
/// | parameter | unit, range | default |
/// |---|---|---|
/// | [interval](Self::every) from one start to the next | more than zero | given |
/// | [jitter](Self::with_jitter) of the interval and the back-off | fraction, 0 to 1 | 0.1 |
/// | [back-off](Self::with_backoff) after an error: the first and the longest pause; doubles between | more than zero, in order | 1 s, 30 s |
/// | [timeout](Self::with_timeout) of one answer | more than zero | 10 s |
/// | [spacing](Self::with_hint_spacing) of starts that are hinted at | any | 1 s |
/// | [seed](Self::with_seed) of the jitter | any | random |
/// | [policy](Self::with_policy) for empty answers and drains | | that of [`SourcePolicy`] |
///
/// An interval is jittered to both sides, a back-off to the lower only: it never exceeds the longest pause.
///
/// # Answers that say how long they hold
///
/// An answer of DNS has a time to live. For such a source the [interval](Self::every) is the longest time that is believed, and
/// the [spacing](Self::with_hint_spacing) the shortest. Whoever asks it sends on, through a channel, until when the answer holds,
/// and a task beside it [hints](super::Refreshed::hint) then; `examples/net/dns` does that in a few lines. That a name has no
/// records is an empty set, not an error. While the source fails its back-off holds, whatever an earlier answer has said.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use poise::core::Backend;
/// use poise::discovery::{FullSet, Revision};
/// use poise::tokio::{Refresh, wait_for_revision};
/// use std::io;
/// use std::time::Duration;
///
/// let refresh = Refresh::every(Duration::from_secs(5))?.with_jitter(0.2)?;
/// let resolve = async || {
///     let addresses = ["10.0.0.1:80", "10.0.0.2:80"];
///     Ok::<FullSet<_, _>, io::Error>(addresses.into_iter().map(|at| (at, Backend::new(at))).collect())
/// };
/// let members = refresh.spawn(resolve, Backend::is_same_endpoint)?;
/// let snapshot = wait_for_revision(members.reader(), Revision::new(1)).await?;
/// assert_eq!(snapshot.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Refresh {
    pub(super) interval: Duration,
    pub(super) jitter: f64,
    pub(super) first_pause: Duration,
    pub(super) longest_pause: Duration,
    pub(super) timeout: Duration,
    pub(super) hint_spacing: Duration,
    pub(super) seed: Option<u64>,
    pub(super) policy: SourcePolicy,
}

impl Refresh {
    /// Asks once at the start and then every `interval`.
    ///
    /// # Errors
    ///
    /// [`RefreshError::ZeroInterval`].
    pub fn every(interval: Duration) -> Result<Self, RefreshError> {
        if interval.is_zero() {
            return Err(RefreshError::ZeroInterval);
        }
        Ok(Self {
            interval,
            jitter: 0.1,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
            timeout: Duration::from_secs(10),
            hint_spacing: Duration::from_secs(1),
            seed: None,
            policy: SourcePolicy::default(),
        })
    }

    /// Sets by which fraction of itself a pause may differ, so that many clients do not ask at once.
    ///
    /// # Errors
    ///
    /// [`RefreshError::Jitter`] when it is not from 0 to 1.
    pub fn with_jitter(self, jitter: f64) -> Result<Self, RefreshError> {
        if !(0.0..=1.0).contains(&jitter) {
            return Err(RefreshError::Jitter);
        }
        Ok(Self { jitter, ..self })
    }

    /// Sets the pause after a first error, which doubles with each that follows, and the longest one.
    ///
    /// # Errors
    ///
    /// [`RefreshError::Backoff`] when the first is zero or above the longest.
    pub fn with_backoff(self, first: Duration, longest: Duration) -> Result<Self, RefreshError> {
        if first.is_zero() || first > longest {
            return Err(RefreshError::Backoff);
        }
        Ok(Self { first_pause: first, longest_pause: longest, ..self })
    }

    /// Sets how long an answer may take; then it is given up and counts as an error.
    ///
    /// # Errors
    ///
    /// [`RefreshError::ZeroTimeout`].
    pub fn with_timeout(self, timeout: Duration) -> Result<Self, RefreshError> {
        if timeout.is_zero() {
            return Err(RefreshError::ZeroTimeout);
        }
        Ok(Self { timeout, ..self })
    }

    /// Sets how far apart two starts are at least when somebody hints at news.
    #[must_use]
    pub fn with_hint_spacing(self, hint_spacing: Duration) -> Self {
        Self { hint_spacing, ..self }
    }

    /// Makes the jitter reproducible.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Sets how far the source is believed.
    #[must_use]
    pub fn with_policy(self, policy: SourcePolicy) -> Self {
        Self { policy, ..self }
    }
}
