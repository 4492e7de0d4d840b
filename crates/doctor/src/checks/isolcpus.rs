//! Cores that the scheduler leaves alone.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::parameters::names::isolcpus;
use crate::view::View;
use waykeeper_linux::parse_cpulist;

const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
/// Isolated partitions of control groups; since 6.7.
const PARTITIONS: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";

pub(super) const CHECK: Check = Check {
    id: "isolcpus",
    subject: "cores that the scheduler leaves alone",
    why: "The scheduler places other programs on the core: they take it for milliseconds, or run beside the real-time \
          task and leave their data in its caches.",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt (isolcpus) and cgroup-v2.rst (isolated partitions); TCC user guide 3.4",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let booted = view.text(ISOLATED)?;
    let partitions = view.root.text(PARTITIONS).unwrap_or_default();
    let mut isolated = parse_cpulist(&booted).unwrap_or_default();
    isolated.extend(parse_cpulist(&partitions).unwrap_or_default());
    let shown = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    let mut seen = vec![Seen::new(ISOLATED, shown(booted))];
    if !partitions.is_empty() {
        seen.push(Seen::new(PARTITIONS, partitions));
    }
    let lacking = view.lacking(&isolated);
    if lacking.is_empty() {
        return fine(format!("{} isolated", named(&view.rt_cores)), seen);
    }
    let fixes = vec![
        Fix::Parameter(isolcpus(view)),
        Fix::Other(
            "or, without a restart, an isolated partition of cpusets (cgroup v2: cpuset.cpus.partition = isolated)"
                .into(),
        ),
    ];
    found(Severity::Serious, format!("The scheduler may place any program on {}.", named(&lacking)), seen, fixes)
}
