//! Whom a request is to pass over.

use std::sync::{Arc, Weak};

use super::admission::{Lease, Obstacle};
use super::dispatch::Dispatch;
use super::endpoint::Endpoint;
use crate::core::LoadTracker;

/// The endpoints that a request has tried, and those that it is told to avoid.
///
/// It keeps nobody alive: an endpoint that has left gives up its service although somebody remembers to have tried it.
///
/// Most requests have neither, and move one word.
pub(super) struct Tried<S, R, L: LoadTracker>(Option<Box<Passed<S, R, L>>>);

struct Passed<S, R, L: LoadTracker> {
    endpoints: Vec<Weak<Endpoint<S, R, L>>>,
    avoided: Box<[Box<str>]>,
}

impl<S, R, L: LoadTracker> Tried<S, R, L> {
    pub(super) const fn none() -> Self {
        Self(None)
    }

    pub(super) fn avoiding<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        let avoided = names.into_iter().map(|name| name.as_ref().into()).collect();
        Self(Some(Box::new(Passed { endpoints: Vec::new(), avoided })))
    }

    pub(super) fn push(&mut self, endpoint: &Arc<Endpoint<S, R, L>>) {
        let none = || Box::new(Passed { endpoints: Vec::new(), avoided: Box::default() });
        self.0.get_or_insert_with(none).endpoints.push(Arc::downgrade(endpoint));
    }

    pub(super) fn pop(&mut self) {
        if let Some(passed) = &mut self.0 {
            passed.endpoints.pop();
        }
    }

    #[inline]
    fn endpoints(&self) -> &[Weak<Endpoint<S, R, L>>] {
        self.0.as_ref().map_or(&[], |passed| &passed.endpoints)
    }

    #[inline]
    fn avoided(&self) -> &[Box<str>] {
        self.0.as_ref().map_or(&[], |passed| &passed.avoided)
    }

    /// Picks among those who were neither tried nor are to be avoided.
    #[inline]
    pub(super) fn pick_strictly(
        &self,
        cluster: &dyn Dispatch<S, R, L>,
        request: &R,
    ) -> Result<Lease<S, R, L>, Obstacle> {
        cluster.pick(request, self.endpoints(), self.avoided())
    }

    /// Picks whom a hedge is sent to, if there is to be one: nobody is better than who is to be avoided.
    pub(super) fn hedge(&self, cluster: &dyn Dispatch<S, R, L>, request: &R) -> Option<Lease<S, R, L>> {
        cluster.hedge(request, self.endpoints(), self.avoided())
    }

    /// Picks among those who were not tried. Who is to be avoided is better than nobody.
    #[inline]
    pub(super) fn pick(
        &self,
        cluster: &dyn Dispatch<S, R, L>,
        request: &R,
    ) -> Result<Lease<S, R, L>, Obstacle> {
        if self.avoided().is_empty() {
            return self.pick_strictly(cluster, request);
        }
        self.pick_strictly(cluster, request).or_else(|_| cluster.pick(request, self.endpoints(), &[]))
    }

    /// Picks as [`pick`](Self::pick); who was tried is better than nobody too.
    pub(super) fn pick_again(
        &self,
        cluster: &dyn Dispatch<S, R, L>,
        request: &R,
    ) -> Result<Lease<S, R, L>, Obstacle> {
        self.pick(cluster, request).or_else(|_| cluster.pick(request, &[], &[]))
    }
}
