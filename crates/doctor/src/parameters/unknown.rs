//! Parameters of Intel's guide that do nothing, or not what was meant.
//!
//! Each was looked up in the images of Debian's kernels 6.1, 6.12, 6.18 and 7.3 (their tables of parameters name every one
//! that is built in) and in the modules i915 and igb of 6.1; the rig of real kernels repeats this for what is built in.

use waykeeper_linux::format_cpulist;

use crate::command_line::{BootParameter, CommandLine};
use crate::cores::parse_parameter;

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
pub fn unknown(word: &BootParameter) -> Option<&'static Unknown> {
    UNKNOWN.iter().find(|row| {
        word.is(row.name)
            && match row.value {
                Value::Any => true,
                Value::Is(value) => word.value.as_deref() == Some(value),
            }
    })
}

/// What a word of the command line fails to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ineffective {
    /// What the kernel makes of it.
    pub status: String,
    /// What was probably meant.
    pub instead: Option<String>,
}

/// Parameters of which the kernel passes over values that it does not know, with those that it knows
/// (Documentation/admin-guide/kernel-parameters.txt; `rdt`: arch/x86/kernel/cpu/resctrl).
const VALUES: [(&str, &[&str]); 8] = [
    (
        "rdt",
        &[
            "cmt", "mbmtotal", "mbmlocal", "l3cat", "l3cdp", "l2cat", "l2cdp", "mba", "smba", "bmec", "abmc", "sdciae",
            "energy", "perf",
        ],
    ),
    ("preempt", &["none", "voluntary", "full", "lazy"]),
    ("transparent_hugepage", &["always", "madvise", "never"]),
    ("numa_balancing", &["enable", "disable"]),
    ("idle", &["poll", "halt", "nomwait"]),
    ("tsc", &["reliable", "noirqtime", "unstable", "nowatchdog", "recalibrate", "watchdog"]),
    ("pcie_aspm.policy", &["default", "performance", "powersave", "powersupersave"]),
    ("split_lock_detect", &["off", "warn", "fatal", "ratelimit"]),
];

/// Lists of cores.
const LISTS: [&str; 4] = ["isolcpus", "nohz_full", RCU_NOCBS, "irqaffinity"];

/// The list of cores that takes the cores' callbacks of RCU from them, where the kernel cannot read it: from all cores
/// (kernel/rcu/tree_nocb.h, rcu_nocb_setup). Every other list is ignored then.
pub(crate) const RCU_NOCBS: &str = "rcu_nocbs";

/// The words of a command line that do nothing, or not what was meant, on a machine whose cores have numbers up to `last`.
pub(crate) fn ineffective_words(line: &CommandLine, last: u32) -> Vec<(&BootParameter, Ineffective)> {
    let alone = line.words.iter().filter_map(|word| Some((word, ineffective(word, last)?)));
    contradicted(line, last).into_iter().chain(alone).collect()
}

/// Whether a word does nothing, or not what was meant, on a machine whose cores have numbers up to `last`.
fn ineffective(word: &BootParameter, last: u32) -> Option<Ineffective> {
    if let Some(row) = unknown(word) {
        return Some(Ineffective { status: row.status.into(), instead: row.instead.map(str::to_owned) });
    }
    let list = LISTS.into_iter().find(|name| word.is(name));
    let Some(value) = word.value.as_deref() else {
        // With a blank before its `=` the list is another word. `rcu_nocbs` has a meaning without one.
        let name = list.filter(|name| *name != RCU_NOCBS)?;
        let status = "the kernel knows it with a list of cores only, and no blank before or behind the `=`".into();
        return Some(Ineffective { status, instead: Some(format!("{name}=CORES")) });
    };
    if let Some((name, known)) = VALUES.iter().find(|(name, _)| word.is(name)) {
        return passed_over(name, value, known);
    }
    ineffective_list(list?, value, last)
}

fn ineffective_list(name: &str, value: &str, last: u32) -> Option<Ineffective> {
    let Some((flags, cores)) = parse_parameter(name, value, last) else {
        let so = if name == RCU_NOCBS { "takes all cores in its place" } else { "ignores it" };
        let status = format!("the kernel cannot read this list of cores, of which the last is {last}, and {so}");
        return Some(Ineffective { status, instead: Some(format!("{name}=CORES")) });
    };
    if cores.is_empty() {
        let status = "it names no core; a blank ends the list".into();
        return Some(Ineffective { status, instead: Some(format!("{name}=CORES")) });
    }
    let (known, strange): (Vec<&str>, Vec<&str>) =
        flags.into_iter().partition(|flag| ["nohz", "domain", "managed_irq"].contains(flag));
    let kept: String = known.iter().map(|flag| format!("{flag},")).collect();
    (!strange.is_empty()).then(|| Ineffective {
        status: format!("the kernel skips {}; it knows nohz, domain and managed_irq", quoted(&strange)),
        instead: Some(format!("{name}={kept}{}", format_cpulist(&cores))),
    })
}

/// Words of a command line that take back what the last one of their name says: of lists with different cores the kernel takes the
/// first alone (kernel/sched/isolation.c, housekeeping_setup).
fn contradicted(line: &CommandLine, last: u32) -> Vec<(&BootParameter, Ineffective)> {
    let of = |name: &'static str| {
        let cores = move |word: &BootParameter| Some(parse_parameter(name, word.value.as_deref()?, last)?.1);
        let counts = line.words.iter().rev().find(|word| word.is(name)).and_then(cores);
        let others = line.words.iter().filter(move |word| word.is(name));
        others.filter(move |word| cores(word).zip(counts.as_ref()).is_some_and(|(here, there)| here != *there))
    };
    let why = |word: &BootParameter| Ineffective {
        status: format!("{} stands more than once, and the kernel takes the cores of the first alone", word.name),
        instead: None,
    };
    ["isolcpus", "nohz_full"].into_iter().flat_map(of).map(|word| (word, why(word))).collect()
}

/// Words of a value that are passed over in silence. Those of `rdt` are a list, each may have a `!` before it; what follows a
/// colon is the word's own.
fn passed_over(name: &str, value: &str, known: &[&str]) -> Option<Ineffective> {
    let words: Vec<&str> = if name == "rdt" { value.split(',').collect() } else { vec![value] };
    let plain = |word: &str| word.trim_start_matches('!').split(':').next().unwrap_or_default().to_owned();
    let strange: Vec<&str> = words.iter().copied().filter(|word| !known.contains(&plain(word).as_str())).collect();
    if strange.is_empty() {
        return None;
    }
    let letters = |word: &str| word.replace(['_', '-'], "").to_ascii_lowercase();
    let meant = |word: &&str| {
        let right = known.iter().find(|known| letters(known) == letters(&plain(word)))?;
        let not = if word.starts_with('!') { "!" } else { "" };
        Some(format!("{not}{right}"))
    };
    let all: Option<Vec<String>> =
        words.iter().map(|word| if strange.contains(word) { meant(word) } else { Some((*word).to_owned()) }).collect();
    let verb = if strange.len() == 1 { "is no value" } else { "are no values" };
    Some(Ineffective {
        status: format!("{} {verb} of {name}=, which knows {}", quoted(&strange), known.join(", ")),
        instead: all.map(|all| format!("{name}={}", all.join(","))),
    })
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
