//! What a run records about the machine.

use std::str::FromStr;

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
    /// Preemption model, where the kernel tells.
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

/// The kernel whose fair server came in the place of real-time throttling (kernel/sched/debug.c).
const FAIR_SERVER: (u32, u32) = (6, 12);

const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const RT_PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

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

/// What the kernel keeps of a core for ordinary tasks that wait there, while a real-time task never sleeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptTime {
    /// Real-time throttling: real-time tasks use `runtime_us` of every `period_us` of a core.
    Throttling {
        /// Time for real-time tasks, microseconds.
        runtime_us: i64,
        /// Period, microseconds.
        period_us: i64,
    },
    /// The fair server, since Linux 6.12: ordinary tasks use `runtime_ns` of every `period_ns` of this core.
    FairServer {
        /// Time for ordinary tasks, nanoseconds.
        runtime_ns: u64,
        /// Period, nanoseconds.
        period_ns: u64,
        /// The file that sets the time; 0 there keeps nothing.
        file: String,
    },
    /// Nothing: real-time tasks may use a core without end.
    Nothing,
    /// It cannot be read; why.
    NotSeen(String),
}

/// What the kernel keeps of a core for ordinary tasks, by whichever of its two mechanisms it has, and the files with their
/// text that show it. Since 6.12 `sched_rt_runtime_us` no longer stops real-time tasks, though it is still there.
pub fn kept_for_ordinary_tasks(root: &Root, core: u32) -> (KeptTime, Vec<(String, String)>) {
    let mut read = Vec::new();
    let release = kernel_release(root);
    let kept = match release.as_deref().and_then(kernel_version) {
        None => Err("the kernel's version is not shown, on which it depends".into()),
        Some(version) if version >= FAIR_SERVER => fair_server(root, core, &mut read),
        Some(_) => throttling(root, &mut read),
    };
    (kept.unwrap_or_else(KeptTime::NotSeen), read)
}

fn throttling(root: &Root, read: &mut Vec<(String, String)>) -> Result<KeptTime, String> {
    let mut number = |path: &str| noted::<i64>(root, path, "microseconds", read);
    let (runtime_us, period_us) = (number(RT_RUNTIME)?, number(RT_PERIOD)?);
    let throttles = (0..period_us).contains(&runtime_us);
    Ok(if throttles { KeptTime::Throttling { runtime_us, period_us } } else { KeptTime::Nothing })
}

fn fair_server(root: &Root, core: u32, read: &mut Vec<(String, String)>) -> Result<KeptTime, String> {
    let folder = format!("/sys/kernel/debug/sched/fair_server/cpu{core}");
    let file = format!("{folder}/runtime");
    let hidden = |why| format!("since 6.12 only debugfs shows it (mount -t debugfs none /sys/kernel/debug), and {why}");
    let runtime_ns = noted(root, &file, "nanoseconds", read).map_err(hidden)?;
    if runtime_ns == 0 {
        return Ok(KeptTime::Nothing);
    }
    let period_ns = noted(root, &format!("{folder}/period"), "nanoseconds", read)?;
    Ok(KeptTime::FairServer { runtime_ns, period_ns, file })
}

/// A number in a file; the text is noted beside the file.
fn noted<T: FromStr>(root: &Root, path: &str, unit: &str, read: &mut Vec<(String, String)>) -> Result<T, String> {
    let text = root.text(path).ok_or_else(|| root.absence(path))?;
    let number = text.parse().map_err(|_| format!("`{text}` in {path} is no number of {unit}"));
    read.push((path.to_owned(), text));
    number
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
