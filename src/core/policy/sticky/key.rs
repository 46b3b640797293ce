//! What a request says of the choice before.

/// Joins the key of a request with the identity of the member that served it before.
///
/// The identity travels with the request, in a cookie, a header or a session, so nothing is remembered here.
///
/// ```
/// use poise::core::policy::StickyKey;
///
/// let first = StickyKey::<str, str>::new("user:42");
/// assert_eq!(first.earlier(), None);
/// let next = first.with_earlier("10.0.0.7:80");
/// assert_eq!((next.key(), next.earlier()), ("user:42", Some("10.0.0.7:80")));
/// ```
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct StickyKey<'a, K: ?Sized, Id: ?Sized> {
    key: &'a K,
    earlier: Option<&'a Id>,
}

impl<'a, K: ?Sized, Id: ?Sized> StickyKey<'a, K, Id> {
    /// Makes the key of a request that was not served before; `key` is what the inner policy sees.
    #[must_use]
    pub const fn new(key: &'a K) -> Self {
        Self { key, earlier: None }
    }

    /// Adds who served it before, if anybody did.
    #[must_use]
    pub fn with_earlier(self, earlier: impl Into<Option<&'a Id>>) -> Self {
        Self { earlier: earlier.into(), ..self }
    }

    /// Returns the key of the request itself.
    #[must_use]
    pub const fn key(&self) -> &'a K {
        self.key
    }

    /// Returns the identity of the member that served it before.
    #[must_use]
    pub const fn earlier(&self) -> Option<&'a Id> {
        self.earlier
    }
}

impl<K: ?Sized, Id: ?Sized> Clone for StickyKey<'_, K, Id> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, Id: ?Sized> Copy for StickyKey<'_, K, Id> {}
