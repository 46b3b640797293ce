//! How often requests may be tried again.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use super::Backoff;
use crate::core::Outcome;

/// A token, in millionths.
const TOKEN: u64 = 1_000_000;
/// Into how many parts the window of a budget is divided.
const PARTS: usize = 10;

/// Configures how a balancer tries requests again.
///
/// A retry goes to a member that the request has not tried, if there is one that can be chosen. All retries of a balancer
/// draw on one [`RetryBudget`], so that they add no more than a fixed part to the load, and a fixed number beside it.
///
/// | setting | range | default |
/// |---|---|---|
/// | attempts, with the first | 1 and more | |
/// | [`with_budget`](Self::with_budget) | | [`RetryBudget::new`] |
/// | [`with_backoff`](Self::with_backoff) | | none: another endpoint is asked at once |
/// | [`with_retry_after_cap`](Self::with_retry_after_cap) | | 1 s |
///
/// Only the user knows whether a request may be sent twice, so nothing is retried unless this is given.
/// [`Builder::idempotent`](super::Builder::idempotent) says which requests it is given for, and
/// [`Builder::unsent`](super::Builder::unsent) after which errors any request may be sent again, as nobody had it.
///
/// # Requests
///
/// A request that may be sent again is cloned, before its first attempt and then before each but the last, and so has to be
/// `Clone`. Of HTTP, `http::Request<B>` is `Clone` when its body is: collect a streaming body and put it into one like
/// `http_body_util::Full<Bytes>`, whose clones share the bytes. Where that cannot be, a retry around the balancer, such as
/// `tower`'s with a `clone_request` that may say no, makes the copies; it cannot avoid the endpoint that failed.
///
/// # Responses
///
/// An attempt is decided by the answer of the service. One that is answered when only its head is there is not tried again when the
/// body breaks off; a service that collects the body makes the whole response part of the attempt, and of its time limit.
///
/// ```
/// use poise::tower::Retry;
///
/// let retry = Retry::attempts(3)?;
/// assert!(Retry::attempts(0).is_err());
/// # Ok::<(), poise::tower::RetryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Retry {
    attempts: u32,
    budget: RetryBudget,
    backoff: Option<Backoff>,
    /// How long it waits at most because an endpoint asked for it.
    longest_asked: Duration,
}

impl Retry {
    /// Makes at most this many attempts, the first one included.
    ///
    /// # Errors
    ///
    /// [`RetryError::NoAttempts`] for zero.
    pub fn attempts(attempts: u32) -> Result<Self, RetryError> {
        if attempts == 0 {
            return Err(RetryError::NoAttempts);
        }
        Ok(Self { attempts, ..Self::never() })
    }

    pub(crate) fn never() -> Self {
        let longest_asked = Duration::from_secs(1);
        Self { attempts: 1, budget: RetryBudget::new(), backoff: None, longest_asked }
    }

    /// Sets the budget.
    #[must_use]
    pub fn with_budget(self, budget: RetryBudget) -> Self {
        Self { budget, ..self }
    }

    /// Waits before each retry. What the attempt held has been given back by then, and the token of the budget is taken.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff) -> Self {
        Self { backoff: Some(backoff), ..self }
    }

    /// Sets for how long a retry waits at most because an overloaded endpoint asked for it, by the `retry_after` of
    /// [`Outcome::Overload`]. The back-off comes on top, so that those who were asked alike do not come back together. Zero
    /// waits for no endpoint's sake: the retry goes to another one, as long as there is one.
    #[must_use]
    pub fn with_retry_after_cap(self, cap: Duration) -> Self {
        Self { longest_asked: cap, ..self }
    }

    pub(crate) fn max_attempts(&self) -> u32 {
        self.attempts
    }

    pub(crate) fn budget(&self) -> &RetryBudget {
        &self.budget
    }

    /// Returns how long to wait before the retry with this number, after an attempt with this outcome.
    pub(crate) fn wait(&self, retry: u32, outcome: Outcome) -> Duration {
        let asked = match outcome {
            Outcome::Overload { retry_after: Some(asked) } => asked.min(self.longest_asked),
            _ => Duration::ZERO,
        };
        asked.saturating_add(self.backoff.as_ref().map_or(Duration::ZERO, |backoff| backoff.pause(retry)))
    }
}

