//! Pause frames.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-pause",
    subject: "pause frames",
    why: "A switch that is full stops this interface from sending, packets of every class: by one frame for up to 65535 times 512 \
          bits, which is 33.6 ms at 1 Gbit/s.",
    source: "IEEE 802.3 (annex 31B); ethtool(8), option -A",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let pause = interface.driver.pause.as_ref().map_err(|why| NotSeen(why.clone()))?;
    let on = |on| if on { "on" } else { "off" };
    let value = format!("autoneg {}, rx {}, tx {}", on(pause.negotiated), on(pause.obeys), on(pause.sends));
    let seen = vec![Seen::new(format!("ethtool -a {name}"), value)];
    if pause.obeys {
        let fixes = vec![Fix::Command(format!("ethtool -A {name} autoneg off rx off tx off"))];
        return found(Severity::Warning, format!("The other end may stop {name} from sending."), seen, fixes);
    }
    fine("not obeyed", seen)
}
