//! Asking again when an answer has had its time, and not before.

use std::future::{Future, pending};
use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::net::NetError;
use poise::discovery::{EmptyAnswer, SourcePolicy};
use poise::tokio::{Refresh, RefreshHint, Refreshed};
use poise::tower::BoxError;
use stage::Endpoint;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::resolve::Answer;

/// How long an answer holds at most, whatever it says.
const LONGEST: Duration = Duration::from_secs(30);
/// How long an answer holds at least, also when it says that it must not be kept.
const SHORTEST: Duration = Duration::from_millis(500);
/// The pauses while the name server does not answer.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// For how long nobody believes that there is nobody.
const GRACE: Duration = Duration::from_secs(30);
/// How long who has left the zone still finishes what it has.
const DRAIN: Duration = Duration::from_secs(2);

pub(crate) type Members = Refreshed<SocketAddr, Endpoint, NetError>;

/// Keeps a membership as the name server says.
///
/// Each answer tells by when the next one is wanted, and a hint asks for it then; errors and empty answers are the business of
/// [`Refresh`] and its policy.
pub(crate) fn keep<A>(mut resolve: impl FnMut() -> A + Send + 'static) -> Result<Members, BoxError>
where
    A: Future<Output = Result<Answer, NetError>> + Send + 'static,
{
    let policy = SourcePolicy::default().with_empty_answer(EmptyAnswer::KeepFor(GRACE)).with_drain(DRAIN);
    let refresh = Refresh::every(LONGEST)?
        .with_backoff(BACKOFF.0, BACKOFF.1)?
        .with_hint_spacing(SHORTEST)
        .with_policy(policy);

    let (valid_until, answered) = watch::channel(None);
    let source = move || {
        let (answer, valid_until) = (resolve(), valid_until.clone());
        async move {
            let Answer { set, valid_for } = answer.await?;
            valid_until.send_replace(Some(Instant::now() + valid_for));
            Ok(set)
        }
    };
    let members = refresh.spawn(source, Endpoint::is_same_endpoint)?;

    tokio::spawn(pace(members.hint(), answered));
    Ok(members)
}

/// Hints when the newest answer has had its time, until the source is gone.
async fn pace(hint: RefreshHint, mut answered: watch::Receiver<Option<Instant>>) {
    let mut valid_until = None;
    loop {
        let over = async {
            match valid_until {
                Some(instant) => sleep_until(instant).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = over => {
                hint.hint();
                valid_until = None;
            }
            changed = answered.changed() => match changed {
                Ok(()) => valid_until = *answered.borrow_and_update(),
                Err(_) => return,
            },
        }
    }
}
