//! What Arm's clusters and interconnects have beside resctrl: way groups, MPAM that no file offers, counters.

use super::arm_cores::{arm_core, midr};
use super::controls::{Control, How};
use super::{CacheKind, Reading};

const UNITS: &str = "/sys/bus/event_source/devices";
const TABLES: &str = "/sys/firmware/acpi/tables";

/// Counters of units that cores share: how the kernel's unit begins, the control's id and name.
const COUNTERS: [(&str, &str, &str); 3] = [
    ("arm_dsu_", "dsu_counters", "counters of the cluster (DSU)"),
    ("arm_cmn_", "interconnect_counters", "counters of the interconnect (CMN)"),
    ("arm_ni_", "interconnect_counters", "counters of the interconnect (NI)"),
];

pub(super) fn read(reading: &Reading, caches: &[CacheKind]) -> Vec<Control> {
    let counters = COUNTERS.iter().filter_map(|(start, id, name)| counters(reading, start, id, name));
    way_groups(reading, caches).into_iter().chain(mpam(reading)).chain(counters).collect()
}

/// The first DSU's L3 has way groups; later ones share it by MPAM.
fn way_groups(reading: &Reading, caches: &[CacheKind]) -> Option<Control> {
    let cores = reading.cpus.iter().filter_map(|cpu| arm_core(midr(reading, *cpu)?.0));
    let core = cores.into_iter().find(|core| core.cluster.as_deref() == Some("DSU"))?;
    if !caches.iter().any(|cache| cache.level == 3) {
        return None;
    }
    let says = format!("{} is in clusters of the first DSU (Arm's manuals of both)", core.name);
    let mut control = Control::new("dsu_way_groups", "L3 way groups (CLUSTERPARTCR_EL1)", How::Manual, says);
    control.detail =
        "4 groups, 8 scheme IDs; registers only, and only where firmware opens them (ACTLR_EL3, bit 11), which no \
                      file shows"
            .into();
    Some(control)
}

/// MPAM that firmware describes; resctrl, where the kernel has it, says more.
fn mpam(reading: &Reading) -> Option<Control> {
    // Who may not read a table sees its name.
    reading.root.names(TABLES).iter().find(|name| *name == "MPAM")?;
    let mut control = Control::new("mpam", "MPAM", How::Sysfs, format!("{TABLES}/MPAM"));
    control.offered_by_linux = false;
    control.detail = "firmware describes it; what it offers shows in resctrl alone, where the kernel has that".into();
    Some(control)
}

fn counters(reading: &Reading, start: &str, id: &str, name: &str) -> Option<Control> {
    let units: Vec<String> = reading.root.names(UNITS).into_iter().filter(|unit| unit.starts_with(start)).collect();
    let of = |unit: &String| {
        let cores = reading.root.text(&format!("{UNITS}/{unit}/associated_cpus"));
        cores.map_or_else(|| unit.clone(), |cores| format!("{unit} of cores {cores}"))
    };
    (!units.is_empty()).then(|| {
        let mut control = Control::new(id, name, How::Sysfs, UNITS);
        control.detail = units.iter().map(of).collect::<Vec<_>>().join(", ");
        control
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::recording::Recording;
    use crate::root::Root;

    /// A board with four Cortex-A55 and an L3.
    fn board() -> Recording {
        let mut recording = Recording::default();
        recording.set("/sys/devices/system/cpu/online", "0-3");
        for cpu in 0..4 {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
            recording.set(&format!("{folder}/regs/identification/midr_el1"), "0x00000000412fd050");
            for (file, text) in
                [("level", "3"), ("type", "Unified"), ("size", "1024K"), ("shared_cpu_list", "0-3"), ("id", "0")]
            {
                recording.set(&format!("{folder}/cache/index0/{file}"), text);
            }
        }
        recording
    }

    fn controls(recording: Recording) -> Vec<(String, String)> {
        let machine = Machine::read(&Root::from(recording)).unwrap();
        machine.controls.into_iter().map(|control| (control.id, control.detail)).collect()
    }

    #[test]
    fn a_cluster_has_way_groups_and_counters() {
        let mut recording = board();
        recording.set(&format!("{UNITS}/arm_dsu_0/associated_cpus"), "0-3");
        recording.set(&format!("{TABLES}/MPAM"), "x");
        let found = controls(recording);
        let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["dsu_way_groups", "mpam", "dsu_counters"]);
        assert_eq!(found[2].1, "arm_dsu_0 of cores 0-3");
    }

    #[test]
    fn later_clusters_have_none() {
        let mut recording = board();
        for cpu in 0..4 {
            // Cortex-A720
            let file = format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
            recording.set(&file, "0x00000000410fd811");
        }
        assert_eq!(controls(recording), []);
    }
}
