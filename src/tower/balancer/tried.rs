//! Whom a request is to pass over.

use std::sync::{Arc, Weak};

use super::admission::Lease;
use super::dispatch::Dispatch;
use super::endpoint::Endpoint;
use crate::core::LoadTracker;
use crate::tower::BalancerErrorKind;

/// The endpoints that a request has tried, and those that it is told to avoid.
///
/// It keeps nobody alive: an endpoint that has left gives up its service although somebody remembers to have tried it.
pub(super) struct Tried<S, R, L: LoadTracker> {
    endpoints: Vec<Weak<Endpoint<S, R, L>>>,
    avoided: Box<[Box<str>]>,
}

impl<S, R, L: LoadTracker> Tried<S, R, L> {
    pub(super) fn none() -> Self {
        Self { endpoints: Vec::new(), avoided: Box::default() }
    }

    pub(super) fn avoiding<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { endpoints: Vec::new(), avoided: names.into_iter().map(|name| name.as_ref().into()).collect() }
    }

    pub(super) fn push(&mut self, endpoint: &Arc<Endpoint<S, R, L>>) {
        self.endpoints.push(Arc::downgrade(endpoint));
    }

    pub(super) fn pop(&mut self) {
        self.endpoints.pop();
    }

    /// Picks among those who were neither tried nor are to be avoided.
    pub(super) fn pick_strictly(
        &self,
        cluster: &dyn Dispatch<S, R, L>,
        request: &R,
    ) -> Result<Lease<S, R, L>, BalancerErrorKind> {
        cluster.pick(request, &self.endpoints, &self.avoided)
    }

    /// Picks whom a hedge is sent to, if there is to be one: nobody is better than who is to be avoided.
    pub(super) fn hedge(&self, cluster: &dyn Dispatch<S, R, L>, request: &R) -> Option<Lease<S, R, L>> {
        cluster.hedge(request, &self.endpoints, &self.avoided)
    }

    /// Picks among those who were not tried. Who is to be avoided is better than nobody.
    pub(super) fn pick(
        &self,
        cluster: &dyn Dispatch<S, R, L>,
        request: &R,
    ) -> Result<Lease<S, R, L>, BalancerErrorKind> {
        let picked = self.pick_strictly(cluster, request);
        if picked.is_err() && !self.avoided.is_empty() {
            return cluster.pick(request, &self.endpoints, &[]);
        }
        picked
    }

    /// Picks as [`pick`](Self::pick); who was tried is better than nobody too.
    pub(super) fn pick_again(
        &self,
        cluster: &dyn Dispatch<S, R, L>,
        request: &R,
    ) -> Result<Lease<S, R, L>, BalancerErrorKind> {
        self.pick(cluster, request).or_else(|_| cluster.pick(request, &[], &[]))
    }
}
