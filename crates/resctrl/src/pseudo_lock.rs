//! Pseudo-locked regions: a part of a cache that is filled once and then left alone by everyone.

use crate::group::{GroupId, Mode};
use crate::tree::Content;
use crate::{Caller, Errno, Resctrl};

/// The largest region: what the kernel's allocator returns in one piece, 4 MiB.
const REGION_MAX_BYTES: u32 = 4 << 20;

/// A domain of a schema, both by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub schema: usize,
    pub domain: usize,
}

/// A region that is locked or about to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    /// Where it is, as soon as that was said.
    pub target: Option<Target>,
    pub mask: u32,
}

/// A region that is locked, as /dev/pseudo_lock offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedRegion {
    /// The group, which is also the name of the device.
    pub name: Vec<u8>,
    /// The cache.
    pub resource: crate::ResourceId,
    /// The id of its instance.
    pub domain: u32,
    /// Its bits.
    pub mask: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

impl Resctrl {
    /// `pseudo-locksetup` is written to a group's mode.
    pub(crate) fn enter_locksetup(&mut self, caller: &Caller, id: GroupId) -> Result<(), Errno> {
        if id == self.root {
            return self.refuse("Cannot pseudo-lock default group\n");
        }
        if self.mounted.is_some_and(|options| options.cdp || options.cdpl2) {
            return self.refuse("CDP enabled\n");
        }
        if !self.machine.pseudo_lock {
            return self.refuse("Pseudo-locking not supported\n");
        }
        if !self.group(id).children.is_empty() {
            return self.refuse("Monitoring in progress\n");
        }
        if self.has_tasks(id) {
            return self.refuse("Tasks assigned to resource group\n");
        }
        if !self.group(id).cpus.is_empty() {
            return self.refuse("CPUs assigned to resource group\n");
        }
        for name in ["tasks", "cpus", "cpus_list", "mon_groups"] {
            self.set_mode(id, name, 0);
        }
        let (closid, rmid) = (self.group(id).closid, self.group(id).rmid);
        self.free_rmid(closid, rmid, caller.cpu);
        let group = self.group_mut(id);
        group.region = Some(Region::default());
        group.mode = Mode::PseudoLocksetup;
        Ok(())
    }

    /// Another mode is written to a group in pseudo-locksetup.
    pub(crate) fn leave_locksetup(&mut self, id: GroupId) -> Result<(), Errno> {
        if self.machine.monitoring.is_some() {
            let closid = self.group(id).closid;
            let rmid = self.take_rmid(closid)?;
            self.group_mut(id).rmid = rmid;
        }
        self.restore_modes(id, &["tasks", "cpus", "cpus_list"], 0o777);
        let parent_mode = self.tree.node(self.group(id).node).mode;
        let mon_groups = self.tree.child(self.group(id).node, b"mon_groups");
        if let Some(node) = mon_groups {
            self.tree.node_mut(node).mode = parent_mode;
        }
        self.forget_region(id);
        Ok(())
    }

    /// Notes what is to be locked.
    pub(crate) fn aim_region(&mut self, id: GroupId, target: Target) {
        let schema = &self.schemas[target.schema];
        let (resource, kind) = (schema.resource, schema.kind);
        let domain = &mut self.resources[resource].domains[target.domain];
        domain.locked_by = Some(id);
        let mask = domain.staged[kind as usize].unwrap_or(0);
        self.group_mut(id).region = Some(Region { target: Some(target), mask });
    }

    /// Locks the region. When that fails the group stays in pseudo-locksetup, with its new mask.
    pub(crate) fn lock_region(&mut self, _caller: &Caller, id: GroupId) -> Result<(), Errno> {
        let region = self.group(id).region.clone().unwrap_or_default();
        let Some(target) = region.target else { return Err(Errno::EINVAL) };
        let schema = &self.schemas[target.schema];
        let first_cpu = self.domain(target).cpus.iter().next().unwrap_or(0);
        if !self.machine.cpus.online.contains(first_cpu) {
            self.status.print(&[format!("CPU {first_cpu} associated with cache not online\n").as_bytes()]);
            self.clear_region(id);
            return Err(Errno::ENODEV);
        }
        if self.resources[schema.resource].cache().is_none_or(|cache| cache.line_bytes == 0) {
            self.status.puts("Unable to determine cache line size\n");
            self.clear_region(id);
            return Err(Errno::EPERM);
        }
        if self.mask_bytes(schema, region.mask) > REGION_MAX_BYTES {
            self.status.puts("Requested region exceeds maximum size\n");
            self.clear_region(id);
            return Err(Errno::E2BIG);
        }
        let closid = self.group(id).closid;
        self.group_mut(id).mode = Mode::PseudoLocked;
        self.closids.free(closid);
        self.restore_modes(id, &["cpus", "cpus_list"], 0o444);
        Ok(())
    }

    /// Whether a domain shares CPUs with one that has a region or is about to have one.
    pub(crate) fn is_locked_in_hierarchy(&self, target: Target) -> bool {
        let cpus = &self.domain(target).cpus;
        let mut locked = self.resources.iter().flat_map(|resource| &resource.domains);
        locked.any(|domain| domain.locked_by.is_some() && !domain.cpus.intersection(cpus).is_empty())
    }

    /// Ends a group's region, and with pseudo-locksetup the use of its class.
    pub(crate) fn release_region(&mut self, id: GroupId) {
        if self.group(id).mode == Mode::PseudoLocksetup {
            let closid = self.group(id).closid;
            self.closids.free(closid);
        }
        self.forget_region(id);
    }

    /// The region is no more.
    fn forget_region(&mut self, id: GroupId) {
        self.clear_region(id);
        self.group_mut(id).region = None;
    }

    /// The region is empty again. Only the last domain that was named is notified.
    fn clear_region(&mut self, id: GroupId) {
        let target = self.group(id).region.as_ref().and_then(|region| region.target);
        if let Some(target) = target {
            let resource = self.schemas[target.schema].resource;
            self.resources[resource].domains[target.domain].locked_by = None;
        }
        self.group_mut(id).region = Some(Region::default());
    }

    fn set_mode(&mut self, id: GroupId, name: &str, mode: u32) {
        if let Some(node) = self.tree.child(self.group(id).node, name.as_bytes()) {
            self.tree.node_mut(node).mode = mode;
        }
    }

    /// Restores the permissions that files had at first, as far as a mask lets them.
    fn restore_modes(&mut self, id: GroupId, names: &[&str], mask: u32) {
        for name in names {
            let Some(node) = self.tree.child(self.group(id).node, name.as_bytes()) else { continue };
            if let Content::File(file) = self.tree.node(node).content {
                self.tree.node_mut(node).mode = file.mode() & mask;
            }
        }
    }

    /// All regions that are locked.
    pub fn locked_regions(&self) -> Vec<LockedRegion> {
        let groups = self.all_groups.iter().map(|&id| self.group(id)).filter(|group| group.mode == Mode::PseudoLocked);
        let region = |group: &crate::group::Group| {
            let region = group.region.as_ref()?;
            let target = region.target?;
            let schema = &self.schemas[target.schema];
            Some(LockedRegion {
                name: self.tree.name(group.node).to_vec(),
                resource: self.resources[schema.resource].id,
                domain: self.domain(target).id,
                mask: region.mask,
                bytes: self.mask_bytes(schema, region.mask),
            })
        };
        groups.filter_map(region).collect()
    }
}
