//! Model-specific registers that tell how a machine is set up.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::root::Root;

/// Registers that a recording takes where they can be read; reading them changes nothing. Names and numbers: Intel SDM,
/// volume 4; AMD64 Architecture Programmer's Manual, volume 2.
pub(crate) const READABLE: [u32; 21] = [
    0x34,  // MSR_SMI_COUNT
    0xce,  // MSR_PLATFORM_INFO
    0xcf,  // IA32_CORE_CAPABILITIES
    0xe2,  // MSR_PKG_CST_CONFIG_CONTROL
    0x1a0, // IA32_MISC_ENABLE
    0x1a4, // MSR_MISC_FEATURE_CONTROL
    0x1ad, // MSR_TURBO_RATIO_LIMIT
    0x1b0, // IA32_ENERGY_PERF_BIAS
    0x1fc, // MSR_POWER_CTL
    0x620, // MSR_UNCORE_RATIO_LIMIT
    0x770, // IA32_PM_ENABLE
    0x771, // IA32_HWP_CAPABILITIES
    0x774, // IA32_HWP_REQUEST
    0xc81, // IA32_L3_QOS_CFG
    0xc82, // IA32_L2_QOS_CFG
    0xc8f, // IA32_PQR_ASSOC
    0xc90, // IA32_L3_QOS_MASK_0
    0xc91, // IA32_L3_QOS_MASK_1
    0xd10, // IA32_L2_QOS_MASK_0
    0xd11, // IA32_L2_QOS_MASK_1
    0xd50, // IA32_L2_QOS_EXT_BW_THRTL_0
];

/// A model-specific register of a core: read from the running machine, or from a recording; `None` where it is not known.
pub fn register(root: &Root, core: u32, address: u32) -> Option<u64> {
    if root.is_running() {
        let device = File::open(format!("/dev/cpu/{core}/msr")).ok()?;
        let mut value = [0; 8];
        device.read_exact_at(&mut value, address.into()).ok()?;
        return Some(u64::from_le_bytes(value));
    }
    let hex = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let text = root.text(&format!("/msr/cpu{core}"))?;
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let mut pairs = pairs.filter_map(|(address, value)| Some((hex(address)?, hex(value.trim())?)));
    pairs.find(|(found, _)| *found == u64::from(address)).map(|(_, value)| value)
}
