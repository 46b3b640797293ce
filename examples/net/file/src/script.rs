//! What happens to the servers and to the file, and what is to come of it.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use poise::discovery::{Discovered, SourceReport};
use poise::tower::BoxError;
use stage::{Endpoint, Follower, Server, Tally, Teller, Traffic, balancer, eventually, follow};
use tempfile::TempDir;

use crate::source::{FileError, Watched, watch};

/// For how many seconds the file is gone.
const OUTAGE: u32 = 10;

/// Everything on stage: dropping it ends all of it.
pub(crate) struct Play {
    _follower: Follower,
    teller: Teller,
    amber: Server,
    birch: Server,
    cedar: Server,
    /// The newcomer, once it is there.
    dogwood: Option<Server>,
    watched: Watched,
    traffic: Traffic,
    file: File,
}

impl Play {
    pub(crate) async fn set() -> Result<Self, BoxError> {
        let teller = Teller::start();
        let [amber, birch, cedar] = [start("amber")?, start("birch")?, start("cedar")?];
        let file = File::new()?;
        file.put(&[line(&amber), line(&birch), line(&cedar)])?;
        teller.say(format_args!("the file has {amber}, {birch} and {cedar}"));

        let watched = watch(file.path())?;
        let (members, status) = (watched.members.reader(), watched.members.status());
        let follower = follow(teller, "file", members, status.clone());
        eventually("the file is read", || members.load().len() == 3).await?;
        let balancer = balancer(teller, "file", members.clone())?.spawn()?;
        let traffic = Traffic::start(teller, "file", balancer);
        Ok(Self { _follower: follower, teller, amber, birch, cedar, dogwood: None, watched, traffic, file })
    }

    pub(crate) async fn run(mut self) -> Result<Tally, BoxError> {
        for server in [&self.amber, &self.birch, &self.cedar] {
            self.traffic.serves(server.name()).await?;
        }
        self.one_joins().await?;
        self.one_leaves().await?;
        self.one_dies().await?;
        self.it_cannot_be_read().await?;
        self.it_is_empty().await?;
        self.it_is_gone().await?;
        self.traffic.goes_on(2).await?;
        self.traffic.finish().await
    }

    async fn one_joins(&mut self) -> Result<(), BoxError> {
        let dogwood = self.dogwood.insert(start("dogwood")?);
        let name = dogwood.name();
        self.teller.say(format_args!("{dogwood} is added, with three times the weight of the others"));
        let heavy = format!("{} weight=3", line(dogwood));
        self.file.put(&[line(&self.amber), line(&self.birch), line(&self.cedar), heavy])?;
        self.traffic.serves(name).await
    }

    async fn one_leaves(&mut self) -> Result<(), BoxError> {
        let name = self.birch.name();
        self.teller.say(format_args!("{name} is marked as draining"));
        let dogwood = self.line_of_dogwood()?;
        let draining = format!("{} draining", line(&self.birch));
        self.file.put(&[line(&self.amber), draining, line(&self.cedar), dogwood.clone()])?;
        self.traffic.drained(name).await?;
        self.teller.say(format_args!("{name} has finished what it had, and is taken out"));
        self.file.put(&[line(&self.amber), line(&self.cedar), dogwood])?;
        self.traffic.gone(name).await?;
        self.birch.kill();
        self.teller.say(format_args!("{name} is shut down"));
        Ok(())
    }

    async fn one_dies(&mut self) -> Result<(), BoxError> {
        let name = self.cedar.name();
        self.cedar.kill();
        self.teller.say(format_args!("{name} dies; the file still has it"));
        self.traffic.notices(name).await?;
        self.traffic.goes_on(2).await?;
        self.cedar.restart().await?;
        self.teller.say(format_args!("{name} is back on the same port"));
        self.traffic.serves(name).await
    }

    async fn it_cannot_be_read(&mut self) -> Result<(), BoxError> {
        let before = self.watched.members.reader().load();
        for (what, text) in [
            ("somebody writes half a line into the file", format!("{}\ncedar 127.0.0", line(&self.amber))),
            ("the line is whole, and says nonsense", format!("{}\ncedar 127.0.0.one\n", line(&self.amber))),
        ] {
            self.teller.say(what);
            let errors = self.report().errors();
            // In place, as an editor without care does.
            fs::write(self.file.path(), text)?;
            // The second one read what was written for sure.
            eventually("it cannot be read", || self.report().errors() >= errors + 2).await?;
        }
        self.traffic.goes_on(1).await?;
        if self.watched.members.reader().load().revision() != before.revision() {
            return Err("the members have changed without a good file".into());
        }
        Ok(())
    }

    async fn it_is_empty(&mut self) -> Result<(), BoxError> {
        self.teller.say("the file is empty");
        self.file.put(&[])?;
        eventually("nobody is believed", || self.report().keeps_empty_off()).await?;
        self.traffic.goes_on(2).await?;
        self.teller.say("the file is as it was");
        self.file.put(&[line(&self.amber), line(&self.cedar), self.line_of_dogwood()?])?;
        eventually("the file is believed", || !self.report().keeps_empty_off()).await?;
        self.traffic.goes_on(1).await
    }

    async fn it_is_gone(&mut self) -> Result<(), BoxError> {
        let kept = self.member("cedar");
        fs::remove_file(self.file.path())?;
        self.teller.say(format_args!("the file is removed, for {OUTAGE} s"));
        self.amber.kill();
        self.teller.say(format_args!("{} dies meanwhile, and nobody can say so", self.amber));
        self.traffic.goes_on(OUTAGE).await?;
        if self.report().errors_in_a_row() == 0 {
            return Err("the file is gone, and still it was read".into());
        }
        self.birch.restart().await?;
        self.teller.say("the file is back: with birch, which is back too, and without amber");
        self.file.put(&[line(&self.birch), line(&self.cedar), self.line_of_dogwood()?])?;
        self.traffic.serves(self.birch.name()).await?;
        self.traffic.gone(self.amber.name()).await?;
        if !kept.zip(self.member("cedar")).is_some_and(|(then, now)| then.same_generation(&now)) {
            return Err("cedar stayed, and was made anew".into());
        }
        Ok(())
    }

    fn line_of_dogwood(&self) -> Result<String, BoxError> {
        let dogwood = self.dogwood.as_ref().ok_or("dogwood has not joined")?;
        Ok(format!("{} weight=3", line(dogwood)))
    }

    fn report(&self) -> SourceReport<FileError> {
        self.watched.members.status().report()
    }

    fn member(&self, name: &str) -> Option<Discovered<String, Endpoint>> {
        self.watched.members.reader().load().get(&name.into()).cloned()
    }
}

/// The file, in a folder that is removed with it.
#[derive(Debug)]
struct File(TempDir);

impl File {
    fn new() -> io::Result<Self> {
        Ok(Self(tempfile::Builder::new().prefix("poise-file-").tempdir()?))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("members")
    }

    /// Puts a new file in the place of the old one, so that nobody reads half of it.
    fn put(&self, lines: &[String]) -> io::Result<()> {
        let new = self.0.path().join("members.new");
        fs::write(&new, lines.iter().flat_map(|line| [line, "\n"]).collect::<String>())?;
        fs::rename(new, self.path())
    }
}

fn start(name: &'static str) -> io::Result<Server> {
    Server::start(name, (Ipv4Addr::LOCALHOST, 0).into())
}

fn line(server: &Server) -> String {
    format!("{} {}", server.name(), server.address())
}
