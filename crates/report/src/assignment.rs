//! A policy resolved for a machine: who fills which ways, what it leaves open, how it is written.

use waykeeper_platform::format_cpulist;
use waykeeper_policy::{Access, AssignedClass, AssignedMask, Assignment, DividedCache, Form, Lowered, size};

use crate::table::{columns, table};
use crate::text::{paragraph, section};

/// The assignment as text, with the script that carries it out.
pub fn assignment(assignment: &Assignment, lowered: &Lowered) -> String {
    let heading = paragraph(&format!("{} on {}: {}", assignment.policy, assignment.machine, assignment.title), "  ");
    let gaps = assignment.leaves_open.iter().map(|gap| format!("{}: {}", gap.what, gap.why)).collect();
    let notes = assignment.notes.iter().chain(&lowered.notes).cloned().collect();
    let sections = [
        Some(heading),
        Some(shares(assignment)),
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
            row[1] = format!("cores {}", format_cpulist(&cache.cores));
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
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    table(&columns, &rows)
}

fn row(class: &AssignedClass, cache: &DividedCache, mask: &AssignedMask) -> [String; 9] {
    let name = match mask.access {
        Access::All => class.name.clone(),
        Access::Code => format!("{}, code", class.name),
        Access::Data => format!("{}, data", class.name),
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

fn left(assignment: &Assignment) -> Vec<String> {
    let Some(others) = assignment.classes.first() else { return Vec::new() };
    let line = |mask: &AssignedMask| {
        let cache = assignment.cache(mask.level, mask.domain)?;
        let what = match mask.access {
            Access::All => "",
            Access::Code => " for code",
            Access::Data => " for data",
        };
        let of = format!("{} of {}", mask.mask.count(), cache.bits);
        Some(format!("L{} {}: {of} parts{what}, {}", mask.level, mask.domain, size(bytes(cache, mask))))
    };
    others.masks.iter().filter_map(line).collect()
}
