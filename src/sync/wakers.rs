//! Tasks that wait for a change.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;
use std::thread;

use crate::sync::{Mutex, lock};

/// Keeps one waker for each task that waits.
///
/// 1. A waiter registers first and looks at the state again afterwards; whoever changes the state changes it first and
///    calls [`wake_all`](Self::wake_all) afterwards. The lock orders both, so that either the waiter sees the change or
///    the change sees the waker.
/// 2. No waker is cloned, woken or dropped under the lock: each of these may run code that comes back here.
/// 3. A slot lives from the first registration to [`remove`](Self::remove), and is then used again.
#[derive(Debug, Default)]
pub(crate) struct WakerSet {
    slab: Mutex<Slab>,
}

/// Names the slot of one waiter; empty until it registers.
#[derive(Debug, Default)]
pub(crate) struct WakerKey(Option<usize>);

impl WakerSet {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Has `waker` woken by the next [`wake_all`](Self::wake_all), in place of what stood under `key`.
    pub(crate) fn register(&self, key: &mut WakerKey, waker: &Waker) {
        if lock(&self.slab).holds(key, waker) {
            return;
        }
        let fresh = waker.clone();
        let previous = lock(&self.slab).put(key, fresh);
        drop(previous);
    }

    /// Frees the slot of `key`, which is empty afterwards.
    pub(crate) fn remove(&self, key: &mut WakerKey) {
        if let Some(position) = key.0.take() {
            let previous = lock(&self.slab).free(position);
            drop(previous);
        }
    }

    /// Wakes everybody who has registered since the last time.
    ///
    /// A waker that panics keeps nobody else asleep: its panic goes on when all have been woken.
    pub(crate) fn wake_all(&self) {
        let woken = lock(&self.slab).take_all();
        let mut panic = None;
        for waker in woken {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                panic.get_or_insert(payload);
            }
        }
        // A second panic while one unwinds would abort the process.
        if let Some(payload) = panic
            && !thread::panicking()
        {
            resume_unwind(payload);
        }
    }
}

/// A slab: positions stay, freed ones are chained.
#[derive(Debug, Default)]
struct Slab {
    slots: Vec<Slot>,
    first_free: Option<usize>,
    taken: usize,
}

#[derive(Debug)]
enum Slot {
    Free { next: Option<usize> },
    Taken(Option<Waker>),
}

impl Slab {
    /// What an idle slab keeps.
    const IDLE_CAPACITY: usize = 8;

    fn holds(&self, key: &WakerKey, waker: &Waker) -> bool {
        let slot = key.0.and_then(|position| self.slots.get(position));
        matches!(slot, Some(Slot::Taken(Some(held))) if held.will_wake(waker))
    }

    fn put(&mut self, key: &mut WakerKey, waker: Waker) -> Option<Waker> {
        let position = *key.0.get_or_insert_with(|| self.claim());
        match self.slots.get_mut(position) {
            Some(Slot::Taken(held)) => held.replace(waker),
            // A key names a taken slot from its claim to its removal.
            _ => None,
        }
    }

    fn claim(&mut self) -> usize {
        self.taken += 1;
        let position = self.first_free.unwrap_or(self.slots.len());
        match self.slots.get_mut(position) {
            Some(slot) => {
                if let Slot::Free { next } = mem::replace(slot, Slot::Taken(None)) {
                    self.first_free = next;
                }
            }
            None => self.slots.push(Slot::Taken(None)),
        }
        position
    }

    fn free(&mut self, position: usize) -> Option<Waker> {
        let slot = self.slots.get_mut(position)?;
        let freed = mem::replace(slot, Slot::Free { next: self.first_free });
        self.first_free = Some(position);
        self.taken -= 1;
        if self.taken == 0 {
            self.reset();
        }
        match freed {
            Slot::Taken(waker) => waker,
            Slot::Free { .. } => None,
        }
    }

    /// Gives back what a crowd needed that is gone.
    fn reset(&mut self) {
        self.slots.clear();
        self.slots.shrink_to(Self::IDLE_CAPACITY);
        self.first_free = None;
    }

