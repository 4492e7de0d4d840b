//! A machine as the checks see it.

use schemars::JsonSchema;
use serde::Serialize;
use waykeeper_linux::{Below, Root, architecture, below, format_cpulist, parse_boot_cpulist, parse_cpulist, threads};

use crate::check::NotSeen;
use crate::command_line::CommandLine;
use crate::finding::Seen;
use crate::interface::Interface;
use crate::smi::Smis;

/// Who chose the real-time cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// The user.
    User,
    /// The kernel isolates them.
    Isolated,
    /// Nobody: it is the last core that is online.
    Default,
}

/// Real-time cores that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadCores(pub String);

/// Processor families whose files and registers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    Intel,
    Amd,
    /// Another maker of x86 processors.
    OtherX86,
    /// No x86 processor: Arm, RISC-V and others.
    NotX86,
}

impl Vendor {
    pub(crate) fn is_x86(self) -> bool {
        self != Self::NotX86
    }
}

/// A machine as the checks see it.
#[derive(Debug, Clone)]
pub struct View {
    /// Its files.
    pub root: Root,
    /// Cores that are online, ascending.
    pub online: Vec<u32>,
    /// The cores that are to answer in time, ascending.
    pub rt_cores: Vec<u32>,
    /// Who chose them.
    pub chosen_by: ChosenBy,
    /// What the kernel was booted with.
    pub command_line: Option<CommandLine>,
    /// The kernel's release, such as `6.12.9-rt1`.
    pub release: Option<String>,
    /// The processor's name.
    pub processor: Option<String>,
    /// The hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// What shows that, or that there is none, or why it is not known.
    pub below: Below,
    /// The highest number that a core can have, which parameters call `N`.
    pub last: u32,
    /// System-management interrupts.
    pub smis: Smis,
    /// The network interface that is examined as well.
    pub interface: Option<Interface>,
}

const ONLINE: &str = "/sys/devices/system/cpu/online";
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";

impl View {
    /// A machine, with the real-time cores that a user names, or else those that the kernel isolates, or else the last one.
    ///
    /// # Errors
    /// A tree that does not tell its cores; cores that are not online; all of them.
    pub fn new(root: Root, rt_cores: Option<&str>) -> Result<Self, BadCores> {
        let online = waykeeper_linux::online(&root).map_err(|error| match root.text(ONLINE) {
            Some(_) => BadCores(error.to_string()),
            None => BadCores(format!("{}, so the cores of this machine are unknown", root.absence(ONLINE))),
        })?;
        let possible = root.text(POSSIBLE).and_then(|text| parse_cpulist(&text)).unwrap_or_default();
        let last = possible.iter().chain(&online).copied().max().unwrap_or(0);
        let isolated = root.text(ISOLATED).and_then(|text| parse_cpulist(&text)).unwrap_or_default();
        let isolated: Vec<u32> = isolated.into_iter().filter(|core| online.contains(core)).collect();
        let (rt_cores, chosen_by) = match rt_cores {
            Some(text) => (chosen(text, &online, last)?, ChosenBy::User),
            None if !isolated.is_empty() && isolated.len() < online.len() => (isolated, ChosenBy::Isolated),
            None => (online.last().copied().into_iter().collect(), ChosenBy::Default),
        };
        let facts = waykeeper_linux::facts(&root, rt_cores[0]);
        Ok(Self {
            online,
            rt_cores,
            chosen_by,
            command_line: root.text("/proc/cmdline").map(|text| CommandLine::parse(&text)),
            release: waykeeper_linux::kernel_release(&root),
            processor: facts.processor,
            below: below(&root),
            last,
            hypervisor: facts.hypervisor.map(|name| if name == "present" { "of unknown make".into() } else { name }),
            smis: Smis::NotCounted("they were not counted".into()),
            interface: None,
            root,
        })
    }

    /// The cores that keep house: all but the real-time ones; all where every core is one.
    pub(crate) fn others(&self) -> Vec<u32> {
        let others: Vec<u32> = self.online.iter().copied().filter(|core| !self.rt_cores.contains(core)).collect();
        if others.is_empty() { self.online.clone() } else { others }
    }

    /// The real-time cores as a list.
    pub(crate) fn rt_list(&self) -> String {
        format_cpulist(&self.rt_cores)
    }

    /// The other cores as a list.
    pub(crate) fn other_list(&self) -> String {
        format_cpulist(&self.others())
    }

    /// The real-time cores that a list lacks.
    pub(crate) fn lacking(&self, list: &[u32]) -> Vec<u32> {
        self.rt_cores.iter().copied().filter(|core| !list.contains(core)).collect()
    }

    /// The real-time cores that are in a list.
    pub(crate) fn among(&self, list: &[u32]) -> Vec<u32> {
        self.rt_cores.iter().copied().filter(|core| list.contains(core)).collect()
    }

    /// A file's text.
    pub(crate) fn text(&self, path: &str) -> Result<String, NotSeen> {
        self.root.text(path).ok_or_else(|| NotSeen(self.root.absence(path)))
    }

    /// The command line.
    pub(crate) fn words(&self) -> Result<&CommandLine, NotSeen> {
        self.command_line.as_ref().ok_or_else(|| NotSeen(self.root.absence("/proc/cmdline")))
    }

    /// A parameter of the command line as it stands there.
    pub(crate) fn booted(&self, name: &str) -> Option<String> {
        self.command_line.as_ref()?.get(name).map(ToString::to_string)
    }

