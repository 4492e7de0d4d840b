//! Launch times of packets.

use waykeeper_linux::qdisc::PacketTiming;

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-launch",
    subject: "launch times of packets",
    why: "Without launch times a packet leaves when its program was scheduled and the queue before it was empty. `etf` sends at a time that \
          the program names, `taprio` in a window of a cycle; in software both are as late as the kernel's timer.",
    source: "tc-etf(8); tc-taprio(8); IEEE 802.1Qbv",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let disciplines = interface.driver.disciplines.as_ref().map_err(|why| NotSeen(why.clone()))?;
    let all: Vec<String> = disciplines.iter().map(ToString::to_string).collect();
    let seen = vec![Seen::new(format!("tc qdisc show dev {name}"), all.join("; "))];
    let timed = || disciplines.iter().filter_map(|discipline| discipline.timing);
    let by_interface = |timing| match timing {
        PacketTiming::Etf { offload, deadline, .. } => offload && !deadline,
        PacketTiming::Taprio { offload, .. } => offload,
    };
    if timed().any(by_interface) {
        return fine("kept by the interface", seen);
    }
    if timed().next().is_some() {
        let fixes = vec![Fix::Other(
            "`offload` of etf, or `flags 0x2` of taprio, where the driver has it, such as igc, igb or stmmac".into(),
        )];
        return found(Severity::Note, format!("{name} keeps launch times in software."), seen, fixes);
    }
    let etf = format!("tc qdisc replace dev {name} root etf clockid CLOCK_TAI delta 200000");
    let fixes = vec![
        Fix::Command(etf),
        Fix::Other(
            "a kernel with the module sch_etf, and with several queues an etf on one queue of mqprio or taprio".into(),
        ),
    ];
    found(Severity::Note, format!("{name} keeps no launch times."), seen, fixes)
}
