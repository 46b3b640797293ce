//! Which policy when, and what that rests on.
//!
//! Each line names a scenario of the simulator, which balances with the policies, loads and circuits of this crate on a
//! virtual clock. `cargo run --release --example simulate --features full -- SCENARIO` prints its tables, the same on every
//! machine; `-- all` prints all of them. p99 is the latency that one in a hundred requests exceeds.
//!
//! The *default stack* is what a `tower::Balancer` does when nothing is said:
//! [`PowerOfTwoChoices`](super::PowerOfTwoChoices) by [`PeakEwma`](crate::core::PeakEwma),
//! [four](super::PowerOfTwoChoices::choices_when_busy) where the better of two is busy, and circuits. It is a line
//! in every table of policies, and its p99 is nowhere more than 1.06 times that of the best policy which knows only what its
//! own client has seen. So start with it, and leave it for a reason.
//!
//! # Which one
//!
//! | situation | take | table | it shows |
//! |---|---|---|---|
//! | nothing special | the default stack | all | see above |
//! | one server becomes slow | the default stack | `linkerd` | 99.95 % of the requests under a second, where each in turn gets 95.45 % and the fewest requests in flight 99.56 % |
//! | servers differ in speed | the default stack, or [`LeastLoaded`](super::LeastLoaded) | `uneven` | slowest six times as slow, at 0.9 of what they can do: p99 420 ms; two choices 813 ms by latency, 1,469 ms by count; each in turn 50 s and growing |
//! | servers are alike | [`PowerOfTwoChoices`](super::PowerOfTwoChoices) by [`InFlight`](crate::core::InFlight) costs less, and is as good while load is moderate | `newcomer` (warm), `restart` | p99 93.5 ms against 92.6 ms; 92.6 ms against 92.5 ms |
//! | servers are alike, have one worker, and are nearly full | the default stack, or `PowerOfTwoChoices` with more [choices](super::PowerOfTwoChoices::choices) | `supermarket` | at a load of 0.95 requests stay 2.3 times their work, with two choices 3.5 times, with three 2.6 times, at random 19 times |
//! | many clients, servers that share their machines with others | [`Prequal`](super::Prequal) over a [`ProbePool`](crate::core::ProbePool) | `ramp` | at 1.74 of the allocation p99 295 ms and p99.9 448 ms; default stack 334 ms and 792 ms; two choices by count 1.9 s; each in turn 10.6 % errors |
//! | many clients, half of the servers twice as slow | `Prequal` | `rules` | at 0.9, p99 377 ms; default stack 487 ms; two choices by count 1.7 s |
//! | a server fails at once | anything by [`PeakEwma`](crate::core::PeakEwma), or circuits, or an `health::Ejector` | `sinkhole` | errors: default stack 0.05 %; two choices by count 12.24 %, the same with an ejector that sweeps every 2 s 0.76 %; the fewest requests in flight 23.12 % |
//! | a server hangs | the default stack and an attempt timeout (`tower::Builder::attempt_timeout`), or `Prequal` | `hung` | callers who gave up, of 95,000: 52; `Prequal` 1; two choices by count 3,802; each in turn 18,056 |
//! | a newcomer is slow at first | the default stack | `newcomer` (cold) | p99 94.5 ms, where each in turn has 3.2 s; `health::SlowStart` over it 94.0 ms |
//! | servers are restarted | the default stack, a retry, and a drain | `restart` | no errors; 1.0000 attempts per request where it is announced, 1.0011 where it is not; the fewest requests in flight 1.1121 |
//! | retries | a `tower::RetryBudget`, which is the default | `storm` | five seconds after an outage of two seconds 100 % are good; without a budget 23 % |
//! | one answer in a thousand is slow | `tower::Hedge` | `hedging` | p99.9 of a page of a hundred answers 26.7 ms instead of 1,004 ms, for 1.011 attempts each; no choice of servers helps |
//! | more servers than a client should know | a `discovery::subset` and then a policy | `subsets` | 300 clients with 20 of 300 members: 16 to 24 connections each by lots, 9 to 32 by rendezvous |
//! | the same member for the same key | [`Maglev`](super::Maglev), [`RingHash`](super::RingHash), [`Rendezvous`](super::Rendezvous); for hot keys [`BoundedLoadRendezvous`](super::BoundedLoadRendezvous) | | their own pages: it is not a question of load |
//!
//! # What to watch for
//!
//! - **Two choices.** They are enough where members are alike. Of two choices both are of the slow half in a quarter of all
//!   picks, whatever queues are there: `uneven` with the slowest ten times as slow has a p99 of 8.5 s with two, and of 0.7 s
//!   by default.
//! - **[`LeastLoaded`](super::LeastLoaded)** looks at every member for each pick, and all clients that see the same go to the
//!   same one. By count alone it is what is drawn most to a server that fails at once (`sinkhole`).
//! - **`PeakEwma` forgets slowly.** A member that was slow is tried again when its estimate has faded, after seconds; see
//!   [`with_decay`](crate::core::PeakEwmaConfig::with_decay).
//! - **[`Prequal`](super::Prequal)** needs servers that answer probes, and a driver such as
//!   `tokio::ProbeDriver`. It pays where a client sees little of what servers do. Where it sees most of
//!   it, answers are older than what the client knows: with ten or eleven servers and four clients its p99 is 8 to 19 % above
//!   that of the default stack (`sinkhole`, `restart`, `newcomer`), and with twenty at 0.9 of what they can do 44 to 73 %
//!   (`uneven`). With no more members than the pool has answers, 16, it is never the quicker one here,
//!   though it loses the fewest requests to a server that hangs (`hung`).
//! - **Probes.** One for each query is nearly as good as four: p99 309 ms against 293 ms. At a half it is 494 ms (`probes`).
//! - **The quantile of `Prequal`.** From 0.99 on requests pile up: p99 4.2 s, and 5 % errors; between 0.35 and 0.9 it falls from
//!   464 ms to 364 ms (`quantiles`).
//! - **[`UtilizationWeighted`](super::UtilizationWeighted)** follows what members say of themselves, seconds late. It is for
//!   requests that differ less than members do. It gives turns to a server that hangs or fails at once (`hung`, `sinkhole`), and
//!   at 1.27 of the allocation it has 8.8 % errors (`ramp`): give it circuits.
//! - **`health::SlowStart` under a policy by load.** A tenth of its share makes a newcomer look ten times as
//!   busy, so that it gets nothing for more than a second (`newcomer`). Policies by turns need it, the default stack hardly.
//! - **Caps.** An ejector or a circuit takes out as many as its `health::BudgetConfig` allows, and no more.
//! - **What simulations leave out.** Connections, their readiness, and servers that notice that a caller is gone.
//!   `cargo run --release --example live --features full` compares the default stack with Tower's balancer over real servers.
