//! What happens to the servers, and what is to come of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use poise::core::Backend;
use poise::discovery::Directory;
use poise::tower::BoxError;
use stage::{Server, Tally, Teller, Traffic};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::with_hyper::{self, Buffered};
use crate::{proxy, with_reqwest};

/// Everything on stage: dropping it ends all of it.
pub(crate) struct Play {
    teller: Teller,
    amber: Server,
    _others: [Server; 2],
    _directory: Directory<&'static str, Backend<SocketAddr>>,
    proxy: JoinHandle<io::Result<()>>,
    by_hyper: Traffic<with_hyper::Server, Buffered>,
    by_reqwest: Traffic<with_reqwest::Server, reqwest::Request>,
    by_proxy: Traffic<with_hyper::Server, Buffered>,
}

impl Play {
    pub(crate) async fn set() -> Result<Self, BoxError> {
        let teller = Teller::start();
        let [amber, birch, cedar] = [start("amber")?, start("birch")?, start("cedar")?];
        let mut directory = Directory::new();
        for server in [&amber, &birch, &cedar] {
            directory.upsert(server.name(), Backend::new(server.address()))?;
        }
        teller.say(format_args!("{amber}, {birch} and {cedar} serve"));

        let web = with_hyper::balancer(directory.reader())?;
        let stack = with_hyper::stack(web.clone());
        let by_hyper = Traffic::asking(teller, "hyper", web.clone(), move || {
            let answer = with_hyper::get(stack.clone(), "/hyper");
            async move { answer.await.map(drop) }
        });

        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}/proxy", listener.local_addr()?);
        let router = proxy::router(web.clone());
        let proxy = tokio::spawn(async move { axum::serve(listener, router).await });
        let client = reqwest::Client::builder().no_proxy().build()?;
        let by_proxy = Traffic::asking(teller, "axum", web, move || {
            let answer = client.get(&url).send();
            async move {
                answer.await?.error_for_status()?.bytes().await?;
                Ok(())
            }
        });

        let web = with_reqwest::balancer(directory.reader())?;
        let stack = with_reqwest::stack(web.clone());
        let by_reqwest = Traffic::asking(teller, "reqwest", web, move || {
            let stack = stack.clone();
            async move { with_reqwest::get(stack, "/reqwest").await.map(drop) }
        });
        Ok(Self {
            teller,
            amber,
            _others: [birch, cedar],
            _directory: directory,
            proxy,
            by_hyper,
            by_reqwest,
            by_proxy,
        })
    }

    pub(crate) async fn run(mut self) -> Result<Tally, BoxError> {
        let amber = self.amber.name();
        self.goes_on(2).await?;
        self.amber.kill();
        self.teller.say(format_args!("{amber} dies"));
        tokio::try_join!(self.by_hyper.notices(amber), self.by_reqwest.notices(amber))?;
        self.goes_on(3).await?;
        self.amber.restart().await?;
        self.teller.say(format_args!("{amber} is back on the same port"));
        tokio::try_join!(self.by_hyper.serves(amber), self.by_reqwest.serves(amber))?;
        self.teller.say(format_args!("{amber} serves again"));
        self.goes_on(2).await?;
        let traffic =
            tokio::try_join!(self.by_hyper.finish(), self.by_proxy.finish(), self.by_reqwest.finish());
        self.proxy.abort();
        traffic.map(|(hyper, proxy, reqwest)| [hyper, proxy, reqwest].into_iter().sum())
    }

    async fn goes_on(&self, seconds: u32) -> Result<(), BoxError> {
        let Self { by_hyper, by_reqwest, by_proxy, .. } = self;
        tokio::try_join!(by_hyper.goes_on(seconds), by_proxy.goes_on(seconds), by_reqwest.goes_on(seconds))?;
        Ok(())
    }
}

fn start(name: &'static str) -> io::Result<Server> {
    Server::start(name, (Ipv4Addr::LOCALHOST, 0).into())
}
