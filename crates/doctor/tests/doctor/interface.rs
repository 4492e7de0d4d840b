//! Checks of a network interface: each into something found, into what cannot be seen, and into what is fine.

use std::collections::BTreeSet;

use waykeeper_doctor::{DriverSettings, Examination, INTERFACE_CHECKS, Interface, Outcome, Severity, View, examine};
use waykeeper_linux::Root;
use waykeeper_linux::ethtool::{Coalescing, EnergyEfficient, Pause, Queues, TimeStamps};
use waykeeper_linux::qdisc::{PacketTiming, QueueingDiscipline};

use crate::tree::{Tree, network_device};

use Severity::{Note, Serious, Warning};

/// A machine and what the driver of its `eth0` says.
struct Nic {
    tree: Tree,
    driver: DriverSettings,
}

impl Nic {
    /// On which nothing is wrong: two queues, whose interrupts go to the real-time cores 4 and 5.
    fn tuned() -> Self {
        let mut tree = Tree::tuned();
        for (file, text) in [
            ("operstate", "up"),
            ("carrier", "1"),
            ("speed", "1000"),
            ("duplex", "full"),
            ("napi_defer_hard_irqs", "0"),
            ("gro_flush_timeout", "0"),
            ("queues/rx-0/rps_cpus", "00"),
            ("queues/rx-1/rps_cpus", "00"),
            ("device/msi_irqs/140", "msix"),
        ] {
            tree.put(&format!("/sys/class/net/eth0/{file}"), text);
        }
        tree.put_bytes("/sys/class/net/eth0/device/config", &network_device(true));
        let rows = "140: 0 0 0 0 9 0 0 0 PCI-MSI 0-edge eth0-TxRx-0\n141: 0 0 0 0 0 9 0 0 PCI-MSI 1-edge eth0-TxRx-1\n\
                    142: 0 8 0 0 0 0 0 0 PCI-MSI 2-edge eth01\n";
        tree.replace("/proc/interrupts", "130:", &format!("{rows}130:"));
        for (number, cores) in [(140, "4"), (141, "5"), (142, "1-3")] {
            tree.put(&format!("/proc/irq/{number}/smp_affinity_list"), cores);
        }
        tree.put("/proc/1/comm", "systemd\n").put("/proc/801/comm", "ptp4l\n").put("/proc/802/comm", "phc2sys\n");
        let driver = DriverSettings {
            disciplines: etf(true),
            queues: Ok(Queues { receive: 2, transmit: 2, most_receive: 4 }),
            coalescing: Ok(Coalescing::default()),
            energy_efficient: Ok(EnergyEfficient::default()),
            pause: Ok(Pause::default()),
            time_stamps: Ok(TimeStamps { receive: true, transmit: true, clock: Some(0) }),
        };
        Self { tree, driver }
    }

    fn examined(&self) -> Examination {
        let interface =
            Interface { driver: self.driver.clone(), ..Interface::find(&self.tree.root(), "eth0").unwrap() };
        examine(&View { interface: Some(interface), ..self.tree.view() })
    }
}

type Change = fn(&mut Nic);

/// Check, change, and words of what it says then; how grave that is.
const FOUND: &[(&str, Change, Severity, &str)] = &[
    ("if-link", |nic| file(nic, "operstate", "down"), Serious, "no link (down)"),
    ("if-link", |nic| file(nic, "duplex", "half"), Serious, "half duplex"),
    ("if-interrupts", |nic| irq(nic, 141, "4-5"), Warning, "1 of 2 interrupts of eth0 may go to several cores"),
    ("if-interrupts", |nic| both(nic, "1"), Note, "go to core 1, and none to cores 4-5"),
    (
        "if-interrupts",
        |nic| {
            nic.tree.put("/proc/901/comm", "irqbalance\n");
        },
        Warning,
        "irqbalance",
    ),
    ("if-queues", |nic| nic.driver.queues = queues(1, 4), Warning, "one receive queue"),
    ("if-queues", |nic| file(nic, "queues/rx-1/rps_cpus", "0f"), Warning, "on for 1 queues"),
    ("if-coalescing", |nic| nic.driver.coalescing = waits(50, 0), Warning, "up to 50 us"),
    ("if-coalescing", |nic| nic.driver.coalescing = waits(3, 64), Warning, "up to 3 us"),
    (
        "if-coalescing",
        |nic| nic.driver.coalescing = Ok(Coalescing { adapts_receive: true, ..Coalescing::default() }),
        Warning,
        "load of the moment",
    ),
    (
        "if-coalescing",
        |nic| {
            file(nic, "napi_defer_hard_irqs", "2");
            file(nic, "gro_flush_timeout", "200000");
        },
        Warning,
        "for 200 us",
    ),
    ("if-eee", |nic| nic.driver.energy_efficient = eee(true, true), Warning, "sleeps between packets"),
    ("if-eee", |nic| nic.driver.energy_efficient = eee(true, false), Note, "does not take part"),
    (
        "if-pause",
        |nic| nic.driver.pause = Ok(Pause { negotiated: true, obeys: true, sends: false }),
        Warning,
        "may stop eth0",
    ),
    ("if-time-stamps", |nic| nic.driver.time_stamps = Ok(TimeStamps::default()), Note, "does not stamp"),
    (
        "if-time-stamps",
        |nic| nic.driver.time_stamps = Ok(TimeStamps { receive: true, transmit: false, clock: Some(1) }),
        Note,
        "does not stamp all",
    ),
    ("if-ptm", |nic| config(nic, &network_device(false)), Note, "off on eth0"),
    // A list of capabilities that ends at once.
    ("if-ptm", |nic| config(nic, &[0; 4096]), Note, "has no PTM"),
    ("if-launch", |nic| nic.driver.disciplines = Ok(vec![plain("mq")]), Note, "keeps no launch times"),
    ("if-launch", |nic| nic.driver.disciplines = etf(false), Note, "in software"),
    ("if-ptp", |nic| without(nic, "/proc/801"), Note, "No ptp4l"),
    ("if-ptp", |nic| without(nic, "/proc/802"), Warning, "/dev/ptp0"),
];

