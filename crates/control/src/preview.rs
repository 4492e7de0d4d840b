//! What a change would replace, in words.

use crate::change::{Change, describe_mount};
use crate::check::Found;
use crate::schemata;
use crate::settings::CpuRegister;
use crate::undo::name;

/// What is there now of the settings that a change is about.
pub(crate) fn now(change: &Change, found: &Found) -> String {
    const UNKNOWN: &str = "not known before resctrl is mounted";
    let tree = &found.before.tree;
    match change {
        Change::Mount(_) => match found.mounted {
            Some(mounted) => format!("mounted {}", describe_mount(mounted)),
            None => "not mounted".into(),
        },
        Change::Group(_) => "not there".into(),
        Change::Shares { .. } | Change::Cpus { .. } | Change::Tasks { .. } | Change::Cgroup { .. }
            if found.mounted.is_none() =>
        {
            UNKNOWN.into()
        }
        Change::Shares { group, shares } => match tree.groups.get(group) {
            Some(now) => {
                let old = now.shares().into_iter().filter(|(domain, _)| shares.contains_key(domain)).collect();
                schemata::format(&old).trim_end().to_owned()
            }
            None => "what a new group gets".into(),
        },
        Change::Mode { .. } | Change::Other => "what a new group gets".into(),
        Change::Cpus { cpus, .. } => {
            let home = |cpu: &u32| Some(format!("CPU {cpu} in {}", name(&tree.home_of_cpu(*cpu)?.control)));
            cpus.iter().filter_map(home).collect::<Vec<_>>().join(", ")
        }
        Change::Tasks { tids, .. } => {
            let home = |tid: &i32| Some(format!("task {tid} in {}", name(&found.before.tasks.get(tid)?.home.control)));
            tids.iter().filter_map(home).collect::<Vec<_>>().join(", ")
        }
        Change::Cgroup { cgroup, .. } => match found.cgroups.get(cgroup) {
            Some(state) => state.clone(),
            None => "not there; its tasks join when it comes, while `waykeeper follow` runs".into(),
        },
        Change::Register { cpu, register, .. } => {
            let place = CpuRegister { cpu: *cpu, register: *register };
            let before = found.before.registers.iter().find(|before| before.place == place);
            before.map_or_else(String::new, |before| format!("{:#x}", before.value))
        }
    }
}
