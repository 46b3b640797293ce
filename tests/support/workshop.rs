//! A factory that does what a test says, over the scripts of a directory.

use std::fmt;
use std::sync::{Arc, Mutex};

use poise::core::InFlight;
use poise::tower::EndpointFactory;

use super::script::{Fake, Script};

/// What happens when the service of one member is made or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    Fails,
    Panics,
    /// It is made, and panics when it is dropped.
    PanicsWhenDropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CannotBuild(pub(crate) &'static str);

impl fmt::Display for CannotBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot build {}", self.0)
    }
}

impl std::error::Error for CannotBuild {}

#[derive(Clone, Debug, Default)]
pub(crate) struct Workshop(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    mishaps: Vec<(&'static str, Mishap)>,
    built: Vec<&'static str>,
}

impl Workshop {
    /// Has this happen to the member from now on, or nothing.
    pub(crate) fn tell(&self, name: &'static str, mishap: Option<Mishap>) {
        let mut state = self.0.lock().unwrap();
        state.mishaps.retain(|(of, _)| *of != name);
        state.mishaps.extend(mishap.map(|mishap| (name, mishap)));
    }

    /// Returns who was built since this was last asked, in order.
    pub(crate) fn built(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap().built)
    }

    fn mishap(&self, name: &str) -> Option<Mishap> {
        self.0.lock().unwrap().mishaps.iter().find(|(of, _)| *of == name).map(|(_, mishap)| *mishap)
    }
}

impl EndpointFactory<&'static str, Script> for Workshop {
    type Service = Built;
    type Tracker = InFlight;
    type Error = CannotBuild;

    fn build(&mut self, key: &&'static str, script: &Script) -> Result<(Built, InFlight), CannotBuild> {
        let mishap = self.mishap(key);
        match mishap {
            Some(Mishap::Fails) => return Err(CannotBuild(key)),
            Some(Mishap::Panics) => panic!("told to panic"),
            _ => {}
        }
        self.0.lock().unwrap().built.push(key);
        let service = Built { fake: script.service(), panics: mishap.is_some() };
        Ok((service, InFlight::new()))
    }
}

/// The service of a member.
#[derive(Debug)]
pub(crate) struct Built {
    fake: Fake,
    panics: bool,
}

impl Drop for Built {
    fn drop(&mut self) {
        assert!(!self.panics, "told to panic");
    }
}

impl tower_service::Service<u32> for Built {
    type Response = super::script::Answer<u32>;
    type Error = super::script::Refused;
    type Future = <Fake as tower_service::Service<u32>>::Future;

    fn poll_ready(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), super::script::Refused>> {
        tower_service::Service::<u32>::poll_ready(&mut self.fake, cx)
    }

    fn call(&mut self, request: u32) -> Self::Future {
        self.fake.call(request)
    }
}
