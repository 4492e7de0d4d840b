//! Kernel parameters that a machine lacks for its real-time cores.

use schemars::JsonSchema;
use serde::Serialize;
use waykeeper_linux::format_cpulist;

use super::names;
use super::unknown::{ineffective_words, unknown};
use crate::checks::nohz_full::NOHZ_FULL;
use crate::command_line::BootParameter;
use crate::cores::parse_parameter;
use crate::view::{Vendor, View};

/// A parameter with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parameter {
    /// As it goes onto the command line.
    pub parameter: String,
    /// Why.
    pub reason: String,
    /// What stands there now and is to go, where it is the same parameter with another value.
    pub replaces: Option<String>,
}

/// What to do about a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// The real-time cores, as a list.
    pub rt_cores: String,
    /// What is to be added, or changed, in one line.
    pub line: String,
    /// The same, each with its reason.
    pub add: Vec<Parameter>,
    /// What is there already.
    pub there: Vec<String>,
    /// What does nothing, or not what was meant, and is to go, with the reason.
    pub remove: Vec<Parameter>,
    /// What is left out here, with the reason.
    pub left_out: Vec<Parameter>,
}

/// What a parameter is to be, and when it is left alone.
struct Wish {
    parameter: String,
    reason: &'static str,
    /// Whether the machine needs it, or why not.
    needed: Result<(), &'static str>,
}

/// Names the kernel parameters that a machine lacks for its real-time cores.
pub fn advise(view: &View) -> Advice {
    let words = view.command_line.clone().unwrap_or_default();
    let mut advice = Advice {
        rt_cores: view.rt_list(),
        line: String::new(),
        add: Vec::new(),
        there: Vec::new(),
        remove: Vec::new(),
        left_out: Vec::new(),
    };
    for wish in wishes(view) {
        let name = wish.parameter.split('=').next().unwrap_or_default();
        let booted = words.get(name);
        let (wanted, there) = reconciled(booted, &wish.parameter, view);
        let parameter =
            |replaces: Option<String>| Parameter { parameter: wanted.clone(), reason: wish.reason.into(), replaces };
        match (booted, wish.needed) {
            (Some(word), _) if there => advice.there.push(word.to_string()),
            (_, Err(why)) => advice.left_out.push(Parameter { reason: why.into(), ..parameter(None) }),
            (booted, Ok(())) => advice.add.push(parameter(booted.map(ToString::to_string))),
        }
    }
    for (word, row) in ineffective_words(&words, view.last) {
        let text = word.to_string();
        // What is replaced goes anyway.
        if advice.add.iter().any(|added| added.replaces.as_ref() == Some(&text)) {
            continue;
        }
        // A part of it counts: that part is to stay.
        match row
            .instead
            .filter(|instead| instead.starts_with(&format!("{}=", word.name)) && advice.there.contains(&text))
        {
            Some(instead) => {
                advice.there.retain(|there| *there != text);
                advice.add.push(Parameter { parameter: instead, reason: row.status, replaces: Some(text) });
            }
            None => advice.remove.push(Parameter { parameter: text, reason: row.status, replaces: None }),
        }
    }
    advice.line = advice.add.iter().map(|added| added.parameter.as_str()).collect::<Vec<_>>().join(" ");
    advice
}

/// What a parameter is to be beside what was booted, and whether it is so already. Cores that somebody has set apart for
/// another purpose stay set apart.
fn reconciled(booted: Option<&BootParameter>, wanted: &str, view: &View) -> (String, bool) {
    let (name, value) = wanted.split_once('=').map_or((wanted, None), |(name, value)| (name, Some(value)));
    let Some(booted) = booted else { return (wanted.to_owned(), false) };
    let parts = |value: Option<&'_ str>| {
        parse_parameter(name, value?, view.last).filter(|(_, cores)| !cores.is_empty()).map(owned)
    };
    let lists = parts(booted.value.as_deref()).zip(parts(value));
    match lists {
        // Interrupts may go to fewer cores than there are others, also to those that went offline since, and to no
        // real-time one.
        Some(((_, old), (_, new))) if name == "irqaffinity" => {
            let misprint = unknown(booted).is_some();
            let apart = old.iter().all(|core| !view.rt_cores.contains(core));
            (wanted.to_owned(), !misprint && apart && old.iter().any(|core| new.contains(core)))
        }
        Some(((old_flags, old), (new_flags, new))) if CORE_LISTS.contains(&name) => {
            let all = |old: &[u32]| new.iter().all(|core| old.contains(core));
            let there = all(&old) && new_flags.iter().all(|flag| old_flags.contains(flag));
            let mut both = [old, new.clone()].concat();
            both.sort_unstable();
            both.dedup();
            // `nohz` is as good as nohz_full, and somebody wants it.
            let kept = old_flags.iter().filter(|flag| *flag == "nohz");
            let flags = kept.chain(&new_flags).map(|flag| format!("{flag},")).collect::<String>();
            (format!("{name}={flags}{}", format_cpulist(&both)), there)
        }
        _ => (wanted.to_owned(), booted.value.as_deref() == value),
    }
}

/// Parameters that set cores apart.
const CORE_LISTS: [&str; 3] = ["isolcpus", "nohz_full", "rcu_nocbs"];

fn owned((flags, cores): (Vec<&str>, Vec<u32>)) -> (Vec<String>, Vec<u32>) {
    (flags.into_iter().map(str::to_owned).collect(), cores)
}

