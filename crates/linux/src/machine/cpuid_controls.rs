//! Controls that CPUID enumerates: leaf 0x10 (Intel, and the masks of AMD), leaf 0xF, leaf 0x80000020 (AMD).

use super::controls::{Control, How, Limits, Shares, Unit};
use super::{CacheKind, Reading};
use crate::cpuid::Leaves;

/// From the first core that has them: kinds of cores that differ here are distinguished by their caches.
pub(super) fn read(reading: &Reading) -> Vec<Control> {
    let Some((_, leaves)) = reading.leaves.iter().find(|(_, leaves)| allocation(leaves) || bandwidth(leaves)) else {
        return reading.leaves.first().and_then(|(_, leaves)| monitoring(leaves)).into_iter().collect();
    };
    let mut found = Vec::new();
    found.extend(ways(leaves, 3));
    found.extend(ways(leaves, 2));
    found.extend(throttling(leaves));
    found.extend(limits(leaves));
    found.extend(monitoring(leaves));
    found
}

/// Leaf 7.0, EBX bit 15: resource allocation.
fn allocation(leaves: &Leaves) -> bool {
    leaves.get(0, 0).eax >= 0x10 && leaves.get(7, 0).ebx >> 15 & 1 == 1
}

/// Leaf 0x80000020.0, EBX bits 1 and 2: limits of bandwidth to memory and to slow memory.
fn bandwidth(leaves: &Leaves) -> bool {
    leaves.get(0x8000_0000, 0).eax >= 0x8000_0020 && leaves.get(0x8000_0020, 0).ebx & 0b110 != 0
}

fn ways(leaves: &Leaves, level: u8) -> Option<Control> {
    let decoder = leaves.decoder();
    let info = decoder.get_rdt_allocation_info().filter(|_| allocation(leaves))?;
    // The library does not decode bit 3 of ECX, whether masks may have holes.
    let holes = leaves.get(0x10, if level == 3 { 1 } else { 2 }).ecx >> 3 & 1 == 1;
    let (leaf, bits, others, classes, cdp) = match level {
        3 => {
            let l3 = info.l3_cat()?;
            let cdp = l3.has_code_data_prioritization();
            ("0x10.1", l3.capacity_mask_length(), l3.isolation_bitmap(), l3.highest_cos(), cdp)
        }
        _ => {
            let l2 = info.l2_cat()?;
            // Bit 2 of ECX, which the library leaves out for this leaf.
            let cdp = leaves.get(0x10, 2).ecx >> 2 & 1 == 1;
            ("0x10.2", l2.capacity_mask_length(), l2.isolation_bitmap(), l2.highest_cos(), cdp)
        }
    };
    let (bits, classes) = (u32::from(bits), u32::from(classes) + 1);
    let says = format!("leaf {leaf}: {bits} bits, {classes} classes{}", if cdp { ", code and data apart" } else { "" });
    let mut control = Control::new(&format!("l{level}_ways"), CacheKind::ways_name(level, false), How::Cpuid, says);
    // AMD takes masks with holes and does not say so here; the kernel knows it by the maker (arch_has_sparse_bitmasks).
    let amd = leaves.decoder().get_vendor_info().is_some_and(|vendor| vendor.as_str() == "AuthenticAMD");
    control.shares = Some(Shares {
        level,
        bits: Some(bits),
        classes: Some(classes),
        min_bits: None,
        holes: Some(holes || amd),
        shareable: Some(others),
        code_and_data: Some(cdp),
    });
    Some(control)
}

impl CacheKind {
    pub(super) fn ways_name(level: u8, mpam: bool) -> String {
        if mpam { format!("L{level} portions (Arm MPAM)") } else { format!("L{level} ways (CAT)") }
    }
}

/// Intel MBA: leaf 0x10.3.
fn throttling(leaves: &Leaves) -> Option<Control> {
    let decoder = leaves.decoder();
    let info = decoder.get_rdt_allocation_info().filter(|_| allocation(leaves))?.memory_bandwidth_allocation()?;
    let (most, classes) = (u32::from(info.max_hba_throttling()), u32::from(info.highest_cos()) + 1);
    let linear = info.has_linear_response_delay();
    let says =
        format!("leaf 0x10.3: delays up to {most}, {}linear, {classes} classes", if linear { "" } else { "not " });
    let mut control = Control::new("memory_bandwidth", "memory bandwidth (Intel MBA)", How::Cpuid, says);
    // A linear scale has 100 less the most as its least, and that as its step (the kernel's __get_mem_config_intel).
    let least = 100_u32.saturating_sub(most);
    control.limits = linear.then_some(Limits {
        unit: Unit::Percent,
        min: least,
        max: 100,
        step: least.max(1),
        classes: Some(classes),
    });
    Some(control)
}

/// AMD: leaf 0x80000020.1, EAX bits of a limit, EDX classes less one.
fn limits(leaves: &Leaves) -> Option<Control> {
    if !bandwidth(leaves) || leaves.get(0x8000_0020, 0).ebx >> 1 & 1 == 0 {
        return None;
    }
    let of = leaves.get(0x8000_0020, 1);
    let (max, classes) = (1_u32.checked_shl(of.eax)?, (of.edx & 0xffff) + 1);
    let says = format!("leaf 0x80000020.1: limits up to {max}, {classes} classes");
    let mut control = Control::new("memory_bandwidth", "memory bandwidth (AMD)", How::Cpuid, says);
    control.limits =
        Some(Limits { unit: Unit::EighthsOfGigabytePerSecond, min: 0, max, step: 1, classes: Some(classes) });
    Some(control)
}

/// Leaf 7.0, EBX bit 12, and leaf 0xF.1: occupancy and bandwidth by class.
fn monitoring(leaves: &Leaves) -> Option<Control> {
    if leaves.get(0, 0).eax < 0xf || leaves.get(7, 0).ebx >> 12 & 1 == 0 {
        return None;
    }
    let of = leaves.get(0xf, 1);
    let events = [(0, "occupancy of the L3"), (1, "all bandwidth"), (2, "local bandwidth")];
    let events: Vec<_> = events.iter().filter(|(bit, _)| of.edx >> bit & 1 == 1).map(|(_, name)| *name).collect();
    let says = format!("leaf 0xF.1: {} monitors", of.ecx + 1);
    let mut control = Control::new("monitoring", "monitoring (CMT, MBM)", How::Cpuid, says);
    control.detail = events.join(", ");
    Some(control)
}
