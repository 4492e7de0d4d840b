//! The L2 of efficiency cores on hybrid parts, where resctrl knows one length of mask for all cores.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::register;
use crate::view::View;
use waykeeper_linux::parse_cpulist;

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
    let kinds = [ATOM, CORE].map(|path| view.root.text(path).and_then(|text| parse_cpulist(&text)).unwrap_or_default());
    let [atoms, cores] = &kinds;
    if atoms.is_empty() || cores.is_empty() {
        view.text("/proc/cpuinfo")?;
        return fine("does not apply: one kind of core", vec![]);
    }
    let atom = atoms[0];
    let file = format!("/sys/devices/system/cpu/cpu{atom}/cache/index2/ways_of_associativity");
    let ways = view.text(&file)?.parse::<u32>().map_err(|_| NotSeen(format!("{file} holds no number")))?;
    let mut seen = vec![Seen::new(ATOM, view.root.text(ATOM).unwrap_or_default()), Seen::new(file, ways.to_string())];
    let (place, mask) = match mask(view, atom) {
        Ok(mask) => mask,
        // Where no core tells of L2 masks the kernel has reset none.
        Err(_) if !view.flags().is_empty() && !view.flags().iter().any(|flag| flag == "cat_l2") => {
            seen.push(Seen::new("/proc/cpuinfo", "flags without `cat_l2`"));
            return fine("no core tells the kernel of L2 masks, so that it resets none", seen);
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
            "wrmsr -p {atom} {L2_MASK_0:#x} {whole:#x}   (and so for one core of each module of {})",
            view.root.text(ATOM).unwrap_or_default()
        )),
    ];
    found(Severity::Serious, format!("Efficiency cores may fill {open} of the {ways} ways of their L2."), seen, fixes)
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
