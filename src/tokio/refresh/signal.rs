//! What reaches a refresh from outside.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::tokio::sync::Notify;

use crate::discovery::FullSet;
use crate::sync::{Mutex, lock};

#[derive(Debug, Default)]
pub(super) struct Signal {
    hinted: AtomicBool,
    notify: Notify,
}

impl Signal {
    fn hint(&self) {
        // Release: who sees the hint asks a source that knows all that was known here.
        self.hinted.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    pub(super) fn take_hint(&self) -> bool {
        self.hinted.swap(false, Ordering::Acquire)
    }

    /// Waits for a hint or a push; one that has come before counts.
    pub(super) async fn arrived(&self) {
        self.notify.notified().await;
    }
}

/// Tells a refresh that its source may have news, so that it asks before its interval is over.
///
/// Hints cost nothing and are limited in what they do: however many there are, starts are apart by the
/// [spacing](super::Refresh::with_hint_spacing), and while the source fails its back-off holds. A hint that comes while
/// the source is being asked makes it be asked once more, as the answer may be older. A clone hints at the same refresh;
/// it keeps none alive.
#[derive(Clone)]
pub struct RefreshHint(pub(super) Arc<Signal>);

impl RefreshHint {
    /// Says that there may be news.
    pub fn hint(&self) {
        self.0.hint();
    }
}

impl fmt::Debug for RefreshHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefreshHint").finish_non_exhaustive()
    }
}

pub(super) struct Inbox<K, B> {
    pub(super) signal: Arc<Signal>,
    newest: Mutex<Option<FullSet<K, B>>>,
}

impl<K, B> Inbox<K, B> {
    pub(super) fn new() -> Self {
        Self { signal: Arc::default(), newest: Mutex::new(None) }
    }

    pub(super) fn take(&self) -> Option<FullSet<K, B>> {
        lock(&self.newest).take()
    }
}

/// Gives a refresh a full set that it did not ask for, as from a notification that carries it.
///
/// What is pushed is newer than whatever is being fetched: that is given up, so that a slow answer never overwrites it.
/// Of several that were not taken yet the last one counts. A clone pushes to the same refresh; it keeps none alive.
pub struct RefreshPush<K, B>(pub(super) Arc<Inbox<K, B>>);

impl<K, B> RefreshPush<K, B> {
    /// Says what the set is now.
    pub fn push(&self, set: FullSet<K, B>) {
        let _older = lock(&self.0.newest).replace(set);
        self.0.signal.notify.notify_one();
    }
}

impl<K, B> Clone for RefreshPush<K, B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, B> fmt::Debug for RefreshPush<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefreshPush").finish_non_exhaustive()
    }
}
