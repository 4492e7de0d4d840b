//! Where the interrupts of the interface go.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;
use waykeeper_linux::{format_cpulist, parse_cpulist};

pub(super) const CHECK: Check = Check {
    id: "if-interrupts",
    subject: "interrupts of the interface",
    why: "The core that takes the interrupt of a queue also takes its packets in. On a core that others load, packets wait for \
          them; an interrupt that moves brings them to another core's caches.",
    source: "Linux Documentation/networking/scaling.rst; Documentation/core-api/irq/irq-affinity.rst",
    look,
};

/// An interrupt and where it may go.
struct Place {
    number: u32,
    file: String,
    cores: Vec<u32>,
}

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let numbers = interface.interrupts(&view.root);
    if numbers.is_empty() {
        return match interface.is_virtual(&view.root) {
            true => fine("a virtual interface has no interrupts", vec![]),
            false => not_seen(format!("/proc/interrupts and the device of {name} show none of its interrupts")),
        };
    }
    let places: Vec<Place> = numbers.iter().filter_map(|number| place(view, *number)).collect();
    if places.len() < numbers.len() {
        let unseen = numbers.len() - places.len();
        return not_seen(format!(
            "the affinity of {unseen} of the {} interrupts of {name} cannot be read",
            numbers.len()
        ));
    }
    let seen = |wanted: &dyn Fn(&Place) -> bool| -> Vec<Seen> {
        let some = places.iter().filter(|place| wanted(place)).take(4);
        some.map(|place| Seen::new(place.file.clone(), format_cpulist(&place.cores))).collect()
    };
    let pin = |number: u32| {
        Fix::Command(format!(
            "echo {} > /proc/irq/{number}/smp_affinity_list   (and so for the others)",
            view.rt_list()
        ))
    };
    if is_balanced(view) {
        let fixes = vec![
            Fix::Other("stop irqbalance, or start it with --banirq for each of them".into()),
            pin(places[0].number),
        ];
        let what = format!("irqbalance runs, and may move the {} interrupts of {name}.", places.len());
        return found(Severity::Warning, what, seen(&|_| true), fixes);
    }
    let loose: Vec<&Place> = places.iter().filter(|place| place.cores.len() > 1).collect();
    if let Some(first) = loose.first() {
        let what = format!("{} of {} interrupts of {name} may go to several cores.", loose.len(), places.len());
        return found(Severity::Warning, what, seen(&|place| place.cores.len() > 1), vec![pin(first.number)]);
    }
    let mut cores: Vec<u32> = places.iter().flat_map(|place| place.cores.clone()).collect();
    cores.sort_unstable();
    cores.dedup();
    if view.among(&cores).is_empty() {
        let what = format!("All interrupts of {name} go to {}, and none to {}.", named(&cores), named(&view.rt_cores));
        let polled = Fix::Other("or poll from the real-time core, as `waykeeper rtcp` does without --interrupt".into());
        return found(Severity::Note, what, seen(&|_| true), vec![pin(places[0].number), polled]);
    }
    fine(format!("{}, each bound to one of {}", places.len(), named(&cores)), seen(&|_| true))
}

/// Where an interrupt may go; where it goes now, if that is all that can be read.
fn place(view: &View, number: u32) -> Option<Place> {
    ["smp_affinity_list", "effective_affinity_list"].iter().find_map(|file| {
        let file = format!("/proc/irq/{number}/{file}");
        let cores = parse_cpulist(&view.root.text(&file)?)?;
        let cores: Vec<u32> = cores.into_iter().filter(|core| view.online.contains(core)).collect();
        (!cores.is_empty()).then_some(Place { number, file, cores })
    })
}

/// Whether irqbalance runs.
fn is_balanced(view: &View) -> bool {
    let processes = view.root.names("/proc");
    let mut numbers = processes.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    numbers.any(|number| view.root.text(&format!("/proc/{number}/comm")).as_deref() == Some("irqbalance"))
}
