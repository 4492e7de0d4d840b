//! What a plan, or its beginning, comes to: for every setting the value that the last step gave it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waykeeper_policy::MountSettings;

use crate::change::Change;
use crate::schemata::DomainShares;

/// A register of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuRegister {
    /// Number of the CPU.
    pub cpu: u32,
    /// Number of the register.
    pub register: u32,
}

/// Bits of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bits {
    pub value: u64,
    pub mask: u64,
}

/// The settings that changes come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub mount: Option<MountSettings>,
    /// Groups that are made, in their order.
    pub groups: Vec<String>,
    /// Shares by group.
    pub shares: BTreeMap<String, DomainShares>,
    pub modes: BTreeMap<String, String>,
    /// The group of each CPU that is named.
    pub cpus: BTreeMap<u32, String>,
    /// The group of each task that is named.
    pub tasks: BTreeMap<i32, String>,
    /// The group of each cgroup that is named.
    pub cgroups: BTreeMap<String, String>,
    pub registers: BTreeMap<CpuRegister, Bits>,
    /// The order in which registers are first written.
    pub register_order: Vec<CpuRegister>,
}

impl Settings {
    /// What these changes come to, one after the other.
    pub fn of(changes: &[Change]) -> Self {
        let mut settings = Self::default();
        changes.iter().for_each(|change| settings.take(change));
        settings
    }

    fn take(&mut self, change: &Change) {
        match change {
            Change::Mount(mount) => self.mount = Some(*mount),
            Change::Group(group) => self.groups.push(group.clone()),
            Change::Shares { group, shares } => {
                let own = self.shares.entry(group.clone()).or_default();
                if self.modes.get(group).is_some_and(|mode| mode == "pseudo-locksetup") {
                    // The write that locks: from now on the group shows only the region.
                    own.clear();
                    self.modes.insert(group.clone(), "pseudo-locked".into());
                }
                own.extend(shares.clone());
            }
            Change::Mode { group, mode } => {
                self.modes.insert(group.clone(), mode.clone());
                if mode == "pseudo-locksetup" {
                    self.shares.remove(group);
                }
            }
            Change::Cpus { group, cpus } => {
                // CPUs that a group drops go back to the root.
                self.cpus.values_mut().filter(|owner| *owner == group).for_each(String::clear);
                self.cpus.extend(cpus.iter().map(|cpu| (*cpu, group.clone())));
            }
            Change::Tasks { group, tids } => self.tasks.extend(tids.iter().map(|tid| (*tid, group.clone()))),
            Change::Cgroup { group, cgroup } => drop(self.cgroups.insert(cgroup.clone(), group.clone())),
            Change::Other => {}
            Change::Register { cpu, register, value, mask } => {
                let place = CpuRegister { cpu: *cpu, register: *register };
                if !self.register_order.contains(&place) {
                    self.register_order.push(place);
                }
                let bits = self.registers.entry(place).or_insert(Bits { value: 0, mask: 0 });
                *bits = Bits { value: bits.value & !mask | value, mask: bits.mask | mask };
            }
        }
    }

    /// The shares that are set in the root group.
    pub fn root_shares(&self) -> DomainShares {
        self.shares.get("").cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_policy::Step;

    use super::*;

    fn settings(steps: &[(&str, &str)]) -> Settings {
        let made = ["a", "b"].map(|group| Step::MakeGroup { group: group.into() });
        let written = steps.iter().map(|(path, text)| Step::Write { path: (*path).into(), text: (*text).into() });
        let steps: Vec<Step> = made.into_iter().chain(written).collect();
        Settings::of(&Change::all_of(&steps).unwrap())
    }

    #[test]
    fn the_last_step_counts_and_dropped_cpus_are_the_roots() {
        let settings = settings(&[("a/cpus_list", "0-2\n"), ("b/cpus_list", "2\n"), ("a/cpus_list", "1\n")]);
        assert_eq!(settings.cpus, [(0, String::new()), (1, "a".into()), (2, "b".into())].into());
    }

    #[test]
    fn a_share_written_in_locksetup_locks() {
        let settings =
            settings(&[("a/schemata", "L2:0=f;1=f\n"), ("a/mode", "pseudo-locksetup\n"), ("a/schemata", "L2:1=3\n")]);
        assert_eq!(settings.modes["a"], "pseudo-locked");
        assert_eq!(crate::schemata::format(&settings.shares["a"]), "L2:1=3\n");
    }

    #[test]
    fn bits_of_a_register_add_up() {
        let write = |value, mask| Step::Register { cpu: 1, register: 0xc8f, value, mask };
        let changes = Change::all_of(&[write(1 << 32, 0xffff_ffff << 32), write(5, 0x3ff)]).unwrap();
        let settings = Settings::of(&changes);
        let bits = settings.registers[&CpuRegister { cpu: 1, register: 0xc8f }];
        // Class 1 in the upper half, RMID 5 in the ten lowest bits.
        assert_eq!(bits, Bits { value: 0x1_0000_0005, mask: 0xffff_ffff_0000_03ff });
    }
}
