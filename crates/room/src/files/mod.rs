//! The files of a room, served through FUSE.
//!
//! There is no host path in any of this: names are looked up in the model's own tree, and nothing here opens a file that a
//! client names.

pub(crate) mod devices;
pub(crate) mod mounting;
pub(crate) mod resctrl;

pub use mounting::Mounted;
