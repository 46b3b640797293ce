//! How to choose thresholds.
//!
//! Thresholds depend on the workload: three failures in a row are three minutes of an endpoint that gets a request a
//! minute, and a third of a millisecond of one that gets ten thousand a second. Six questions lead to them.
//!
//! 1. **How many requests does an endpoint get?** Take the rate of one endpoint, not of the pool, at the quietest hour in
//!    which it still has to work. A circuit sees nothing else: [`circuit`] turns rate and thresholds into times. Where the
//!    rate is too low for them to be short, probes find what traffic does not.
//! 2. **How long are the bursts of failures that mean nothing?** A deploy, a full accept queue, a packet lost. The failures
//!    in a row that open a circuit must be more than such a burst, and the time between false alarms long:
//!    [`Timing::detection`] at the *ordinary* share of failures is that time.
//! 3. **How often to probe, and how long to wait?** The timeout is longer than the slowest good answer of the probed path,
//!    and below the interval. Probes cost `members * callers / interval` requests a second: a hundred callers that
//!    probe twenty members every ten seconds send each of them ten a second.
//! 4. **How soon must a fault be found, and how soon forgiven?** [`active`] and [`circuit`] say. Both ends are yours: a
//!    long cooldown keeps a sick endpoint from being asked too often, and a well one out.
//! 5. **How many must stay?** With `n` members of which `x` are out, the others get `n / (n - x)` of their load. At a
//!    utilisation of `u` no more than `n * (1 - u)` can be missed, rounded down. That is what the caps of
//!    [`BudgetConfig`](super::BudgetConfig) are for: when more than that seem sick, the fault is elsewhere, and serving from
//!    the sick is better than breaking the well.
//! 6. **What do retries add?** At a share `p` of failures, up to `r` retries make `(1 - p^(r+1)) / (1 - p)` attempts of
//!    one request: 1.11 at a tenth and two retries, 3 when everything fails. The rate of question 1 grows by it, so
//!    circuits open the sooner; and so does the load of question 5, just when members are missing. A retry budget bounds
//!    both.
//!
//! # A worked example
//!
//! A pool of 20 endpoints serves 2,000 requests a second, at a utilisation of 0.7. An answer takes 50 ms, the slowest good
//! one 800 ms. One request in a hundred fails on an ordinary day. An endpoint that refuses all is to be left alone within a
//! second, one that hangs within half a minute, and both are to be back within a minute.
//!
//! - An endpoint gets 100 requests a second. Five failures in a row open the circuit after 0.1 s where all fail. By chance
//!   there are five in a row once in `10^10` requests, which take three years; three in a row would be a false alarm every
//!   three hours.
//! - A cooldown of 5 s that grows to 30 s brings an endpoint back within 30.11 s after it is well, however long it was
//!   away.
//! - What hangs fails no request until callers give up. A probe every 8 s that waits for 2 s at most, more than twice the
//!   slowest good answer, finds it after 26 s in the worst case, and finds it well after 18 s.
//! - Of 20 members at 0.7, six can be missed. Circuits may take out 30 %.
//! - One retry makes 1.01 attempts of a request on an ordinary day. While six members fail and are not out yet, it makes
//!   1.3, and the others have room for none of it: a retry budget of a tenth keeps that to 1.1 until the circuits open.
//!
//! ```
//! use poise::health::guide::{self, Traffic};
//! use poise::health::{ActiveHealthConfig, CircuitConfig};
//! use std::time::Duration;
//!
//! let second = Duration::from_secs(1);
//! let circuit = CircuitConfig::new(5, 5 * second)?.with_growth(30 * second)?;
//!
//! let ordinary = Traffic::new(100.0, 0.01)?.with_answer_time(Duration::from_millis(50));
//! let false_alarms = guide::circuit(&circuit, &ordinary).detection.ok_or("never")?;
//! assert!(false_alarms > 3 * 365 * 24 * 3_600 * second);
//!
//! let refusing = Traffic::new(100.0, 1.0)?.with_answer_time(Duration::from_millis(50));
//! let timing = guide::circuit(&circuit, &refusing);
//! assert_eq!(timing.detection, Some(Duration::from_millis(100)));
//! assert_eq!(timing.recovery, Some(30 * second + Duration::from_millis(110)));
//!
//! let probes = ActiveHealthConfig::default().with_interval(8 * second)?.with_timeout(2 * second)?;
//! let timing = guide::active(&probes);
//! assert_eq!(timing.detection, Some(26 * second));
//! assert_eq!(timing.recovery, Some(18 * second));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::{ActiveHealthConfig, CircuitConfig};

/// Says how long it takes until health notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// From the first moment of a fault until the endpoint is excluded; `None` is never.
    pub detection: Option<Duration>,
    /// From the first moment without a fault until the endpoint has its traffic back; `None` is never.
    pub recovery: Option<Duration>,
}

/// Describes the requests of one endpoint.
///
/// ```
/// use poise::health::guide::Traffic;
/// use std::time::Duration;
///
/// let traffic = Traffic::new(50.0, 0.2)?.with_answer_time(Duration::from_millis(20));
/// assert_eq!(traffic.rate(), 50.0);
/// # Ok::<(), poise::health::guide::TrafficError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    rate: f64,
    failures: f64,
    answer_time: Duration,
}

