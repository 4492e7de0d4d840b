//! A room's tree of resctrl, mounted: what system calls on it answer. These tests need root and /dev/fuse.

mod calls;
mod differential;
mod files;
mod ground;
