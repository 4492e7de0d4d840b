//! What a machine is: cores, caches, clocks and controls, each with how it was found.

mod arm_controls;
mod arm_cores;
mod caches;
mod clock;
mod controls;
mod cores;
mod cpuid_controls;
mod identity;
mod other_controls;
mod platform;
pub mod probe;
mod resctrl_controls;
mod tree_caches;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_platform::{CoreId, parse_cpulist};

use crate::cpuid::Leaves;
use crate::discover::NotDiscovered;
use crate::root::Root;
use tree_caches::TreeCaches;

pub(crate) use arm_cores::line_bytes;
pub(crate) use caches::size_kib;
pub use caches::{CacheKind, CacheUse, index_is_hashed};
pub use clock::Clock;
pub use controls::{Control, Evidence, How, Limits, Shares, Unit};
pub use cores::CoresOfKind;
pub use identity::{Identity, RecordedBy};
pub use platform::{MeasuredLatencies, MeasuredTime};

/// A machine. What could not be found is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The version of this form.
    pub schema: u32,
    /// Processor, kernel and where this was read.
    pub identity: Identity,
    /// The cores, by kind.
    pub cores: Vec<CoresOfKind>,
    /// Online cores that share a physical core, where more than one does.
    pub siblings: Vec<Vec<CoreId>>,
    /// Cores that the kernel isolates from its scheduler.
    pub isolated: Vec<CoreId>,
    /// The caches, inner ones first, each kind once.
    pub caches: Vec<CacheKind>,
    /// NUMA nodes.
    pub nodes: Vec<Node>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// The counter that timed loops read.
    pub clock: Clock,
    /// What shares or guards something, and how it was found.
    pub controls: Vec<Control>,
    /// What does not fit together, and what could not be read.
    pub notes: Vec<String>,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its cores.
    pub cpus: Vec<CoreId>,
    /// Distances to all nodes, 10 to itself.
    pub distances: Vec<u32>,
}

impl Machine {
    /// The version of the form.
    pub const SCHEMA: u32 = 1;

    /// Reads a machine, as far as it can be read.
    ///
    /// # Errors
    /// A tree without a readable list of online cores.
    pub fn read(root: &Root) -> Result<Self, NotDiscovered> {
        let reading = Reading::new(root)?;
        let mut notes = Vec::new();
        let identity = identity::read(&reading);
        let cores = cores::read(&reading);
        let tree = TreeCaches::read(root);
        let caches = caches::read(&reading, &tree, &mut notes);
        let controls = controls::read(&reading, &identity, &caches, &tree, &mut notes);
        if identity.hypervisor.is_some() {
            notes.push("a hypervisor is below: what it hides from this machine is not seen here".into());
        }
        missing(&reading, &mut notes);
        Ok(Self {
            schema: Self::SCHEMA,
            siblings: siblings(&reading),
            isolated: reading.list("/sys/devices/system/cpu/isolated"),
            nodes: nodes(&reading),
            memory_mib: memory_mib(root),
            clock: clock::read(&reading),
            identity,
            cores,
            caches,
            controls,
            notes,
        })
    }

    /// The JSON Schema of a machine.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }

    /// All online cores.
    pub fn cpus(&self) -> Vec<CoreId> {
        let mut cpus: Vec<_> = self.cores.iter().flat_map(|cores| cores.cpus.iter().copied()).collect();
        cpus.sort_unstable();
        cpus
    }

    /// Whether it is the first online thread of its physical core.
    pub fn is_first_thread(&self, cpu: CoreId) -> bool {
        self.siblings.iter().find(|group| group.contains(&cpu)).is_none_or(|group| group[0] == cpu)
    }
}

/// What is read of a machine more than once.
struct Reading<'r> {
    root: &'r Root,
    cpus: Vec<CoreId>,
    /// CPUID leaves of each core, where there are any.
    leaves: Vec<(CoreId, Leaves)>,
}

impl<'r> Reading<'r> {
    fn new(root: &'r Root) -> Result<Self, NotDiscovered> {
        let cpus = crate::discover::online(root)?;
        let leaves = cpus.iter().filter_map(|cpu| Some((*cpu, Leaves::of(root, *cpu)?))).collect();
        Ok(Self { root, cpus, leaves })
    }

    fn cpu(&self, cpu: CoreId, file: &str) -> Option<String> {
        self.root.text(&format!("/sys/devices/system/cpu/cpu{cpu}/{file}")).filter(|text| !text.is_empty())
    }

    fn cpu_number(&self, cpu: CoreId, file: &str) -> Option<u64> {
        self.cpu(cpu, file)?.parse().ok()
    }

    fn list(&self, path: &str) -> Vec<CoreId> {
        self.root.text(path).and_then(|text| parse_cpulist(&text)).unwrap_or_default()
    }

    fn leaves(&self, cpu: CoreId) -> Option<&Leaves> {
        self.leaves.iter().find(|(of, _)| *of == cpu).map(|(_, leaves)| leaves)
    }

    /// The online threads of a physical core.
    fn threads(&self, cpu: CoreId) -> Vec<CoreId> {
        let mut threads = crate::discover::threads(self.root, cpu).map(|(_, threads)| threads).unwrap_or_default();
        threads.retain(|thread| self.cpus.contains(thread));
        if threads.is_empty() { vec![cpu] } else { threads }
    }

    /// A flag of `/proc/cpuinfo`.
    fn has_flag(&self, flag: &str) -> bool {
        let text = self.root.text("/proc/cpuinfo").unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("flags"));
        line.is_some_and(|line| line.split_whitespace().any(|word| word == flag))
    }
}

fn siblings(reading: &Reading) -> Vec<Vec<CoreId>> {
    let mut groups: Vec<_> = reading.cpus.iter().map(|cpu| reading.threads(*cpu)).filter(|it| it.len() > 1).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

fn nodes(reading: &Reading) -> Vec<Node> {
    const FOLDER: &str = "/sys/devices/system/node";
    let numbers = reading.list(&format!("{FOLDER}/online"));
    let node = |number: u32| {
        let distances = reading.root.text(&format!("{FOLDER}/node{number}/distance")).unwrap_or_default();
        Node {
            number,
            cpus: reading.list(&format!("{FOLDER}/node{number}/cpulist")),
            distances: distances.split_whitespace().filter_map(|text| text.parse().ok()).collect(),
        }
    };
    numbers.into_iter().map(node).collect()
}

fn memory_mib(root: &Root) -> Option<u64> {
    let meminfo = root.text("/proc/meminfo")?;
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// What nobody could read, so that its absence here says nothing.
fn missing(reading: &Reading, notes: &mut Vec<String>) {
    if reading.root.is_running() && crate::cpuid::in_room() {
        notes.push(
            "this is a room: its files are a simulated platform's; CPUID is another machine's and was not asked".into(),
        );
    } else if reading.root.is_running() && reading.leaves.len() < reading.cpus.len() && cfg!(target_arch = "x86_64") {
        notes.push("CPUID was asked on the allowed cores only".into());
    }
    if reading.root.text("/sys/devices/system/cpu/online").is_none() {
        notes.push(
            "the online cores are the processors of /proc/cpuinfo; /sys/devices/system/cpu/online is absent".into(),
        );
    }
    if let Some(manifest) = reading.root.text(crate::recording::MANIFEST)
        && let Ok(manifest) = toml::from_str::<crate::recording::Manifest>(&manifest)
    {
        notes.extend(manifest.unreadable.iter().map(|what| format!("not read when this was recorded: {what}")));
    }
}
