//! Firmware settings of Intel's TCC Mode, as far as the system shows them.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::{Vendor, View};

const TABLES: &str = "/sys/firmware/acpi/tables";
const SLEEP: &str = "/sys/power/mem_sleep";
const CARDS: &str = "/sys/class/drm";

pub(super) const CHECK: Check = Check {
    id: "tcc-firmware",
    subject: "firmware settings for real time (TCC Mode)",
    why: "One switch of the firmware sets power states, links, memory and the graphics processor's share of the cache for \
          low latency; most of it cannot be set from Linux.",
    source: "TCC user guide 3.3.1 and Appendix B",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    if view.vendor()? != Vendor::Intel {
        return fine("does not apply: no processor of Intel", vec![]);
    }
    if let Some(unseen) = view.hosts_affair("the firmware") {
        return Err(unseen);
    }
    let tables = view.root.names(TABLES);
    if tables.is_empty() {
        return not_seen(format!("{TABLES} lists no tables"));
    }
    // RTCT, before 2021 PTCT: the table through which firmware describes TCC.
    let Some(table) = tables.iter().find(|name| name.starts_with("RTCT") || name.starts_with("PTCT")) else {
        let fixes = vec![
            Fix::Firmware("look for Intel Advanced Menu > Intel Time Coordinated Computing".into()),
            Fix::Other("without it, set each item of the TCC user guide's Appendix B by hand".into()),
        ];
        let seen = vec![Seen::new(TABLES, "neither RTCT nor PTCT")];
        return found(Severity::Note, "This firmware does not tell of TCC.", seen, fixes);
    };
    let mut seen = vec![Seen::new(format!("{TABLES}/{table}"), "there")];
    let against = against(view);
    if against.is_empty() {
        view.text(SLEEP)?;
        if let Some(card) = cards(view).into_iter().find(|card| rc6(view, card).is_none()) {
            return not_seen(format!("{CARDS}/{card} does not tell whether RC6 is off"));
        }
        return fine("it reports TCC, and what shows is as TCC Mode sets it; the switch itself does not show", seen);
    }
    let fixes = vec![Fix::Firmware("Intel TCC Mode: Enabled".into())]
        .into_iter()
        .chain(against.iter().map(|(_, setting)| Fix::Firmware((*setting).into())))
        .collect();
    seen.extend(against.into_iter().map(|(seen, _)| seen));
    found(Severity::Warning, "TCC Mode is off, or was changed: not all that shows is as it sets it.", seen, fixes)
}

/// What shows, and is not as TCC Mode sets it, with its name in the firmware's menus.
fn against(view: &View) -> Vec<(Seen, &'static str)> {
    let mut against = Vec::new();
    if let Some(text) = view.root.text(SLEEP).filter(|text| text.contains("[s2idle]")) {
        against.push((Seen::new(SLEEP, text), "Low Power S0 Idle Capability: Disabled"));
    }
    for (file, text) in cards(view).iter().filter_map(|card| rc6(view, card)) {
        if text != "0" {
            against.push((Seen::new(file, text), "RC6 (Render Standby): Disabled"));
        }
    }
    against
}

/// Graphics cards, without their connectors.
fn cards(view: &View) -> Vec<String> {
    let names = view.root.names(CARDS).into_iter();
    names.filter(|name| name.starts_with("card") && !name.contains('-')).collect()
}

/// Whether a card may sleep, and the file that says so.
fn rc6(view: &View, card: &str) -> Option<(String, String)> {
    let files = ["gt/gt0/rc6_enable", "power/rc6_enable"].map(|file| format!("{CARDS}/{card}/{file}"));
    files.into_iter().find_map(|file| Some((file.clone(), view.root.text(&file)?)))
}
