//! Whatever operators, owners and callers do, in any order: what is said holds, and nothing is lost or left behind.

use std::collections::BTreeMap;
use std::time::Duration;

use poise::core::policy::RoundRobin;
use poise::core::{Exclusion, Exclusions, InFlight, Status};
use poise::tower::Balancer;
use quickcheck::{Arbitrary, Gen, QuickCheck};
use tokio::task::{JoinHandle, yield_now};

use crate::support::fleet::{Fleet, add, fleet, over, remove, set_status};
use crate::support::script::{Fake, Readiness, Script};

type Client = Balancer<Fake, u32, InFlight>;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// One thing that happens; places are those of [`NAMES`].
#[derive(Clone, Copy, Debug)]
enum Command {
    Upsert(usize),
    /// A new generation that is not ready before [`Command::Ready`].
    UpsertPending(usize),
    Ready(usize),
    Amend(usize, Status),
    Remove(usize),
    Drain(usize),
    Exclude(usize),
    ForceOpen(usize),
    Restore(usize),
    Send,
    SendAvoiding(usize),
    Abort,
    Wait,
    Settle,
}

impl Arbitrary for Command {
    fn arbitrary(g: &mut Gen) -> Self {
        let place = usize::arbitrary(g) % NAMES.len();
        let status = *g.choose(&[Status::Ready, Status::Draining, Status::Unavailable]).expect("not empty");
        *g.choose(&[
            Self::Upsert(place),
            Self::UpsertPending(place),
            Self::Ready(place),
            Self::Amend(place, status),
            Self::Remove(place),
            Self::Drain(place),
            Self::Exclude(place),
            Self::ForceOpen(place),
            Self::Restore(place),
            Self::Send,
            Self::Send,
            Self::SendAvoiding(place),
            Self::Abort,
            Self::Wait,
            Self::Settle,
            Self::Settle,
        ])
        .expect("not empty")
    }
}

/// What ought to be true of the members, by all that was said.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    status: Status,
    verbs: Exclusions,
}

struct World {
    directory: Fleet,
    balancer: Client,
    scripts: BTreeMap<&'static str, Vec<Script>>,
    said: BTreeMap<&'static str, Said>,
    requests: Vec<JoinHandle<()>>,
}

impl World {
    fn new() -> Self {
        let (directory, scripts) = fleet(NAMES);
        let balancer = over(&directory)
            .load(InFlight::new)
            .policy(RoundRobin::starting_at(0))
            .fail_fast(Duration::MAX)
            .connect_timeout(Duration::MAX)
            .spawn()
            .unwrap();
        let scripts: BTreeMap<_, _> =
            NAMES.into_iter().zip(scripts).map(|(name, script)| (name, vec![script])).collect();
        for script in scripts.values().flatten() {
            script.answer_after(Duration::from_millis(5));
        }
        let said = NAMES.into_iter().map(|name| (name, Said::default())).collect();
        Self { directory, balancer, scripts, said, requests: Vec::new() }
    }

    async fn act(&mut self, command: Command) {
        match command {
            Command::Upsert(place) => self.upsert(NAMES[place], Readiness::Ready),
            Command::UpsertPending(place) => self.upsert(NAMES[place], Readiness::Pending),
            Command::Ready(place) => {
                self.scripts[NAMES[place]].iter().for_each(|script| script.turn(Readiness::Ready));
            }
            Command::Amend(place, status) => {
                if let Some(said) = self.said.get_mut(NAMES[place]) {
                    said.status = status;
                    set_status(&mut self.directory, NAMES[place], status);
                }
            }
            Command::Remove(place) => {
                if self.said.remove(NAMES[place]).is_some() {
                    remove(&mut self.directory, NAMES[place]);
                    // What leaves and returns between two looks has never been away.
                    self.settle().await;
                }
            }
            Command::Drain(place) => self.say(place, Exclusion::Draining, Client::drain),
            Command::Exclude(place) => self.say(place, Exclusion::Unavailable, Client::exclude),
            Command::ForceOpen(place) => self.say(place, Exclusion::Circuit, Client::force_open),
            Command::Restore(place) => {
                if self.balancer.restore(NAMES[place]).is_ok()
                    && let Some(said) = self.said.get_mut(NAMES[place])
                {
                    said.verbs = Exclusions::NONE;
                }
            }
            Command::Send => self.spawn(self.balancer.send(1)),
            Command::SendAvoiding(place) => self.spawn(self.balancer.call_avoiding(1, [NAMES[place]])),
            Command::Abort => {
                if let Some(request) = self.requests.pop() {
                    request.abort();
                }
            }
            Command::Wait => tokio::time::sleep(Duration::from_millis(7)).await,
            Command::Settle => self.settle().await,
        }
    }

