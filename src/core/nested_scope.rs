//! Several scopes around one attempt.

use super::AttemptScope;

/// Puts one scope into another.
pub(crate) fn nest(
    outer: Option<Box<dyn AttemptScope>>,
    inner: Option<Box<dyn AttemptScope>>,
) -> Option<Box<dyn AttemptScope>> {
    match (outer, inner) {
        (Some(outer), Some(inner)) => Some(Box::new(Nested { outer, inner })),
        (outer, inner) => outer.or(inner),
    }
}

struct Nested {
    outer: Box<dyn AttemptScope>,
    inner: Box<dyn AttemptScope>,
}

impl AttemptScope for Nested {
    fn run(&self, code: &mut dyn FnMut()) {
        self.outer.run(&mut || self.inner.run(code));
    }

    fn called(&self, resends: u32) {
        self.outer.called(resends);
        self.inner.called(resends);
    }
}