/// Limits retries to a part of the requests, over a sliding window.
///
/// Each request deposits a part of a token, each retry withdraws a whole one, and both are forgotten after ten seconds. A
/// floor lets a balancer with few requests retry too; it is one sum for the whole window, so by default a hundred retries may
/// come at once. Counts are kept in millionths of a token and never round in favour of
/// a retry.
///
/// Source: Finagle's `RetryBudget`.
///
/// | setting | range | default |
/// |---|---|---|
/// | ratio | 0 to 1,000 | 0.2 tokens per request |
/// | floor | | 10 retries per second |
/// | window | | 10 s |
///
/// ```
/// use poise::tower::RetryBudget;
/// use std::time::Instant;
///
/// let now = Instant::now();
/// let mut budget = RetryBudget::new().with_ratio(0.5)?.with_floor(0);
/// budget.deposit(4, now);
/// assert!(budget.try_withdraw(now) && budget.try_withdraw(now));
/// assert!(!budget.try_withdraw(now), "four requests allow two retries");
/// # Ok::<(), poise::tower::RetryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RetryBudget {
    /// Millionths of a token per request.
    ratio: u64,
    /// Retries per second that need no deposit.
    floor: u32,
    window: Window,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { ratio: TOKEN / 5, floor: 10, window: Window::default() }
    }
}

impl RetryBudget {
    /// Makes a budget with the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many retries a request allows.
    ///
    /// # Errors
    ///
    /// [`RetryError::Ratio`] when it is not a number from 0 to 1,000.
    pub fn with_ratio(self, ratio: f64) -> Result<Self, RetryError> {
        if !(0.0..=1000.0).contains(&ratio) {
            return Err(RetryError::Ratio);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the checked range"
        )]
        let ratio = (ratio * TOKEN as f64).round() as u64;
        Ok(Self { ratio, ..self })
    }

    /// Sets how many retries per second need no deposit.
    #[must_use]
    pub fn with_floor(self, per_second: u32) -> Self {
        Self { floor: per_second, ..self }
    }

    /// Counts requests.
    pub fn deposit(&mut self, requests: u64, now: Instant) {
        self.window.part_at(now).deposited += u128::from(requests) * u128::from(self.ratio);
    }

    /// Counts requests that came at an even rate since `since`; those that are older than the window no longer count.
    pub(crate) fn deposit_since(&mut self, requests: u64, since: Instant, now: Instant) {
        let elapsed = now.saturating_duration_since(since);
        let recent = if elapsed > Window::LENGTH {
            // The request that asks for a retry is one of them, and has only just ended.
            (u128::from(requests) * Window::LENGTH.as_nanos() / elapsed.as_nanos())
                .max(u128::from(requests.min(1)))
        } else {
            u128::from(requests)
        };
        self.deposit(u64::try_from(recent).unwrap_or(u64::MAX), now);
    }

    /// Takes the token for one retry, if there is one.
    #[must_use]
    pub fn try_withdraw(&mut self, now: Instant) -> bool {
        let reserve = u128::from(self.floor) * u128::from(TOKEN) * u128::from(Window::LENGTH.as_secs());
        self.window.part_at(now);
        let (deposited, withdrawn) = self.window.sums();
        if deposited + reserve < withdrawn + u128::from(TOKEN) {
            return false;
        }
        self.window.part_at(now).withdrawn += u128::from(TOKEN);
        true
    }
}

/// The last ten seconds, in ten parts.
#[derive(Clone, Debug, Default)]
struct Window {
    parts: [Part; PARTS],
    /// When the newest part began, and which one that is.
    newest: Option<(Instant, usize)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    deposited: u128,
    withdrawn: u128,
}

impl Window {
    const LENGTH: Duration = Duration::from_secs(10);
    const PART: Duration = Duration::from_secs(1);

    /// Returns the part that `now` falls in, forgetting those that are too old. A clock that went back stays in the newest.
    fn part_at(&mut self, now: Instant) -> &mut Part {
        let (mut began, mut at) = self.newest.unwrap_or((now, 0));
        let elapsed = now.saturating_duration_since(began);
        if elapsed >= Self::LENGTH {
            self.parts = [Part::default(); PARTS];
            began = now;
        } else {
            for _ in 0..elapsed.as_secs() {
                at = (at + 1) % PARTS;
                self.parts[at] = Part::default();
                began += Self::PART;
            }
        }
        self.newest = Some((began, at));
        &mut self.parts[at]
    }

    fn sums(&self) -> (u128, u128) {
        self.parts.iter().fold((0, 0), |(deposited, withdrawn), part| {
            (deposited + part.deposited, withdrawn + part.withdrawn)
        })
    }
}

/// Reports a setting out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryError {
    /// No attempt at all.
    NoAttempts,
    /// A ratio that is not a number from 0 to 1,000.
    Ratio,
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAttempts => "a request needs at least one attempt",
            Self::Ratio => "the ratio of a retry budget must be a number from 0 to 1000",
        })
    }
}

impl Error for RetryError {}
