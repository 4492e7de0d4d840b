//! Everything that touches the settings of a machine: journal, apply, verify, restore.
//!
//! [`apply`] carries out the steps of a plan: it looks whether they can work, writes down every old value, does them one by
//! one, and reads everything back. [`restore`] puts the old values back, also after an apply that was cut off between any two
//! writes. [`status`] reports what is applied and whether it still holds.
//!
//! A [`MachineAccess`] is three things to act on: a [`ResctrlTree`] (resctrl), [`Registers`], and a [`System`] that knows tasks and
//! CPUs. [`host::HostFiles`] is the running one.

mod apply;
mod cgroups;
mod change;
mod check;
mod cpus;
mod files;
mod follow;
pub mod host;
mod intrusion;
mod journal;
mod monitor;
mod perform;
mod preview;
pub mod probe;
mod read_back;
mod registers;
mod remainder;
mod restore;
pub mod schemata;
mod settings;
mod since_apply;
mod snapshot;
mod state;
mod status;
mod store;
mod system;
mod tree;
mod trial;
mod undo;
mod verify;

pub use apply::{Applied, ApplyError, ApplyFailure, ApplyRequest, Preview, apply, apply_with, preview};
pub use cgroups::{FollowedCgroup, Strays};
pub use change::{BadStep, describe};
pub use check::NotCarriedOut;
pub use files::Files;
pub use follow::{FollowError, Followed, Follower};
pub use journal::{FORMAT, Head, Journal, JournalError, PriorState, RegisterBefore, TaskBefore};
pub use monitor::{MonitorCounter, MonitorReading, MonitoredGroup, Share};
pub use perform::MachineError;
pub use read_back::Difference;
pub use registers::{RegisterError, Registers};
pub use remainder::{OthersChanges, WAYS_ON};
pub use restore::{RestoreError, Restored, restore, restore_with};
pub use settings::CpuRegister;
pub use snapshot::{GroupSnapshot, Home, Snapshot};
pub use state::{Holder, LockError, StateDirectory, StateLock, Untrusted};
pub use status::{ApplyState, Status, StatusError, status};
pub use store::Store;
pub use system::{BootUnknown, MachineAccess, System, TaskFacts};
pub use tree::{MountSeen, ResctrlTree, TreeError};
pub use verify::{ProbeReport, Probing, Verified, VerifyError, try_probe, verify};
