//! As commands of `pqos` (intel-cmt-cat).

use std::collections::BTreeMap;

use waykeeper_platform::{CoreId, WayControl};

use crate::assignment::{AssignedClass, Assignment, CdpType};
use crate::membership::{Member, Named, from_outside_in};
use crate::offer::{BandwidthUnit, Offer};
use crate::refusal::Refusal;

use super::{Form, Lowered, ScriptLine, control, is_cat, named};

/// Lowers an assignment.
///
/// # Errors
/// Anything but masks and percentages; tasks where only registers are available.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    is_cat(assignment, offer, "pqos")?;
    let unlisted = |level| control(offer, level) == Some(WayControl::CatNotEnumerated);
    let by_register = assignment.divided.iter().any(|cache| unlisted(cache.level));
    let iface = if by_register { "--iface=msr" } else { "--iface=os" };
    if by_register && let Some(class) = assignment.classes.iter().find(|class| !class.members.is_empty()) {
        let message =
            format!("`{}` has tasks, and where CPUID does not enumerate CAT pqos knows cores only", class.name);
        return Err(Refusal::wrong("classes", message));
    }
    let percent = offer.bandwidth.as_ref().is_none_or(|bandwidth| bandwidth.unit == BandwidthUnit::Percent);
    if assignment.classes.iter().any(|class| !class.limits.is_empty()) && (!percent || assignment.mount.mbps) {
        return Err(Refusal::lacking("", "pqos is given limits of bandwidth in percent here; in MB/s resctrl does it"));
    }
    let present = offer.resctrl.as_ref();
    if let Some(groups) = present.map(|state| &state.groups).filter(|groups| !groups.is_empty()) {
        let names: Vec<_> = groups.iter().map(|group| format!("`{}`", group.name)).collect();
        let message = format!(
            "pqos makes groups for all classes and takes those that are there: {}; as writes to resctrl they are left alone",
            names.join(", ")
        );
        return Err(Refusal::wrong("", message));
    }
    let has = present.map(|state| state.mounted).unwrap_or_default();
    let mut lines = Vec::new();
    if by_register {
        lines.push(ScriptLine {
            shell: "export RDT_PROBE_MSR=1".into(),
            why: "lets pqos try registers that CPUID does not name".into(),
            steps: Vec::new(),
        });
    }
    let needed = [(assignment.mount.cdp_l2 && !has.cdp_l2, "l2cdp-on"), (assignment.mount.cdp && !has.cdp, "l3cdp-on")];
    for (on, option) in needed {
        if on {
            let why = "masks of code and data apart; resets all classes".into();
            lines.push(ScriptLine { shell: format!("pqos {iface} -R {option}"), why, steps: Vec::new() });
        }
    }
    let command = |flag: &str, parts: &[String], why: String| {
        let shell = format!("pqos {iface} {flag} \"{}\"", parts.join(";"));
        (!parts.is_empty()).then_some(ScriptLine { shell, why, steps: Vec::new() })
    };
    for (level, word) in [(2, "l2"), (3, "llc")] {
        let parts: Vec<_> = assignment.classes.iter().flat_map(|class| masks(class, level, word, offer)).collect();
        lines.extend(command("-e", &parts, format!("the ways of the L{level} by class: {}", numbers(assignment))));
    }
    let parts: Vec<_> = assignment.classes.iter().flat_map(|class| limits(class, offer)).collect();
    lines.extend(command("-e", &parts, "limits of memory bandwidth in percent".into()));
    let with_cores = assignment.classes.iter().filter(|class| !class.cores.is_empty());
    let parts: Vec<_> = with_cores.map(|class| format!("llc:{}={}", class.number, cores(&class.cores))).collect();
    lines.extend(command("-a", &parts, "the cores of each class".into()));
    let mut notes = Vec::new();
    for (class, member) in from_outside_in(&assignment.classes) {
        let why = format!("tasks of {}", named(assignment, class.number));
        match &member.named {
            Named::Task(task) => {
                let part = [format!("pid:{}={}", class.number, tasks(*task, member))];
                lines.extend(command("-a", &part, why));
            }
            Named::Cgroup(name) => {
                // pqos takes an empty list for a mistake.
                let (list, number) = (member.list_of_cgroup(), class.number);
                let run = format!("pqos {iface} -a \"pid:{number}=$t\"");
                let shell = format!("t=$({list} | paste -sd,); test -z \"$t\" || {run}");
                lines.push(ScriptLine { shell, why, steps: Vec::new() });
                notes.push(format!(
                    "the script moves the tasks that cgroup `{name}` has when it runs, and nothing follows later ones; `waykeeper apply` \
                     and `follow` do, as resctrl"
                ));
            }
        }
    }
    if by_register {
        notes.push("a register that reads back as written can be inert all the same; only its effect proves it".into());
    }
    Ok(Lowered::shell(Form::Pqos, lines, notes))
}

fn numbers(assignment: &Assignment) -> String {
    let names: Vec<_> = assignment.classes.iter().map(|class| format!("{} {}", class.number, class.name)).collect();
    names.join(", ")
}

/// `llc:1=0xfc0`, or `l2@6,7:1=0xff` where caches differ.
fn masks(class: &AssignedClass, level: u8, word: &str, offer: &Offer) -> Vec<String> {
    let mut parts = Vec::new();
    for (access, suffix) in [(CdpType::All, ""), (CdpType::Data, "d"), (CdpType::Code, "c")] {
        let mut domains: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for mask in class.masks.iter().filter(|mask| mask.level == level && mask.access == access) {
            domains.entry(mask.mask.0).or_default().push(mask.domain);
        }
        let all = offer.cache(level).map_or(0, |cache| cache.domains.len());
        for (mask, domains) in domains {
            parts.push(format!("{word}{}:{}{suffix}={mask:#x}", at(&domains, all), class.number));
        }
    }
    parts
}

fn limits(class: &AssignedClass, offer: &Offer) -> Vec<String> {
    let mut domains: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for limit in &class.limits {
        domains.entry(limit.value).or_default().push(limit.domain);
    }
    let all = offer.bandwidth.as_ref().map_or(0, |bandwidth| bandwidth.domains.len());
    let part = |(value, domains): (&u32, &Vec<u32>)| format!("mba{}:{}={value}", at(domains, all), class.number);
    domains.iter().map(part).collect()
}

/// Where only some caches are meant: `@0,2`.
fn at(domains: &[u32], all: usize) -> String {
    if domains.len() == all {
        return String::new();
    }
    let ids: Vec<_> = domains.iter().map(u32::to_string).collect();
    format!("@{}", ids.join(","))
}

/// Ascending cores, pairs apart as Intel's guide has them: `0-3,6-13`, `4,5`.
fn cores(cores: &[CoreId]) -> String {
    let mut runs: Vec<(CoreId, CoreId)> = Vec::new();
    for &core in cores {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => runs.push((core, core)),
        }
    }
    let run = |(first, last): &(CoreId, CoreId)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

fn tasks(task: u32, member: &Member) -> String {
    match member.threads.as_deref() {
        Some([only]) if *only == task => task.to_string(),
        _ => format!("$(ls /proc/{task}/task | paste -sd,)"),
    }
}
