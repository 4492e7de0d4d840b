//! A machine as the checks see it.

use schemars::JsonSchema;
use serde::Serialize;
use waykeeper_linux::{Root, format_cpulist, parse_cpulist};

use crate::check::NotSeen;
use crate::command_line::CommandLine;
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
    /// Neither: Arm, RISC-V and others, or unknown.
    Other,
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
    /// System-management interrupts.
    pub smis: Smis,
}

const ONLINE: &str = "/sys/devices/system/cpu/online";
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";

impl View {
    /// A machine, with the real-time cores that a user names, or else those that the kernel isolates, or else the last one.
    ///
    /// # Errors
    /// A tree that does not tell its cores; cores that are not online; all of them.
    pub fn new(root: Root, rt_cores: Option<&str>) -> Result<Self, BadCores> {
        let text = root
            .text(ONLINE)
            .ok_or_else(|| BadCores(format!("{}, so the cores of this machine are unknown", root.absence(ONLINE))))?;
        let online = parse_cpulist(&text).filter(|cores| !cores.is_empty());
        let online = online.ok_or_else(|| BadCores(format!("{ONLINE} holds `{text}`; expected a list of cores")))?;
        let isolated = root.text(ISOLATED).and_then(|text| parse_cpulist(&text)).unwrap_or_default();
        let isolated: Vec<u32> = isolated.into_iter().filter(|core| online.contains(core)).collect();
        let (rt_cores, chosen_by) = match rt_cores {
            Some(text) => (chosen(text, &online)?, ChosenBy::User),
            None if !isolated.is_empty() && isolated.len() < online.len() => (isolated, ChosenBy::Isolated),
            None => (online.last().copied().into_iter().collect(), ChosenBy::Default),
        };
        let facts = waykeeper_linux::facts(&root, rt_cores[0]);
        let release = root.text("/proc/sys/kernel/osrelease").or_else(|| {
            let version = root.text("/proc/version")?;
            version.strip_prefix("Linux version ")?.split_whitespace().next().map(str::to_owned)
        });
        Ok(Self {
            online,
            rt_cores,
            chosen_by,
            command_line: root.text("/proc/cmdline").map(|text| CommandLine::parse(&text)),
            release,
            processor: facts.processor,
            hypervisor: facts.hypervisor.map(|name| if name == "present" { "of unknown make".into() } else { name }),
            smis: Smis::NotCounted("they were not counted".into()),
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

    /// Major and minor number of the kernel.
    pub(crate) fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.as_deref()?.split(|c: char| !c.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }

    /// The processor's feature flags; empty where the architecture has none or they cannot be read.
    pub(crate) fn flags(&self) -> Vec<String> {
        let text = self.root.text("/proc/cpuinfo").unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("flags")).and_then(|line| line.split_once(':'));
        line.map(|(_, flags)| flags.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Whose processor it is.
    pub(crate) fn vendor(&self) -> Result<Vendor, NotSeen> {
        let text = self.text("/proc/cpuinfo")?;
        let line = text.lines().find(|line| line.starts_with("vendor_id")).unwrap_or_default();
        Ok(match line.split(':').next_back().map(str::trim) {
            Some("GenuineIntel") => Vendor::Intel,
            Some("AuthenticAMD") => Vendor::Amd,
            _ => Vendor::Other,
        })
    }

    /// Says that the host of a virtual machine decides about something.
    pub(crate) fn hosts_affair(&self, what: &str) -> Option<NotSeen> {
        let hypervisor = self.hypervisor.as_ref()?;
        Some(NotSeen(format!("in a virtual machine ({hypervisor}) {what} is the host's affair: look there")))
    }
}

fn chosen(text: &str, online: &[u32]) -> Result<Vec<u32>, BadCores> {
    let bad = |why: String| {
        let (all, one) = (format_cpulist(online), online[online.len() - 1]);
        Err(BadCores(format!("{why}; expected some of {all}, such as `{one}`")))
    };
    let Some(mut cores) = parse_cpulist(text).filter(|cores| !cores.is_empty()) else {
        return bad("this is not a list of cores".into());
    };
    cores.sort_unstable();
    cores.dedup();
    if let Some(core) = cores.iter().find(|core| !online.contains(core)) {
        return bad(format!("core {core} is not online"));
    }
    Ok(cores)
}
