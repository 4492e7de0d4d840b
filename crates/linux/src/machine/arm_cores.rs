//! Arm's cores: MIDR, and the name that goes with it.

use std::sync::LazyLock;

use serde::Deserialize;
use waykeeper_platform::CoreId;

use super::Reading;
use crate::Root;

/// Implementers and their cores.
static LISTED: LazyLock<Listed> = LazyLock::new(|| {
    // A test reads the file too, so that it is never empty.
    toml::from_str(include_str!("arm_cores.toml")).unwrap_or_default()
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    implementer: Vec<Implementer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Implementer {
    number: u64,
    name: String,
    #[serde(default)]
    cores: Vec<ArmCore>,
}

/// A core by its part number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArmCore {
    part: u64,
    /// Its name.
    pub(crate) name: String,
    /// Whether it finishes its instructions in order.
    #[serde(default)]
    pub(crate) in_order: bool,
    /// The shared unit of its cluster, where that is a DynamIQ one: `DSU`, `DSU-110`, `DSU-120`.
    pub(crate) cluster: Option<String>,
    /// Bytes of a line of its data cache, where these are not 64.
    pub(crate) line_bytes: Option<u64>,
}

fn implementer(midr: u64) -> Option<&'static Implementer> {
    LISTED.implementer.iter().find(|implementer| implementer.number == midr >> 24 & 0xff)
}

fn part(midr: u64) -> u64 {
    midr >> 4 & 0xfff
}

/// The core of a MIDR, where it is listed.
pub(crate) fn arm_core(midr: u64) -> Option<&'static ArmCore> {
    implementer(midr)?.cores.iter().find(|core| core.part == part(midr))
}

/// What a core is called: its name, or its part number where it has none here.
pub(super) fn arm_name(midr: u64) -> String {
    match (implementer(midr), arm_core(midr)) {
        (_, Some(core)) => core.name.clone(),
        (Some(implementer), None) => format!("{} part {:#05x}", implementer.name, part(midr)),
        (None, None) => format!("MIDR {midr:#x}"),
    }
}

/// A core's MIDR, and where it was read: kernels of 32 bits and older ones show its fields in `/proc/cpuinfo` alone.
pub(super) fn midr(reading: &Reading, cpu: CoreId) -> Option<(u64, &'static str)> {
    midr_below(reading.root, cpu)
}

fn midr_below(root: &Root, cpu: CoreId) -> Option<(u64, &'static str)> {
    let register = root.text(&format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1"));
    let register = register.and_then(|text| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok());
    match register {
        Some(midr) => Some((midr, "MIDR_EL1")),
        None => of_info(&root.text("/proc/cpuinfo")?, cpu).map(|midr| (midr, "/proc/cpuinfo")),
    }
}

/// Bytes of a line by the manual of the core, where a core is listed.
pub(crate) fn line_bytes(root: &Root, cpu: CoreId) -> Option<u64> {
    Some(arm_core(midr_below(root, cpu)?.0)?.line_bytes.unwrap_or(64))
}

/// From the lines after `processor : CPU`, up to the next processor.
fn of_info(info: &str, cpu: CoreId) -> Option<u64> {
    let lines = info.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()));
    let own = lines.skip_while(|line| *line != ("processor", cpu.to_string().as_str())).skip(1);
    let own: Vec<(&str, &str)> = own.take_while(|(key, _)| *key != "processor").collect();
    let field = |name: &str| {
        let value = own.iter().find(|(key, _)| *key == name)?.1;
        match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => value.parse().ok(),
        }
    };
    let (implementer, variant) = (field("CPU implementer")?, field("CPU variant")?);
    // Architecture 0xf: the core describes itself by other registers, as all since Armv7 do.
    Some(implementer << 24 | variant << 20 | 0xf << 16 | field("CPU part")? << 4 | field("CPU revision")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_have_their_names() {
        assert!(toml::from_str::<Listed>(include_str!("arm_cores.toml")).is_ok());
        // MIDR of a Cortex-A9 r3p0 (its manual, 4.3.1), of a Cortex-A76 r4p1, of an M1's large core.
        assert_eq!(arm_name(0x413f_c090), "Cortex-A9");
        assert_eq!(arm_name(0x414f_d0b1), "Cortex-A76");
        assert_eq!(arm_name(0x611f_0231), "Firestorm (M1)");
        assert_eq!(arm_name(0x410f_fff0), "Arm part 0xfff");
        assert_eq!(arm_name(0x700f_6630), "Phytium part 0x663");
        assert_eq!(arm_name(0x220f_0010), "MIDR 0x220f0010");
        assert!(arm_core(0x410f_d034).is_some_and(|core| core.in_order));
        assert!(arm_core(0x413f_c090).is_some_and(|core| !core.in_order));
    }

    #[test]
    fn a_part_is_listed_once() {
        for implementer in &LISTED.implementer {
            let mut parts: Vec<u64> = implementer.cores.iter().map(|core| core.part).collect();
            parts.sort_unstable();
            parts.dedup();
            assert_eq!(parts.len(), implementer.cores.len(), "{}", implementer.name);
        }
    }

    #[test]
    fn kernels_of_32_bits_show_it_field_by_field() {
        let block = |cpu: u32, part: &str| {
            format!(
                "processor\t: {cpu}\nmodel name\t: ARMv7 Processor rev 0 (v7l)\nCPU implementer\t: 0x41\nCPU architecture: \
                 7\nCPU variant\t: 0x3\nCPU part\t: {part}\nCPU revision\t: 2\n\n"
            )
        };
        let info = block(0, "0xc09") + &block(1, "0xc0f") + "Hardware\t: Board\n";
        assert_eq!(of_info(&info, 0), Some(0x413f_c092));
        assert_eq!(of_info(&info, 1), Some(0x413f_c0f2));
        assert_eq!(of_info(&info, 2), None);
        assert_eq!(of_info("processor\t: 0\nvendor_id\t: GenuineIntel\n", 0), None);
    }
}
