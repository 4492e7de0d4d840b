//! What the kernel keeps of a core for ordinary tasks that wait there, while a real-time task never sleeps.

use std::str::FromStr;

use crate::build_options::build_option;
use crate::facts::{kernel_release, kernel_version};
use crate::root::Root;

/// The kernel whose fair server came in the place of real-time throttling (kernel/sched/debug.c).
const FAIR_SERVER: (u32, u32) = (6, 12);

/// With it the kernel throttles real-time tasks beside its fair server too (kernel/sched/rt.c since 6.12).
const GROUPS: &str = "CONFIG_RT_GROUP_SCHED";

pub(crate) const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
pub(crate) const RT_PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

/// One mechanism by which time is kept.
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
    /// Whether a mechanism keeps time cannot be read; why.
    NotSeen(String),
}

/// The mechanisms by which the kernel keeps time of a core for ordinary tasks, none where real-time tasks may use it
/// without end, and the files with their text that show it.
///
/// Before 6.12 it is throttling. Since then it is the fair server, and throttling beside it where the kernel was built with
/// groups of real-time tasks; without them `sched_rt_runtime_us` stops nobody, though it is still there.
pub fn kept_for_ordinary_tasks(root: &Root, core: u32) -> (Vec<KeptTime>, Vec<(String, String)>) {
    let mut read = Vec::new();
    let release = kernel_release(root);
    let kept = match release.as_deref().and_then(kernel_version) {
        None => vec![Err("the kernel's version is not shown, on which it depends".into())],
        Some(version) if version >= FAIR_SERVER => {
            vec![fair_server(root, core, &mut read), throttling_of_groups(root, &mut read)]
        }
        Some(_) => vec![throttling(root, &mut read)],
    };
    (kept.into_iter().filter_map(|one| one.unwrap_or_else(|why| Some(KeptTime::NotSeen(why)))).collect(), read)
}

/// What keeps time, or nothing, or why that was not seen.
type Kept = Result<Option<KeptTime>, String>;

fn throttling(root: &Root, read: &mut Vec<(String, String)>) -> Kept {
    let mut number = |path: &str| noted::<i64>(root, path, "microseconds", read);
    let (runtime_us, period_us) = (number(RT_RUNTIME)?, number(RT_PERIOD)?);
    Ok((0..period_us).contains(&runtime_us).then_some(KeptTime::Throttling { runtime_us, period_us }))
}

fn throttling_of_groups(root: &Root, read: &mut Vec<(String, String)>) -> Kept {
    let built = build_option(root, GROUPS);
    if built == Ok(false) {
        return Ok(None);
    }
    let throttled = throttling(root, read)?;
    match (throttled, built) {
        (Some(_), Err(why)) => Err(format!(
            "sched_rt_runtime_us keeps time beside the fair server where the kernel was built with {GROUPS}, and {why}"
        )),
        (throttled, _) => Ok(throttled),
    }
}

fn fair_server(root: &Root, core: u32, read: &mut Vec<(String, String)>) -> Kept {
    let folder = format!("/sys/kernel/debug/sched/fair_server/cpu{core}");
    let file = format!("{folder}/runtime");
    let hidden = |why| format!("since 6.12 only debugfs shows it (mount -t debugfs none /sys/kernel/debug), and {why}");
    let runtime_ns = noted(root, &file, "nanoseconds", read).map_err(hidden)?;
    if runtime_ns == 0 {
        return Ok(None);
    }
    let period_ns = noted(root, &format!("{folder}/period"), "nanoseconds", read)?;
    Ok(Some(KeptTime::FairServer { runtime_ns, period_ns, file }))
}

/// A number in a file; the text is noted beside the file.
fn noted<T: FromStr>(root: &Root, path: &str, unit: &str, read: &mut Vec<(String, String)>) -> Result<T, String> {
    let text = root.text(path).ok_or_else(|| root.absence(path))?;
    let number = text.parse().map_err(|_| format!("`{text}` in {path} is no number of {unit}"));
    read.push((path.to_owned(), text));
    number
}
