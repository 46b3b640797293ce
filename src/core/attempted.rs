//! Which members a request has tried already.

/// How many positions fit without an allocation.
const INLINE: usize = 8;

/// Holds the positions that a request has tried and should avoid.
///
/// Up to eight positions need no allocation. A view that [avoids](crate::core::View::avoiding) the set treats its members
/// as [`Attempted`](crate::core::Exclusion::Attempted), strictly: whether to try one of them again when nothing else is
/// left is the dispatcher's decision.
///
/// ```
/// use poise::core::Attempted;
///
/// let mut tried = Attempted::new();
/// assert!(tried.insert(3));
/// assert!(!tried.insert(3), "it was there already");
/// assert!(tried.contains(3) && !tried.contains(4));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Attempted {
    inline: [u32; INLINE],
    len: usize,
    more: Vec<u32>,
}

impl Attempted {
    /// Makes an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { inline: [0; INLINE], len: 0, more: Vec::new() }
    }

    /// Adds a position and tells whether it was new. A position that is no `u32` names no member and is not added.
    pub fn insert(&mut self, position: usize) -> bool {
        let Ok(position) = u32::try_from(position) else { return false };
        if self.holds(position) {
            return false;
        }
        if let Some(place) = self.inline.get_mut(self.len) {
            *place = position;
            self.len += 1;
        } else {
            self.more.push(position);
        }
        true
    }

    /// Tells whether a position is in the set.
    ///
    /// # Complexity
    ///
    /// Linear in the size of the set, which is the number of attempts of one request.
    #[must_use]
    pub fn contains(&self, position: usize) -> bool {
        u32::try_from(position).is_ok_and(|position| self.holds(position))
    }

    /// Returns the number of positions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len + self.more.len()
    }

    /// Tells whether nothing was tried yet.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.len = 0;
        self.more.clear();
    }

    /// Lists the positions in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.inline[..self.len].iter().chain(&self.more).map(|position| *position as usize)
    }

    fn holds(&self, position: u32) -> bool {
        self.inline[..self.len].contains(&position) || self.more.contains(&position)
    }
}

impl FromIterator<usize> for Attempted {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        let mut set = Self::new();
        for position in positions {
            set.insert(position);
        }
        set
    }
}
