//! Interrupts of devices on the cores.

use std::collections::BTreeSet;

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;
use waykeeper_linux::parse_cpulist;

pub(super) const CHECK: Check = Check {
    id: "irqs",
    subject: "interrupts of devices on the cores",
    why: "Each interrupt takes the core for microseconds, and the softirq after it (network, disk) for far longer.",
    source: "Linux Documentation/core-api/irq/irq-affinity.rst; kernel-parameters.txt (isolcpus=managed_irq)",
    look,
};

/// This many interrupts are shown with the number of times they came.
const SHOWN: usize = 4;

/// An interrupt that goes to real-time cores.
struct Irq {
    number: u32,
    name: String,
    cores: Vec<u32>,
    /// How often it came to them since boot.
    count: u64,
    file: String,
    affinity: String,
}

fn look(view: &View) -> Result<Looked, NotSeen> {
    let numbers: Vec<u32> = view.root.names("/proc/irq").iter().filter_map(|name| name.parse().ok()).collect();
    if numbers.is_empty() {
        return not_seen("/proc/irq lists no interrupts");
    }
    let table = view.root.text("/proc/interrupts").unwrap_or_default();
    // Every interrupt with a number has a folder on the machine, with an affinity in it.
    let listed = table.lines().filter_map(|line| line.trim_start().split_once(':')?.0.parse::<u32>().ok());
    let expected = listed.chain(numbers.iter().copied()).collect::<BTreeSet<_>>().len();
    let mut told = 0;
    // Those of an interface that is examined are a matter of its own check: they may be meant to be there.
    let own = view.interface.as_ref().map(|interface| interface.interrupts(&view.root)).unwrap_or_default();
    let mut here: Vec<Irq> = numbers.iter().filter_map(|number| irq(view, *number, &table, &mut told)).collect();
    here.retain(|irq| !own.contains(&irq.number));
    if told == 0 {
        return not_seen("no affinity below /proc/irq can be read");
    }
    if here.is_empty() && told < expected {
        return not_seen(format!("the affinity of {} of {expected} interrupts cannot be read", expected - told));
    }
    if here.is_empty() {
        return fine(format!("none of {told}"), vec![Seen::new("/proc/irq/*/effective_affinity_list", "other cores")]);
    }
    here.sort_by_key(|irq| std::cmp::Reverse((irq.count, irq.number)));
    let came = here.iter().any(|irq| irq.count > 0);
    let seen = here.iter().take(SHOWN).map(|irq| {
        let value = format!("{} ({}; {} times on {})", irq.affinity, irq.name, irq.count, named(&irq.cores));
        Seen::new(irq.file.clone(), value)
    });
    let seen: Vec<Seen> = seen.collect();
    let first = here[0].number;
    let fixes = vec![
        Fix::Command(format!("echo {} > /proc/irq/{first}/smp_affinity_list   (and so for the others)", view.other_list())),
        Fix::Parameter(format!("irqaffinity={}", view.other_list())),
        Fix::Other("stop irqbalance, or ban the cores in IRQBALANCE_BANNED_CPULIST; queues that the kernel manages itself keep away with isolcpus=managed_irq".into()),
    ];
    let what = format!("{} of {told} interrupts of devices go to {}.", here.len(), named(&view.rt_cores));
    found(if came { Severity::Serious } else { Severity::Warning }, what, seen, fixes)
}

/// An interrupt, if it goes to a real-time core.
fn irq(view: &View, number: u32, table: &str, told: &mut usize) -> Option<Irq> {
    // Where it goes now; what it may do is the second best.
    let files = ["effective_affinity_list", "smp_affinity_list"].map(|file| format!("/proc/irq/{number}/{file}"));
    let (file, affinity) = files.into_iter().find_map(|file| {
        let text = view.root.text(&file).filter(|text| !text.is_empty())?;
        Some((file, text))
    })?;
    let cores = view.among(&parse_cpulist(&affinity)?);
    *told += 1;
    if is_of_each_core(table, number) {
        return None;
    }
    if cores.is_empty() {
        return None;
    }
    let (count, name) = row(table, number, &cores).unwrap_or((0, "unused".into()));
    Some(Irq { number, name, cores, count, file, affinity })
}

/// Whether each core has an interrupt of that number of its own, which goes nowhere else: timers and counters behind Arm's
/// interrupt controller (GIC), whose numbers below 32 are private to a core (Arm IHI 0048, 2.2.1).
fn is_of_each_core(table: &str, number: u32) -> bool {
    let words = words(table, number).unwrap_or_default();
    let controller = words.iter().position(|word| word.starts_with("GIC"));
    let behind = controller.and_then(|at| words.get(at + 1)?.parse::<u32>().ok());
    behind.is_some_and(|number| number < 32)
}

/// The words of an interrupt's line in `/proc/interrupts`.
fn words(table: &str, number: u32) -> Option<Vec<&str>> {
    let label = format!("{number}:");
    let mut lines = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|words| words.first() == Some(&label.as_str()))
}

/// How often an interrupt came to some cores, and its name, of `/proc/interrupts`.
fn row(table: &str, number: u32, cores: &[u32]) -> Option<(u64, String)> {
    let columns: Vec<&str> = table.lines().next()?.split_whitespace().collect();
    let words = words(table, number)?;
    let count = cores.iter().filter_map(|core| {
        let column = columns.iter().position(|name| *name == format!("CPU{core}"))?;
        words.get(1 + column)?.parse::<u64>().ok()
    });
    Some((count.sum(), words.last().copied().unwrap_or_default().to_owned()))
}
