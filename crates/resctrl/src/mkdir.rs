//! New groups.

use crate::group::{Group, GroupId, GroupKind};
use crate::pseudo_lock::Target;
use crate::resource::Scale;
use crate::tree::{Content, Directory, NodeId, Tree};
use crate::{Caller, Errno, Resctrl};

impl Resctrl {
    pub(crate) fn mkdir(&mut self, caller: &Caller, parent: NodeId, name: &[u8], mode: u32) -> Result<(), Errno> {
        if name.contains(&b'\n') {
            return Err(Errno::EINVAL);
        }
        if !self.resources.is_empty() && parent == Tree::ROOT {
            return self.make_control_group(caller, name, mode);
        }
        if self.machine.monitoring.is_none() {
            return Err(Errno::EPERM);
        }
        let is_place = self.tree.name(parent) == b"mon_groups" && name != b"mon_groups";
        if self.machine.kernel.mkdir_needs_group_first() {
            self.tree.group(parent).ok_or(Errno::ENODEV)?;
            self.begin_with_group_or_cpus();
        }
        if !is_place {
            return Err(Errno::EPERM);
        }
        let control = self.tree.group(parent).ok_or(Errno::ENODEV)?;
        self.make_monitoring_group(caller, control, parent, name, mode)
    }

    fn make_control_group(&mut self, caller: &Caller, name: &[u8], mode: u32) -> Result<(), Errno> {
        self.begin_with_group_or_cpus();
        let id = self.add_group(caller, GroupKind::Control, Tree::ROOT, name, mode);
        let result = self.fill_control_group(caller, id);
        if result.is_err() {
            self.drop_group(id);
        }
        result
    }

    fn fill_control_group(&mut self, caller: &Caller, id: GroupId) -> Result<(), Errno> {
        if self.machine.kernel.takes_closid_first() {
            let closid = self.take_closid()?;
            self.group_mut(id).closid = closid;
            self.fill_rmid(caller, id).inspect_err(|_| self.closids.free(closid))?;
        } else {
            // Here the files of the counters stand before the class is known.
            self.fill_rmid(caller, id)?;
            let closid = self.take_closid().inspect_err(|_| self.return_rmid(caller, id))?;
            self.group_mut(id).closid = closid;
        }
        if let Err(errno) = self.set_defaults(id) {
            let closid = self.group(id).closid;
            self.return_rmid(caller, id);
            self.closids.free(closid);
            return Err(errno);
        }
        self.all_groups.insert(0, id);
        if self.machine.monitoring.is_some() {
            let node = self.group(id).node;
            self.tree.add_directory(node, b"mon_groups", Directory::MonitoringGroups(id), Self::owner(caller));
        }
        Ok(())
    }

    fn make_monitoring_group(
        &mut self,
        caller: &Caller,
        control: GroupId,
        parent: NodeId,
        name: &[u8],
        mode: u32,
    ) -> Result<(), Errno> {
        self.refuse_locking(control)?;
        let id = self.add_group(caller, GroupKind::Monitoring, parent, name, mode);
        let closid = self.group(control).closid;
        let group = self.group_mut(id);
        (group.parent, group.closid) = (control, closid);
        if let Err(errno) = self.fill_rmid(caller, id) {
            self.drop_group(id);
            return Err(errno);
        }
        self.group_mut(control).children.push(id);
        Ok(())
    }

    /// A group with its directory and files; nothing is taken for it yet.
    fn add_group(&mut self, caller: &Caller, kind: GroupKind, parent: NodeId, name: &[u8], mode: u32) -> GroupId {
        let id = self.new_group_id();
        let owner = Self::owner(caller);
        let node = self.tree.add(Some(parent), name, Content::Directory(Directory::Group(id)), mode, owner);
        let group: Group = self.new_group(id, kind, node);
        self.groups.insert(id, group);
        self.add_group_files(id, owner);
        id
    }

    fn drop_group(&mut self, id: GroupId) {
        self.tree.remove(self.group(id).node);
        self.groups.remove(&id);
    }

    fn take_closid(&mut self) -> Result<u32, Errno> {
        let rmids = &self.rmids;
        let depends = self.machine.architecture == crate::QosTechnology::Mpam && self.machine.monitoring.is_some();
        let dirty = |closid| if depends { rmids.dirty(closid) } else { 0 };
        let closid = self.closids.take(dirty);
        closid.ok_or(Errno::ENOSPC).inspect_err(|_| self.status.puts("Out of CLOSIDs\n"))
    }

    /// Takes an RMID for a group and assigns its counters.
    fn fill_rmid(&mut self, caller: &Caller, id: GroupId) -> Result<(), Errno> {
        if self.machine.monitoring.is_none() {
            return Ok(());
        }
        let closid = self.group(id).closid;
        let rmid = self.take_rmid(closid)?;
        self.group_mut(id).rmid = rmid;
        self.add_counters(id, Self::owner(caller));
        Ok(())
    }

    fn return_rmid(&mut self, caller: &Caller, id: GroupId) {
        let (closid, rmid) = (self.group(id).closid, self.group(id).rmid);
        self.free_rmid(closid, rmid, caller.cpu);
    }

    /// The settings that a new class begins with. Resources before the one that has no space keep theirs.
    fn set_defaults(&mut self, id: GroupId) -> Result<(), Errno> {
        self.clear_staged();
        let result = (0..self.schemas.len()).try_for_each(|schema| self.set_default(id, schema));
        self.clear_staged();
        result
    }

    fn set_default(&mut self, id: GroupId, schema: usize) -> Result<(), Errno> {
        let closid = self.group(id).closid;
        let resource = self.schemas[schema].resource;
        let in_mbps = self.in_mbps(self.resources[resource].id);
        for domain in 0..self.resources[resource].domains.len() {
            let target = Target { schema, domain };
            match &self.resources[resource].scale {
                Scale::Mask(_) => {
                    let mask = self.default_mask(target, closid)?;
                    self.stage(target, mask);
                }
                Scale::Bandwidth(_) if in_mbps => {
                    self.resources[resource].domains[domain].mbps[closid as usize] = u32::MAX;
                }
                Scale::Bandwidth(bandwidth) => {
                    let max = bandwidth.max;
                    self.stage(target, max);
                }
            }
        }
        self.resources[resource].apply_staged(closid);
        Ok(())
    }
}
