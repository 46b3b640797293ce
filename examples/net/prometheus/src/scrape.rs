//! What Prometheus would read: the samples of the metrics of poise, and what is said about them.

use std::collections::BTreeSet;
use std::fmt;

use poise::tower::BoxError;
use reqwest::{Client, Url};

/// One answer of the exporter.
#[derive(Debug)]
pub(crate) struct Scrape {
    /// The lines that are about poise, as they came.
    lines: Vec<String>,
    samples: Vec<Sample>,
}

/// One series with its value.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    value: String,
}

impl Scrape {
    pub(crate) async fn get(client: &Client, url: Url) -> Result<Self, BoxError> {
        let text = client.get(url).send().await?.error_for_status()?.text().await?;
        let lines: Vec<String> = text.lines().filter(|line| is_of_poise(line)).map(Into::into).collect();
        let samples = lines.iter().filter(|line| !line.starts_with('#'));
        let samples = samples.map(|line| Sample::parse(line).ok_or_else(|| format!("what is this? {line}")));
        let samples = samples.collect::<Result<_, _>>()?;
        Ok(Self { lines, samples })
    }

    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Returns the names of the metrics, with those that a histogram is made of.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.samples.iter().map(|sample| &*sample.name).collect()
    }

    /// Counts over all series of a metric that have these labels among theirs.
    ///
    /// There is one at least, and none has a value that is no whole number.
    pub(crate) fn count(&self, name: &str, labels: &[(&str, &str)]) -> Result<u64, BoxError> {
        let with = |sample: &&Sample| sample.name == name && labels.iter().all(|label| sample.has(*label));
        let values = self.samples.iter().filter(with).map(|sample| sample.value.parse::<u64>());
        let values = values.collect::<Result<Vec<_>, _>>().map_err(|error| format!("{name}: {error}"))?;
        if values.is_empty() {
            return Err(format!("there is no {name} with {labels:?}").into());
        }
        Ok(values.into_iter().sum())
    }
}

/// The lines about poise, as they came.
impl fmt::Display for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Sample {
    /// Parses `name{label="value",...} number`, in which no value needs a character that is escaped.
    fn parse(line: &str) -> Option<Self> {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.strip_suffix('}')?;
        let labels = labels.split(',').filter(|label| !label.is_empty()).map(|label| {
            let (label, value) = label.split_once('=')?;
            Some((label.into(), value.strip_prefix('"')?.strip_suffix('"')?.into()))
        });
        Some(Self { name: name.into(), labels: labels.collect::<Option<_>>()?, value: value.into() })
    }

    fn has(&self, (label, value): (&str, &str)) -> bool {
        self.labels.iter().any(|(name, is)| name == label && is == value)
    }
}

fn is_of_poise(line: &str) -> bool {
    let described = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE "));
    described.unwrap_or(line).starts_with("poise_")
}
