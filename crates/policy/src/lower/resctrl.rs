//! As writes to the kernel's resctrl, in an order that the kernel accepts: the others leave ways first, locked regions
//! take theirs while no other group is there, and classes get members when their masks are set.

use waykeeper_platform::{WayControl, format_cpulist};

use crate::assignment::{AssignedClass, Assignment, CdpType};
use crate::membership::{Member, Named, from_outside_in};
use crate::offer::{CacheOffer, Offer};
use crate::refusal::Refusal;
use crate::step::{MountSettings, Step};

use super::{Form, Lowered, ScriptLine, control};

/// Where resctrl is, in the lines before [`at_its_place`].
const ROOT: &str = crate::offer::USUAL;

/// Lowers an assignment.
///
/// # Errors
/// Caches that resctrl does not see; more classes than it has.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    for cache in &assignment.divided {
        match control(offer, cache.level) {
            Some(WayControl::Cat | WayControl::MpamPortions) => {}
            Some(other) => {
                let level = cache.level;
                let message =
                    format!("the L{level} of {} is divided by {other}, so resctrl does not show it", offer.called);
                return Err(Refusal::lacking("", message));
            }
            None => return Err(Refusal::lacking("", format!("the registers of the L{} are not known", cache.level))),
        }
    }
    classes_suffice(assignment, offer)?;
    let mut lines = vec![mount(assignment.mount, offer)];
    let mut notes = Vec::new();
    let classes = assignment.classes.split_first();
    let Some((others, classes)) = classes else {
        at_its_place(&mut lines, offer)?;
        return Ok(Lowered::shell(Form::Resctrl, lines, notes));
    };
    for text in schemata(others) {
        lines.push(write("schemata", text, "what the others keep; the rest is free for classes"));
    }
    for lock in &assignment.locks {
        lines.push(make(&lock.name, "a group for the region"));
        lines.push(write(&path(&lock.name, "mode"), "pseudo-locksetup".into(), "the group is for locking"));
        let text = format!("L{}:{}={:x}", lock.level, lock.domain, lock.mask);
        lines.push(write(&path(&lock.name, "schemata"), text, "loads the region into these ways and locks it"));
        lines.push(ScriptLine {
            shell: format!("cat {ROOT}/{}/mode", lock.name),
            why: format!("says `pseudo-locked`; programs map /dev/pseudo_lock/{}", lock.name),
            steps: Vec::new(),
        });
    }
    for class in classes {
        lines.push(make(&class.name, "a class of its own"));
    }
    for class in classes {
        for text in schemata(class) {
            lines.push(write(&path(&class.name, "schemata"), text, "its share"));
        }
    }
    for class in classes {
        match guarded(class, offer) {
            Guard::Possible => {
                lines.push(write(
                    &path(&class.name, "mode"),
                    "exclusive".into(),
                    "the kernel assigns these ways to no other group",
                ));
            }
            Guard::No(why) => notes.push(format!(
                "`{}` is not in resctrl's exclusive mode ({why}): a group that is made later can be given its ways",
                class.name
            )),
            Guard::NotWanted => {}
        }
    }
    let unread = |class: &AssignedClass| {
        class.members.iter().any(|member| member.threads.is_none() && matches!(member.named, Named::Task(_)))
    };
    if classes.iter().any(unread) {
        notes.push("the script looks for the threads of tasks when it runs; this plan has none of them".into());
    }
    for class in classes.iter().filter(|class| !class.cores.is_empty()) {
        lines.push(write(&path(&class.name, "cpus_list"), format_cpulist(&class.cores), "its cores"));
    }
    lines.extend(from_outside_in(classes).into_iter().map(|(class, member)| members(&class.name, member)));
    if classes.iter().flat_map(|class| &class.members).any(|member| matches!(member.named, Named::Cgroup(_))) {
        notes.push(
            "tasks that come into a cgroup after `apply` join its class while `waykeeper follow` runs; children of tasks that are in \
             the class are born in it; the script moves those that are there when it runs"
                .into(),
        );
    }
    at_its_place(&mut lines, offer)?;
    Ok(Lowered::shell(Form::Resctrl, lines, notes))
}

/// resctrl mounts once: where it is mounted elsewhere, the script writes there.
fn at_its_place(lines: &mut [ScriptLine], offer: &Offer) -> Result<(), Refusal> {
    let Some(state) = offer.resctrl.as_ref().filter(|state| state.at != ROOT) else { return Ok(()) };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    if !state.at.bytes().all(is_plain) {
        let message = format!(
            "resctrl is mounted at `{}`, which no script can name safely; mount it at {ROOT}",
            state.at.escape_default()
        );
        return Err(Refusal::lacking("", message));
    }
    for line in lines {
        line.shell = line.shell.replace(ROOT, &state.at);
    }
    Ok(())
}

fn is_shown(cache: &&CacheOffer) -> bool {
    matches!(cache.control, Some(WayControl::Cat | WayControl::MpamPortions))
}

