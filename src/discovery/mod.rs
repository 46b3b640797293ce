//! Membership: who is there, in which revision.
