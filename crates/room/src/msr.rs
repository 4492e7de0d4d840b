//! Model-specific registers of Intel's processors, as /dev/cpu/N/msr offers them.
//!
//! Numbers and fields: Intel SDM, volume 4; volume 3, chapters on RDT and on HWP.

use std::collections::BTreeMap;

use waykeeper_platform::{CoreId, Platform};

use crate::backing::MonitorCounts;
use crate::hardware::{Association, Hardware};
use crate::instances::is_arm;
use crate::room::Shared;
use crate::state::State;

const TSC: u32 = 0x10;
const PLATFORM_INFO: u32 = 0xce;
const PERF_STATUS: u32 = 0x198;
const RING_RATIO_LIMIT: u32 = 0x620;
const PM_ENABLE: u32 = 0x770;
const HWP_CAPABILITIES: u32 = 0x771;
const HWP_REQUEST: u32 = 0x774;
const L3_QOS_CFG: u32 = 0xc81;
const L2_QOS_CFG: u32 = 0xc82;
const QM_EVTSEL: u32 = 0xc8d;
const QM_CTR: u32 = 0xc8e;
const PQR_ASSOC: u32 = 0xc8f;
const L3_MASK_0: u32 = 0xc90;
const L2_MASK_0: u32 = 0xd10;
const MBA_THRTL_0: u32 = 0xd50;
/// Room for each kind of mask register.
const MASK_REGISTERS: u32 = 128;
/// The largest ratio of the bus clock that a field of eight bits holds.
const RATIO_MAX: u64 = 0xff;
/// What PM_ENABLE can hold: bit 0, which only a reset takes away.
const PM_ENABLE_BITS: u64 = 1;
/// The ring's lowest ratio in bits 14:8, its highest in bits 6:0.
const RING_RATIO_BITS: u64 = 0x7f7f;
/// 0.8 to 4.6 GHz. Assumed: what firmware leaves there is in no document; what matters is that it comes back.
const RING_RATIO_AT_BOOT: u64 = 0x082e;
/// An energy preference half way, as after a reset: bits 31:24 of a request.
const BALANCED: u64 = 0x80 << 24;

/// The processor refused: #GP, which the kernel reports as EIO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault;

/// What only this interface writes.
#[derive(Debug, Default)]
pub(crate) struct OwnRegisters {
    event_select: BTreeMap<CoreId, u64>,
    /// Kept as written; clocks of a simulated platform do not change.
    hwp_request: BTreeMap<CoreId, u64>,
    /// One register for the package, kept as written.
    ring_ratio: Option<u64>,
}

/// What a register is on a platform.
enum Register {
    Ratio,
    RingRatio,
    Time,
    PmEnable,
    HwpCapabilities,
    HwpRequest,
    Cdp(u8),
    EventSelect,
    Counter,
    Association,
    Mask(u8, usize),
    Throttle(usize),
}

/// Whether a platform has such registers at all.
pub(crate) fn has_registers(platform: &Platform) -> bool {
    !is_arm(platform)
}

fn register(platform: &Platform, hardware: &Hardware, monitored: bool, number: u32) -> Option<Register> {
    let mask = |level: u8, first: u32| {
        let at = (number - first) as usize;
        let masks = hardware.masks.get(&level)?;
        (at < masks.cache.classes as usize).then_some(Register::Mask(level, at))
    };
    let cdp =
        |level: u8| hardware.masks.get(&level).is_some_and(|masks| masks.cache.cdp).then_some(Register::Cdp(level));
    match number {
        TSC => Some(Register::Time),
        PLATFORM_INFO | PERF_STATUS => Some(Register::Ratio),
        RING_RATIO_LIMIT => platform.interconnect.as_ref()?.ring_step_mhz.as_ref().map(|_| Register::RingRatio),
        PM_ENABLE => Some(Register::PmEnable),
        HWP_CAPABILITIES => Some(Register::HwpCapabilities),
        HWP_REQUEST => Some(Register::HwpRequest),
        L3_QOS_CFG => cdp(3),
        L2_QOS_CFG => cdp(2),
        QM_EVTSEL => monitored.then_some(Register::EventSelect),
        QM_CTR => monitored.then_some(Register::Counter),
        PQR_ASSOC => (monitored || !hardware.masks.is_empty()).then_some(Register::Association),
        _ if (L3_MASK_0..L3_MASK_0 + MASK_REGISTERS).contains(&number) => mask(3, L3_MASK_0),
        _ if (L2_MASK_0..MBA_THRTL_0).contains(&number) => mask(2, L2_MASK_0),
        _ if number >= MBA_THRTL_0 => {
            let at = (number - MBA_THRTL_0) as usize;
            let there = hardware.throttles.as_ref().and_then(|it| it.values.first()).is_some_and(|it| at < it.len());
            there.then_some(Register::Throttle(at))
        }
        _ => None,
    }
}