/// resctrl has as many classes as the least of its resources.
fn classes_suffice(assignment: &Assignment, offer: &Offer) -> Result<(), Refusal> {
    let apart = |level| if level == 3 { assignment.mount.cdp } else { assignment.mount.cdp_l2 };
    let caches = offer.caches.iter().filter(is_shown);
    let caches = caches.filter_map(|cache| Some(cache.classes? / if apart(cache.level) { 2 } else { 1 }));
    let bandwidth = offer.bandwidth.iter().filter_map(|bandwidth| bandwidth.classes);
    let Some(there) = caches.chain(bandwidth).min() else { return Ok(()) };
    let locks = usize::from(!assignment.locks.is_empty()) + 1;
    let needed = assignment.classes.len().max(locks) as u32 + offer.taken_classes();
    if needed <= there {
        return Ok(());
    }
    Err(Refusal::lacking(
        "classes",
        format!("{needed} are needed with that of the others, and resctrl has {there} here"),
    ))
}

fn mount(settings: MountSettings, offer: &Offer) -> ScriptLine {
    let all = [(settings.cdp, "cdp"), (settings.cdp_l2, "cdpl2"), (settings.mbps, "mba_MBps")];
    let options: Vec<_> = all.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    let options = if options.is_empty() { String::new() } else { format!(" -o {}", options.join(",")) };
    let mounted = offer.resctrl.is_some();
    ScriptLine {
        shell: format!("mountpoint -q {ROOT} || mount -t resctrl{options} resctrl {ROOT}"),
        why: if mounted { "it is mounted already".into() } else { "unless it is mounted already".into() },
        steps: vec![Step::Mounted(settings)],
    }
}

fn path(group: &str, file: &str) -> String {
    format!("{group}/{file}")
}

fn make(group: &str, why: &str) -> ScriptLine {
    ScriptLine {
        shell: format!("mkdir {ROOT}/{group}"),
        why: why.into(),
        steps: vec![Step::MakeGroup { group: group.into() }],
    }
}

fn write(path: &str, text: String, why: &str) -> ScriptLine {
    ScriptLine {
        shell: format!("echo '{text}' > {ROOT}/{path}"),
        why: why.into(),
        steps: vec![Step::Write { path: path.into(), text: text + "\n" }],
    }
}

/// The lines of a class's schemata.
fn schemata(class: &AssignedClass) -> Vec<String> {
    let mut lines = Vec::new();
    for level in [2, 3] {
        for (access, suffix) in [(CdpType::All, ""), (CdpType::Code, "CODE"), (CdpType::Data, "DATA")] {
            let masks = class.masks.iter().filter(|mask| mask.level == level && mask.access == access);
            let values: Vec<_> = masks.map(|mask| format!("{}={:x}", mask.domain, mask.mask)).collect();
            if !values.is_empty() {
                lines.push(format!("L{level}{suffix}:{}", values.join(";")));
            }
        }
    }
    let limits: Vec<_> = class.limits.iter().map(|limit| format!("{}={}", limit.domain, limit.value)).collect();
    if !limits.is_empty() {
        lines.push(format!("MB:{}", limits.join(";")));
    }
    lines
}

/// Whether the kernel can keep a class's ways from other groups.
enum Guard {
    Possible,
    No(String),
    NotWanted,
}

/// The kernel's exclusive mode needs ways that nobody else has in every cache that it knows.
fn guarded(class: &AssignedClass, offer: &Offer) -> Guard {
    if !class.masks.iter().any(|mask| mask.exclusive) {
        return Guard::NotWanted;
    }
    for cache in offer.caches.iter().filter(is_shown) {
        for domain in &cache.domains {
            let called = format!("L{} {}", cache.level, domain.id);
            let mut masks =
                class.masks.iter().filter(|mask| mask.level == cache.level && mask.domain == domain.id).peekable();
            if masks.peek().is_none() || masks.clone().any(|mask| !mask.exclusive) {
                return Guard::No(format!("it has no ways of its own in {called}"));
            }
            if masks.any(|mask| mask.mask.overlaps(domain.closed_to_exclusion())) {
                return Guard::No(format!("devices can fill its ways of {called}"));
            }
        }
    }
    Guard::Possible
}

fn members(group: &str, member: &Member) -> ScriptLine {
    let path = path(group, "tasks");
    match &member.named {
        Named::Task(task) => {
            // One thread a write: older kernels take no more.
            let one = |thread: &u32| Step::Write { path: path.clone(), text: format!("{thread}\n") };
            let steps: Vec<Step> = member.threads.iter().flatten().map(one).collect();
            match member.threads.as_deref() {
                Some([only]) if only == task => {
                    ScriptLine { shell: format!("echo {task} > {ROOT}/{path}"), why: format!("task {task}"), steps }
                }
                _ => ScriptLine {
                    shell: format!("for t in $(ls /proc/{task}/task); do echo $t > {ROOT}/{path}; done"),
                    why: format!("the threads of process {task}"),
                    steps,
                },
            }
        }
        Named::Cgroup(name) => {
            let list = member.list_of_cgroup();
            // A task that ends before its turn is no failure.
            let shell = format!("for t in $({list}); do echo $t > {ROOT}/{path} || test ! -e /proc/$t; done");
            let why = match member.absent {
                true => format!("cgroup {name} is not there now; its tasks join when it comes"),
                false => format!("every task of cgroup {name} and below"),
            };
            ScriptLine { shell, why, steps: vec![Step::Cgroup { group: group.into(), cgroup: name.clone() }] }
        }
    }
}
