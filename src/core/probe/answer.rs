//! What a server says of itself.

use std::error::Error;
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::Duration;

/// Failures in a row beyond this number change nothing more.
const MOST_FAILURES: u32 = 10;

/// Holds what a server answers to a probe: its requests in flight, and how long requests take at about that number.
///
/// As text it is `rif=3 latency_us=1250 failures=0`, which fits into a header of a response.
///
/// # Examples
///
/// ```
/// use poise::core::ProbeAnswer;
/// use std::time::Duration;
///
/// let answer = ProbeAnswer::new(3, Duration::from_micros(1_250));
/// assert_eq!(answer.to_string(), "rif=3 latency_us=1250 failures=0");
/// assert_eq!(answer.to_string().parse(), Ok(answer));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProbeAnswer {
    rif: u32,
    latency: Duration,
    failures: u32,
}

impl ProbeAnswer {
    /// Makes the answer of a server with `rif` requests in flight, which take about `latency`.
    #[must_use]
    pub const fn new(rif: u32, latency: Duration) -> Self {
        Self { rif, latency, failures: 0 }
    }

    /// Adds how many requests failed in a row, as the server or the client counts them; of several counts the highest one
    /// stays.
    ///
    /// A server that fails at once has nothing in flight and is quick. Each failure, up to ten, doubles both what it has in
    /// flight, counting the request that is to come, and how long that takes, so that failures do not look idle.
    #[must_use]
    pub const fn with_failures(mut self, failures: u32) -> Self {
        if failures > self.failures {
            self.failures = failures;
        }
        self
    }

    /// Returns the requests in flight.
    #[must_use]
    pub const fn rif(self) -> u32 {
        self.rif
    }

    /// Returns how long requests take at about that number.
    #[must_use]
    pub const fn latency(self) -> Duration {
        self.latency
    }

    /// Returns how many requests failed in a row.
    #[must_use]
    pub const fn failures(self) -> u32 {
        self.failures
    }

    /// Returns the requests in flight with the penalty for failures: `(rif + 1) * 2^failures - 1`.
    pub(super) fn penalised_rif(self) -> u64 {
        ((u64::from(self.rif) + 1) << self.failures.min(MOST_FAILURES)) - 1
    }

    /// Returns the latency in nanoseconds with the penalty for failures: `latency * 2^failures`.
    pub(super) fn penalised_latency(self) -> u64 {
        let nanos = self.latency.as_nanos() << self.failures.min(MOST_FAILURES);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for ProbeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rif={} latency_us={} failures={}", self.rif, self.latency.as_micros(), self.failures)
    }
}

/// Reads what [`Display`](fmt::Display) writes; fields that it does not know are for later versions and skipped.
impl FromStr for ProbeAnswer {
    type Err = ParseProbeAnswerError;

    fn from_str(text: &str) -> Result<Self, ParseProbeAnswerError> {
        let (mut rif, mut latency, mut failures) = (None, None, 0);
        for field in text.split_ascii_whitespace() {
            let (name, value) = field.split_once('=').ok_or(ParseProbeAnswerError::NoValue)?;
            match name {
                "rif" => rif = Some(value.parse()?),
                "latency_us" => latency = Some(Duration::from_micros(value.parse()?)),
                "failures" => failures = value.parse()?,
                _ => {}
            }
        }
        let (Some(rif), Some(latency)) = (rif, latency) else {
            return Err(ParseProbeAnswerError::Incomplete);
        };
        Ok(Self { rif, latency, failures })
    }
}

/// Says why a text is no [`ProbeAnswer`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseProbeAnswerError {
    /// A field has no value.
    NoValue,
    /// A value is no whole number, or too large.
    Number(ParseIntError),
    /// The requests in flight or the latency are missing.
    Incomplete,
}

impl From<ParseIntError> for ParseProbeAnswerError {
    fn from(error: ParseIntError) -> Self {
        Self::Number(error)
    }
}

impl fmt::Display for ParseProbeAnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoValue => "a field of the answer to a probe has no value",
            Self::Number(_) => "a value in the answer to a probe is no whole number in range",
            Self::Incomplete => "the answer to a probe lacks `rif` or `latency_us`",
        })
    }
}

impl Error for ParseProbeAnswerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Number(error) => Some(error),
            Self::NoValue | Self::Incomplete => None,
        }
    }
}