/// Check, change that hides the matter from it, and words of the reason.
const HIDDEN: &[(&str, Change, &str)] = &[
    ("if-link", |nic| without(nic, "/sys/class/net/eth0/operstate"), "operstate"),
    (
        "if-link",
        |nic| {
            file(nic, "operstate", "unknown");
            nic.tree.without("/sys/class/net/eth0/carrier");
        },
        "does not say",
    ),
    ("if-interrupts", |nic| without(nic, "/proc/irq/141"), "1 of the 2"),
    (
        "if-interrupts",
        |nic| {
            nic.tree.without("/proc/interrupts").without("/sys/class/net/eth0/device/msi_irqs");
        },
        "none of its interrupts",
    ),
    ("if-queues", |nic| nic.driver.queues = Err("the driver does not show its queues".into()), "does not show"),
    ("if-coalescing", |nic| nic.driver.coalescing = Err("silence".into()), "silence"),
    ("if-eee", |nic| nic.driver.energy_efficient = Err("silence".into()), "silence"),
    ("if-pause", |nic| nic.driver.pause = Err("silence".into()), "silence"),
    ("if-time-stamps", |nic| nic.driver.time_stamps = Err("silence".into()), "silence"),
    ("if-ptm", |nic| without(nic, "/sys/class/net/eth0/device/config"), "was not recorded"),
    ("if-ptm", |nic| config(nic, &[0; 64]), "root only"),
    ("if-launch", |nic| nic.driver.disciplines = Err("silence".into()), "silence"),
    ("if-ptp", |nic| without(nic, "/proc/1/comm"), "/proc/1/comm"),
];

/// Check, and a change that leaves it fine.
const FINE: &[(&str, Change)] = &[
    ("if-link", |nic| file(nic, "operstate", "unknown")),
    // One interrupt for both queues.
    ("if-interrupts", |nic| both(nic, "4")),
    // A packet is reported at once by the limit of packets, whatever the time is.
    ("if-coalescing", |nic| nic.driver.coalescing = waits(50, 1)),
    // Interrupts are deferred only where both are set (Documentation/networking/napi.rst).
    ("if-coalescing", |nic| file(nic, "napi_defer_hard_irqs", "2")),
    // This end stops others, nobody stops it.
    ("if-pause", |nic| nic.driver.pause = Ok(Pause { negotiated: true, obeys: false, sends: true })),
    ("if-launch", |nic| {
        let timing = PacketTiming::Taprio { clock: Some(11), cycle_ns: Some(500_000), assisted: false, offload: true };
        nic.driver.disciplines = Ok(vec![QueueingDiscipline { timing: Some(timing), ..plain("taprio") }]);
    }),
    // Without a clock of its own there is nothing for phc2sys.
    ("if-ptp", |nic| {
        nic.driver.time_stamps = Err("silence".into());
        nic.tree.without("/proc/802");
    }),
];

fn plain(kind: &str) -> QueueingDiscipline {
    QueueingDiscipline { kind: kind.into(), handle: 0x8001_0000, parent: u32::MAX, timing: None }
}

