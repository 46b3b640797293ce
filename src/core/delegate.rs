//! What a wrapper of a candidate passes on.

/// Passes methods of [`Candidate`](crate::core::Candidate) on to what is wrapped.
///
/// `self => inner` passes on everything; `self => inner, except: ..` leaves the named ones of `load`, `ramp`, `exclusions`,
/// `watch` and `changes_at` to the wrapper. A method that the trait gains is added here, and so to all of them.
macro_rules! delegate_candidate {
    ($this:ident => $inner:expr $(, except: $($own:ident),+)?) => {
        fn id(&$this) -> &Self::Id {
            $inner.id()
        }

        fn data(&$this) -> &Self::Data {
            $inner.data()
        }

        fn weight(&$this) -> $crate::core::Weight {
            $inner.weight()
        }

        fn status(&$this) -> $crate::core::Status {
            $inner.status()
        }

        fn priority(&$this) -> u32 {
            $inner.priority()
        }

        fn locality(&$this) -> Option<&$crate::core::Locality> {
            $inner.locality()
        }

        fn attributes(&$this) -> $crate::core::Attributes {
            $inner.attributes()
        }

        delegate_candidate!(@load [$($($own)+)?] $this => $inner);
        delegate_candidate!(@ramp [$($($own)+)?] $this => $inner);
        delegate_candidate!(@exclusions [$($($own)+)?] $this => $inner);
        delegate_candidate!(@watch [$($($own)+)?] $this => $inner);
        delegate_candidate!(@changes_at [$($($own)+)?] $this => $inner);
    };

    (@load [load $($rest:ident)*] $this:ident => $inner:expr) => {};
    (@ramp [ramp $($rest:ident)*] $this:ident => $inner:expr) => {};
    (@exclusions [exclusions $($rest:ident)*] $this:ident => $inner:expr) => {};
    (@watch [watch $($rest:ident)*] $this:ident => $inner:expr) => {};
    (@changes_at [changes_at $($rest:ident)*] $this:ident => $inner:expr) => {};
    (@$method:ident [$other:ident $($rest:ident)*] $this:ident => $inner:expr) => {
        delegate_candidate!(@$method [$($rest)*] $this => $inner);
    };

    (@load [] $this:ident => $inner:expr) => {
        fn load(&$this) -> &Self::Load {
            $inner.load()
        }
    };
    (@ramp [] $this:ident => $inner:expr) => {
        fn ramp(&$this, now: &$crate::core::Now) -> f32 {
            $inner.ramp(now)
        }
    };
    (@exclusions [] $this:ident => $inner:expr) => {
        fn exclusions(&$this, now: &$crate::core::Now) -> $crate::core::Exclusions {
            $inner.exclusions(now)
        }

        fn is_eligible(&$this, now: &$crate::core::Now) -> bool {
            $inner.is_eligible(now)
        }
    };
    (@watch [] $this:ident => $inner:expr) => {
        fn watch(&$this, changes: $crate::core::Changes) {
            $inner.watch(changes);
        }
    };
    (@changes_at [] $this:ident => $inner:expr) => {
        fn changes_at(&$this, now: &$crate::core::Now) -> Option<std::time::Instant> {
            $inner.changes_at(now)
        }
    };
}

pub(crate) use delegate_candidate;
