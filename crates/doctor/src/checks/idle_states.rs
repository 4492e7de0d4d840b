//! Idle states, and whoever forbids them.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::{Vendor, View};

const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
const LIMIT: &str = "/dev/cpu_dma_latency";

/// A state that takes longer to leave than this is serious, microseconds: the guide's worst wake-ups are of that size
/// (cyclictest of chapter 4: 6 to 17).
const SERIOUS_US: u64 = 10;
/// Leaving the lightest state of today's processors (C1) takes this long, microseconds (the kernel's intel_idle.c).
const LIGHT_US: u64 = 2;

pub(super) const CHECK: Check = Check {
    id: "idle-states",
    subject: "idle states of the cores",
    why: "A core that sleeps deeply answers an interrupt only after it has woken, and may find its caches emptied.",
    source: "Linux Documentation/admin-guide/pm/cpuidle.rst; TCC user guide 3.4 (idle=poll) and Appendix B (C states)",
    look,
};

/// An idle state that the kernel may use.
struct State {
    file: String,
    name: String,
    exit_us: u64,
}

fn look(view: &View) -> Result<Looked, NotSeen> {
    if view.words().is_ok_and(|words| words.has("idle", "poll")) {
        return fine("idle cores poll", vec![Seen::new("/proc/cmdline", "idle=poll")]);
    }
    let mut deepest: Option<State> = None;
    let (mut told, mut seen) = (true, Vec::new());
    let limit_us = dma_latency_us(view);
    seen.extend(limit_us.map(|limit| Seen::new(LIMIT, format!("{limit} us"))));
    for &core in &view.rt_cores {
        let states = states(view, core)?;
        told &= !states.is_empty();
        let limits = [limit_us, resume_latency_us(view, core)];
        let allowed = states.into_iter().filter(|state| limits.iter().flatten().all(|limit| state.exit_us <= *limit));
        deepest = allowed.chain(deepest).max_by_key(|state| state.exit_us);
    }
    if !told && view.root.text(DRIVER).as_deref() == Some("none") && view.hosts_affair("").is_none() {
        return fine("no driver of idle states: cores halt in the lightest one", vec![Seen::new(DRIVER, "none")]);
    }
    let deep = deepest.filter(|state| state.exit_us > LIGHT_US);
    if !told && deep.is_none() {
        let mut cores = view.rt_cores.iter().map(|core| format!("/sys/devices/system/cpu/cpu{core}/cpuidle"));
        let folder = cores.find(|folder| view.root.names(folder).is_empty()).unwrap_or_default();
        return not_seen(format!("{folder} shows no states, so how the core idles is unknown"));
    }
    match deep {
        Some(state) => {
            let severity = if state.exit_us > SERIOUS_US { Severity::Serious } else { Severity::Warning };
            let what = format!("Cores may enter {}, which takes {} us to leave.", state.name, state.exit_us);
            seen.insert(0, Seen::new(state.file, format!("{} us", state.exit_us)));
            found(severity, what, seen, fixes(view))
        }
        None => match view.hosts_affair("how deep an idle core sleeps") {
            Some(unseen) => Err(unseen),
            None => fine(format!("no state that takes longer than {LIGHT_US} us to leave"), seen),
        },
    }
}

fn states(view: &View, core: u32) -> Result<Vec<State>, NotSeen> {
    let folder = format!("/sys/devices/system/cpu/cpu{core}/cpuidle");
    let state = |name: String| {
        let folder = format!("{folder}/{name}");
        let disabled = view.root.number(&format!("{folder}/disable")).unwrap_or(0) != 0;
        let file = format!("{folder}/latency");
        let exit_us = view.root.number(&file).ok_or_else(|| NotSeen(view.root.absence(&file)))?;
        let name = view.root.text(&format!("{folder}/name")).unwrap_or(name);
        // A state that is disabled is reported without an exit, so that the machine counts as one that reports its states.
        Ok(State { file: format!("{folder}/latency"), name, exit_us: if disabled { 0 } else { exit_us } })
    };
    view.root.names(&folder).into_iter().filter(|name| name.starts_with("state")).map(state).collect()
}

/// The longest wake-up that programs allow: 4 bytes in the machine's order.
fn dma_latency_us(view: &View) -> Option<u64> {
    let bytes: [u8; 4] = view.root.bytes(LIMIT)?.try_into().ok()?;
    u64::try_from(i32::from_le_bytes(bytes)).ok()
}

/// A core's own limit: `n/a` allows none, 0 sets none (Documentation/ABI/testing/sysfs-devices-power).
fn resume_latency_us(view: &View, core: u32) -> Option<u64> {
    let text = view.root.text(&format!("/sys/devices/system/cpu/cpu{core}/power/pm_qos_resume_latency_us"))?;
    match text.as_str() {
        "n/a" => Some(0),
        "0" => None,
        limit => limit.parse().ok(),
    }
}

fn fixes(view: &View) -> Vec<Fix> {
    let own = view.rt_cores.iter().map(|core| {
        Fix::Command(format!("echo n/a > /sys/devices/system/cpu/cpu{core}/power/pm_qos_resume_latency_us"))
    });
    let booted = match view.vendor() {
        Ok(Vendor::Intel) => "intel_idle.max_cstate=0 processor.max_cstate=1",
        Ok(Vendor::Amd) => "processor.max_cstate=1",
        _ => "cpuidle.off=1",
    };
    own.chain([
        Fix::Parameter(booted.into()),
        Fix::Other("or let the real-time program hold /dev/cpu_dma_latency open with 0 written to it".into()),
    ])
    .collect()
}
