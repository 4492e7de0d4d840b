//! The L2 of efficiency cores on hybrid parts, where resctrl knows one length of mask for all cores.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::register;
use crate::view::{Vendor, View};
use waykeeper_linux::cpuid::Leaves;
use waykeeper_linux::{format_cpulist, parse_cpulist};

/// Cores of each kind, as their performance counters tell.
const ATOM: &str = "/sys/devices/cpu_atom/cpus";
const CORE: &str = "/sys/devices/cpu_core/cpus";
/// The L2 mask of class 0 (Intel SDM vol. 4).
const L2_MASK_0: u32 = 0xd10;
const RESCTRL: &str = "/sys/fs/resctrl/info/L2/cbm_mask";

pub(super) const CHECK: Check = Check {
    id: "hybrid-l2",
    subject: "ways of the efficiency cores' L2",
    why: "The kernel's resctrl resets the L2 masks of all cores with the length that it found on one of them: efficiency \
          cores with 16 ways are left 10 of them, 62.5 % of their L2.",
    source: "TCC user guide 5.4.3",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let (atom, told) = match kinds(view)? {
        Kinds::One(seen) => return fine("does not apply: one kind of core", seen),
        Kinds::Two { atom, seen } => (atom, seen),
    };
    let file = format!("/sys/devices/system/cpu/cpu{atom}/cache/index2/ways_of_associativity");
    let ways = view.text(&file)?.parse::<u32>().map_err(|_| NotSeen(format!("{file} holds no number")))?;
    let all = told.value.clone();
    let mut seen = vec![told, Seen::new(file, ways.to_string())];
    let flags = view.flags_of(atom);
    let (place, mask) = match mask(view, atom) {
        Ok(mask) => mask,
        // Where the efficiency cores report no L2 masks, the kernel has reset none.
        Err(_) if !flags.is_empty() && !flags.iter().any(|flag| flag == "cat_l2") => {
            seen.push(Seen::new("/proc/cpuinfo", format!("flags of core {atom} without `cat_l2`")));
            return fine("efficiency cores report no L2 masks to the kernel, so it resets none", seen);
        }
        Err(why) => return Err(NotSeen(format!("the L2 masks of the efficiency cores cannot be read: {why}"))),
    };
    seen.push(Seen::new(place, format!("{mask:#x}")));
    let open = mask.count_ones();
    if open >= ways {
        return fine(format!("all {ways} ways are open"), seen);
    }
    let whole = (1_u64 << ways) - 1;
    let fixes = vec![
        Fix::Firmware("L2 QoS Enumeration: Disabled".into()),
        Fix::Parameter("rdt=!l2cat".into()),
        Fix::Command(format!(
            "wrmsr -p {atom} {L2_MASK_0:#x} {whole:#x}   (and so for one core of each module of {all})"
        )),
    ];
    found(Severity::Serious, format!("Efficiency cores may fill {open} of the {ways} ways of their L2."), seen, fixes)
}

/// The kinds of cores that are online.
enum Kinds {
    /// What shows that they are alike.
    One(Vec<Seen>),
    /// An efficiency core, and what shows all of them.
    Two { atom: u32, seen: Seen },
}

/// By the counters' own folders, or else by CPUID: leaf 0x1A has a core's kind (EAX bits 31:24: 0x20 an efficiency core,
/// 0x40 a performance core), and leaf 7.0 EDX bit 15 whether there are several (Intel SDM, volume 2).
fn kinds(view: &View) -> Result<Kinds, NotSeen> {
    if view.vendor()? != Vendor::Intel {
        return Ok(Kinds::One(vec![Seen::new("/proc/cpuinfo", "no processor of Intel")]));
    }
    let listed = |path: &str| {
        let cores = view.root.text(path).and_then(|text| parse_cpulist(&text)).unwrap_or_default();
        cores.into_iter().filter(|core| view.online.contains(core)).collect::<Vec<_>>()
    };
    let (atoms, cores) = (listed(ATOM), listed(CORE));
    if let [atom, ..] = atoms[..] {
        return Ok(match atoms.len() < view.online.len() {
            true => Kinds::Two { atom, seen: Seen::new(ATOM, format_cpulist(&atoms)) },
            false => Kinds::One(vec![Seen::new(ATOM, format_cpulist(&atoms))]),
        });
    }
    if !cores.is_empty() && cores.len() == view.online.len() {
        return Ok(Kinds::One(vec![Seen::new(CORE, format_cpulist(&cores))]));
    }
    let leaves: Vec<(u32, Leaves)> =
        view.online.iter().filter_map(|core| Some((*core, Leaves::of(&view.root, *core)?))).collect();
    let of_kind = |kind: u32| {
        let cores = leaves.iter().filter(|(_, leaves)| leaves.get(0x1a, 0).eax >> 24 == kind);
        cores.map(|(core, _)| *core).collect::<Vec<_>>()
    };
    let small = of_kind(0x20);
    if let [atom, ..] = small[..]
        && small.len() < view.online.len()
    {
        return Ok(Kinds::Two { atom, seen: Seen::new("CPUID leaf 0x1A", format_cpulist(&small)) });
    }
    if !cores.is_empty() {
        return Err(NotSeen(format!("{CORE} names some cores, and nothing shows the kind of the others")));
    }
    let known = |leaves: &Leaves| leaves.has(7, 0).then(|| leaves.get(7, 0).edx >> 15 & 1 == 1);
    match leaves.first().and_then(|(_, leaves)| known(leaves)) {
        Some(false) => Ok(Kinds::One(vec![Seen::new("CPUID leaf 7", "EDX bit 15 is 0: no hybrid part")])),
        _ if leaves.len() == view.online.len() && of_kind(0x40).len() == leaves.len()
            || small.len() == view.online.len() =>
        {
            Ok(Kinds::One(vec![Seen::new("CPUID leaf 0x1A", "the same for every core")]))
        }
        // A kernel that knows one kind has one folder of counters for it, and a hybrid part has none of this name.
        _ if !view.root.names("/sys/devices/cpu").is_empty() => {
            Ok(Kinds::One(vec![Seen::new("/sys/devices/cpu", "counters of one kind")]))
        }
        _ => Err(NotSeen(format!("neither {ATOM} nor CPUID leaf 0x1A shows the kinds of all cores"))),
    }
}

/// The mask that an efficiency core has, and where it was read.
fn mask(view: &View, atom: u32) -> Result<(String, u64), String> {
    match register::read(&view.root, atom, L2_MASK_0) {
        Ok(mask) => Ok((format!("MSR {L2_MASK_0:#x} of CPU {atom}"), mask)),
        // What resctrl takes for all ways is what its reset has written to every core.
        Err(why) => {
            let mask = view.root.text(RESCTRL).and_then(|text| u64::from_str_radix(&text, 16).ok());
            mask.map(|mask| (RESCTRL.to_owned(), mask)).ok_or(why)
        }
    }
}
