//! A simulated platform offered as Linux files: resctrl, model-specific registers, sysfs.

pub mod backing;
mod enter;
mod files;
pub mod guest;
mod hardware;
mod instances;
mod load;
pub mod machine;
mod msr;
mod room;
mod runner;
mod simulated;
mod slots;
pub mod socket;
mod state;
mod still;
mod tasks;
mod watchdog;

pub use enter::{RoomEntry, enter};
pub use files::Mounted;
pub use load::{BadLoad, Load, PlacedLoad, placeholder};
pub use machine::{NoResctrl, machine_of};
pub use room::{Room, RoomSpec};
pub use simulated::simulated;
pub use still::Still;
pub use watchdog::Watchdog;