impl Shared {
    /// RDMSR on a core.
    pub fn read_msr(&self, core: CoreId, number: u32) -> Result<u64, Fault> {
        let state = self.state();
        let hardware = &state.hardware;
        let monitored = monitoring(&state).is_some();
        let own = &state.own;
        match register(&self.platform, hardware, monitored, number).ok_or(Fault)? {
            Register::Ratio => Ok(ratio(&self.platform) << 8),
            Register::Time => {
                let tick_ps = self.runner.published.tick_ns * 1000.0;
                Ok((self.runner.published.snapshot().now_ps as f64 / tick_ps) as u64)
            }
            Register::RingRatio => Ok(own.ring_ratio.unwrap_or(RING_RATIO_AT_BOOT)),
            // Linux has switched it on by the time that anybody can look.
            Register::PmEnable => Ok(PM_ENABLE_BITS),
            Register::HwpCapabilities => Ok(capabilities(&self.platform, core)),
            Register::HwpRequest => {
                let kept = own.hwp_request.get(&core).copied();
                Ok(kept.unwrap_or_else(|| request_at_boot(&self.platform, core)))
            }
            Register::Cdp(level) => Ok(hardware.masks[&level].cdp.into()),
            Register::EventSelect => Ok(own.event_select.get(&core).copied().unwrap_or(0)),
            Register::Counter => Ok(self.counter(&state, core, own.event_select.get(&core).copied().unwrap_or(0))),
            Register::Association => {
                let Association { closid, rmid } = hardware.associations.get(&core).copied().ok_or(Fault)?;
                Ok(u64::from(closid) << 32 | u64::from(rmid))
            }
            Register::Mask(level, at) => {
                let masks = &hardware.masks[&level];
                Ok(masks.values[masks.domain(core).ok_or(Fault)?][at].into())
            }
            Register::Throttle(at) => {
                let throttles = hardware.throttles.as_ref().ok_or(Fault)?;
                let domain = throttles.groups.iter().position(|group| group.contains(&core)).ok_or(Fault)?;
                Ok(100 - u64::from(throttles.values[domain][at].min(100)))
            }
        }
    }

    /// WRMSR on a core.
    pub fn write_msr(&self, core: CoreId, number: u32, value: u64) -> Result<(), Fault> {
        let mut state = self.state();
        let limits = monitoring(&state);
        match register(&self.platform, &state.hardware, limits.is_some(), number).ok_or(Fault)? {
            Register::Ratio | Register::Time | Register::HwpCapabilities | Register::Counter => return Err(Fault),
            // It is on, and writing 0 does not switch it off.
            Register::PmEnable if value & !PM_ENABLE_BITS != 0 => return Err(Fault),
            Register::PmEnable => {}
            Register::RingRatio if value & !RING_RATIO_BITS != 0 => return Err(Fault),
            Register::RingRatio => state.own.ring_ratio = Some(value),
            Register::HwpRequest => {
                state.own.hwp_request.insert(core, value);
            }
            Register::Cdp(level) => {
                if value > 1 {
                    return Err(Fault);
                }
                state.hardware.set_cdp(level, value == 1);
            }
            Register::EventSelect => {
                if value & !0x0000_03ff_0000_00ff != 0 {
                    return Err(Fault);
                }
                state.own.event_select.insert(core, value);
            }
            Register::Association => {
                let (closid, rmid) = ((value >> 32) as u32, value as u32);
                let masks = state.hardware.masks.values();
                let classes = masks.map(|masks| masks.cache.classes / if masks.cdp { 2 } else { 1 }).min().unwrap_or(1);
                if closid >= classes || rmid >= limits.map_or(1, |rmids| rmids) {
                    return Err(Fault);
                }
                state.hardware.associate(core, Association { closid, rmid });
            }
            Register::Mask(level, at) => {
                let masks = &state.hardware.masks[&level];
                let domain = masks.domain(core).ok_or(Fault)?;
                if !is_contiguous(value) || value >> masks.cache.bits != 0 {
                    return Err(Fault);
                }
                state.hardware.set_mask(level, domain, at, value as u32);
            }
            Register::Throttle(at) => {
                let throttles = state.hardware.throttles.as_ref().ok_or(Fault)?;
                let domain = throttles.groups.iter().position(|group| group.contains(&core)).ok_or(Fault)?;
                if value > 90 {
                    return Err(Fault);
                }
                // The linear scale rounds down to its steps of ten.
                state.hardware.set_throttle(domain, at, 100 - value as u32 / 10 * 10);
            }
        }
        state.tell(&self.runner);
        Ok(())
    }