    fn take_all(&mut self) -> Vec<Waker> {
        let held = self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Taken(waker) => waker.take(),
            Slot::Free { .. } => None,
        });
        held.collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Count {
        fn value(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("this waker is broken");
        }
    }

    fn slots(set: &WakerSet) -> usize {
        lock(&set.slab).slots.len()
    }

    #[test]
    fn a_waker_is_woken_once_per_registration() {
        let (set, count, mut key) = (WakerSet::new(), Arc::new(Count::default()), WakerKey::default());
        let waker = Waker::from(Arc::clone(&count));
        set.register(&mut key, &waker);
        set.register(&mut key, &waker);
        set.wake_all();
        set.wake_all();
        assert_eq!(count.value(), 1);
        set.register(&mut key, &waker);
        set.wake_all();
        assert_eq!(count.value(), 2);
    }

    #[test]
    fn the_last_registered_waker_is_the_one_that_is_woken() {
        let (set, mut key) = (WakerSet::new(), WakerKey::default());
        let (old, new) = (Arc::new(Count::default()), Arc::new(Count::default()));
        set.register(&mut key, &Waker::from(Arc::clone(&old)));
        set.register(&mut key, &Waker::from(Arc::clone(&new)));
        set.wake_all();
        assert_eq!((old.value(), new.value()), (0, 1));
    }

    #[test]
    fn slots_are_used_again_and_neighbours_are_left_alone() {
        let (set, count) = (WakerSet::new(), Arc::new(Count::default()));
        let waker = Waker::from(Arc::clone(&count));
        let mut keys: Vec<WakerKey> = (0..4).map(|_| WakerKey::default()).collect();
        for key in &mut keys {
            set.register(key, &waker);
        }
        for freed in [1, 2, 1] {
            set.remove(&mut keys[freed]);
            set.remove(&mut keys[freed]);
            set.register(&mut keys[freed], &waker);
        }
        assert_eq!(slots(&set), 4, "a freed slot is the next to be taken");
        set.remove(&mut keys[3]);
        set.wake_all();
        assert_eq!(count.value(), 3);
        for key in &mut keys {
            set.remove(key);
        }
        assert_eq!(slots(&set), 0, "nobody waits, nothing is kept");
    }

    #[test]
    fn a_waker_that_panics_keeps_nobody_asleep() {
        let (set, count) = (WakerSet::new(), Arc::new(Count::default()));
        let (mut first, mut second, mut third) = Default::default();
        set.register(&mut first, &Waker::from(Arc::clone(&count)));
        set.register(&mut second, &Waker::from(Arc::new(Panics)));
        set.register(&mut third, &Waker::from(Arc::clone(&count)));
        assert!(catch_unwind(AssertUnwindSafe(|| set.wake_all())).is_err(), "the panic is not hidden");
        assert_eq!(count.value(), 2);
    }
}

#[cfg(all(test, loom))]
mod models {
    use std::task::Wake;

    use super::*;
    use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering};

    #[derive(Default)]
    struct Flag(AtomicBool);

    impl Wake for Flag {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    /// The shape of every wait in this crate: look, register, look again.
    #[test]
    fn loom_a_waiter_sees_the_change_or_is_woken() {
        loom::model(|| {
            let shared = Arc::new((WakerSet::new(), AtomicUsize::new(0)));
            let changing = Arc::clone(&shared);
            let writer = loom::thread::spawn(move || {
                changing.1.store(1, Ordering::Relaxed);
                changing.0.wake_all();
            });
            let flag = Arc::new(Flag::default());
            let mut key = WakerKey::default();
            shared.0.register(&mut key, &Waker::from(Arc::clone(&flag)));
            let seen = shared.1.load(Ordering::Relaxed) == 1;
            writer.join().unwrap();
            assert!(seen || flag.0.load(Ordering::Acquire), "the waiter sleeps through the change");
        });
    }

    #[test]
    fn loom_leaving_neither_loses_the_wake_of_another_nor_leaks_a_slot() {
        loom::model(|| {
            let set = Arc::new(WakerSet::new());
            let (flag, mut stays, mut leaves) =
                (Arc::new(Flag::default()), WakerKey::default(), WakerKey::default());
            let waker = Waker::from(Arc::clone(&flag));
            set.register(&mut leaves, Waker::noop());
            set.register(&mut stays, &waker);
            let leaving = Arc::clone(&set);
            let other = loom::thread::spawn(move || {
                leaving.remove(&mut leaves);
                leaving.register(&mut leaves, Waker::noop());
                leaving.remove(&mut leaves);
            });
            set.wake_all();
            assert!(flag.0.load(Ordering::Acquire), "who stays is woken");
            other.join().unwrap();
            set.remove(&mut stays);
            assert_eq!(lock(&set.slab).slots.len(), 0);
        });
    }
}
