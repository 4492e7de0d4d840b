//! Cores that the scheduler leaves alone.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::parameters::names::{isolating, isolcpus};
use crate::view::View;
use waykeeper_linux::parse_cpulist;

const ISOLATED: &str = "/sys/devices/system/cpu/isolated";

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
    let Some(mut isolated) = parse_cpulist(&booted) else {
        return not_seen(format!("{ISOLATED} holds `{booted}`, which is no list of cores"));
    };
    let (partitions, told) = view.partitions();
    isolated.extend(partitions);
    let shown = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    let mut seen = vec![Seen::new(ISOLATED, shown(booted))];
    seen.extend(told);
    let lacking = view.lacking(&isolated);
    if lacking.is_empty() {
        let by = seen.iter().skip(1).map(|seen| seen.file.rsplit_once('/').map_or("", |(group, _)| group));
        let by: Vec<&str> = by.filter(|group| *group != "/sys/fs/cgroup").collect();
        let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) };
        return fine(format!("{} isolated{by}", named(&view.rt_cores)), seen);
    }
    let fixes = vec![
        isolating(view, isolcpus(view)),
        Fix::Other(
            "or, without a restart, an isolated partition of cpusets (cgroup v2: cpuset.cpus.partition = isolated)"
                .into(),
        ),
    ];
    found(Severity::Serious, format!("The scheduler may place any program on {}.", named(&lacking)), seen, fixes)
}
