//! Attempts that last until the end of a body.
//!
//!     cargo run --release --example streaming --features full
//!
//! By default an attempt ends with the head of its response, and a body that is still on its way counts nowhere. With
//! [`Balancer::guarded`] the guard of the attempt travels in the body: a limit of one download for each mirror then means
//! downloads, and a body that breaks off is a failure of its mirror. It ends with the last frame, whether or not
//! anybody drops the body then.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use poise::core::{Backend, InFlight, Outcome};
use poise::discovery::Directory;
use poise::tower::{Balancer, BalancerErrorKind, GuardedBalancer, ResponseGuard};
use tower_service::Service;

/// A body that ends its attempt where it ends.
struct GuardedBody<B> {
    body: B,
    guard: Option<ResponseGuard>,
}

impl<B> GuardedBody<B> {
    fn finish(&mut self, outcome: Outcome) {
        if let Some(guard) = self.guard.take() {
            guard.finish(outcome);
        }
    }
}

impl<B: Body + Unpin> Body for GuardedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.finish(Outcome::Success),
            Some(Err(_)) => self.finish(Outcome::Failure),
            // Whoever knows that it was the last one does not ask for another.
            Some(Ok(_)) if self.body.is_end_stream() => self.finish(Outcome::Success),
            Some(Ok(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Lets the guard travel in the body.
fn guard<B: Body>(guard: ResponseGuard, response: Response<B>) -> Response<GuardedBody<B>> {
    let (head, body) = response.into_parts();
    let mut body = GuardedBody { body, guard: Some(guard) };
    if body.body.is_end_stream() {
        body.finish(Outcome::Success);
    }
    Response::from_parts(head, body)
}

/// A mirror that sends a file in parts, and may break off.
#[derive(Clone)]
struct Mirror {
    parts: u8,
    breaks_off: bool,
}

impl Service<Request<()>> for Mirror {
    type Response = Response<File>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<File>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        std::future::ready(Ok(Response::new(File { left: self.parts, breaks_off: self.breaks_off })))
    }
}

/// The body of a file.
struct File {
    left: u8,
    breaks_off: bool,
}

#[derive(Debug)]
struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection broke off")
    }
}

impl Error for BrokenOff {}

impl Body for File {
    type Data = &'static [u8];
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<&'static [u8]>, BrokenOff>>> {
        if self.left == 1 && self.breaks_off {
            return Poll::Ready(Some(Err(BrokenOff)));
        }
        Poll::Ready(self.left.checked_sub(1).map(|left| {
            self.left = left;
            Ok(Frame::data(b"part".as_slice()))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }
}

type Downloads = GuardedBalancer<Mirror, Request<()>, Response<GuardedBody<File>>, InFlight>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut directory = Directory::new();
    directory.upsert("mirror", Backend::new(false))?;
    let downloads = over(&directory)?;

    let response = downloads.send(Request::new(())).await?;
    println!("the head is here:\n{}", downloads.balancer().report());
    let error = downloads.send(Request::new(())).await.map(drop).unwrap_err();
    assert!(matches!(error.kind(), BalancerErrorKind::AtCapacity(_)), "one download at a time: {error}");

    let mut body = response.into_body();
    let mut parts = 0;
    while let Some(frame) = body.frame().await {
        frame?;
        parts += 1;
    }
    println!("{parts} parts are here:\n{}", downloads.balancer().report());
    let member = &downloads.balancer().report().members[0];
    assert_eq!(
        (member.in_flight, member.successes),
        (0, 1),
        "it ended with the last part, before the body is dropped"
    );
    drop(body);

    let mut directory = Directory::new();
    directory.upsert("broken", Backend::new(true))?;
    let downloads = over(&directory)?;
    let broken = downloads.send(Request::new(())).await?.into_body().collect().await;
    assert!(broken.is_err(), "it breaks off");
    println!("a body broke off:\n{}", downloads.balancer().report());
    let member = &downloads.balancer().report().members[0];
    assert_eq!((member.in_flight, member.failures), (0, 1));
    Ok(())
}

fn over(directory: &Directory<&'static str, Backend<bool>>) -> Result<Downloads, Box<dyn Error>> {
    let balancer = Balancer::builder()
        .discover(directory.reader(), |_key, backend| Mirror { parts: 3, breaks_off: *backend.id() })
        .load(|| InFlight::with_limit(1).expect("one is a limit"))
        .spawn()?;
    Ok(balancer.guarded(guard))
}
