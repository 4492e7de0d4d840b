//! The end of groups.

use crate::group::{GroupId, GroupKind};
use crate::tree::{NodeId, Tree};
use crate::{Caller, Errno, Resctrl};

impl Resctrl {
    pub(crate) fn rmdir(&mut self, caller: &Caller, node: NodeId) -> Result<(), Errno> {
        let id = self.tree.group(node).ok_or(Errno::EPERM)?;
        self.begin();
        let parent = self.tree.node(node).parent;
        match self.group(id).kind {
            GroupKind::Control if parent == Some(Tree::ROOT) && id != self.root => {
                self.remove_control_group(caller, id);
                Ok(())
            }
            GroupKind::Monitoring if self.group(id).node == node => {
                self.remove_monitoring_group(caller, id);
                Ok(())
            }
            _ => Err(Errno::EPERM),
        }
    }

    /// Tasks and CPUs go to the root; monitoring groups within die.
    fn remove_control_group(&mut self, caller: &Caller, id: GroupId) {
        let node = self.group(id).node;
        self.all_groups.retain(|&other| other != id);
        self.tree.remove(node);
        if self.group(id).mode.is_locking() {
            // Groups that were moved here since are lost with their RMIDs, as in the kernel.
            self.release_region(id);
            self.groups.remove(&id);
            return;
        }
        self.move_group_tasks(id, self.root);
        let root = self.root;
        self.group_mut(root).cpus = self.group(root).cpus.union(&self.group(id).cpus);
        let (closid, rmid) = (self.group(id).closid, self.group(id).rmid);
        self.closids.free(closid);
        self.free_rmid(closid, rmid, caller.cpu);
        self.free_children_for(caller, id);
        self.groups.remove(&id);
    }

    /// Tasks go to the control group around it.
    fn remove_monitoring_group(&mut self, caller: &Caller, id: GroupId) {
        let parent = self.group(id).parent;
        self.move_group_tasks(id, parent);
        let (closid, rmid) = (self.group(id).closid, self.group(id).rmid);
        self.free_rmid(closid, rmid, caller.cpu);
        self.group_mut(parent).children.retain(|&child| child != id);
        self.tree.remove(self.group(id).node);
        self.groups.remove(&id);
    }

    pub(crate) fn free_children(&mut self, id: GroupId) {
        self.free_children_for(&Caller::default(), id);
    }

    fn free_children_for(&mut self, caller: &Caller, id: GroupId) {
        for child in std::mem::take(&mut self.group_mut(id).children) {
            let (closid, rmid) = (self.group(child).closid, self.group(child).rmid);
            self.free_rmid(closid, rmid, caller.cpu);
            self.groups.remove(&child);
        }
    }
}
