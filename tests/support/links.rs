//! Attempts to connect that go as a test says.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poise::discovery::Discovered;
use poise::tower::BoxError;
use tokio::time::{Instant, sleep};

use super::script::{Fake, Script};

/// How an attempt to connect goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// It is there after this time.
    Up(Duration),
    Refused,
    /// Nobody answers.
    Dead,
    Panics,
}

/// Directs the attempts to connect to the members of a test, and counts them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    links: HashMap<&'static str, Link>,
    begun: Vec<(&'static str, Instant)>,
    live: usize,
    most: usize,
}

type Attempt = Pin<Box<dyn Future<Output = Result<Fake, BoxError>> + Send>>;

impl Links {
    pub(crate) fn set(&self, name: &'static str, link: Link) {
        self.0.lock().unwrap().links.insert(name, link);
    }

    /// Returns when attempts at this member began.
    pub(crate) fn begun(&self, name: &str) -> Vec<Instant> {
        let state = self.0.lock().unwrap();
        state.begun.iter().filter(|(of, _)| *of == name).map(|(_, at)| *at).collect()
    }

    /// Counts the attempts that are under way.
    pub(crate) fn live(&self) -> usize {
        self.0.lock().unwrap().live
    }

    /// Returns how many attempts were under way at the same time, at most.
    pub(crate) fn most(&self) -> usize {
        self.0.lock().unwrap().most
    }

    /// Connects to the member, who is there at once unless something else was said.
    pub(crate) fn connect(
        &self,
    ) -> impl FnMut(Discovered<&'static str, Script>) -> Attempt + Send + 'static + use<> {
        let links = self.clone();
        move |member| {
            let name = *member.key();
            let script: Script = (**member.backend()).clone();
            let (link, guard) = links.begin(name);
            Box::pin(async move {
                let _guard = guard;
                match link {
                    Link::Up(Duration::ZERO) => {}
                    Link::Up(after) => sleep(after).await,
                    Link::Refused => return Err("refused".into()),
                    Link::Dead => pending().await,
                    Link::Panics => panic!("told to panic"),
                }
                Ok(script.service())
            })
        }
    }

    fn begin(&self, name: &'static str) -> (Link, Live) {
        let mut state = self.0.lock().unwrap();
        state.begun.push((name, Instant::now()));
        state.live += 1;
        state.most = state.most.max(state.live);
        let link = state.links.get(name).copied().unwrap_or(Link::Up(Duration::ZERO));
        (link, Live(self.clone()))
    }
}

/// Counts an attempt as under way.
struct Live(Links);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().live -= 1;
    }
}
