//! How the interface holds interrupts back.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-coalescing",
    subject: "interrupts that the interface holds back",
    why: "A packet that arrives waits until the time is over or enough others have come.",
    source: "ethtool(8), option -C; Linux Documentation/networking/napi.rst",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let (deferred, flush) = (interface.file("napi_defer_hard_irqs"), interface.file("gro_flush_timeout"));
    let defers = view.root.number(&deferred).is_some_and(|polls| polls > 0);
    let flush_ns = view.root.number(&flush).unwrap_or(0);
    if defers && flush_ns > 0 {
        let seen = vec![Seen::new(flush, format!("{flush_ns} ns")), Seen::new(deferred.clone(), "more than 0")];
        let fixes = vec![
            Fix::Command(format!("echo 0 > {deferred}")),
            Fix::Other("leave it where every reader of packets polls busily, which is what it is for".into()),
        ];
        let what =
            format!("The kernel leaves the interrupts of {name} off for {} us after each look.", flush_ns / 1000);
        return found(Severity::Warning, what, seen, fixes);
    }
    let coalescing = interface.driver.coalescing.as_ref().map_err(|why| NotSeen(why.clone()))?;
    let adaptive = if coalescing.adapts_receive { "on" } else { "off" };
    let value = format!(
        "adaptive-rx {adaptive}, rx-usecs {}, rx-frames {}, tx-usecs {}",
        coalescing.receive_us, coalescing.receive_packets, coalescing.transmit_us
    );
    let seen = vec![Seen::new(format!("ethtool -c {name}"), value)];
    // With a limit of one packet no time is waited.
    let waits = coalescing.receive_us > 0 && coalescing.receive_packets != 1;
    let fixes = || vec![Fix::Command(format!("ethtool -C {name} adaptive-rx off rx-usecs 0"))];
    match (coalescing.adapts_receive, waits) {
        (true, _) => {
            let what = format!("The driver of {name} holds interrupts back by the load of the moment.");
            found(Severity::Warning, what, seen, fixes())
        }
        (false, true) => {
            let what = format!("{name} holds the interrupt of a packet back for up to {} us.", coalescing.receive_us);
            found(Severity::Warning, what, seen, fixes())
        }
        (false, false) => fine("off for packets that are received", seen),
    }
}
