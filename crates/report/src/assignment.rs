//! A policy resolved for a machine: who fills which ways, what it leaves open, how it is written.

use waykeeper_platform::{CoreId, format_cpulist};
use waykeeper_policy::{AssignedClass, AssignedMask, Assignment, CdpType, DividedCache, Form, Lowered, size};

use crate::table::{columns, table};
use crate::text::{paragraph, section};

/// The assignment as text, with the script that carries it out.
pub fn assignment(assignment: &Assignment, lowered: &Lowered) -> String {
    let heading = paragraph(&format!("{} on {}: {}", assignment.policy, assignment.machine, assignment.title), "  ");
    let gaps = assignment.leaves_open.iter().map(|gap| format!("{}: {}", gap.what, gap.why)).collect();
    let notes = assignment.notes.iter().chain(&lowered.notes).cloned().collect();
    let sections = [
        Some(heading),
        Some(shares(assignment)).filter(|table| !table.is_empty()),
        section("besides", besides(assignment)),
        section("left for the others", left(assignment)),
        section("what it cannot stop", gaps),
        section("notes", notes),
        Some(format!("as {}\n\n{}", called(lowered.form), lowered.script(assignment).trim_end())),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

fn called(form: Form) -> &'static str {
    match form {
        Form::Resctrl => "writes to resctrl",
        Form::Pqos => "commands of pqos",
        Form::Msr => "writes to model-specific registers",
        Form::Hwp => "requests for performance levels",
        Form::Dsu => "system registers of the DSU",
        Form::Tfa => "C for TF-A",
        Form::Uboot => "a U-Boot script",
        Form::Mpam => "C for an MPAM component",
        Form::Pl310 => "C for a Cortex-A9 with a PL310",
        Form::Xen => "configuration of Xen",
        Form::Bao => "configuration of Bao",
        Form::Jailhouse => "configuration of Jailhouse",
        Form::Cmdline => "kernel parameters",
    }
}

/// A row for each class in each cache that is divided, with a picture of its ways, the highest one first.
fn shares(assignment: &Assignment) -> String {
    let columns = columns(&[
        ("resource", false),
        ("used by", false),
        ("class", false),
        ("cores", false),
        ("ways", false),
        ("mask", true),
        ("size", true),
        ("limit", true),
        ("", false),
    ]);
    let mut rows = Vec::new();
    for cache in &assignment.divided {
        let first = rows.len();
        for class in &assignment.classes {
            let here = class.masks.iter().filter(|mask| mask.level == cache.level && mask.domain == cache.domain);
            rows.extend(here.filter(|mask| mask.used || class.number == 0).map(|mask| row(class, cache, mask)));
        }
        for lock in assignment.locks.iter().filter(|lock| lock.level == cache.level && lock.domain == cache.domain) {
            let name = lock.name.clone();
            let picture = lock.mask.picture(cache.bits);
            let locked = "locked".to_owned();
            let mask = lock.mask.to_string();
            rows.push([
                String::new(),
                String::new(),
                name,
                String::new(),
                picture,
                mask,
                size(lock.size_bytes),
                String::new(),
                locked,
            ]);
        }
        if let Some(row) = rows.get_mut(first) {
            row[0] = format!("L{} {}", cache.level, cache.domain);
            row[1] = cores_named(&cache.cores);
        }
    }
    for class in &assignment.classes {
        for limit in &class.limits {
            let mut row: [String; 9] = Default::default();
            row[0] = format!("memory {}", limit.domain);
            (row[2], row[3], row[7]) = (class.name.clone(), cores(class), limit.text.clone());
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    table(&columns, &rows)
}

fn row(class: &AssignedClass, cache: &DividedCache, mask: &AssignedMask) -> [String; 9] {
    let name = match mask.access {
        CdpType::All => class.name.clone(),
        CdpType::Code => format!("{}, code", class.name),
        CdpType::Data => format!("{}, data", class.name),
    };
    let alone = if mask.exclusive { "alone" } else { "shared" };
    [
        String::new(),
        String::new(),
        name,
        cores(class),
        mask.mask.picture(cache.bits),
        mask.mask.to_string(),
        size(bytes(cache, mask)),
        String::new(),
        alone.to_owned(),
    ]
}

fn bytes(cache: &DividedCache, mask: &AssignedMask) -> u64 {
    cache.size_bytes / u64::from(cache.bits.max(1)) * u64::from(mask.mask.count())
}

fn cores(class: &AssignedClass) -> String {
    let tasks = match class.members.len() {
        0 => None,
        1 => Some("tasks".to_owned()),
        n => Some(format!("tasks of {n}")),
    };
    let cores = (!class.cores.is_empty()).then(|| format_cpulist(&class.cores));
    cores.into_iter().chain(tasks).collect::<Vec<_>>().join(" and ")
}

/// `core 3`, `cores 0-3`.
fn cores_named(cores: &[CoreId]) -> String {
    format!("core{} {}", if cores.len() == 1 { "" } else { "s" }, format_cpulist(cores))
}

/// What classes have beside ways and limits.
fn besides(assignment: &Assignment) -> Vec<String> {
    let controls = &assignment.controls;
    let name = |number: u32| {
        let class = assignment.classes.iter().find(|class| class.number == number);
        class.map_or_else(String::new, |class| match cores(class) {
            cores if cores.is_empty() => class.name.clone(),
            _ if class.members.is_empty() => format!("{} ({})", class.name, cores_named(&class.cores)),
            cores => format!("{} ({cores})", class.name),
        })
    };
    let mut lines = Vec::new();
    if controls.no_allocate_mode_off {
        lines.push("the mode in which evictions bypass the L3 is off".into());
    }
    for it in &controls.priorities {
        lines.push(format!("{}: priority {} on the bus, 0 being the lowest", name(it.class), it.level));
    }
    for it in &controls.strides {
        lines.push(format!("{}: a stride of {} under contention", name(it.class), it.less_one + 1));
    }
    for class in &assignment.classes {
        let mut said: Vec<(String, Vec<CoreId>)> = Vec::new();
        for clock in controls.clocks.iter().filter(|clock| clock.class == class.number) {
            let (from, to) = (f64::from(clock.from_mhz) / 1000.0, f64::from(clock.to_mhz) / 1000.0);
            let text = if clock.fixed { format!("{from} GHz") } else { format!("{from} to {to} GHz") };
            match said.iter_mut().find(|(known, _)| *known == text) {
                Some((_, cores)) => cores.push(clock.core),
                None => said.push((text, vec![clock.core])),
            }
        }
        let clocks = said.iter().map(|(text, cores)| format!("{}: {text} on {}", class.name, cores_named(cores)));
        lines.extend(clocks);
    }
    lines.extend(controls.ring_mhz.map(|mhz| format!("ring and last cache: {} GHz", f64::from(mhz) / 1000.0)));
    if let Some(colours) = &controls.colours {
        let (low, high) = colours.bits;
        lines.push(format!("L{}: {} page colours, address bits {high} to {low}", colours.level, colours.colours));
        for share in &colours.shares {
            let bytes = colours.size_bytes / u64::from(colours.colours.max(1)) * u64::from(share.count);
            lines.push(format!("{}: colours {} to {}, {}", name(share.class), share.first, share.last(), size(bytes)));
        }
    }
    if let Some(lockdown) = &controls.lockdown {
        if !lockdown.ways.is_empty() {
            let picture = lockdown.ways.picture(lockdown.all_ways);
            lines.push(format!(
                "core {} locks lines into {} of the L2 ({picture})",
                lockdown.core,
                lockdown.ways.named("way")
            ));
        }
        if !lockdown.pages.is_empty() {
            lines.push(format!("core {} locks {} entries of its TLB", lockdown.core, lockdown.pages.len()));
        }
    }
    lines
}

fn left(assignment: &Assignment) -> Vec<String> {
    let Some(others) = assignment.classes.first() else { return Vec::new() };
    let line = |mask: &AssignedMask| {
        let cache = assignment.cache(mask.level, mask.domain)?;
        let what = match mask.access {
            CdpType::All => "",
            CdpType::Code => " for code",
            CdpType::Data => " for data",
        };
        let of = format!("{} of {}", mask.mask.count(), cache.bits);
        Some(format!("L{} {}: {of} parts{what}, {}", mask.level, mask.domain, size(bytes(cache, mask))))
    };
    others.masks.iter().filter_map(line).collect()
}
