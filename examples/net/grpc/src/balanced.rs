//! What stands under the generated clients.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use poise::core::{Backend, Outcome};
use poise::discovery::SnapshotReader;
use poise::tower::{Balancer, BoxError, GuardedBalancer, Retry};
use tonic::Status;
use tonic::body::Body;
use tower_service::Service;

use crate::body::guard;
use crate::server::{Call, Server};
use crate::shop;
use crate::status::{self, outcome};

/// How long a server may take until its answer begins, and for a unary call until it is whole.
const ATTEMPT: Duration = Duration::from_millis(1_500);

/// Balances calls over servers: `ShopClient::new(balanced.clone())`. A clone is cheap.
///
/// Unary calls and streams from a server have one message in their request, which is kept to be sent again. A stream of
/// requests would be waited for to its end: for those, give another client a balancer without retries, whose leaf takes
/// `Request<Body>`.
#[derive(Clone)]
pub(crate) struct Balanced {
    balancer: GuardedBalancer<Server, Call, Response<Body>>,
}

impl Balanced {
    pub(crate) fn over<K>(members: SnapshotReader<K, Backend<SocketAddr>>) -> Result<Self, BoxError>
    where
        K: Eq + Hash + fmt::Display + Send + Sync + 'static,
    {
        let balancer = Balancer::builder()
            .try_discover(members, |_key, server| Server::at(*server.id()))
            .attempt_timeout(ATTEMPT)
            .retry(Retry::attempts(3)?)
            .idempotent(|call: &Call| shop::is_idempotent(call.uri().path()))
            .unsent(status::is_unsent)
            .classify(|answer| answer.map_or_else(|status| outcome(status.code()), |_| Outcome::Success))
            .spawn()?;
        Ok(Self { balancer: balancer.guarded(guard) })
    }

    pub(crate) fn balancer(&self) -> &Balancer<Server, Call> {
        self.balancer.balancer()
    }
}

impl Service<Request<Body>> for Balanced {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

    /// The future waits until somebody is eligible, and its error, unlike one from here, keeps its code.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let balancer = self.balancer.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let call = Request::from_parts(head, Full::new(body.collect().await?.to_bytes()));
            balancer.send(call).await.map_err(status::of)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    use poise::core::Backend;
    use poise::discovery::Directory;
    use tonic::{Code, Status};

    use super::Balanced;
    use crate::shop::{Item, Order, ShopClient};

    async fn ask(directory: &Directory<&'static str, Backend<SocketAddr>>) -> Status {
        let balanced = Balanced::over(directory.reader()).unwrap();
        ShopClient::new(balanced).get_price(Item { number: 7 }).await.unwrap_err()
    }

    #[tokio::test]
    async fn without_members_a_call_is_unavailable() {
        let mut directory = Directory::new();
        directory.apply([]).unwrap();
        let status = ask(&directory).await;
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    }

    #[tokio::test]
    async fn an_order_that_is_not_answered_is_past_the_deadline_and_sent_once() {
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut directory = Directory::new();
        directory.upsert("silent", Backend::new(silent.local_addr().unwrap())).unwrap();
        let balanced = Balanced::over(directory.reader()).unwrap();
        let status = ShopClient::new(balanced).place_order(Order { number: 1 }).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
        assert!(status.message().contains("endpoint silent, call, attempt 1"), "{status}");
    }

    /// Returns the address of a server that is not there.
    fn gone() -> SocketAddr {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_unavailable_and_named() {
        let mut directory = Directory::new();
        directory.upsert("gone", Backend::new(gone())).unwrap();
        let status = ask(&directory).await;
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.message().contains("endpoint gone"), "{status}");
    }

    #[tokio::test]
    async fn an_order_that_no_server_had_is_tried_elsewhere() {
        let mut directory = Directory::new();
        for name in ["gone", "gone too", "gone as well"] {
            directory.upsert(name, Backend::new(gone())).unwrap();
        }
        let balanced = Balanced::over(directory.reader()).unwrap();
        let status = ShopClient::new(balanced).place_order(Order { number: 1 }).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.message().contains("attempt 3"), "{status}");
    }
}