    /// The processor's feature flags; empty where the architecture has none or they cannot be read.
    pub(crate) fn flags(&self) -> Vec<String> {
        let text = self.root.text("/proc/cpuinfo").unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("flags")).and_then(|line| line.split_once(':'));
        line.map(|(_, flags)| flags.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// The feature flags of one core: kinds of cores differ. Empty where unknown.
    pub(crate) fn flags_of(&self, core: u32) -> Vec<String> {
        let text = self.root.text("/proc/cpuinfo").unwrap_or_default();
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let own = lines.by_ref().any(|(key, value)| key.trim() == "processor" && value.trim() == core.to_string());
        let mut entry = lines.take_while(|(key, _)| key.trim() != "processor").filter(|_| own);
        let flags = entry.find(|(key, _)| key.trim() == "flags").map(|(_, flags)| flags);
        flags.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// Whose processor it is.
    pub(crate) fn vendor(&self) -> Result<Vendor, NotSeen> {
        let text = self.text("/proc/cpuinfo")?;
        match architecture(&self.root).as_deref() {
            Some("x86_64" | "i386" | "i586" | "i686") => {}
            Some(_) => return Ok(Vendor::NotX86),
            None => return Err(NotSeen("/proc/cpuinfo shows neither a maker nor an architecture".into())),
        }
        let line = text.lines().find(|line| line.starts_with("vendor_id")).unwrap_or_default();
        match line.split_once(':').map(|(_, maker)| maker.trim()) {
            Some("GenuineIntel") => Ok(Vendor::Intel),
            Some("AuthenticAMD") => Ok(Vendor::Amd),
            Some(_) => Ok(Vendor::OtherX86),
            None => Err(NotSeen("/proc/cpuinfo shows no maker (vendor_id)".into())),
        }
    }

    /// Says that the host of a virtual machine decides about something; also where this may be one.
    pub(crate) fn hosts_affair(&self, what: &str) -> Option<NotSeen> {
        match (&self.hypervisor, &self.below) {
            (Some(hypervisor), _) => {
                Some(NotSeen(format!("in a virtual machine ({hypervisor}) {what} is the host's affair: look there")))
            }
            (None, Below::Unknown(why)) => Some(NotSeen(format!(
                "{what} is the host's affair in a virtual machine, and whether this is one is not known: {why}"
            ))),
            (None, _) => None,
        }
    }

    /// The online threads that share a core's pipeline, itself left out, and the file that lists them.
    pub(crate) fn siblings(&self, core: u32) -> Option<(String, Vec<u32>)> {
        let (file, mut siblings) = threads(&self.root, core)?;
        siblings.retain(|sibling| *sibling != core && self.online.contains(sibling));
        Some((file, siblings))
    }

    /// Real-time cores that are not the first thread of their physical core; `None` where a core's threads are unknown.
    pub(crate) fn second_threads(&self) -> Option<Vec<u32>> {
        let firsts: Option<Vec<bool>> =
            self.rt_cores.iter().map(|core| Some(threads(&self.root, *core)?.1.iter().min() == Some(core))).collect();
        let cores = self.rt_cores.iter().zip(firsts?).filter(|(_, first)| !first).map(|(core, _)| *core);
        Some(cores.collect())
    }

    /// Why the kernel does not take all of these cores out of its own hands (`isolcpus`, `nohz_full`): one core that is
    /// present when it reads its parameters has to be left, and without x86's tables that is the boot core alone
    /// (kernel/sched/isolation.c: "must include one present CPU, using boot CPU").
    pub(crate) fn cannot_isolate(&self) -> Option<&'static str> {
        let all = self.online.iter().all(|core| self.rt_cores.contains(core));
        let boot = self.rt_cores.contains(&0) && matches!(self.vendor(), Ok(Vendor::NotX86));
        if all {
            return Some("these are all cores, and the kernel keeps its boot core for its own work: leave one out");
        }
        boot.then_some("the kernel keeps its boot core (0) for its own work on this architecture: leave it out")
    }

    /// Whether the scheduler leaves every real-time core alone already.
    pub(crate) fn is_isolated(&self) -> bool {
        let booted = self.root.text("/sys/devices/system/cpu/isolated").and_then(|text| parse_cpulist(&text));
        self.lacking(&[booted.unwrap_or_default(), self.partitions().0].concat()).is_empty()
    }

    /// Cores that isolated partitions of cpusets keep from the scheduler, and what shows each.
    pub(crate) fn partitions(&self) -> (Vec<u32>, Vec<Seen>) {
        const SUM: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";
        let (mut cores, mut seen) = (Vec::new(), Vec::new());
        if let Some(text) = self.root.text(SUM).filter(|text| !text.is_empty()) {
            cores.extend(parse_cpulist(&text).unwrap_or_default());
            seen.push(Seen::new(SUM, text));
        }
        // Kernels before 6.7 have no sum.
        for partition in waykeeper_linux::partitions::isolated(&self.root) {
            seen.push(Seen::new(partition.file, format!("{} ({})", partition.state, format_cpulist(&partition.cores))));
            cores.extend(partition.cores);
        }
        (cores, seen)
    }
}

fn chosen(text: &str, online: &[u32], last: u32) -> Result<Vec<u32>, BadCores> {
    let bad = |why: String| {
        let (all, one) = (format_cpulist(online), online[online.len() - 1]);
        Err(BadCores(format!("{why}; expected some of {all}, such as `{one}`")))
    };
    let Some(mut cores) =
        parse_cpulist(text).or_else(|| parse_boot_cpulist(text, last)).filter(|cores| !cores.is_empty())
    else {
        return bad("this is not a list of cores".into());
    };
    cores.sort_unstable();
    cores.dedup();
    if let Some(core) = cores.iter().find(|core| !online.contains(core)) {
        return bad(format!("core {core} is not online"));
    }
    Ok(cores)
}
