//! Things that come and go, by number.

/// Names a place while something stands there.
pub(super) type Slot = u32;

/// Names one thing: its place, and a number that tells it from those that stood there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) slot: Slot,
    serial: u32,
}

/// Keeps things; the places of those that are gone are used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Option<(u32, T)>>,
    free: Vec<Slot>,
    serial: u32,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), serial: 0 }
    }

    pub(super) fn add(&mut self, thing: T) -> Key {
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        if let Some(slot) = self.free.pop() {
            self.places[slot as usize] = Some((serial, thing));
            return Key { slot, serial };
        }
        self.places.push(Some((serial, thing)));
        Key { slot: Slot::try_from(self.places.len() - 1).expect("fewer than 2^32 at a time"), serial }
    }

    pub(super) fn get(&mut self, key: Key) -> Option<&mut T> {
        let (serial, thing) = self.places[key.slot as usize].as_mut()?;
        (*serial == key.serial).then_some(thing)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        self.take(key.slot).map(|(_, thing)| thing)
    }

    /// Returns what stands at a place, with its name.
    pub(super) fn at(&mut self, slot: Slot) -> Option<(Key, &mut T)> {
        let (serial, thing) = self.places[slot as usize].as_mut()?;
        Some((Key { slot, serial: *serial }, thing))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|(_, thing)| thing)
    }

    fn take(&mut self, slot: Slot) -> Option<(u32, T)> {
        let taken = self.places[slot as usize].take();
        self.free.extend(taken.is_some().then_some(slot));
        taken
    }
}
