//! Power states of PCI Express links.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const POLICY: &str = "/sys/module/pcie_aspm/parameters/policy";
const DEVICES: &str = "/sys/bus/pci/devices";
/// Power states of a device's link, where the kernel lets them be switched.
const STATES: [&str; 5] = ["l0s_aspm", "l1_aspm", "l1_1_aspm", "l1_2_aspm", "clkpm"];
/// So many are shown.
const SHOWN: usize = 4;

pub(super) const CHECK: Check = Check {
    id: "aspm",
    subject: "power states of PCI Express links",
    why: "A link that sleeps takes up to tens of microseconds to wake, for every first packet, interrupt and access to a \
          register.",
    source: "PCI Express Base Specification 5.4 (ASPM); Linux kernel-parameters.txt (pcie_aspm.policy); TCC user guide Appendix B (ASPM, L1 Substates)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let devices = view.root.names(DEVICES);
    let states: Vec<Seen> = devices.iter().flat_map(|device| states(view, device)).collect();
    let on: Vec<Seen> = states.iter().filter(|state| state.value == "1").cloned().collect();
    let fixes = vec![
        Fix::Parameter("pcie_aspm.policy=performance".into()),
        Fix::Command(format!("echo performance > {POLICY}")),
        Fix::Firmware(
            "ASPM and L1 Substates of every root port: Disabled (pcie_aspm=off leaves on what firmware turned on)"
                .into(),
        ),
    ];
    if !on.is_empty() {
        let what = format!("Power states of PCI Express links that are on: {}.", on.len());
        return found(Severity::Warning, what, on.into_iter().take(SHOWN).collect(), fixes);
    }
    let policy = view.text(POLICY)?;
    let seen = vec![Seen::new(POLICY, policy.clone())];
    if policy.contains("[power") {
        return found(Severity::Warning, "The kernel puts PCI Express links to sleep.", seen, fixes);
    }
    if policy.contains("[performance]") || !states.is_empty() {
        return fine("no link sleeps", seen);
    }
    not_seen(format!("{POLICY} leaves it to firmware, and no device below {DEVICES} shows the state of its link"))
}

fn states(view: &View, device: &str) -> Vec<Seen> {
    let state = |name: &&str| {
        let file = format!("{DEVICES}/{device}/link/{name}");
        view.root.text(&file).map(|text| Seen::new(file, text))
    };
    STATES.iter().filter_map(state).collect()
}
