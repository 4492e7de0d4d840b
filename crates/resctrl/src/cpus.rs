//! The files `cpus` and `cpus_list`.

use crate::group::{GroupId, GroupKind};
use crate::text::c_string;
use crate::{CpuSet, Errno, Resctrl};

/// How a set of CPUs is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuFormat {
    Mask,
    List,
}

impl Resctrl {
    pub(crate) fn show_cpus(&self, group: GroupId, format: CpuFormat) -> Vec<u8> {
        let group = self.group(group);
        let locked = group.region.as_ref().filter(|_| group.mode == crate::group::Mode::PseudoLocked);
        let cpus = match locked.and_then(|region| region.target) {
            Some(target) => &self.resources[self.schemas[target.schema].resource].domains[target.domain].cpus,
            None => &group.cpus,
        };
        let text = match format {
            CpuFormat::Mask => cpus.mask(self.machine.cpus.possible),
            CpuFormat::List => cpus.list(),
        };
        format!("{text}\n").into_bytes()
    }

    pub(crate) fn write_cpus(&mut self, group: GroupId, format: CpuFormat, data: &[u8]) -> Result<(), Errno> {
        self.refuse_locking(group)?;
        let text = c_string(data);
        let bits = self.machine.cpus.parsed;
        let parsed = match format {
            CpuFormat::Mask => CpuSet::parse_mask(text, bits),
            CpuFormat::List => CpuSet::parse_list(text, bits),
        };
        let new = parsed.inspect_err(|_| self.status.puts("Bad CPU list/mask\n"))?;
        if !new.difference(&self.machine.cpus.online).is_empty() {
            self.status.puts("Can only assign online CPUs\n");
            return Err(Errno::EINVAL);
        }
        match self.group(group).kind {
            GroupKind::Control => self.give_control_cpus(group, new),
            GroupKind::Monitoring => self.give_monitoring_cpus(group, new),
        }
    }

    /// CPUs that a control group drops go back to the root; those that it gets leave all other groups.
    fn give_control_cpus(&mut self, id: GroupId, new: CpuSet) -> Result<(), Errno> {
        let old = self.group(id).cpus.clone();
        let dropped = old.difference(&new);
        if !dropped.is_empty() {
            if id == self.root {
                self.status.puts("Can't drop CPUs from default group\n");
                return Err(Errno::EINVAL);
            }
            let root = self.root;
            self.group_mut(root).cpus = self.group(root).cpus.union(&dropped);
        }
        let added = new.difference(&old);
        for other in self.all_groups.clone().into_iter().filter(|&other| other != id) {
            if self.group(other).cpus.intersection(&added).is_empty() {
                continue;
            }
            let left = self.group(other).cpus.difference(&added);
            for child in self.group(other).children.clone() {
                self.group_mut(child).cpus = self.group(child).cpus.intersection(&left);
            }
            self.group_mut(other).cpus = left;
        }
        for child in self.group(id).children.clone() {
            self.group_mut(child).cpus = CpuSet::new();
        }
        self.group_mut(id).cpus = new;
        Ok(())
    }

    /// A monitoring group gets CPUs of its control group; they leave its siblings.
    fn give_monitoring_cpus(&mut self, id: GroupId, new: CpuSet) -> Result<(), Errno> {
        let parent = self.group(id).parent;
        if !new.difference(&self.group(parent).cpus).is_empty() {
            self.status.puts("Can only add CPUs to mongroup that belong to parent\n");
            return Err(Errno::EINVAL);
        }
        let old = self.group(id).cpus.clone();
        self.group_mut(parent).cpus = self.group(parent).cpus.union(&old.difference(&new));
        let added = new.difference(&old);
        for sibling in self.group(parent).children.clone() {
            self.group_mut(sibling).cpus = self.group(sibling).cpus.difference(&added);
        }
        self.group_mut(id).cpus = new;
        Ok(())
    }

    /// The class and RMID that a CPU has for tasks of the root group.
    pub fn cpu_identifiers(&self, cpu: u32) -> (u32, u32) {
        let owner = self.all_groups.iter().map(|&id| self.group(id)).find(|group| group.cpus.contains(cpu));
        let Some(owner) = owner else { return (0, 0) };
        let mut children = owner.children.iter().map(|&child| self.group(child));
        let monitored = children.find(|child| child.cpus.contains(cpu));
        (owner.closid, monitored.map_or(owner.rmid, |child| child.rmid))
    }
}
