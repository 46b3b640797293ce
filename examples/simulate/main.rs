//! Shows what policies do, simulated: a table for each scenario, and with `--svg` a picture in `examples/plots/`.
//!
//! ```text
//! cargo run --release --example simulate --features full -- all
//! cargo run --release --example simulate --features full -- ramp hedging --svg
//! ```
//!
//! Policies, loads, circuits and budgets are those of the crate; clients, the network and servers are simulated. The same
//! command prints the same on every machine. Latencies are those of requests that were answered.

mod output;
mod parallel;
mod plot;
#[path = "../../tests/support/scenes/mod.rs"]
mod scenes;
#[path = "../../tests/support/sim/mod.rs"]
mod sim;
mod tables;

use std::error::Error;
use std::path::Path;

use output::Output;

/// A scenario: its name, what it shows, and how it is run.
type Entry = (&'static str, &'static str, fn() -> Output);

const ENTRIES: [Entry; 14] = [
    ("linkerd", "one of eleven servers becomes slow", tables::faults::linkerd),
    ("ramp", "load from 0.75 to 1.74 of the allocation, with antagonists", tables::prequal::ramp),
    ("rules", "half of the servers twice as slow, at 70 and 90 % load", tables::prequal::rules),
    ("probes", "how many probes Prequal needs", tables::prequal::probes),
    ("quantiles", "requests in flight against latency, by Prequal's quantile", tables::prequal::quantiles),
    ("sinkhole", "a server that fails at once", tables::faults::sinkhole),
    ("hung", "a server that stops answering, with and without timeouts of callers", tables::faults::hung),
    ("newcomer", "a server that joins, warm and cold", tables::changes::newcomer),
    ("restart", "servers restarted in turn, announced or not", tables::changes::restart),
    ("storm", "retries that keep an overload alive, with and without a budget", tables::retries::storm),
    ("hedging", "a hundred answers at once from servers that are seldom slow", tables::retries::hedging),
    ("subsets", "how evenly subsets spread, and what a change moves", tables::theory::subsets),
    ("supermarket", "time in the system against theory", tables::theory::supermarket),
    ("balls", "a million balls in a million bins", tables::theory::balls),
];

fn main() -> Result<(), Box<dyn Error>> {
    let (options, names): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let svg = options.iter().any(|option| option == "--svg");
    let known = |name: &String| name == "all" || ENTRIES.iter().any(|(entry, ..)| entry == name);
    if names.is_empty() || !names.iter().all(known) || options.len() > usize::from(svg) {
        println!("usage: simulate [--svg] all | SCENARIO...\n");
        for (name, what, _) in ENTRIES {
            println!("  {name:12} {what}");
        }
        return Ok(());
    }
    let plots = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plots");
    for (name, what, run) in
        ENTRIES.iter().filter(|(name, ..)| names.iter().any(|of| of == name || of == "all"))
    {
        let output = run();
        println!("# {name}: {what}\n\n{output}");
        if svg {
            for chart in &output.charts {
                chart.draw(&plots)?;
            }
        }
    }
    Ok(())
}