    /// IA32_QM_CTR for what a core has selected.
    fn counter(&self, state: &State, core: CoreId, selected: u64) -> u64 {
        const ERROR: u64 = 1 << 63;
        let Some(monitoring) = state.resctrl.as_ref().and_then(|it| it.machine().monitoring.as_ref()) else {
            return ERROR;
        };
        let rmid = (selected >> 32) as u32 & 0x3ff;
        if rmid >= monitoring.rmids {
            return ERROR;
        }
        let domain = monitoring.domains.iter().find(|domain| domain.cpus.contains(core)).map_or(0, |domain| domain.id);
        let snapshot = self.runner.published.snapshot();
        let slot = state.slot(Association { closid: 0, rmid });
        let counted = slot.and_then(|slot| snapshot.monitored.get(&(domain, slot))).copied();
        let MonitorCounts { occupancy_bytes, total_bytes, local_bytes } = counted.unwrap_or_default();
        let limit = u64::MAX >> (64 - monitoring.counter_bits.clamp(1, 62));
        let counts = |bytes: u64| bytes / u64::from(monitoring.scale_bytes.max(1));
        match selected & 0xff {
            1 => counts(occupancy_bytes),
            2 => counts(total_bytes) & limit,
            3 => counts(local_bytes) & limit,
            _ => ERROR,
        }
    }
}

/// How many RMIDs there are, where anything is monitored.
fn monitoring(state: &State) -> Option<u32> {
    state.resctrl.as_ref()?.machine().monitoring.as_ref().map(|monitoring| monitoring.rmids)
}

/// The nominal clock over the bus clock of 100 MHz.
fn ratio(platform: &Platform) -> u64 {
    let tick_ns = platform.counter.as_ref().map_or(1.0, |counter| counter.tick_ns.value);
    ((10.0 / tick_ns).round() as u64).min(RATIO_MAX)
}

/// Levels of performance from the highest (bits 7:0) over the guaranteed and the most efficient one to the lowest. A
/// platform's file knows base clocks and no turbo, so the highest level is the guaranteed one.
fn capabilities(platform: &Platform, core: CoreId) -> u64 {
    let guaranteed = guaranteed(platform, core);
    0x0101_0000 | guaranteed << 8 | guaranteed
}

/// What a processor asks itself for: any level that it has, and an energy preference half way.
fn request_at_boot(platform: &Platform, core: CoreId) -> u64 {
    BALANCED | guaranteed(platform, core) << 8 | 1
}

/// The level of a core's base clock: a level is 100 MHz where the platform's file says nothing else. Rounded up, as the
/// examples of Intel's TCC guide are (5.3.3).
fn guaranteed(platform: &Platform, core: CoreId) -> u64 {
    let kind = platform.core_kind(core);
    let per_100_mhz = kind.and_then(|kind| kind.performance_per_100_mhz.as_ref()).map_or(1.0, |levels| levels.value);
    let clock = kind.and_then(|kind| kind.clock_ghz.as_ref()).map(|clock| clock.value * 10.0 * per_100_mhz);
    // Sums of decimals are a hair off; half a thousandth of a level is none.
    clock.map_or_else(|| ratio(platform), |level| ((level - 0.0005).ceil() as u64).min(RATIO_MAX))
}

fn is_contiguous(mask: u64) -> bool {
    mask != 0 && (mask >> mask.trailing_zeros()).wrapping_add(1).is_power_of_two()
}
