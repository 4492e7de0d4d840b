//! What happens to one core besides the program that runs on it: steal time, interrupts, SMIs, throttling.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;

use crate::root::Root;

/// Running totals of one core; what could not be read is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CoreState {
    totals: BTreeMap<&'static str, f64>,
}

/// The name of the time that a hypervisor took from a core, milliseconds.
pub const STEAL_MS: &str = "steal_ms";

/// IA32 MSR_SMI_COUNT: the number of system-management interrupts since reset (Intel SDM vol. 4).
const MSR_SMI_COUNT: u64 = 0x34;

/// The `steal` column of a `cpuN` line of `/proc/stat`, counted after the name.
const STEAL_COLUMN: usize = 7;

impl CoreState {
    /// Reads the totals of a core.
    pub fn read(root: &Root, core: u32) -> Self {
        let mut totals = BTreeMap::new();
        let mut put = |name, value: Option<f64>| {
            if let Some(value) = value {
                totals.insert(name, value);
            }
        };
        put(STEAL_MS, steal_ms(root, core));
        if let Some((all, nmi)) = interrupts(root, core) {
            put("interrupts", Some(all as f64));
            put("nmis", nmi.map(|n| n as f64));
        }
        put("smis", smi_count(core).map(|n| n as f64));
        let throttle = format!("/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count");
        put("thermal_throttles", root.number(&throttle).map(|n| n as f64));
        Self { totals }
    }

    /// What was added between an earlier reading and this one, by name.
    pub fn since(&self, earlier: &Self) -> BTreeMap<String, f64> {
        let added = self.totals.iter().filter_map(|(name, now)| {
            let before = earlier.totals.get(name)?;
            Some(((*name).to_owned(), (now - before).max(0.0)))
        });
        added.collect()
    }
}

/// Current frequency in MHz, where the kernel reports it.
pub fn frequency_mhz(root: &Root, core: u32) -> Option<f64> {
    let path = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq");
    root.number(&path).map(|khz| khz as f64 / 1e3)
}

fn steal_ms(root: &Root, core: u32) -> Option<f64> {
    let name = format!("cpu{core}");
    let stat = root.text("/proc/stat")?;
    let line = stat.lines().find(|line| line.split_whitespace().next() == Some(name.as_str()))?;
    let ticks: f64 = line.split_whitespace().nth(1 + STEAL_COLUMN)?.parse().ok()?;
    // USER_HZ is 100 on every architecture that Linux has today.
    Some(ticks * 10.0)
}

/// All interrupts of a core, and the non-maskable ones.
fn interrupts(root: &Root, core: u32) -> Option<(u64, Option<u64>)> {
    let text = root.text("/proc/interrupts")?;
    let mut lines = text.lines();
    let name = format!("CPU{core}");
    let column = lines.next()?.split_whitespace().position(|word| word == name)?;
    let (mut all, mut nmi) = (0, None);
    for line in lines {
        let mut words = line.split_whitespace();
        let Some(label) = words.next() else { continue };
        let Some(count) = words.nth(column).and_then(|word| word.parse::<u64>().ok()) else { continue };
        all += count;
        if label == "NMI:" {
            nmi = Some(count);
        }
    }
    Some((all, nmi))
}

fn smi_count(core: u32) -> Option<u64> {
    let device = std::fs::File::open(format!("/dev/cpu/{core}/msr")).ok()?;
    let mut value = [0; 8];
    device.read_exact_at(&mut value, MSR_SMI_COUNT).ok()?;
    // The upper half is reserved.
    Some(u64::from_le_bytes(value) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_come_from_the_right_columns() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        std::fs::write(
            folder.path().join("proc/stat"),
            "cpu  1 1 1 1 1 1 1 9 0 0\ncpu1 10 0 10 0 0 0 0 7 0 0\ncpu10 0 0 0 0 0 0 0 3 0 0\n",
        )
        .unwrap();
        let table =
            "           CPU0       CPU1\n  1:  5  6  IO-APIC  timer\nNMI:  0  2  Non-maskable interrupts\nERR:  0\n";
        std::fs::write(folder.path().join("proc/interrupts"), table).unwrap();
        let root = Root::at(folder.path());
        assert_eq!(steal_ms(&root, 1), Some(70.0));
        assert_eq!(interrupts(&root, 1), Some((8, Some(2))));
        assert_eq!(interrupts(&root, 0), Some((5, Some(0))));
        assert_eq!(interrupts(&root, 2), None);
    }
}
