//! Energy-Efficient Ethernet.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-eee",
    subject: "Energy-Efficient Ethernet",
    why: "The link sleeps between packets, and the first one after a pause waits until it is awake: 16.5 us at 1 Gbit/s, longer at \
          100 Mbit/s.",
    source: "IEEE 802.3az (clause 78); ethtool(8), option --set-eee",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let eee = interface.driver.energy_efficient.as_ref().map_err(|why| NotSeen(why.clone()))?;
    let value = match (eee.enabled, eee.active) {
        (true, true) => "enabled, active",
        (true, false) => "enabled, inactive",
        (false, _) => "disabled",
    };
    let seen = vec![Seen::new(format!("ethtool --show-eee {name}"), value)];
    match (eee.enabled, eee.active) {
        (true, true) => {
            let fixes = vec![Fix::Command(format!("ethtool --set-eee {name} eee off"))];
            found(Severity::Warning, format!("The link of {name} sleeps between packets (EEE)."), seen, fixes)
        }
        (true, false) => {
            let fixes = vec![Fix::Command(format!("ethtool --set-eee {name} eee off"))];
            let what = format!("EEE is on for {name}; the other end does not take part now.");
            found(Severity::Note, what, seen, fixes)
        }
        (false, _) => fine("off", seen),
    }
}