/// Whether `nosmt` helps, or why it is left out.
fn nosmt(view: &View) -> Result<(), &'static str> {
    let active = view.root.text("/sys/devices/system/cpu/smt/active");
    let siblings: Option<Vec<_>> = view.rt_cores.iter().map(|core| view.siblings(*core)).collect();
    let shared = siblings.map(|siblings| siblings.iter().any(|(_, others)| !others.is_empty()));
    match (active.as_deref(), shared) {
        (Some("0"), _) | (None, Some(false)) => return Err("no core has a second thread that is online"),
        (None, None) => return Err("whether cores have a second thread is not shown"),
        _ => {}
    }
    match view.second_threads() {
        Some(seconds) if seconds.is_empty() => Ok(()),
        Some(_) => Err(
            "it leaves the first thread of each core alone, and a real-time core is a second one, which it would put offline: \
             put the other thread offline at run time (`waykeeper doctor`, smt)",
        ),
        None => {
            Err("whether the real-time cores are the first threads of their cores, which alone it leaves, is not shown")
        }
    }
}

#[expect(clippy::too_many_lines, reason = "a table, one entry a parameter")]
fn wishes(view: &View) -> Vec<Wish> {
    let rt = view.rt_list();
    let x86 = view.vendor().is_ok_and(Vendor::is_x86);
    let other = matches!(view.vendor(), Ok(Vendor::NotX86));
    let intel = matches!(view.vendor(), Ok(Vendor::Intel));
    let current = view.root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let tickless = !view.root.is_absent(NOHZ_FULL);
    let isolates = view.cannot_isolate().map_or(Ok(()), Err);
    let numa = view.root.text("/proc/sys/kernel/numa_balancing").is_none_or(|text| text != "0");
    let version = view.root.text("/proc/version").unwrap_or_default();
    let realtime = version.contains("PREEMPT_RT") || view.root.text("/sys/kernel/realtime").as_deref() == Some("1");
    let polls = view.words().is_ok_and(|words| words.has("idle", "poll"));
    const AWAKE: &str = "idle=poll keeps all cores awake already";
    const GUEST: &str = "in a virtual machine the host decides how its cores sleep";
    let sleep = |needed: Result<(), &'static str>| match () {
        () if polls => Err(AWAKE),
        () if view.hypervisor.is_some() => Err(GUEST),
        () => needed,
    };
    let when = |needed: bool, otherwise: &'static str| if needed { Ok(()) } else { Err(otherwise) };
    let on_x86 = |needed: bool, otherwise| when(x86, "for x86 processors").and(when(needed, otherwise));
    let wish = |parameter: &str, reason, needed| Wish { parameter: parameter.into(), reason, needed };
    vec![
        wish(
            &names::isolcpus(view),
            "keeps the scheduler's load balancing, and interrupts that the kernel spreads itself, off the real-time cores",
            isolates.and(when(
                !view.lacking(&view.partitions().0).is_empty(),
                "isolated partitions of cpusets keep the scheduler off these cores already",
            )),
        ),
        wish(
            &format!("nohz_full={rt}"),
            "stops the tick while one task runs there",
            isolates.and(when(tickless, "this kernel is built without CONFIG_NO_HZ_FULL and would ignore it")),
        ),
        wish(
            &format!("rcu_nocbs={rt}"),
            match view.others() == view.rt_cores {
                true => "moves callbacks of RCU to threads, which a task of a higher priority preempts",
                false => "moves callbacks of RCU to threads on other cores",
            },
            Ok(()),
        ),
        wish(
            &format!("irqaffinity={}", view.other_list()),
            "sends interrupts of devices to the other cores",
            when(
                view.others() != view.rt_cores,
                "every core is a real-time core, so no other core is left to handle the interrupts",
            ),
        ),
        wish(
            "preempt=full",
            "lets the kernel be preempted nearly everywhere, until a PREEMPT_RT kernel is installed",
            when(!realtime && version.contains("PREEMPT_DYNAMIC"), "the kernel has one model of preemption only"),
        ),
        wish("nosmt", "leaves one hardware thread a core", nosmt(view)),
        wish(
            "intel_idle.max_cstate=0",
            "turns off the driver that lets Intel cores sleep deeply (all cores; idle=poll keeps them awake at the price of heat)",
            sleep(when(intel, "for processors of Intel")),
        ),
        wish(
            "processor.max_cstate=1",
            "keeps cores in the lightest idle state (ACPI)",
            sleep(when(x86, "for x86 processors")),
        ),
        wish(
            "cpuidle.off=1",
            "keeps cores in the lightest idle state",
            sleep(when(other, "for others than x86 processors")),
        ),
        wish(
            "clocksource=tsc",
            "reads the time from the time-stamp counter",
            on_x86(current.as_deref() != Some("tsc"), "the clock source is the best one already"),
        ),
        wish(
            "tsc=reliable",
            "keeps the kernel from comparing the time-stamp counter with another clock",
            on_x86(
                !view.flags().iter().any(|flag| flag == "tsc_adjust"),
                "the kernel does not watch a counter that has TSC_ADJUST",
            ),
        ),
        wish(
            "nmi_watchdog=0",
            "turns off the watchdog for hard lockups: a non-maskable interrupt and a counter",
            Ok(()),
        ),
        wish(
            "nosoftlockup",
            "turns off the watchdog for soft lockups: a timer and a thread of the highest priority",
            Ok(()),
        ),
        wish("transparent_hugepage=madvise", "makes huge pages only for programs that ask", Ok(())),
        wish(
            "numa_balancing=disable",
            "keeps the kernel from moving pages between nodes",
            when(numa, "the kernel does not balance here"),
        ),
        wish(
            "pcie_aspm.policy=performance",
            "keeps links of PCI Express awake",
            when(!view.root.names("/sys/bus/pci/devices").is_empty(), "no device of PCI Express is shown here"),
        ),
    ]
}
