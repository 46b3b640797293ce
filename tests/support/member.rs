//! A candidate whose state can be set from outside, and which counts how often it is looked at.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use poise::core::{
    AdditiveLoad, Candidate, Exclusion, Exclusions, LoadMetric, Locality, Now, Status, Weight,
};

/// A load that is set from outside.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    bits: AtomicU64,
    /// How often it was measured.
    pub(crate) measured: AtomicU32,
}

impl Gauge {
    pub(crate) fn set(&self, load: f64) {
        self.bits.store(load.to_bits(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }
}

impl LoadMetric for Gauge {
    fn measure(&self, _: &Now) -> f64 {
        self.measured.fetch_add(1, Ordering::Relaxed);
        self.get()
    }
}

/// Counts what it was set to, as far as that is a number of requests.
impl AdditiveLoad for Gauge {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and not-a-number is zero"
    )]
    fn count(&self) -> u64 {
        self.measured.fetch_add(1, Ordering::Relaxed);
        self.get() as u64
    }
}

/// A member with everything that a policy may ask for.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: u64,
    pub(crate) weight: Weight,
    pub(crate) priority: u32,
    pub(crate) locality: Option<Locality>,
    pub(crate) ramp: f32,
    pub(crate) load: Gauge,
    /// Bit `i`: excluded for the `i`-th reason.
    reasons: AtomicU32,
    /// How often its eligibility was asked for.
    pub(crate) sampled: AtomicU32,
}

impl Member {
    pub(crate) fn new(id: u64) -> Self {
        Self {
            id,
            weight: Weight::ONE,
            priority: 0,
            locality: None,
            ramp: 1.0,
            load: Gauge::default(),
            reasons: AtomicU32::new(0),
            sampled: AtomicU32::new(0),
        }
    }

    pub(crate) fn many(count: u64) -> Vec<Self> {
        (0..count).map(Self::new).collect()
    }

    pub(crate) fn exclude(&self, reason: Exclusion) {
        self.reasons.fetch_or(1 << reason as u32, Ordering::Relaxed);
    }

    pub(crate) fn restore(&self) {
        self.reasons.store(0, Ordering::Relaxed);
    }

    /// Returns the reasons without counting the look.
    pub(crate) fn reasons(&self) -> Exclusions {
        let reasons = self.reasons.load(Ordering::Relaxed);
        Exclusion::ALL.into_iter().filter(|reason| reasons & (1 << *reason as u32) != 0).collect()
    }
}

impl Candidate for Member {
    type Id = u64;
    type Data = ();
    type Load = Gauge;

    fn id(&self) -> &u64 {
        &self.id
    }

    fn data(&self) -> &() {
        &()
    }

    fn load(&self) -> &Gauge {
        &self.load
    }

    fn weight(&self) -> Weight {
        self.weight
    }

    fn priority(&self) -> u32 {
        self.priority
    }

    fn locality(&self) -> Option<&Locality> {
        self.locality.as_ref()
    }

    fn ramp(&self, _: &Now) -> f32 {
        self.ramp
    }

    fn status(&self) -> Status {
        let reasons = self.reasons();
        if reasons.contains(Exclusion::Draining) {
            Status::Draining
        } else if reasons.contains(Exclusion::Unavailable) {
            Status::Unavailable
        } else {
            Status::Ready
        }
    }

    fn exclusions(&self, _: &Now) -> Exclusions {
        self.sampled.fetch_add(1, Ordering::Relaxed);
        self.reasons()
    }
}
