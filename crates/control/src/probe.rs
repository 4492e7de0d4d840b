//! The capacity probe.
