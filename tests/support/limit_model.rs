//! A gradient limit that is slow and obviously right, and a run of the real one against it.

use std::time::{Duration, Instant};

use poise::core::{LoadTracker, Now, Outcome, Tracked};
use poise::health::{GradientConfig, GradientLimit, Limit};

const ROUND: Duration = Duration::from_millis(100);
const LONGEST_HOLD: Duration = Duration::from_secs(2);

/// One thing that happens to a limit.
#[derive(Clone, Copy, Debug)]
enum Event {
    Forward(Duration),
    Back(Duration),
    /// So many attempts start.
    Start(u8),
    /// An attempt ends, the one that started so many before.
    End(usize, Outcome),
    /// Attempts end until so many are left, in the order in which they started.
    Drain(u8),
}

impl Event {
    fn decode(kind: u8, detail: u8) -> Self {
        let step = Duration::from_millis(5) * u32::from(detail % 64);
        let chosen = usize::from(detail);
        match kind % 16 {
            0..=3 => Self::Forward(step),
            4 if detail < 32 => Self::Back(step * 8),
            4..=7 => Self::Start(detail % 32),
            8 => Self::End(chosen, Outcome::Failure),
            9 => Self::End(chosen, Outcome::Cancelled),
            10 if detail < 64 => Self::End(chosen, Outcome::OVERLOAD),
            10 if detail < 128 => Self::End(chosen, Outcome::Overload { retry_after: Some(step * 20) }),
            10..=12 => Self::End(chosen, Outcome::Success),
            _ => Self::Drain(detail % 16),
        }
    }
}

/// Takes one event after another.
#[derive(Debug)]
struct Model {
    bounds: (u32, u32),
    limit: f64,
    long: f64,
    rounds: u32,
    samples: Vec<Duration>,
    peak: usize,
    round_ends: Instant,
    cut: Option<Instant>,
    held_until: Option<Instant>,
    /// What is admitted: follows the limit whenever somebody looks.
    admitted: u32,
}

impl Model {
    fn new(bounds: (u32, u32), now: Instant) -> Self {
        let initial = 20.clamp(bounds.0, bounds.1);
        Self {
            bounds,
            limit: f64::from(initial),
            long: 0.0,
            rounds: 0,
            samples: Vec::new(),
            peak: 0,
            round_ends: now + ROUND,
            cut: None,
            held_until: None,
            admitted: initial,
        }
    }

    fn publish(&mut self, now: Instant) {
        self.held_until = self.held_until.filter(|until| now < *until);
        let whole = format!("{:.0}", self.limit.floor()).parse().expect("within the bounds");
        self.admitted = if self.held_until.is_some() { self.bounds.0 } else { whole };
    }

    fn start(&mut self, in_flight: usize, now: Instant) -> bool {
        if in_flight >= self.admitted as usize && self.held_until.is_some() {
            self.publish(now);
        }
        in_flight < self.admitted as usize
    }

    /// `in_flight` counts the attempt that ends.
    fn end(&mut self, started: Instant, outcome: Outcome, in_flight: usize, now: Instant) {
        let latency = now.saturating_duration_since(started);
        match outcome {
            Outcome::Success => self.sample(latency, in_flight, now),
            Outcome::Cancelled if self.rounds > 0 && latency.as_nanos() > self.usual_nanos() => {
                self.sample(latency, in_flight, now);
            }
            Outcome::Overload { retry_after } => {
                if self.cut.is_none_or(|cut| started >= cut) {
                    self.limit = (self.limit * 0.9).max(f64::from(self.bounds.0));
                    self.cut = Some(now);
                }
                let hold = retry_after.unwrap_or_default().min(LONGEST_HOLD);
                if !hold.is_zero() && self.held_until.is_none_or(|held| now + hold >= held) {
                    self.held_until = Some(now + hold);
                }
                self.publish(now);
            }
            _ => {}
        }
        if self.held_until.is_some() {
            self.publish(now);
        }
    }

    fn usual_nanos(&self) -> u128 {
        format!("{:.0}", self.long.floor()).parse().expect("a latency")
    }

