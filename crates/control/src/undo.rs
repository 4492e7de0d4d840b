//! What puts the former state back, worked out from the journal and from what the machine shows now. Pure: every action
//! sets a value, so that doing it twice is doing it once.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use waykeeper_policy::MountSettings;

use crate::change::Change;
use crate::cpus::Cpus;
use crate::journal::Journal;
use crate::remainder::{OthersChanges, Remainder, Setting};
use crate::schemata::{self, DomainShares};
use crate::settings::{CpuRegister, Settings};
use crate::snapshot::{Home, Snapshot, control_of};
use crate::tree::MountSeen;

/// One thing that is done to put the former state back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Action {
    /// Bits of a register.
    Register { place: CpuRegister, value: u64, mask: u64 },
    /// All CPUs of a group.
    Cpus { group: String, cpus: Cpus },
    /// A task goes home, if it still lives.
    Task { tid: i32, began: u64, home: Home },
    /// A group goes; the tasks in it go home first.
    RemoveGroup { group: String },
    /// Shares of the root group.
    RootShares { text: String },
    /// resctrl is unmounted.
    Unmount,
}

/// What the machine shows now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Now {
    pub mounted: Option<MountSettings>,
    /// What distinguishes this mount from others, where that is known.
    pub mount: Option<MountSeen>,
    pub tree: Snapshot,
    /// When each task of the journal that still lives began.
    pub tasks: BTreeMap<i32, u64>,
    pub registers: BTreeMap<CpuRegister, u64>,
}

/// Actions in their order, and settings found changed since `apply`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Undo {
    pub actions: Vec<Action>,
    pub findings: Vec<String>,
    /// What stays, because others have changed it since.
    pub left: Vec<Remainder>,
}

/// Works it out. What others have changed since stays, unless it is overwritten.
pub(crate) fn undo(journal: &Journal, now: &Now, others: OthersChanges) -> Undo {
    let force = others == OthersChanges::Overwrite;
    let (begun, done) = (journal.begun_settings(), journal.done_settings());
    let mut planner = Planner { journal, now, force, begun, done, undo: Undo::default() };
    planner.registers();
    if planner.resctrl_is_there() {
        let returning = planner.returning_cpus();
        planner.control_cpus(&returning);
        planner.tasks();
        planner.groups();
        planner.root_shares();
        planner.monitoring_cpus(&returning);
        planner.mount();
    }
    planner.undo
}

struct Planner<'p> {
    journal: &'p Journal,
    now: &'p Now,
    force: bool,
    /// What the steps come to that were begun, and that were done: where they differ, either may hold.
    begun: Settings,
    done: Settings,
    undo: Undo,
}

