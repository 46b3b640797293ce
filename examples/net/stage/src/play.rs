//! A play from its start to its verdict.

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use poise::tower::BoxError;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep};

use crate::Tally;

/// How long a play may take.
const LIMIT: Duration = Duration::from_secs(120);
/// How long something may take that is to come.
const PATIENCE: Duration = Duration::from_secs(15);
/// One request of so many may fail.
const ONE_FAILURE_IN: u64 = 1_000;

/// Runs a play to its end and judges it; its last line is `requests=N failed=M`.
pub async fn play(script: impl Future<Output = Result<Tally, BoxError>>) -> ExitCode {
    judge(script, |Tally { requests, failed }| failed * ONE_FAILURE_IN <= requests).await
}

/// As [`play`], and no request at all may fail.
pub async fn play_flawlessly(script: impl Future<Output = Result<Tally, BoxError>>) -> ExitCode {
    judge(script, |Tally { failed, .. }| failed == 0).await
}

async fn judge(
    script: impl Future<Output = Result<Tally, BoxError>>,
    is_well: impl Fn(Tally) -> bool,
) -> ExitCode {
    let ended = tokio::select! {
        played = script => played,
        () = sleep(LIMIT) => Err(format!("the play took longer than {LIMIT:?}").into()),
        signal = terminated() => Err(signal),
    };
    match ended {
        Ok(tally) => {
            println!("{tally}");
            if tally.requests > 0 && is_well(tally) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("not well: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for a signal to end, so that what was started is ended too.
async fn terminated() -> BoxError {
    let (mut interrupt, mut terminate) =
        match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
            (Ok(interrupt), Ok(terminate)) => (interrupt, terminate),
            (Err(error), _) | (_, Err(error)) => return error.into(),
        };
    tokio::select! {
        _ = interrupt.recv() => "interrupted".into(),
        _ = terminate.recv() => "terminated".into(),
    }
}

/// Waits until something holds.
///
/// # Errors
///
/// It does not come.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), BoxError> {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        if Instant::now() > until {
            return Err(format!("within {PATIENCE:?} it did not come to this: {what}").into());
        }
        sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
