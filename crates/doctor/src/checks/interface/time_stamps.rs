//! Time stamps of packets.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-time-stamps",
    subject: "time stamps of packets",
    why: "A time stamp of software is taken when the kernel handles a packet: what the packet waited before that is missing in \
          every latency, and clocks of two machines agree to microseconds at best.",
    source: "Linux Documentation/networking/timestamping.rst; ethtool(8), option -T",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let stamps = interface.driver.time_stamps.as_ref().map_err(|why| NotSeen(why.clone()))?;
    let by = |hardware| if hardware { "hardware" } else { "software" };
    let clock = stamps.clock.map_or("no clock".to_owned(), |number| format!("/dev/ptp{number}"));
    let value = format!("receive by {}, transmit by {}, {clock}", by(stamps.receive), by(stamps.transmit));
    let seen = vec![Seen::new(format!("ethtool -T {name}"), value)];
    if stamps.receive && stamps.transmit {
        return fine(format!("by hardware, {clock}"), seen);
    }
    let fixes =
        vec![Fix::Other("an interface whose driver stamps packets by hardware, such as igb, igc or stmmac".into())];
    found(Severity::Note, format!("{name} does not stamp all packets by hardware."), seen, fixes)
}
