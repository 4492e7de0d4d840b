//! Parameters of Intel's guide that do nothing, or not what was meant.
//!
//! Each was looked up in the images of Debian's kernels 6.1, 6.12, 6.18 and 7.3 (their tables of parameters name every one
//! that is built in) and in the modules i915 and igb of 6.1; the rig of real kernels repeats this for what is built in.

use crate::command_line::Word;

/// Which values a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Any, or none.
    Any,
    /// This one.
    Is(&'static str),
}

/// A parameter that does nothing, or not what was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    /// Its name.
    pub name: &'static str,
    /// The values that this is about.
    pub value: Value,
    /// Where the guide has it.
    pub guide: &'static str,
    /// What the kernel makes of it, and since when.
    pub status: &'static str,
    /// What was probably meant.
    pub instead: Option<&'static str>,
}

/// No kernel from 6.1 to 7.3 has it.
const NEVER: &str = "no kernel from 6.1 to 7.3 has this parameter";

/// The table.
pub const UNKNOWN: [Unknown; 13] = [
    row("noht", NEVER, Some("nosmt")),
    row("intel.max_cstate", NEVER, Some("intel_idle.max_cstate=0")),
    row("processor_idle.max_cstate", NEVER, Some("processor.max_cstate=1")),
    row("rcupdate.rcu_cpu_stall_requests", NEVER, Some("rcupdate.rcu_cpu_stall_suppress=1")),
    row("hpets", NEVER, Some("hpet=disable")),
    row("nopicid", NEVER, Some("nopcid")),
    row("igb.blacklist", "the module igb has no such parameter (looked up in 6.1)", Some("modprobe.blacklist=igb")),
    row("i915.enable_rc6", "dropped from the module i915 in 4.16", None),
    row("art", "not in mainline: no kernel from 6.1 to 7.3 has it; kernels of Intel's own may", None),
    value("rdt", "Imba", "chapter 4", "a misprint of !mba; the kernel has no feature of this name", "rdt=!mba"),
    value(
        "mmio_stale_data",
        "force",
        "chapter 4",
        "the parameter has the values full, full,nosmt and off",
        "mmio_stale_data=full",
    ),
    value(
        "irqaffinity",
        "02",
        "3.8",
        "the 2 is the mark of a footnote: as it stands all interrupts go to core 2 alone",
        "irqaffinity=0",
    ),
    Unknown {
        name: "kthread_cpus",
        value: Value::Any,
        guide: "not in the guide",
        status: "a patch of some distributions; no kernel from 6.1 to 7.3 has it",
        instead: Some("isolcpus=domain,managed_irq,CORES"),
    },
];

const fn row(name: &'static str, status: &'static str, instead: Option<&'static str>) -> Unknown {
    Unknown { name, value: Value::Any, guide: "chapter 4", status, instead }
}

const fn value(
    name: &'static str,
    value: &'static str,
    guide: &'static str,
    status: &'static str,
    instead: &'static str,
) -> Unknown {
    Unknown { name, value: Value::Is(value), guide, status, instead: Some(instead) }
}

/// The row of a parameter as it was booted, if it does nothing.
pub fn unknown(word: &Word) -> Option<&'static Unknown> {
    UNKNOWN.iter().find(|row| {
        word.is(row.name)
            && match row.value {
                Value::Any => true,
                Value::Is(value) => word.value.as_deref() == Some(value),
            }
    })
}
