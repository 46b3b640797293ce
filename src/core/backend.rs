//! The ready-made candidate.

use super::{Attributes, Candidate, Locality, Status, Weight};

/// Holds a member that needs nothing but an identity, and optionally data, a load and attributes.
///
/// ```
/// use poise::core::{Backend, Candidate, InFlight, Weight};
///
/// let plain = Backend::new("10.0.0.1:80");
/// assert_eq!(*plain.id(), "10.0.0.1:80");
///
/// let tracked = Backend::new("10.0.0.2:80").with_data("rack 4").with_load(InFlight::new()).with_weight(Weight::new(2)?);
/// assert_eq!(tracked.weight().value(), 2);
/// # Ok::<(), poise::core::ZeroWeight>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backend<Id, Data = (), Load = ()> {
    id: Id,
    data: Data,
    load: Load,
    attributes: Attributes,
}

impl<Id> Backend<Id> {
    /// Makes a backend with this identity, no data, no load and the default [`Attributes`].
    pub fn new(id: Id) -> Self {
        Self { id, data: (), load: (), attributes: Attributes::default() }
    }
}

impl<Id, Data, Load> Backend<Id, Data, Load> {
    /// Returns the identity.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Returns the data.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Returns the load.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Sets the data.
    pub fn with_data<D>(self, data: D) -> Backend<Id, D, Load> {
        Backend { id: self.id, data, load: self.load, attributes: self.attributes }
    }

    /// Sets the load.
    pub fn with_load<L>(self, load: L) -> Backend<Id, Data, L> {
        Backend { id: self.id, data: self.data, load, attributes: self.attributes }
    }

    /// Sets the weight.
    #[must_use]
    pub fn with_weight(mut self, weight: Weight) -> Self {
        self.attributes = self.attributes.with_weight(weight);
        self
    }

    /// Sets the administrative state.
    #[must_use]
    pub fn with_status(mut self, status: Status) -> Self {
        self.attributes = self.attributes.with_status(status);
        self
    }

    /// Sets the priority; `0` is used first.
    #[must_use]
    pub fn with_priority(mut self, priority: u32) -> Self {
        self.attributes = self.attributes.with_priority(priority);
        self
    }

    /// Sets the locality.
    #[must_use]
    pub fn with_locality(mut self, locality: impl Into<Option<Locality>>) -> Self {
        self.attributes = self.attributes.with_locality(locality);
        self
    }

    /// Sets all attributes at once.
    #[must_use]
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        Self { attributes, ..self }
    }

    /// Tells whether `other` is the same endpoint: the same identity and data, whatever the attributes say.
    ///
    /// This is what a directory asks when a full set replaces another.
    pub fn is_same_endpoint(&self, other: &Self) -> bool
    where
        Id: PartialEq,
        Data: PartialEq,
    {
        self.id == other.id && self.data == other.data
    }
}

impl<Id, Data, Load> Candidate for Backend<Id, Data, Load> {
    type Id = Id;
    type Data = Data;
    type Load = Load;

    fn id(&self) -> &Id {
        &self.id
    }

    fn data(&self) -> &Data {
        &self.data
    }

    fn load(&self) -> &Load {
        &self.load
    }

    fn weight(&self) -> Weight {
        self.attributes.weight()
    }

    fn status(&self) -> Status {
        self.attributes.status()
    }

    fn priority(&self) -> u32 {
        self.attributes.priority()
    }

    fn locality(&self) -> Option<&Locality> {
        self.attributes.locality()
    }

    fn attributes(&self) -> Attributes {
        self.attributes.clone()
    }
}