impl Traffic {
    /// Describes `rate` requests a second to the endpoint, of which the share `failures`, from 0 to 1, fails, each
    /// whatever happened to the one before; they are answered at once.
    ///
    /// # Errors
    ///
    /// [`InvalidRate`](TrafficError::InvalidRate) when the rate is negative or not finite,
    /// [`InvalidFailures`](TrafficError::InvalidFailures) when the share is not from 0 to 1.
    pub fn new(rate: f64, failures: f64) -> Result<Self, TrafficError> {
        if !(rate >= 0.0 && rate.is_finite()) {
            return Err(TrafficError::InvalidRate);
        }
        if !(0.0..=1.0).contains(&failures) {
            return Err(TrafficError::InvalidFailures);
        }
        Ok(Self { rate, failures, answer_time: Duration::ZERO })
    }

    /// Sets how long an answer takes, good or bad. For an endpoint that hangs this is how long callers wait for it.
    #[must_use]
    pub const fn with_answer_time(mut self, answer_time: Duration) -> Self {
        self.answer_time = answer_time;
        self
    }

    /// Returns the requests a second.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns the share of failures.
    #[must_use]
    pub const fn failures(&self) -> f64 {
        self.failures
    }

    /// Returns how long an answer takes.
    #[must_use]
    pub const fn answer_time(&self) -> Duration {
        self.answer_time
    }
}

/// Says what is wrong with a [`Traffic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrafficError {
    /// The rate is negative or not finite.
    InvalidRate,
    /// The share of failures is not from 0 to 1.
    InvalidFailures,
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InvalidRate => "the rate is not a finite number of requests a second",
            Self::InvalidFailures => "the share of failures is not a fraction from 0 to 1",
        })
    }
}

impl Error for TrafficError {}

/// Returns how long a circuit takes to open on such traffic, on average, and to close again, at most.
///
/// - *Detection*: until `k` failures in a row, each with probability `p`, it takes `1/p + 1/p^2 + … + 1/p^k` requests on
///   average (the mean of the first run of `k` successes; Feller, "An introduction to probability theory and its
///   applications", volume 1, XIII.7). They come at the rate, and the last one is answered after its time. With the
///   failures of a day without fault, this is the time between false alarms.
/// - *Recovery*: the fault ends just after a probe was sent, which fails after the time of an answer. Then there is the
///   longest cooldown that the configuration allows, and then the successes that close the circuit. Each of these is a
///   request, so it waits for one to come; as many as there are permits are answered together. It supposes that requests
///   come at even distances and that all succeed.
///
/// Neither counts that a budget may refuse a trip, nor that an overloaded endpoint may ask for more time.
///
/// # Complexity
///
/// Linear in the failures that open the circuit, at most.
#[must_use]
pub fn circuit(config: &CircuitConfig, traffic: &Traffic) -> Timing {
    let requests = mean_until_row(traffic.failures, config.failures());
    let answer = |answers: u32| traffic.answer_time.checked_mul(answers);
    let detection = time_for(requests, traffic.rate).and_then(|wait| wait.checked_add(answer(1)?));

    let successes = config.successes_to_close();
    let rounds = successes.div_ceil(config.half_open_permits()).saturating_add(1);
    let recovery = time_for(f64::from(successes), traffic.rate)
        .and_then(|wait| wait.checked_add(answer(rounds)?))
        .and_then(|wait| wait.checked_add(longest_cooldown(config)?));
    Timing { detection, recovery }
}

/// Returns how long probes take to find an endpoint unhealthy, and healthy again, at most.
///
/// A fault that begins just after a probe was answered has an interval until the next one. So both take
/// `interval * threshold + timeout`: the last probe that is needed is answered, or given up, within the timeout. This
/// supposes that a probe that times out counts as unhealthy, and that nobody else delays the start of a probe. On
/// average over the moments at which a fault may begin, it is half an interval less.
///
/// Without a timeout a probe that hangs never counts: what is given then is for one that takes up to an interval.
#[must_use]
pub fn active(config: &ActiveHealthConfig) -> Timing {
    let limit = config.timeout().unwrap_or(config.interval());
    let after = |probes: u32| config.interval().checked_mul(probes)?.checked_add(limit);
    Timing { detection: after(config.unhealthy_threshold()), recovery: after(config.healthy_threshold()) }
}

/// Returns how many requests there are, on average, until `row` failures in a row.
fn mean_until_row(failures: f64, row: u32) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for _ in 0..row {
        term /= failures;
        sum += term;
        if !f64::is_finite(sum) {
            break;
        }
    }
    sum
}

/// Returns the time in which so many requests come; never is `None`.
fn time_for(requests: f64, rate: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(requests / rate).ok()
}

fn longest_cooldown(config: &CircuitConfig) -> Option<Duration> {
    match config.growth() {
        Some(longest) if longest == Duration::MAX => None,
        Some(longest) => Some(longest),
        None => {
            let reach =
                Duration::try_from_secs_f64(config.open_for().as_secs_f64() * config.jitter()).ok()?;
            config.open_for().checked_add(reach)
        }
    }
}
