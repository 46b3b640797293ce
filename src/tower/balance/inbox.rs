//! Which endpoints have news, and which task is to hear of it.

use std::fmt;
use std::mem;
use std::task::{Wake, Waker};

use crate::core::Changes;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering, Weak, fence, lock};

/// Collects the endpoints that were woken since the owner last looked, and wakes its task.
///
/// 1. The owner registers its task first and takes the news afterwards; whoever has news adds it first and takes the task
///    to wake afterwards. The lock orders both, so no news waits for a task that sleeps.
/// 2. No waker is cloned, woken or dropped under the lock: each of these may run code that comes back here.
/// 3. An endpoint is in the news at most once.
#[derive(Debug, Default)]
pub(super) struct Inbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    news: Vec<Arc<Signal>>,
    task: Option<Waker>,
}

impl Inbox {
    /// Has the task of `waker` woken by the next news, in place of the one before.
    pub(super) fn register(&self, waker: &Waker) {
        if lock(&self.0).task.as_ref().is_some_and(|task| task.will_wake(waker)) {
            return;
        }
        let fresh = waker.clone();
        let previous = lock(&self.0).task.replace(fresh);
        drop(previous);
    }

    /// Swaps the news with `empty`.
    pub(super) fn take(&self, empty: &mut Vec<Arc<Signal>>) {
        mem::swap(&mut lock(&self.0).news, empty);
    }

    /// Wakes the task, without news of any one endpoint.
    pub(super) fn wake(&self) {
        let task = lock(&self.0).task.take();
        task.into_iter().for_each(Waker::wake);
    }

    fn add(&self, signal: Arc<Signal>) {
        let task = {
            let mut state = lock(&self.0);
            state.news.push(signal);
            state.task.take()
        };
        task.into_iter().for_each(Waker::wake);
    }
}

/// Stands for one endpoint towards all that has news of it: its service, its candidate, and the attempts that end.
///
/// It outlives its place in a pool; news of an endpoint that has left is dropped.
pub(super) struct Signal {
    home: Mutex<Weak<Inbox>>,
    /// Where the endpoint stands, which whoever takes the news checks.
    position: AtomicUsize,
    is_news: AtomicBool,
    wants_place: AtomicBool,
}

impl Signal {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            home: Mutex::new(Weak::new()),
            position: AtomicUsize::new(0),
            is_news: AtomicBool::new(false),
            wants_place: AtomicBool::new(false),
        })
    }

    /// Tells `inbox` from now on.
    pub(super) fn join(&self, inbox: &Arc<Inbox>) {
        *lock(&self.home) = Arc::downgrade(inbox);
        self.is_news.store(false, Ordering::Relaxed);
    }

    /// Tells nobody from now on.
    pub(super) fn leave(&self) {
        *lock(&self.home) = Weak::new();
    }

    pub(super) fn position(&self) -> usize {
        self.position.load(Ordering::Relaxed)
    }

    pub(super) fn place(&self, position: usize) {
        self.position.store(position, Ordering::Relaxed);
    }

    /// Says that the news was heard. The caller looks at the endpoint afterwards.
    pub(super) fn hear(&self) {
        // With the swap in `notify`: whoever finds that its news is there already has changed what the caller looks at now.
        self.is_news.swap(false, Ordering::AcqRel);
    }

    pub(super) fn notify(self: &Arc<Self>) {
        if self.is_news.swap(true, Ordering::AcqRel) {
            return;
        }
        let home = lock(&self.home).upgrade();
        if let Some(home) = home {
            home.add(Arc::clone(self));
        }
    }

    /// Asks for news when a place comes free. The caller looks again afterwards.
    pub(super) fn want_place(&self) {
        self.wants_place.store(true, Ordering::Relaxed);
        // With the fence in `place_freed`: either the caller sees the place that was given back, or whoever gave it back sees
        // that it is wanted.
        fence(Ordering::SeqCst);
    }

    /// Says that a place has come free.
    pub(super) fn place_freed(self: &Arc<Self>) {
        fence(Ordering::SeqCst);
        if self.wants_place.load(Ordering::Relaxed) && self.wants_place.swap(false, Ordering::Relaxed) {
            self.notify();
        }
    }

    /// Returns a handle by which a candidate says that it changed.
    pub(super) fn changes(self: &Arc<Self>) -> Changes {
        let signal = Arc::clone(self);
        Changes::new(Arc::new(move || signal.notify()))
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("position", &self.position()).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;

    #[derive(Default)]
    struct Flag(AtomicBool);

    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    /// Takes the news as a pool does, and tells whether there was any.
    fn hear(inbox: &Inbox) -> bool {
        let mut news = Vec::new();
        inbox.take(&mut news);
        news.iter().for_each(|signal| signal.hear());
        !news.is_empty()
    }

    #[test]
    fn loom_news_is_seen_or_wakes_the_task() {
        loom::model(|| {
            let (inbox, signal) = (Arc::new(Inbox::default()), Signal::new());
            signal.join(&inbox);
            let ready = Arc::new(AtomicBool::new(false));
            // Old news, that the change may find not heard yet.
            signal.notify();
            let changing = (Arc::clone(&signal), Arc::clone(&ready));
            let writer = loom::thread::spawn(move || {
                changing.1.store(true, Ordering::Relaxed);
                changing.0.notify();
            });
            let flag = Arc::new(Flag::default());
            inbox.register(&Waker::from(Arc::clone(&flag)));
            let seen = hear(&inbox) && ready.load(Ordering::Relaxed);
            writer.join().unwrap();
            assert!(seen || flag.0.load(Ordering::Acquire), "the task sleeps through the change");
            assert!(seen || hear(&inbox), "the task is woken and finds no news");
        });
    }

    #[test]
    fn loom_a_place_that_is_wanted_is_seen_or_told() {
        loom::model(|| {
            let (inbox, signal) = (Arc::new(Inbox::default()), Signal::new());
            signal.join(&inbox);
            let full = Arc::new(AtomicBool::new(true));
            let leaving = (Arc::clone(&signal), Arc::clone(&full));
            let attempt = loom::thread::spawn(move || {
                leaving.1.store(false, Ordering::Relaxed);
                leaving.0.place_freed();
            });
            signal.want_place();
            let seen = !full.load(Ordering::Relaxed);
            attempt.join().unwrap();
            assert!(seen || hear(&inbox), "nobody hears of the place");
        });
    }
}
