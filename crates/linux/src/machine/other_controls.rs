//! Frequency, threads, idle states, prefetchers.

use super::Reading;
use super::controls::{Control, How};
use crate::registers::register;

pub(super) fn read(reading: &Reading) -> Vec<Control> {
    [frequency(reading), threads(reading), idle(reading), prefetchers(reading)].into_iter().flatten().collect()
}

fn frequency(reading: &Reading) -> Option<Control> {
    let cpu = *reading.cpus.first()?;
    let driver = reading.cpu(cpu, "cpufreq/scaling_driver")?;
    let mut control = Control::new("frequency", "frequency", How::Sysfs, format!("cpufreq: {driver}"));
    let mut detail = Vec::new();
    if reading.has_flag("hwp") {
        detail.push("HWP (Intel Speed Shift)".to_owned());
    }
    let root = reading.root;
    let turbo = match root.number("/sys/devices/system/cpu/intel_pstate/no_turbo") {
        Some(1) => Some("turbo off"),
        Some(_) => Some("turbo on"),
        None => match root.number("/sys/devices/system/cpu/cpufreq/boost") {
            Some(0) => Some("boost off"),
            Some(_) => Some("boost on"),
            None => None,
        },
    };
    detail.extend(turbo.map(str::to_owned));
    control.detail = detail.join(", ");
    Some(control)
}

fn threads(reading: &Reading) -> Option<Control> {
    let state = reading.root.text("/sys/devices/system/cpu/smt/control")?;
    if state == "notsupported" || state == "notimplemented" {
        return None;
    }
    let mut control = Control::new("smt", "hardware threads (SMT)", How::Sysfs, "cpu/smt/control");
    control.detail = state;
    Some(control)
}

fn idle(reading: &Reading) -> Option<Control> {
    let driver = reading.root.text("/sys/devices/system/cpu/cpuidle/current_driver")?;
    if driver == "none" {
        return None;
    }
    let cpu = *reading.cpus.first()?;
    let state = |index: u32| {
        let name = reading.cpu(cpu, &format!("cpuidle/state{index}/name"))?;
        let latency = reading.cpu(cpu, &format!("cpuidle/state{index}/latency"))?;
        let off = reading.cpu(cpu, &format!("cpuidle/state{index}/disable")).is_some_and(|it| it == "1");
        Some(format!("{name} {latency} us{}", if off { " (off)" } else { "" }))
    };
    let states: Vec<_> = (0..16).map_while(state).collect();
    let mut control = Control::new("idle_states", "idle states", How::Sysfs, format!("cpuidle: {driver}"));
    control.detail = states.join(", ");
    Some(control)
}

/// MSR_MISC_FEATURE_CONTROL (Intel): a set bit switches a prefetcher off.
const MISC_FEATURE_CONTROL: u32 = 0x1a4;

fn prefetchers(reading: &Reading) -> Option<Control> {
    let intel = reading.root.text("/proc/cpuinfo").is_some_and(|text| text.contains("GenuineIntel"));
    let value = register(reading.root, *reading.cpus.first().filter(|_| intel)?, MISC_FEATURE_CONTROL)?;
    let says = format!("register {MISC_FEATURE_CONTROL:#x} reads {value:#x}");
    let mut control = Control::new("prefetchers", "prefetchers (MSR 0x1A4)", How::Register, says);
    control.detail = if value & 0xf == 0 { "all on".into() } else { format!("bits {:#x} off", value & 0xf) };
    Some(control)
}
