//! What is known without a simulation.

use std::time::Duration;

use poise::core::policy::{PowerOfTwoChoices, Random};
use poise::core::{Backend, InFlight, PeakEwma, Policy};
use poise::discovery::subset::{Contender, LotSubset, RendezvousSubset, Subset};

use super::SEED;
use crate::output::{Output, Table, percent};
use crate::parallel;
use crate::plot::Chart;
use crate::scenes::{balls as bins, supermarket as queues};
use crate::sim::{Setup, Stack};

type Queue = Backend<usize, (), InFlight>;

/// Mean times of the supermarket model.
pub(crate) fn supermarket() -> Output {
    let loads = [0.5, 0.7, 0.9, 0.95];
    let runs: Vec<_> = loads.iter().flat_map(|load| (1..=3).map(|choices| (*load, choices))).collect();
    let means = parallel::map(&runs, |(load, choices): &(f64, u32)| {
        let (warm_up, units) =
            if *choices == 1 { (10.0 / (1.0 - load).powi(2), 1_500.0) } else { (200.0, 1_000.0) };
        let policy: Box<dyn Policy<Queue, u64>> = match choices {
            1 => Box::new(Random::seeded(SEED)),
            _ => Box::new(PowerOfTwoChoices::seeded(SEED).choices(*choices as usize)),
        };
        queues::scenario(SEED, *load, warm_up.min(1_000.0), units).run(&policy, |_| InFlight::new()).mean()
    });
    let heading =
        format!("{} servers with one worker each, mean time in multiples of the work", queues::SERVERS);
    let mut table = Table::new(heading, &["load", "choices", "simulated", "theory", "off by"]);
    let mut lines: Vec<_> = (1..=3).map(|choices| (format!("{choices} choices"), Vec::new())).collect();
    for ((load, choices), mean) in runs.iter().zip(&means) {
        let theory = queues::theory(*load, *choices);
        table.row(vec![
            format!("{load}"),
            choices.to_string(),
            format!("{mean:.3}"),
            format!("{theory:.3}"),
            percent(mean / theory - 1.0),
        ]);
        lines[*choices as usize - 1].1.push((*load, *mean));
    }
    table.note("One choice at 0.95 varies by some percent in this time: a queue remembers for 1,600 multiples of its work.");
    let by_default = parallel::map(&loads, |load| {
        let scenario = queues::scenario(SEED, *load, 100.0, 300.0).sample_every(Duration::from_secs(10));
        Stack::Default.run(&scenario, &Setup::new(SEED))
    });
    for (load, report) in loads.iter().zip(&by_default) {
        let mean = report.mean();
        let theory = queues::theory(*load, 2);
        let off = percent(mean / theory - 1.0);
        let cells = [
            format!("{load}"),
            String::from("default stack"),
            format!("{mean:.3}"),
            format!("{theory:.3}"),
            off,
        ];
        table.row(cells.to_vec());
    }
    table.note("The default stack compares latency times count, which here only adds noise to the count.");
    let chart = Chart {
        name: "supermarket",
        title: String::from("mean time in the system by load and choices"),
        x: "load",
        y: "multiples of the work",
        logarithmic: true,
        lines,
    };
    Output { tables: vec![table], charts: vec![chart] }
}

/// Balls in bins.
pub(crate) fn balls() -> Output {
    let columns = ["bins", "one choice", "two", "three", "default stack"];
    let mut table = Table::new("as many balls as bins: the fullest bin", &columns);
    for count in [1_000, 10_000, 100_000, 1_000_000] {
        let mut fullest =
            parallel::map(&[1, 2, 3], |choices| bins::fullest(count, *choices, SEED, |_| InFlight::new()));
        fullest.push(bins::fullest(count, 2, SEED, PeakEwma::new_at));
        let mut cells = vec![count.to_string()];
        cells.extend(fullest.iter().map(u32::to_string));
        table.row(cells);
    }
    table.note("The default stack is two choices here: nothing is answered, so all latencies are the same.");
    Output { tables: vec![table], charts: Vec::new() }
}

/// Connections of each member, and how many a change of one member moves.
pub(crate) fn subsets() -> Output {
    const CLIENTS: u64 = 300;
    const SIZE: usize = 20;
    let members = |count: u32| (0..count).map(|key| Contender::new(&key)).collect::<Vec<_>>();
    let mut table = Table::new(
        format!("{CLIENTS} clients with subsets of {SIZE} members"),
        &["scheme", "members", "fewest", "mean", "most", "moved when one goes"],
    );
    for count in [100, 300, 1_000] {
        let rendezvous =
            |client: u64| RendezvousSubset::new(&client, SIZE).expect("not empty").choose(&members(count));
        let lots = |client| LotSubset::new(client, SIZE).expect("not empty").choose(&members(count));
        let rendezvous_after = |client: u64| {
            RendezvousSubset::new(&client, SIZE).expect("not empty").choose(&members(count - 1))
        };
        let lots_after =
            |client| LotSubset::new(client, SIZE).expect("not empty").choose(&members(count - 1));
        let mut row = |name: &str, before: &dyn Fn(u64) -> Vec<usize>, after: &dyn Fn(u64) -> Vec<usize>| {
            let mut connections = vec![0_u32; count as usize];
            let mut moved = 0;
            for client in 0..CLIENTS {
                let (old, new) = (before(client), after(client));
                for member in &old {
                    connections[*member] += 1;
                }
                moved += new.iter().filter(|member| !old.contains(member)).count();
            }
            connections.sort_unstable();
            let mean = CLIENTS as f64 * SIZE as f64 / f64::from(count);
            let all = CLIENTS as f64 * SIZE as f64;
            table.row(vec![
                name.to_owned(),
                count.to_string(),
                connections[0].to_string(),
                format!("{mean:.1}"),
                connections[connections.len() - 1].to_string(),
                percent(moved as f64 / all),
            ]);
        };
        row("rendezvous", &rendezvous, &rendezvous_after);
        row("lots", &lots, &lots_after);
    }
    table.note("A subset decides whom a client knows, before any policy: the default stack picks within it.");
    Output { tables: vec![table], charts: Vec::new() }
}
