//! What the file says.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU32;

use poise::core::{Backend, Status};
use poise::discovery::FullSet;
use stage::Endpoint;

/// Reads members, one on each line: `NAME ADDRESS [weight=N] [draining]`. Empty lines say nothing, nor does what follows a `#`.
///
/// All of it is taken, or none: one bad line is a sign that the others may be wrong too. So is a last line without an end, as
/// whoever writes it may not have finished.
pub(crate) fn parse(text: &str) -> Result<FullSet<String, Endpoint>, BadMembers> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err(BadMembers { line: text.lines().count(), why: Why::Unfinished });
    }
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default()).enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| member(line).map_err(|why| BadMembers { line: number + 1, why })).collect()
}

fn member(line: &str) -> Result<(String, Endpoint), Why> {
    let mut words = line.split_whitespace();
    let (name, address) = words.next().zip(words.next()).ok_or(Why::NoAddress)?;
    let address: SocketAddr = address.parse().map_err(|_| Why::Address(address.into()))?;
    let endpoint = words.try_fold(Backend::new(address), |endpoint, word| {
        let weight = word.strip_prefix("weight=").and_then(|weight| weight.parse::<NonZeroU32>().ok());
        match (word, weight) {
            (_, Some(weight)) => Ok(endpoint.with_weight(weight.into())),
            ("draining", None) => Ok(endpoint.with_status(Status::Draining)),
            _ => Err(Why::Word(word.into())),
        }
    })?;
    Ok((name.into(), endpoint))
}

/// Says which line is bad, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadMembers {
    line: usize,
    why: Why,
}

#[derive(Debug, PartialEq, Eq)]
enum Why {
    NoAddress,
    Address(String),
    Word(String),
    Unfinished,
}

impl fmt::Display for BadMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.why {
            Why::NoAddress => f.write_str("no address"),
            Why::Address(address) => write!(f, "{address} is no address with a port"),
            Why::Word(word) => write!(f, "{word} is neither a weight of at least 1 nor \"draining\""),
            Why::Unfinished => f.write_str("it does not end, so it may not be whole"),
        }
    }
}

impl Error for BadMembers {}

#[cfg(test)]
mod tests {
    use poise::core::Weight;

    use super::*;

    fn at(address: &str) -> Endpoint {
        Backend::new(address.parse().unwrap())
    }

    #[test]
    fn every_line_is_a_member_with_what_is_said_of_it() {
        let text = "# the fleet\na 10.0.0.1:80\n\n  b [::1]:81  weight=3 draining # soon gone\n";
        let b = at("[::1]:81").with_weight(Weight::new(3).unwrap()).with_status(Status::Draining);
        let expected = [("a", at("10.0.0.1:80")), ("b", b)].map(|(name, server)| (name.to_string(), server));
        assert_eq!(parse(text), Ok(expected.into_iter().collect()));
    }

    #[test]
    fn nothing_is_the_set_of_nobody() {
        for text in ["", "\n", "# nobody\n"] {
            assert_eq!(parse(text), Ok(FullSet::empty()), "{text:?}");
        }
    }

    #[test]
    fn one_bad_line_is_named_and_spoils_the_whole() {
        for (text, error) in [
            ("a 10.0.0.1:80\nb\n", "line 2: no address"),
            ("a 10.0.0.1\n", "line 1: 10.0.0.1 is no address with a port"),
            (
                "a 10.0.0.1:80 weight=0\n",
                "line 1: weight=0 is neither a weight of at least 1 nor \"draining\"",
            ),
            ("\na 10.0.0.1:80 drain\n", "line 2: drain is neither a weight of at least 1 nor \"draining\""),
            ("a 10.0.0.1:80\nb 10.0.0.2:8", "line 2: it does not end, so it may not be whole"),
        ] {
            assert_eq!(parse(text).map_err(|bad| bad.to_string()), Err(error.into()), "{text:?}");
        }
    }
}