    fn upsert(&mut self, name: &'static str, readiness: Readiness) {
        let script = Script::new(name);
        script.answer_after(Duration::from_millis(5));
        script.turn(readiness);
        add(&mut self.directory, name, &script);
        self.scripts.get_mut(name).expect("all have scripts").push(script);
        self.said.entry(name).or_default().status = Status::Ready;
    }

    /// Says something of a member that the balancer knows by now.
    fn say(
        &mut self,
        place: usize,
        exclusion: Exclusion,
        verb: fn(&Client, &str) -> Result<(), poise::tower::UnknownMember>,
    ) {
        if verb(&self.balancer, NAMES[place]).is_ok()
            && let Some(said) = self.said.get_mut(NAMES[place])
        {
            said.verbs |= exclusion.into();
        }
    }

    fn spawn(&mut self, request: poise::tower::ResponseFuture<Fake, u32, InFlight>) {
        self.requests.push(tokio::spawn(async move { drop(request.await) }));
    }

    /// Lets everybody have a turn, without a lapse of time, and checks what was said.
    async fn settle(&self) {
        for _ in 0..50 {
            yield_now().await;
        }
        let report = self.balancer.report();
        assert_eq!(report.revision, self.directory.revision());
        assert_eq!(report.members.len(), self.said.len(), "{report}");
        for (name, said) in &self.said {
            let member = report.member(name).expect("it is a member");
            let expected = said.verbs | said.status.exclusions();
            assert_eq!((member.status, member.exclusions), (said.status, expected), "{name}: {report}");
        }
        // Nobody waits while somebody could serve.
        let waits = self.requests.iter().any(|request| !request.is_finished());
        let under_way: usize = self.scripts.values().flatten().map(Script::under_way).sum();
        assert!(report.eligible() == 0 || !waits || under_way > 0 || self.any_is_pending(), "{report}");
    }

    fn any_is_pending(&self) -> bool {
        self.scripts.values().flatten().any(|script| script.readiness() == Readiness::Pending)
    }

    /// Restores everybody, and checks that all requests come to an end and nothing is held.
    async fn finish(mut self) {
        for (place, name) in NAMES.into_iter().enumerate() {
            self.act(Command::Ready(place)).await;
            self.act(Command::Upsert(place)).await;
            self.settle_members().await;
            self.balancer.restore(name).expect("it is a member");
        }
        for request in self.requests.drain(..) {
            let ended = tokio::time::timeout(Duration::from_secs(1), request).await;
            assert!(ended.is_ok(), "a wake-up was lost: {}", self.balancer.report());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        let report = self.balancer.report();
        assert_eq!(
            (report.eligible(), report.members.iter().map(|member| member.in_flight).sum::<u64>()),
            (3, 0)
        );
        for scripts in self.scripts.values() {
            let live: Vec<_> = scripts.iter().map(Script::live).collect();
            assert_eq!(live.iter().sum::<usize>(), 1, "only the latest lives: {live:?}");
        }
        assert_eq!(self.balancer.shutdown().await, 0);
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(self.scripts.values().flatten().map(Script::live).sum::<usize>(), 0);
    }

    async fn settle_members(&self) {
        for _ in 0..50 {
            yield_now().await;
        }
    }
}

fn holds(commands: Vec<Command>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(async {
        let mut world = World::new();
        for command in commands {
            world.act(command).await;
        }
        world.finish().await;
    });
}

#[test]
fn whatever_happens_in_whatever_order_what_was_said_holds() {
    QuickCheck::new().rng(Gen::from_size_and_seed(60, 7)).tests(400).quickcheck(holds as fn(Vec<Command>));
}