    fn sample(&mut self, latency: Duration, in_flight: usize, now: Instant) {
        self.peak = self.peak.max(in_flight);
        self.samples.push(latency);
        let is_over = now >= self.round_ends || now + ROUND < self.round_ends;
        if self.samples.len() < 10 || !is_over {
            return;
        }
        self.round_ends = now + ROUND;
        let sum: u128 = self.samples.iter().map(Duration::as_nanos).sum();
        let short = (sum as f64 / self.samples.len() as f64).max(1.0);
        self.samples.clear();
        let peak = std::mem::take(&mut self.peak);
        self.rounds += 1;
        let part = if self.rounds <= 10 { 1.0 / f64::from(self.rounds) } else { 2.0 / 601.0 };
        self.long += (short - self.long) * part;
        if self.long > 2.0 * short {
            self.long *= 0.95;
        }
        if peak as f64 >= self.limit / 2.0 {
            let gradient = (1.5 * self.long / short).clamp(0.5, 1.0);
            let next = 0.8 * self.limit + 0.2 * (self.limit * gradient + 4.0);
            self.limit = next.clamp(self.bounds.0.into(), self.bounds.1.into());
        }
        self.publish(now);
    }
}

/// Bounds and what happens under them.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    bounds: (u32, u32),
    events: Vec<Event>,
}

impl Scenario {
    /// Decodes a scenario; every sequence of bytes is one.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let ([low, high], events) = bytes.split_first_chunk().unwrap_or((&[0; 2], &[]));
        let min = 1 + u32::from(low % 8);
        Self {
            bounds: (min, min + u32::from(high % 64)),
            events: events.chunks_exact(2).map(|pair| Event::decode(pair[0], pair[1])).collect(),
        }
    }

    /// Runs limit and model side by side, and returns how often the limit moved.
    ///
    /// # Panics
    ///
    /// When they differ in anything that can be seen.
    pub(crate) fn check(&self, start: Instant) -> usize {
        let config = GradientConfig::default()
            .with_bounds(self.bounds.0, self.bounds.1)
            .and_then(|config| config.with_round(ROUND))
            .expect("in range")
            .with_longest_hold(LONGEST_HOLD);
        let limit = GradientLimit::new(config, &Now::at(start));
        let mut run = Run { model: Model::new(self.bounds, start), now: start, held: Vec::new(), moved: 0 };
        for event in &self.events {
            let before = limit.limit();
            run.step(&limit, *event);
            run.moved += usize::from(limit.limit() != before);
        }
        run.moved
    }
}

struct Run<'a> {
    model: Model,
    now: Instant,
    held: Vec<(Instant, Tracked<'a, GradientLimit>)>,
    moved: usize,
}

impl<'a> Run<'a> {
    fn step(&mut self, limit: &'a GradientLimit, event: Event) {
        match event {
            Event::Forward(step) => self.now += step,
            Event::Back(step) => self.now = self.now.checked_sub(step).unwrap_or(self.now),
            Event::Start(times) => (0..times).for_each(|_| self.start(limit)),
            Event::End(chosen, outcome) => {
                if !self.held.is_empty() {
                    self.end(limit, chosen % self.held.len(), outcome);
                }
            }
            Event::Drain(left) => {
                while self.held.len() > usize::from(left) {
                    self.end(limit, 0, Outcome::Success);
                }
            }
        }
    }

    fn start(&mut self, limit: &'a GradientLimit) {
        let expected = self.model.start(self.held.len(), self.now);
        let attempt = limit.try_acquire(&Now::at(self.now));
        assert_eq!(attempt.is_ok(), expected, "who is admitted");
        self.held.extend(attempt.ok().map(|attempt| (self.now, attempt)));
        self.compare(limit);
    }

    fn end(&mut self, limit: &GradientLimit, chosen: usize, outcome: Outcome) {
        let (started, attempt) = self.held.remove(chosen);
        self.model.end(started, outcome, self.held.len() + 1, self.now);
        attempt.complete(outcome, &Now::at(self.now));
        self.compare(limit);
    }

    fn compare(&self, limit: &GradientLimit) {
        assert_eq!(limit.limit(), self.model.admitted, "the limit of {:?}", self.model);
        assert_eq!(limit.in_flight(), self.held.len() as u64, "how many are in flight");
        assert_eq!(limit.is_full(), self.held.len() >= self.model.admitted as usize, "whether it is full");
    }
}
