use crate::client::{Client, Error, Request, Response};
use poise::prelude::*;

pub(crate) async fn turnkey(servers: [std::net::SocketAddr; 2]) -> Result<Response, Error> {
    let mut directory = Directory::new();
    directory.upsert("a", Backend::new(servers[0]))?;
    directory.upsert("b", Backend::new(servers[1]))?;
    let balancer = Balancer::builder()
        .discover(directory.reader(), |_, backend| Client::to(*backend.id()))
        .classify(|answer| match answer {
            Ok(response) if response.status().is_server_error() => Outcome::Failure,
            other => Outcome::of(other),
        })
        .spawn()?;
    Ok(balancer.send(Request::default()).await?)
}
