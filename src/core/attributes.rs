//! What a membership says of a member beside its identity and its data.

use std::fmt;
use std::sync::Arc;

use super::{Exclusion, Exclusions, Weight};

/// Tells the administrative state of a member.
///
/// It is set by the owner of the membership and by nobody else: health, circuits and panic mode never change it, and
/// never route to a member that is not [`Ready`](Status::Ready).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Takes new work.
    #[default]
    Ready,
    /// Finishes what it has and takes no new work.
    Draining,
    /// Takes no work.
    Unavailable,
}

impl Status {
    /// Returns what this status excludes a member for: nothing when it is ready.
    #[must_use]
    pub fn exclusions(self) -> Exclusions {
        match self {
            Self::Ready => Exclusions::NONE,
            Self::Draining => Exclusion::Draining.into(),
            Self::Unavailable => Exclusion::Unavailable.into(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Unavailable => "unavailable",
        })
    }
}

/// Names the place where a member runs: a region, a zone in it, and a part of that zone.
///
/// Two localities are equal when all three parts are. A clone costs one reference count.
///
/// ```
/// use poise::core::Locality;
///
/// let a = Locality::new("eu-west", "a");
/// assert_eq!(a.zone(), "a");
/// assert_eq!(a.to_string(), "eu-west/a");
/// assert_ne!(a, Locality::new("eu-west", "b"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Locality(Arc<[Box<str>; 3]>);

impl Locality {
    /// Makes a locality of a region and a zone.
    #[must_use]
    pub fn new(region: &str, zone: &str) -> Self {
        Self::with_sub_zone(region, zone, "")
    }

    /// Makes a locality of a region, a zone and a part of that zone.
    #[must_use]
    pub fn with_sub_zone(region: &str, zone: &str, sub_zone: &str) -> Self {
        Self(Arc::new([region.into(), zone.into(), sub_zone.into()]))
    }

    /// Returns the region.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.0[0]
    }

    /// Returns the zone.
    #[must_use]
    pub fn zone(&self) -> &str {
        &self.0[1]
    }

    /// Returns the part of the zone, empty when there is none.
    #[must_use]
    pub fn sub_zone(&self) -> &str {
        &self.0[2]
    }
}

impl fmt::Debug for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locality({self})")
    }
}

impl fmt::Display for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.region(), self.zone())?;
        if self.sub_zone().is_empty() { Ok(()) } else { write!(f, "/{}", self.sub_zone()) }
    }
}

/// Holds what may change about a member without making it another one.
///
/// Defaults: [`Status::Ready`], [`Weight::ONE`], priority `0` (the first), no locality.
///
/// ```
/// use poise::core::{Attributes, Status, Weight};
///
/// let attributes = Attributes::default().with_weight(Weight::new(5)?).with_status(Status::Draining);
/// assert_eq!(attributes.weight().value(), 5);
/// # Ok::<(), poise::core::ZeroWeight>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    status: Status,
    weight: Weight,
    priority: u32,
    locality: Option<Locality>,
}

impl Attributes {
    /// Sets the administrative state.
    #[must_use]
    pub fn with_status(self, status: Status) -> Self {
        Self { status, ..self }
    }

    /// Sets the weight.
    #[must_use]
    pub fn with_weight(self, weight: Weight) -> Self {
        Self { weight, ..self }
    }

    /// Sets the priority; `0` is the first to be used.
    #[must_use]
    pub fn with_priority(self, priority: u32) -> Self {
        Self { priority, ..self }
    }

    /// Sets the locality.
    #[must_use]
    pub fn with_locality(self, locality: impl Into<Option<Locality>>) -> Self {
        Self { locality: locality.into(), ..self }
    }

    /// Returns the administrative state.
    #[must_use]
    #[inline]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the weight.
    #[must_use]
    #[inline]
    pub fn weight(&self) -> Weight {
        self.weight
    }

    /// Returns the priority.
    #[must_use]
    #[inline]
    pub fn priority(&self) -> u32 {
        self.priority
    }

    /// Returns the locality.
    #[must_use]
    pub fn locality(&self) -> Option<&Locality> {
        self.locality.as_ref()
    }
}
