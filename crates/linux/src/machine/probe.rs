//! Finding masks by writing registers and reading them back: for processors that have CAT and do not say so.
//!
//! A register that keeps a mask need not be in force: some client parts have inert ones. That is for a measurement to
//! tell (`waykeeper verify`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use waykeeper_platform::CoreId;

use super::controls::{Control, How, Shares, add};
use super::{CacheKind, Machine};

/// Model-specific registers of one core.
pub trait CoreRegisters {
    /// Reads one.
    ///
    /// # Errors
    /// One that the processor lacks (EIO), or may not be read.
    fn read(&mut self, address: u32) -> io::Result<u64>;

    /// Writes one.
    ///
    /// # Errors
    /// One that the processor lacks, or a value that it refuses (EIO).
    fn write(&mut self, address: u32, value: u64) -> io::Result<()>;
}

/// The registers of a core of the running machine, by `/dev/cpu/N/msr`.
#[derive(Debug)]
pub struct Device(File);

impl Device {
    /// Opens it for reading and writing.
    ///
    /// # Errors
    /// Without root, without the module msr, or locked down.
    pub fn open(cpu: CoreId) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().read(true).write(true).open(format!("/dev/cpu/{cpu}/msr"))?))
    }
}

impl CoreRegisters for Device {
    fn read(&mut self, address: u32) -> io::Result<u64> {
        let mut value = [0; 8];
        self.0.read_exact_at(&mut value, address.into())?;
        Ok(u64::from_le_bytes(value))
    }

    fn write(&mut self, address: u32, value: u64) -> io::Result<()> {
        self.0.write_all_at(&value.to_le_bytes(), address.into())
    }
}

/// IA32_L3_QOS_MASK_0 and IA32_L2_QOS_MASK_0 (Intel SDM, volume 4).
const MASKS: [(u8, u32); 2] = [(3, 0xc90), (2, 0xd10)];
/// Classes at most: the registers' range.
const MOST_CLASSES: u32 = 128;
/// Bits of a mask at most.
const MOST_BITS: u32 = 32;

/// What a probe of one cache found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// The cache's level.
    pub level: u8,
    /// The longest mask that a register kept.
    pub bits: u32,
    /// Registers that could be read.
    pub classes: u32,
}

/// Why a machine is not probed.
#[derive(Debug, thiserror::Error)]
pub enum NotProbed {
    /// Another processor.
    #[error("only Intel's registers can be probed, and this is {0}")]
    NotIntel(String),
    /// The kernel owns the registers.
    #[error("resctrl is mounted, so the kernel owns the registers, and shows what there is; nothing was probed")]
    KernelOwns,
    /// The device could not be opened.
    #[error("/dev/cpu/{cpu}/msr: {error}; it takes root and the module msr (`modprobe msr`)")]
    NoDevice {
        /// The core.
        cpu: CoreId,
        /// The system's answer.
        error: io::Error,
    },
    /// A register could not be given its old value back.
    #[error("register {address:#x} held {old:#x} and could not be put back ({error}); write it with wrmsr, or reboot")]
    NotRestored {
        /// The register.
        address: u32,
        /// What it held.
        old: u64,
        /// The system's answer.
        error: io::Error,
    },
}

/// Writes ever shorter masks to the register of class 1, which nobody is in after a boot, until one is kept; then puts the
/// old value back.
///
/// # Errors
/// Where a register could not be put back.
pub fn probe(registers: &mut dyn CoreRegisters) -> Result<Vec<Probed>, NotProbed> {
    let mut found = Vec::new();
    for (level, first) in MASKS {
        let address = first + 1;
        let Ok(old) = registers.read(address) else { continue };
        let kept = (1..=MOST_BITS).rev().find(|bits| {
            let mask = u64::MAX >> (64 - bits);
            // A register that stands on this mask already proves nothing unless it moves: another mask goes first.
            let moved = registers.write(address, 1).is_ok() && registers.read(address).ok() == Some(1);
            moved && registers.write(address, mask).is_ok() && registers.read(address).ok() == Some(mask)
        });
        let restored = registers.write(address, old).and_then(|()| registers.read(address));
        match restored {
            Ok(now) if now == old => {}
            Ok(now) => {
                let error = io::Error::other(format!("it reads {now:#x}"));
                return Err(NotProbed::NotRestored { address, old, error });
            }
            Err(error) => return Err(NotProbed::NotRestored { address, old, error }),
        }
        if let Some(bits) = kept.filter(|bits| *bits > 1) {
            let classes = (0..MOST_CLASSES).take_while(|class| registers.read(first + class).is_ok()).count() as u32;
            found.push(Probed { level, bits, classes });
        }
    }
    Ok(found)
}

