//! What a run records about the machine.

use crate::kept_time::{RT_PERIOD, RT_RUNTIME};
use crate::root::Root;

/// Facts that stand in a run's record; what could not be read is absent.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Processor model.
    pub processor: Option<String>,
    /// Kernel release and version.
    pub kernel: Option<String>,
    /// Kernel command line.
    pub command_line: Option<String>,
    /// Preemption model, where the kernel reports it.
    pub preemption: Option<String>,
    /// Clock source.
    pub clocksource: Option<String>,
    /// Frequency governor of one core.
    pub governor: Option<String>,
    /// SMT control state.
    pub smt: Option<String>,
    /// Isolated cores.
    pub isolated: Option<String>,
    /// Tickless cores.
    pub nohz_full: Option<String>,
    /// Hypervisor.
    pub hypervisor: Option<String>,
    /// Setting of transparent huge pages.
    pub transparent_hugepages: Option<String>,
    /// `runtime_us/period_us` of real-time throttling.
    pub realtime_throttling: Option<String>,
}

/// Major and minor number of a kernel's release, such as `6.12.9-rt1`.
pub fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The release of the kernel, such as `6.12.9-rt1`.
pub fn kernel_release(root: &Root) -> Option<String> {
    root.text("/proc/sys/kernel/osrelease").or_else(|| {
        let version = root.text("/proc/version")?;
        version.strip_prefix("Linux version ")?.split_whitespace().next().map(str::to_owned)
    })
}

/// Reads the facts; `core` is the one whose governor counts.
pub fn facts(root: &Root, core: u32) -> Facts {
    let listed = |path: &str| root.text(path).filter(|text| !text.is_empty() && text != "(null)");
    let version = root.text("/proc/version");
    Facts {
        processor: crate::architecture::processor(root),
        preemption: version.as_deref().and_then(preemption).map(str::to_owned),
        kernel: version.as_deref().and_then(|v| v.strip_prefix("Linux version ")).map(|v| {
            // Compiler and builder say nothing about latency and may name a machine.
            let release = v.split_whitespace().next().unwrap_or_default();
            v.find('#').map_or_else(|| release.to_owned(), |at| format!("{release} {}", &v[at..]))
        }),
        command_line: listed("/proc/cmdline"),
        clocksource: root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor: root.text(&format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor")),
        smt: root.text("/sys/devices/system/cpu/smt/control"),
        isolated: listed("/sys/devices/system/cpu/isolated"),
        nohz_full: listed("/sys/devices/system/cpu/nohz_full"),
        hypervisor: hypervisor(root),
        transparent_hugepages: root.text("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
        realtime_throttling: root.text(RT_RUNTIME).zip(root.text(RT_PERIOD)).map(|(a, b)| format!("{a}/{b}")),
    }
}

fn preemption(version: &str) -> Option<&'static str> {
    ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT"].into_iter().find(|word| version.split_whitespace().any(|w| w == *word))
}

/// The bracketed word of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// The hypervisor below, where one shows itself.
pub(crate) fn hypervisor(root: &Root) -> Option<String> {
    match crate::hypervisor::below(root) {
        crate::hypervisor::Below::Hypervisor(name, _) => Some(name),
        _ => None,
    }
}
