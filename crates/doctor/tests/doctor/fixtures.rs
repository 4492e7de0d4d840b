//! Machines made up from documented formats: what their descriptions say is what the doctor finds.

use waykeeper_doctor::{Examination, Fix, Outcome, Severity, View, advise, examine, text};
use waykeeper_linux::fixtures::{Description, arm, epyc, hybrid, xeon};
use waykeeper_linux::{Root, format_cpulist};

fn view(machine: &Description) -> View {
    View::new(Root::from(machine.recording()), None).unwrap()
}

#[track_caller]
fn ended(examination: &Examination, id: &str, outcome: Outcome, severity: Option<Severity>) {
    let finding = examination.findings.iter().find(|finding| finding.id == id).unwrap();
    assert_eq!((finding.outcome, finding.severity), (outcome, severity), "{finding:#?}");
}

#[test]
fn a_hybrid_desktop_that_nobody_tuned() {
    let view = view(&hybrid());
    // Nothing is isolated, so it is the last of the cores 0 to 19: an E-core, which has no second thread.
    assert_eq!(view.rt_cores, [19]);
    let found = examine(&view);
    for (id, severity) in [
        ("preemption", Severity::Serious),
        ("isolcpus", Severity::Serious),
        ("rcu-nocbs", Severity::Warning),
        ("irq-affinity", Severity::Warning),
        ("kernel-threads", Severity::Warning),
        ("governor", Severity::Warning),
        ("nmi-watchdog", Severity::Warning),
    ] {
        ended(&found, id, Outcome::Found, Some(severity));
    }
    for id in ["virtual-machine", "smt", "clocksource", "swap", "numa-balancing", "transparent-hugepages"] {
        ended(&found, id, Outcome::Fine, None);
    }
    for id in ["smi", "rt-throttling"] {
        ended(&found, id, Outcome::NotSeen, None);
    }
    let p_core = View::new(Root::from(hybrid().recording()), Some("4")).unwrap();
    // Core 4 is the first thread of its P-core, 5 the second.
    ended(&examine(&p_core), "smt", Outcome::Found, Some(Severity::Serious));
}

#[test]
fn a_server_that_was_set_up_for_real_time() {
    let view = view(&xeon());
    assert_eq!(format_cpulist(&view.rt_cores), "8-11,20-23");
    let found = examine(&view);
    for id in ["preemption", "isolcpus", "rcu-nocbs", "idle-states", "nmi-watchdog", "hybrid-l2"] {
        ended(&found, id, Outcome::Fine, None);
    }
    // Cores 8 and 20 are one, and so on: the second of each pair has to go.
    ended(&found, "smt", Outcome::Found, Some(Severity::Serious));
    let smt = found.findings.iter().find(|finding| finding.id == "smt").unwrap();
    let offline = |core: u32| Fix::Command(format!("echo 0 > /sys/devices/system/cpu/cpu{core}/online"));
    assert_eq!(smt.fixes[..4], [20, 21, 22, 23].map(offline));
    assert!(!advise(&view).line.contains("rcu_nocbs"), "it is there already");
}

#[test]
fn what_is_of_another_make_does_not_apply() {
    let server = examine(&view(&epyc()));
    ended(&server, "tcc-firmware", Outcome::Fine, None);
    ended(&server, "hybrid-l2", Outcome::Fine, None);
    let board = examine(&view(&arm()));
    for id in ["tsc", "split-lock", "clocksource"] {
        ended(&board, id, Outcome::Fine, None);
    }
    assert!(text(&board).contains("does not apply: no x86 processor"));
}
