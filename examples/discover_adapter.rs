//! Members from a stream of `tower::discover::Change`, as tower's own balancers take it.
//!
//! The stream reconnects by itself: after an error it announces everybody anew. One closure makes an endpoint of whatever it
//! carries; whoever stays keeps the allocation, and with it the connections, load and health, across the break.
//!
//! ```text
//! cargo run --example discover_adapter --features full
//! ```

use std::error::Error;
use std::hash::Hash;
use std::io;
use std::mem;
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt};
use poise::core::{Attributes, Backend, Candidate};
use poise::discovery::{Change, Directory, Intake, Snapshot, SourcePolicy, Update, drive};
use poise::tokio::{TokioTimer, next_snapshot};
use tokio::time::sleep;
use tower::discover::Change as Announced;

type Endpoint = Backend<&'static str>;
type Announcement = Result<Announced<&'static str, &'static str>, io::Error>;

/// How many announcements become one revision at most.
const BATCH: usize = 64;

/// Turns announcements into updates. What is there at once when a connection is new is the full set, and all later ones
/// are changes of it.
fn adapt<K, A, B, E>(
    announcements: impl Stream<Item = Result<Announced<K, A>, E>>,
    endpoint: impl Fn(&K, A) -> B,
) -> impl Stream<Item = Result<Update<K, B>, E>>
where
    K: Eq + Hash,
    B: Candidate,
{
    let mut connection_is_new = true;
    announcements.ready_chunks(BATCH).flat_map(move |chunk| {
        let (mut answers, mut batch) = (Vec::new(), Vec::new());
        for announced in chunk {
            match announced {
                Ok(Announced::Insert(key, announced)) => {
                    let backend = endpoint(&key, announced);
                    batch.push(Change::upsert(key, backend));
                }
                Ok(Announced::Remove(key)) => batch.push(Change::Remove { key }),
                Err(error) => {
                    answers.extend(take(&mut batch, &mut connection_is_new));
                    answers.push(Err(error));
                    connection_is_new = true;
                }
            }
        }
        answers.extend(take(&mut batch, &mut connection_is_new));
        stream::iter(answers)
    })
}

/// Empties a batch into one update, if there is anything in it.
fn take<K: Eq, B, E>(
    batch: &mut Vec<Change<K, B>>,
    connection_is_new: &mut bool,
) -> Option<Result<Update<K, B>, E>> {
    if batch.is_empty() {
        return None;
    }
    let batch = mem::take(batch);
    let update = if mem::take(connection_is_new) { full(batch) } else { Update::Changes(batch) };
    Some(Ok(update))
}

/// Makes the full set that announcements leave of nobody.
fn full<K: Eq, B>(batch: Vec<Change<K, B>>) -> Update<K, B> {
    let mut set: Vec<(K, B, Attributes)> = Vec::new();
    for change in batch {
        set.retain(|(key, ..)| key != change.key());
        if let Change::Upsert { key, backend, attributes } = change {
            set.push((key, backend, attributes));
        }
    }
    Update::full(set)
}

/// What a control plane announces, with the seconds before it.
fn announcements() -> impl Stream<Item = Announcement> {
    let script = [
        (0, Ok(Announced::Insert("a", "10.0.0.1:80"))),
        (0, Ok(Announced::Insert("b", "10.0.0.2:80"))),
        (1, Ok(Announced::Insert("c", "10.0.0.3:80"))),
        (1, Ok(Announced::Remove("a"))),
        (1, Err(io::Error::other("the connection was reset"))),
        (1, Ok(Announced::Insert("d", "10.0.0.4:80"))),
        (0, Ok(Announced::Insert("b", "10.0.0.2:80"))),
    ];
    stream::iter(script).then(async |(seconds, announced)| {
        if seconds > 0 {
            sleep(Duration::from_secs(seconds)).await;
        }
        announced
    })
}

fn describe(snapshot: &Snapshot<&'static str, Endpoint>) -> String {
    let members = snapshot.iter().map(|member| {
        format!("{} ({}) {}", member.key(), member.backend().id(), member.attributes().status())
    });
    members.collect::<Vec<_>>().join(", ")
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = Directory::new();
    let mut changes = directory.reader().changes();
    let policy = SourcePolicy::default().with_drain(Duration::from_secs(10));
    let intake = Intake::new(directory, policy, Endpoint::is_same_endpoint);
    let status = intake.status();

    let updates = adapt(announcements(), |_key, address| Backend::new(address));
    // It goes silent after its last word, as a connection does on which nothing happens.
    let driver = tokio::spawn(drive(intake, updates.chain(stream::pending()), TokioTimer));

    let mut first_b = None;
    while let Ok(Some(snapshot)) =
        tokio::time::timeout(Duration::from_secs(60), next_snapshot(&mut changes)).await
    {
        println!("revision {}: {}", snapshot.revision(), describe(&snapshot));
        if let Some(b) = snapshot.get(&"b") {
            let first = first_b.get_or_insert_with(|| b.clone());
            assert!(b.same_generation(first), "b was announced twice, and never rebuilt");
        }
    }
    println!("{}; last error: {:?}", status.report(), status.report().last_error().map(ToString::to_string));
    driver.abort();
    Ok(())
}