fn etf(offload: bool) -> Result<Vec<QueueingDiscipline>, String> {
    let timing = PacketTiming::Etf { clock: 11, delta_ns: 200_000, offload, deadline: false, skip_check: false };
    Ok(vec![plain("mqprio"), QueueingDiscipline { timing: Some(timing), ..plain("etf") }])
}

fn file(nic: &mut Nic, name: &str, text: &str) {
    nic.tree.put(&format!("/sys/class/net/eth0/{name}"), text);
}

fn without(nic: &mut Nic, start: &str) {
    nic.tree.without(start);
}

fn config(nic: &mut Nic, bytes: &[u8]) {
    nic.tree.put_bytes("/sys/class/net/eth0/device/config", bytes);
}

fn irq(nic: &mut Nic, number: u32, cores: &str) {
    nic.tree.put(&format!("/proc/irq/{number}/smp_affinity_list"), cores);
}

fn both(nic: &mut Nic, cores: &str) {
    irq(nic, 140, cores);
    irq(nic, 141, cores);
}

fn queues(receive: u32, most_receive: u32) -> Result<Queues, String> {
    Ok(Queues { receive, transmit: receive, most_receive })
}

fn waits(receive_us: u32, receive_packets: u32) -> Result<Coalescing, String> {
    Ok(Coalescing { receive_us, receive_packets, ..Coalescing::default() })
}

fn eee(enabled: bool, active: bool) -> Result<EnergyEfficient, String> {
    Ok(EnergyEfficient { enabled, active })
}

/// How a check ends after a change, and what it says.
#[track_caller]
fn ended(id: &str, change: Change) -> (Outcome, Option<Severity>, String) {
    let mut nic = Nic::tuned();
    change(&mut nic);
    let examination = nic.examined();
    let finding = examination.findings.iter().find(|finding| finding.id == id).unwrap();
    assert_eq!(finding.fixes.is_empty(), finding.outcome != Outcome::Found, "{finding:?}");
    (finding.outcome, finding.severity, finding.what.clone())
}

#[test]
fn every_check_of_an_interface_is_driven_both_ways_and_into_the_dark() {
    let ids: BTreeSet<&str> = INTERFACE_CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), INTERFACE_CHECKS.len());
    assert_eq!(FOUND.iter().map(|row| row.0).collect::<BTreeSet<_>>(), ids);
    assert_eq!(HIDDEN.iter().map(|row| row.0).collect::<BTreeSet<_>>(), ids);
    let tuned = Nic::tuned().examined();
    for finding in &tuned.findings {
        assert_eq!(finding.outcome, Outcome::Fine, "{finding:?}");
    }
    for (id, change, severity, words) in FOUND {
        let (outcome, found, what) = ended(id, *change);
        assert_eq!((outcome, found), (Outcome::Found, Some(*severity)), "{id}: {what}");
        assert!(what.contains(words), "{id} says `{what}`, expected `{words}`");
    }
    for (id, change, words) in HIDDEN {
        let (outcome, _, what) = ended(id, *change);
        assert_eq!(outcome, Outcome::NotSeen, "{id}: {what}");
        assert!(what.contains(words), "{id} says `{what}`, expected `{words}`");
    }
    for (id, change) in FINE {
        let (outcome, _, what) = ended(id, *change);
        assert_eq!(outcome, Outcome::Fine, "{id}: {what}");
    }
}

/// The interrupts of the interface are on the real-time cores on purpose; those of others are not.
#[test]
fn interrupts_of_the_interface_are_no_finding_of_the_general_check() {
    let nic = Nic::tuned();
    let irqs = |examination: Examination| {
        let finding = examination.findings.into_iter().find(|finding| finding.id == "irqs").unwrap();
        (finding.outcome, finding.what)
    };
    assert_eq!(irqs(nic.examined()).0, Outcome::Fine);
    let (outcome, what) = irqs(examine(&nic.tree.view()));
    assert_eq!(outcome, Outcome::Found);
    assert!(what.starts_with("2 of 5 interrupts"), "{what}");
}

#[test]
fn an_interface_that_is_not_there_is_refused_with_those_that_are() {
    let tree = Nic::tuned().tree;
    let refused = Interface::find(&tree.root(), "eth9").unwrap_err();
    assert!(refused.0.contains("expected one of eth0"), "{refused:?}");
    assert!(Interface::find(&Tree::tuned().root(), "eth0").unwrap_err().0.contains("names no interfaces"));
    // Every machine has this one; what its driver does not show is not seen, and it has no interrupts.
    let loopback = Interface::find(&Root::default(), "lo").unwrap();
    assert!(loopback.driver.energy_efficient.unwrap_err().contains("does not show"));
}
