//! Health: circuits and signals.
