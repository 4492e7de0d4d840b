//! Caches and what tracks them: state only, without time.

pub mod access;
pub mod allocation;
pub mod array;
pub mod cache;
pub mod flags;
pub mod hierarchy;
pub mod node;
pub mod private;
pub mod replacement;
pub mod shared_level;
pub mod snoop_filter;
