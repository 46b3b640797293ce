//! A directory whose backends are scripts.

use std::time::Duration;

use poise::core::policy::PowerOfTwoChoices;
use poise::core::{Attributes, PeakEwma, Status};
use poise::discovery::{Change, Directory};
use poise::health::CircuitConfig;
use poise::tower::{Balancer, Builder, NoContext};

use super::script::{Fake, Script};

pub(crate) type Fleet = Directory<&'static str, Script>;

/// Makes a directory of one script for each name.
pub(crate) fn fleet<const N: usize>(names: [&'static str; N]) -> (Fleet, [Script; N]) {
    let scripts = names.map(Script::new);
    let mut directory = Directory::new();
    directory.apply(names.into_iter().zip(&scripts).map(|(name, script)| upsert(name, script))).unwrap();
    (directory, scripts)
}

pub(crate) fn upsert(name: &'static str, script: &Script) -> Change<&'static str, Script> {
    Change::Upsert { key: name, backend: script.clone(), attributes: Attributes::default() }
}

/// Adds a member whose services follow `script`.
pub(crate) fn add(directory: &mut Fleet, name: &'static str, script: &Script) {
    directory.apply([upsert(name, script)]).unwrap();
}

/// Starts to configure a balancer over what `directory` holds.
pub(crate) fn over<R: Send + 'static>(
    directory: &Fleet,
) -> Builder<&'static str, Script, Fake, R, PeakEwma, PowerOfTwoChoices, NoContext> {
    Balancer::builder().discover(directory.reader(), |_, script: &Script| script.service())
}

pub(crate) fn set_status(directory: &mut Fleet, name: &'static str, status: Status) {
    directory.amend(&name, Attributes::default().with_status(status)).unwrap();
}

/// Makes a circuit that opens after `failures` in a row, for exactly `open_for`.
pub(crate) fn circuit(failures: u32, open_for: Duration) -> CircuitConfig {
    CircuitConfig::new(failures, open_for).unwrap()
}

/// Removes a member at once, without a drain.
pub(crate) fn remove(directory: &mut Fleet, name: &'static str) {
    directory.remove(&name).unwrap();
    directory.finish_drain(&name).unwrap();
}