impl Machine {
    /// Probes the running machine's first core, and adds what was found to its controls.
    ///
    /// # Errors
    /// A machine that cannot be probed, or could not be put back.
    pub fn probe_registers(&mut self) -> Result<Vec<Probed>, NotProbed> {
        match self.identity.vendor.as_deref() {
            Some("GenuineIntel") => {}
            other => return Err(NotProbed::NotIntel(other.unwrap_or("unknown").to_owned())),
        }
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        if mounts.lines().any(|line| line.split(' ').nth(2) == Some("resctrl")) {
            return Err(NotProbed::KernelOwns);
        }
        let cpu = self.cpus().first().copied().unwrap_or_default();
        let mut device = Device::open(cpu).map_err(|error| NotProbed::NoDevice { cpu, error })?;
        let found = probe(&mut device)?;
        self.add_probed(&found, cpu);
        Ok(found)
    }

    fn add_probed(&mut self, found: &[Probed], cpu: CoreId) {
        for Probed { level, bits, classes } in found {
            let says = format!("core {cpu} keeps masks of {bits} bits; {classes} registers can be read");
            let mut control =
                Control::new(&format!("l{level}_ways"), CacheKind::ways_name(*level, false), How::Probe, says);
            control.shares =
                Some(Shares { level: *level, bits: Some(*bits), classes: Some(*classes), ..Shares::default() });
            control.detail =
                "that a register keeps a mask does not say that it is in force: `verify` measures that".into();
            add(&mut self.controls, control, &mut self.notes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Registers of a made-up part: masks of so many bits, contiguous only; inert ones take writes and keep nothing.
    struct Part {
        values: BTreeMap<u32, u64>,
        bits: u32,
        inert: bool,
        stuck_after: usize,
    }

    impl Part {
        fn new(level_3: u32, bits: u32) -> Self {
            let full = u64::MAX >> (64 - bits);
            let values = (0..level_3).map(|class| (0xc90 + class, full)).collect();
            Self { values, bits, inert: false, stuck_after: usize::MAX }
        }
    }

    impl CoreRegisters for Part {
        fn read(&mut self, address: u32) -> io::Result<u64> {
            self.values.get(&address).copied().ok_or_else(|| io::Error::from_raw_os_error(5))
        }

        fn write(&mut self, address: u32, value: u64) -> io::Result<()> {
            let known = self.values.get_mut(&address).ok_or_else(|| io::Error::from_raw_os_error(5))?;
            if value >> self.bits != 0 || self.stuck_after == 0 {
                return Err(io::Error::from_raw_os_error(5));
            }
            self.stuck_after -= 1;
            if !self.inert {
                *known = value;
            }
            Ok(())
        }
    }

    #[test]
    fn length_and_classes_are_found_and_everything_is_as_it_was() {
        let mut part = Part::new(16, 12);
        let before = part.values.clone();
        assert_eq!(probe(&mut part).unwrap(), [Probed { level: 3, bits: 12, classes: 16 }]);
        assert_eq!(part.values, before);
    }

    #[test]
    fn a_part_without_registers_has_nothing() {
        assert_eq!(probe(&mut Part::new(0, 12)).unwrap(), []);
    }

    #[test]
    fn inert_registers_are_not_taken_for_masks() {
        let mut part = Part { inert: true, ..Part::new(4, 8) };
        assert_eq!(probe(&mut part).unwrap(), []);
    }

    #[test]
    fn what_cannot_be_put_back_is_told() {
        // Every write of a mask beyond eight bits is refused; the first that are taken are 1, 0xff; the third is refused.
        let mut part = Part::new(4, 8);
        part.stuck_after = 26;
        let error = probe(&mut part).unwrap_err().to_string();
        assert!(error.contains("0xc91") && error.contains("0xff"), "{error}");
    }
}
