//! Time from the network.

use waykeeper_linux::ptp::{DeviceClock, PtpState};

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-ptp",
    subject: "time from the network (PTP)",
    why: "Launch times and time stamps of two machines, or of an interface and its cores, belong together only while their clocks are \
          kept in step: by ptp4l over the network, and by phc2sys between the interface and the system.",
    source: "IEEE 1588; linuxptp's ptp4l(8) and phc2sys(8); Linux Documentation/driver-api/ptp.rst",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let state = PtpState::read(&view.root);
    let (ptp4l, phc2sys) = (state.ptp4l.map_err(NotSeen)?, state.phc2sys.map_err(NotSeen)?);
    let runs = |runs| if runs { "runs" } else { "does not run" };
    let mut seen = vec![Seen::new("/proc/*/comm", format!("ptp4l {}, phc2sys {}", runs(ptp4l), runs(phc2sys)))];
    seen.extend(state.clocks.ok().filter(|clocks| !clocks.is_empty()).map(clocks));
    // A driver that does not say has no clock that phc2sys could keep.
    let own = interface.driver.time_stamps.as_ref().ok().and_then(|stamps| stamps.clock);
    match (ptp4l, phc2sys, own) {
        (true, true, _) => fine("ptp4l and phc2sys run", seen),
        (true, false, None) => fine("ptp4l runs; the interface has no clock of its own", seen),
        (true, false, Some(clock)) => {
            let fixes = vec![Fix::Command(format!("phc2sys -s {name} -c CLOCK_REALTIME -w"))];
            let what = format!("Nothing keeps the system's clock in step with that of {name}, /dev/ptp{clock}.");
            found(Severity::Warning, what, seen, fixes)
        }
        (false, _, _) => {
            let fixes = vec![
                Fix::Command(format!("ptp4l -i {name} -s")),
                Fix::Other("leave it where no launch time and no time stamp is compared with another machine's".into()),
            ];
            found(Severity::Note, format!("No ptp4l keeps a clock in step over {name}."), seen, fixes)
        }
    }
}

fn clocks(clocks: Vec<DeviceClock>) -> Seen {
    let one = |clock: &DeviceClock| {
        format!("/dev/ptp{} {}", clock.number, clock.name.as_deref().unwrap_or("of unknown name"))
    };
    Seen::new("/sys/class/ptp", clocks.iter().map(one).collect::<Vec<_>>().join(", "))
}
