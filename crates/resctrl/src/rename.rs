//! Monitoring groups get another name or another control group.

use crate::group::GroupKind;
use crate::tree::NodeId;
use crate::{Errno, Resctrl};

impl Resctrl {
    pub(crate) fn rename(&mut self, source: NodeId, parent: NodeId, name: &[u8], exists: bool) -> Result<(), Errno> {
        if !self.machine.kernel.moves_monitoring_groups() {
            return Err(Errno::EPERM);
        }
        let (Some(id), Some(control)) = (self.tree.group(source), self.tree.group(parent)) else {
            return Err(Errno::ENOENT);
        };
        self.status.clear();
        if !self.tree.is_directory(source) {
            return self.forbid("Source and destination must be directories");
        }
        if self.group(id).kind != GroupKind::Monitoring || self.group(id).node != source {
            return self.forbid("Source must be a MON group\n");
        }
        if self.tree.name(parent) != b"mon_groups" || name == b"mon_groups" {
            return self.forbid("Destination must be a mon_groups subdirectory\n");
        }
        let old = self.group(id).parent;
        if !self.group(id).cpus.is_empty() && old != control {
            return self.forbid("Cannot move a MON group that monitors CPUs\n");
        }
        if exists {
            return Err(Errno::EEXIST);
        }
        self.tree.rename(source, parent, name);
        if old != control {
            self.group_mut(old).children.retain(|&child| child != id);
            self.group_mut(control).children.push(id);
            let closid = self.group(control).closid;
            let group = self.group_mut(id);
            (group.parent, group.closid) = (control, closid);
            self.move_group_tasks(id, id);
        }
        Ok(())
    }

    fn forbid(&mut self, text: &str) -> Result<(), Errno> {
        self.status.puts(text);
        Err(Errno::EPERM)
    }
}
