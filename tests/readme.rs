//! What the README promises: its code is this code, and it balances over real servers.
#![cfg(feature = "full")]

#[path = "readme/client.rs"]
mod client;
#[path = "readme/turnkey.rs"]
mod turnkey;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use turnkey::turnkey;

const README: &str = include_str!("../README.md");

/// A server that counts its requests, until the test ends.
async fn server() -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&served);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let count = Arc::clone(&count);
            let service = service_fn(move |_: Request<Incoming>| {
                count.fetch_add(1, Ordering::Relaxed);
                async { Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    (address, served)
}

#[tokio::test]
async fn the_code_of_the_readme_balances_over_two_servers() {
    let ((first, by_first), (second, by_second)) = (server().await, server().await);
    for _ in 0..64 {
        let response = turnkey([first, second]).await.unwrap();
        assert!(response.status().is_success());
    }
    let [by_first, by_second] = [by_first, by_second].map(|served| served.load(Ordering::Relaxed));
    assert_eq!(by_first + by_second, 64, "each request is sent once");
    assert!(by_first > 0 && by_second > 0, "of 64 fair picks none went to one of the two");
}

#[test]
fn the_readme_shows_the_code_that_is_tested() {
    for code in [include_str!("readme/turnkey.rs"), include_str!("readme/client.rs")] {
        let block = format!("```rust\n{code}```\n");
        assert!(README.contains(&block), "the README does not contain this text:\n{block}");
    }
}

#[test]
fn the_turnkey_code_stays_short() {
    let lines = include_str!("readme/turnkey.rs").lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 15, "{lines} lines");
}
