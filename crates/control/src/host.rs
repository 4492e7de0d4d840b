//! The running machine.

pub(crate) mod caches;
mod mounts;
mod registers;
mod system;
mod tree;

use std::path::Path;

pub use registers::HostRegisters;
pub use system::HostSystem;
pub use tree::HostTree;

use crate::MachineAccess;

/// The running machine, or files below a directory that stand for it.
#[derive(Debug)]
pub struct HostFiles {
    tree: HostTree,
    registers: HostRegisters,
    system: HostSystem,
}

impl HostFiles {
    /// The machine whose files lie below `root`: `/` for the running one. Below another root nothing can be mounted.
    pub fn at(root: &Path) -> Self {
        Self { tree: HostTree::at(root), registers: HostRegisters::at(root), system: HostSystem::at(root) }
    }

    /// To act on.
    pub fn machine(&mut self) -> MachineAccess<'_> {
        MachineAccess { tree: &mut self.tree, registers: &mut self.registers, system: &self.system }
    }
}