impl Planner<'_> {
    fn found(&mut self, text: String) {
        self.undo.findings.push(text);
    }

    /// Notes a foreign change, and says whether it is overwritten.
    fn overrides(&mut self, setting: Setting, what: String) -> bool {
        if self.force {
            self.found(format!("{what}; it is put back all the same"));
        } else {
            self.undo.left.push(Remainder { setting, text: what });
        }
        self.force
    }

    fn registers(&mut self) {
        // Until they are tried out for good, any of the plan's registers may hold anything.
        let all = self.journal.planned_settings();
        let left = self.journal.registers_left();
        for place in all.register_order.iter().rev() {
            let mask = all.registers[place].mask;
            let before = self.journal.head.before.registers.iter().find(|before| before.place == *place);
            let (Some(before), Some(now)) = (before, self.now.registers.get(place)) else { continue };
            if (before.value ^ now) & mask == 0 {
                continue;
            }
            let under_way = self.journal.trying || self.is_under_way(place);
            let as_left = left.get(place).is_some_and(|left| (left ^ now) & mask == 0);
            let CpuRegister { cpu, register } = place;
            let what =
                || format!("register {register:#x} of CPU {cpu} reads {now:#x}, which is not what was left there");
            if under_way || as_left || self.overrides(Setting::Register(*place), what()) {
                self.undo.actions.push(Action::Register { place: *place, value: before.value & mask, mask });
            }
        }
    }

    fn is_under_way(&self, place: &CpuRegister) -> bool {
        let last = self.journal.is_under_way().then(|| &self.journal.changes[self.journal.begun - 1]);
        matches!(last, Some(Change::Register { cpu, register, .. }) if *place == CpuRegister { cpu: *cpu, register: *register })
    }

    /// Whether there is a resctrl that something of the plan can be in.
    fn resctrl_is_there(&mut self) -> bool {
        let begun = &self.journal.changes[..self.journal.begun];
        let only_registers =
            |remains: &Vec<Setting>| remains.iter().all(|setting| matches!(setting, Setting::Register(_)));
        if !begun.iter().any(Change::is_resctrl) || self.journal.remains.as_ref().is_some_and(only_registers) {
            return false;
        }
        if self.now.mounted.is_none() && self.journal.done > 0 {
            self.found("resctrl is not mounted any more: whoever unmounted it has reset everything".into());
        }
        if let (Some(left), Some(now)) = (self.journal.mount_left(), &self.now.mount)
            && left.device != now.device
        {
            let again =
                "resctrl was unmounted since, which has reset everything, and mounted again: that mount stays as it is";
            self.found(again.into());
            return false;
        }
        self.now.mounted.is_some()
    }

    /// Whether a group that was there before is still there.
    fn is_there(&self, group: &str) -> bool {
        self.now.tree.groups.contains_key(group)
    }

    fn is_made(&self, group: &str) -> bool {
        self.begun.groups.iter().any(|made| made == group)
    }

    /// The named CPUs that are where the plan put them, or were on the way there.
    fn returning_cpus(&mut self) -> BTreeMap<u32, Home> {
        let mut returning = BTreeMap::new();
        for cpu in self.begun.cpus.keys().copied().collect::<Vec<_>>() {
            let Some(before) = self.journal.head.before.tree.home_of_cpu(cpu) else { continue };
            let Some(now) = self.now.tree.home_of_cpu(cpu) else {
                self.found(format!("CPU {cpu} is in no group now; it may be offline"));
                continue;
            };
            let ours = |settings: &Settings| settings.cpus.get(&cpu).unwrap_or(&before.control) == &now.control;
            let kept = (ours(&self.begun) || ours(&self.done)) && !self.journal.has_removed(&now.control);
            let moved = || format!("CPU {cpu} is in {} now, where Waykeeper did not put it", name(&now.control));
            if kept || now == before || self.overrides(Setting::Cpu(cpu), moved()) {
                let mut home = before;
                if !self.is_there(&home.control) {
                    self.found(format!("the group {} of CPU {cpu} is gone; it goes to the root", name(&home.control)));
                    home = Home::default();
                }
                returning.insert(cpu, home);
            }
        }
        returning
    }

    /// What a control group's CPUs are to be. Those of a group that goes are left to its end.
    fn target(&self, group: &str, returning: &BTreeMap<u32, Home>) -> Cpus {
        let now = &self.now.tree.groups[group].cpus;
        let stay = now.iter().copied().filter(|cpu| !returning.contains_key(cpu));
        let back = returning.iter().filter(|(_, home)| home.control == group).map(|(cpu, _)| *cpu);
        stay.chain(back).collect()
    }

    /// Control groups of others, but not the root: it gets what others drop.
    fn rewritten(&self, returning: &BTreeMap<u32, Home>) -> BTreeMap<String, Cpus> {
        let others = self
            .now
            .tree
            .control()
            .filter(|(path, group)| !path.is_empty() && !self.is_made(path) && !group.is_locking());
        let targets = others.map(|(path, group)| (path.clone(), &group.cpus, self.target(path, returning)));
        targets.filter(|(_, now, target)| *now != target).map(|(path, _, target)| (path, target)).collect()
    }

    fn control_cpus(&mut self, returning: &BTreeMap<u32, Home>) {
        for (group, cpus) in self.rewritten(returning) {
            self.undo.actions.push(Action::Cpus { group, cpus });
        }
    }

    /// Monitoring groups lose CPUs when the control group around them loses or gets some.
    fn monitoring_cpus(&mut self, returning: &BTreeMap<u32, Home>) {
        let emptied: BTreeSet<String> = self.rewritten(returning).into_keys().collect();
        for (path, group) in self.now.tree.monitoring() {
            let control = control_of(path);
            if self.is_made(control) {
                continue;
            }
            let stay = group.cpus.iter().copied().filter(|cpu| !returning.contains_key(cpu));
            let back =
                returning.iter().filter(|(_, home)| home.monitoring.as_deref() == Some(path)).map(|(cpu, _)| *cpu);
            let cpus: Cpus = stay.chain(back).collect();
            let seen = if emptied.contains(control) { &Cpus::new() } else { &group.cpus };
            if cpus != *seen {
                self.undo.actions.push(Action::Cpus { group: path.clone(), cpus });
            }
        }
    }

    fn tasks(&mut self) {
        for (tid, before) in &self.journal.head.before.tasks {
            if !self.begun.tasks.contains_key(tid) || self.now.tasks.get(tid) != Some(&before.began) {
                continue;
            }
            let Some(now) = self.now.tree.home_of_task(*tid) else { continue };
            if now == before.home {
                continue;
            }
            let ours = |settings: &Settings| settings.tasks.get(tid).unwrap_or(&before.home.control) == &now.control;
            let kept = (ours(&self.begun) || ours(&self.done)) && !self.journal.has_removed(&now.control);
            let moved = || format!("task {tid} is in {} now, where Waykeeper did not put it", name(&now.control));
            if kept || self.overrides(Setting::Task(*tid), moved()) {
                let home = self.home_that_is(&before.home);
                if home.control != before.home.control {
                    let gone = name(&before.home.control);
                    self.found(format!("the group {gone} of task {tid} is gone; it goes to the root"));
                }
                self.undo.actions.push(Action::Task { tid: *tid, began: before.began, home });
            }
        }
    }

    /// A home, as far as it still is there.
    fn home_that_is(&self, home: &Home) -> Home {
        if !self.is_there(&home.control) {
            return Home::default();
        }
        Home { monitoring: home.monitoring.clone().filter(|path| self.is_there(path)), ..home.clone() }
    }

    fn groups(&mut self) {
        for group in self.begun.groups.clone().into_iter().rev() {
            if self.is_there(&group) {
                self.undo.actions.push(Action::RemoveGroup { group });
            } else if self.done.groups.contains(&group) {
                self.found(format!("somebody has removed the group {group}"));
            }
        }
    }

    fn root_shares(&mut self) {
        let read = |tree: &Snapshot| tree.groups.get("").map(|root| root.shares()).unwrap_or_default();
        let (before, now) = (read(&self.journal.head.before.tree), read(&self.now.tree));
        let left = self.journal.root_shares_left();
        let under_way = match self.journal.changes[..self.journal.begun].last() {
            Some(Change::Shares { group, shares }) if group.is_empty() && self.journal.is_under_way() => shares.clone(),
            _ => DomainShares::new(),
        };
        let mut back = DomainShares::new();
        for domain in self.begun.root_shares().keys() {
            let (Some(old), Some(value)) = (before.get(domain), now.get(domain)) else {
                self.found(format!("{}:{} is not in schemata", domain.resource, domain.id));
                continue;
            };
            let as_left = under_way.contains_key(domain) || left.get(domain) == Some(value);
            let changed = || {
                let value = schemata::show(&domain.resource, *value);
                format!("{}:{} of the root reads {value}, which is not what was left there", domain.resource, domain.id)
            };
            if old != value && (as_left || self.overrides(Setting::RootShare(domain.clone()), changed())) {
                back.insert(domain.clone(), *old);
            }
        }
        if !back.is_empty() {
            self.undo.actions.push(Action::RootShares { text: schemata::format(&back) });
        }
    }

    fn mount(&mut self) {
        if self.journal.head.mounted.is_some() || self.begun.mount.is_none() {
            return;
        }
        let control = self.now.tree.groups.keys().filter(|path| !path.is_empty() && !self.is_made(control_of(path)));
        let others: Vec<_> = control.cloned().collect();
        let kept = || format!("resctrl, which Waykeeper mounted, has groups of others: {}", others.join(", "));
        let same = match (self.journal.mount_left(), &self.now.mount) {
            (Some(left), Some(now)) => left.number == now.number,
            // An earlier version did not write it down, or the kernel does not say it.
            _ => true,
        };
        let again =
            || "the mount of resctrl is another one, or another mount namespace's, than Waykeeper made".to_owned();
        if (same || self.overrides(Setting::Mount, again()))
            && (others.is_empty() || self.overrides(Setting::Mount, kept()))
        {
            self.undo.actions.push(Action::Unmount);
        }
    }
}

/// A group in a sentence.
pub(crate) fn name(group: &str) -> String {
    if group.is_empty() { "the root group".into() } else { format!("group {group}") }
}
