//! The network interface that real-time packets pass through.

use std::collections::BTreeSet;
use std::io;

use waykeeper_linux::Root;
use waykeeper_linux::ethtool::{Coalescing, EnergyEfficient, Ethtool, Pause, Queues, TimeStamps};
use waykeeper_linux::qdisc::{QueueingDiscipline, queueing_disciplines};

use crate::check::NotSeen;
use crate::view::View;

/// The kernel's folder of interfaces.
const INTERFACES: &str = "/sys/class/net";

/// An interface that is to be examined.
#[derive(Debug, Clone, PartialEq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What its driver says.
    pub driver: DriverSettings,
}

/// What the driver of an interface and the kernel say, each with the reason where it does not, as half a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct DriverSettings {
    /// Its queues.
    pub queues: Result<Queues, String>,
    /// How its interrupts are held back.
    pub coalescing: Result<Coalescing, String>,
    /// Energy-Efficient Ethernet.
    pub energy_efficient: Result<EnergyEfficient, String>,
    /// Pause frames.
    pub pause: Result<Pause, String>,
    /// Time stamps.
    pub time_stamps: Result<TimeStamps, String>,
    /// Its queueing disciplines.
    pub disciplines: Result<Vec<QueueingDiscipline>, String>,
}

/// An interface that a machine does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoInterface(pub String);

impl Interface {
    /// An interface of a machine. Only a running one's driver is asked.
    ///
    /// # Errors
    /// A name that is not among the machine's interfaces: with those that are.
    pub fn find(root: &Root, name: &str) -> Result<Self, NoInterface> {
        let names = root.names(INTERFACES);
        if names.is_empty() {
            return Err(NoInterface(format!("{INTERFACES} names no interfaces here, so none can be examined")));
        }
        if !names.iter().any(|known| known == name) {
            return Err(NoInterface(format!("no interface has this name; expected one of {}", names.join(", "))));
        }
        let driver = match root.is_running() {
            true => DriverSettings::read(name),
            false => DriverSettings::unknown("a recorded tree has no driver that could be asked"),
        };
        Ok(Self { name: name.to_owned(), driver })
    }

    /// A file of its folder.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{INTERFACES}/{}/{name}", self.name)
    }

    /// Whether there is no device behind it, such as for a bridge or a virtual cable.
    pub(crate) fn is_virtual(&self, root: &Root) -> bool {
        root.is_absent(&self.file("device"))
    }

    /// The numbers of its interrupts: those of its PCI device or the device that this one sits on, and those that bear its name.
    pub(crate) fn interrupts(&self, root: &Root) -> BTreeSet<u32> {
        let folders = ["device/msi_irqs", "device/../msi_irqs"];
        let numbers = folders.iter().flat_map(|folder| root.names(&self.file(folder)));
        let of_device = numbers.filter_map(|name| name.parse().ok());
        let table = root.text("/proc/interrupts").unwrap_or_default();
        let named = table.lines().filter_map(|line| {
            let (number, rest) = line.trim_start().split_once(':')?;
            // `eth0`, `eth0-rx-0`, `eth0:tx`: the name is followed by something that belongs to no other name.
            let own = rest.split_whitespace().any(|word| {
                let rest = word.strip_prefix(self.name.as_str());
                rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
            });
            number.parse().ok().filter(|_| own)
        });
        of_device.chain(named).collect()
    }
}

impl DriverSettings {
    /// Asks the driver of an interface of this machine.
    pub fn read(name: &str) -> Self {
        let disciplines = queueing_disciplines(name);
        let disciplines =
            disciplines.map_err(|error| format!("the kernel does not list its queueing disciplines ({error})"));
        let ethtool = match Ethtool::of(name) {
            Ok(ethtool) => ethtool,
            Err(error) => {
                return Self { disciplines, ..Self::unknown(&format!("the driver cannot be asked ({error})")) };
            }
        };
        Self {
            disciplines,
            queues: said(ethtool.queues(), "its queues"),
            coalescing: said(ethtool.coalescing(), "how it holds interrupts back"),
            energy_efficient: said(ethtool.energy_efficient(), "Energy-Efficient Ethernet"),
            pause: said(ethtool.pause(), "pause frames"),
            time_stamps: said(ethtool.time_stamps(), "its time stamps"),
        }
    }

    /// Nothing is known, for one reason.
    pub fn unknown(why: &str) -> Self {
        Self {
            queues: Err(why.into()),
            coalescing: Err(why.into()),
            energy_efficient: Err(why.into()),
            pause: Err(why.into()),
            time_stamps: Err(why.into()),
            disciplines: Err(why.into()),
        }
    }
}

fn said<T>(answer: io::Result<T>, what: &str) -> Result<T, String> {
    answer.map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => format!("the driver does not show {what}"),
        _ => format!("the driver does not show {what} ({error})"),
    })
}

impl View {
    /// The interface that is examined.
    pub(crate) fn named_interface(&self) -> Result<&Interface, NotSeen> {
        self.interface.as_ref().ok_or_else(|| NotSeen("no interface was named (--if)".into()))
    }
}
