//! Controls that the kernel's resctrl offers.

use super::controls::{Control, How, Limits, Shares, Unit};
use super::identity::Identity;
use super::{CacheKind, Reading};

const UNMOUNTED: &str = "/sys/fs/resctrl";

pub(super) fn read(reading: &Reading, identity: &Identity) -> Vec<Control> {
    let root = reading.root;
    let mounts = root.text("/proc/mounts").unwrap_or_default();
    // Served from user space it counts in the kernel's place alone: elsewhere it is another machine's, or a user's own.
    let is_here = |it: &Vec<&str>| matches!(it[..], [_, _, "resctrl", ..] | [_, UNMOUNTED, "fuse.resctrl", ..]);
    let mounted = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(is_here);
    let at = mounted.as_ref().map_or(UNMOUNTED, |fields| fields[1]);
    let in_mbps = mounted.as_ref().and_then(|fields| fields.get(3)).is_some_and(|it| it.contains("mba_MBps"));
    let by = if identity.vendor.as_deref() == Some("Arm") { How::Mpam } else { How::Resctrl };
    let mut found = Vec::new();
    for level in [3, 2] {
        found.extend(ways(reading, at, level, by));
    }
    for (id, folder, name) in
        [("memory_bandwidth", "MB", "memory bandwidth"), ("slow_memory_bandwidth", "SMBA", "bandwidth of slow memory")]
    {
        found.extend(bandwidth(reading, &format!("{at}/info/{folder}"), (id, name), in_mbps, by));
    }
    let events = root.text(&format!("{at}/info/L3_MON/mon_features")).filter(|text| !text.is_empty());
    found.extend(events.map(|events| {
        let rmids = root.number(&format!("{at}/info/L3_MON/num_rmids")).unwrap_or(0);
        let mut control = Control::new("monitoring", "monitoring", by, format!("info/L3_MON: {rmids} monitors"));
        control.detail = events.lines().collect::<Vec<_>>().join(", ");
        control
    }));
    if found.is_empty() && mounted.is_none() && root.text("/proc/filesystems").is_some_and(|it| it.contains("resctrl"))
    {
        let mut control = Control::new("resctrl", "resctrl", How::Sysfs, "/proc/filesystems");
        control.detail = "the kernel has it, but it is not mounted; `mount -t resctrl resctrl /sys/fs/resctrl` (as root) makes its controls visible".into();
        found.push(control);
    }
    found
}

fn ways(reading: &Reading, at: &str, level: u8, by: How) -> Option<Control> {
    let folders = [format!("L{level}"), format!("L{level}CODE")];
    let folder = folders.iter().find(|it| !reading.root.names(&format!("{at}/info/{it}")).is_empty())?;
    let text = |file: &str| reading.root.text(&format!("{at}/info/{folder}/{file}"));
    let hex = |file: &str| u32::from_str_radix(&text(file)?, 16).ok();
    let number = |file: &str| text(file)?.parse::<u32>().ok();
    let apart = folder.ends_with("CODE");
    let bits = hex("cbm_mask")?.count_ones();
    // With code and data apart the kernel counts half of the classes.
    let classes = number("num_closids").map(|classes| if apart { classes * 2 } else { classes });
    let says = format!("info/{folder}: {bits} bits{}", classes.map_or(String::new(), |it| format!(", {it} classes")));
    let mut control = Control::new(&format!("l{level}_ways"), CacheKind::ways_name(level, by == How::Mpam), by, says);
    control.shares = Some(Shares {
        level,
        bits: Some(bits),
        classes,
        min_bits: number("min_cbm_bits"),
        // Kernels before 6.7 do not tell.
        holes: number("sparse_masks").map(|it| it == 1),
        shareable: hex("shareable_bits"),
        code_and_data: apart
            .then_some(true)
            .or_else(|| reading.has_flag(&format!("cdp_l{level}")).then_some(true))
            .or((by == How::Mpam).then_some(false)),
    });
    Some(control)
}

fn bandwidth(reading: &Reading, folder: &str, (id, name): (&str, &str), in_mbps: bool, by: How) -> Option<Control> {
    let number = |file: &str| reading.root.number(&format!("{folder}/{file}")).map(|it| it as u32);
    let (min, step) = (number("min_bandwidth")?, number("bandwidth_gran")?.max(1));
    let linear = number("delay_linear") == Some(1);
    let classes = number("num_closids");
    let schemata = || {
        let place = folder.split("/info/").next()?;
        let text = reading.root.text(&format!("{place}/schemata"))?;
        let line = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(if id.starts_with("slow") { "SMBA:" } else { "MB:" }))?
            .to_owned();
        line.split(';').filter_map(|part| part.split_once('=')?.1.trim().parse::<u32>().ok()).max()
    };
    let (unit, max) = match (in_mbps, linear) {
        (true, _) => (Unit::MegabytesPerSecond, u32::MAX),
        (false, true) => (Unit::Percent, 100),
        // The root has no limit unless somebody set one.
        (false, false) => (Unit::EighthsOfGigabytePerSecond, schemata()?),
    };
    let says = format!("info/{}: {min} to {max} in steps of {step}", folder.rsplit('/').next().unwrap_or_default());
    let mut control = Control::new(id, name, by, says);
    control.limits = Some(Limits { unit, min, max, step, classes });
    Some(control)
}
