//! What an assignment cannot stop, from what the machine shares.

use waykeeper_platform::{CoreId, WayControl, format_cpulist};

use crate::assignment::{Assignment, Gap};
use crate::describe::Policy;
use crate::offer::{BandwidthUnit, Offer, Shared};

/// Notes what still reaches the classes.
pub fn find(policy: &Policy, offer: &Offer, to: &mut Assignment) {
    let mut gaps = Vec::new();
    let mut add = |what: String, why: &str| gaps.push(Gap { what, why: why.to_owned() });
    if !to.divided.is_empty() {
        add(
            "hits".into(),
            "a mask guards fills alone: everyone still hits lines in every way, and lines that are there when it is set stay until they are replaced",
        );
    }
    for shared in &offer.shared {
        match shared {
            Shared::Cache { level, groups, filter } if groups.iter().any(|group| is_contested(group, to)) => {
                let divided = to.divided.iter().any(|cache| cache.level == *level);
                let coloured = to.controls.colours.as_ref().is_some_and(|colours| colours.level == *level);
                if divided || coloured {
                    add(
                        format!("the L{level}'s queues"),
                        "its ports, its miss queue (MSHRs) and its write buffers serve all cores, whatever their ways",
                    );
                } else {
                    add(format!("the L{level}"), "this policy does not divide it: every core that shares it can evict");
                }
                if *filter {
                    add(
                        format!("the L{level}'s snoop filter"),
                        "its entries are shared; an entry that is evicted takes its line out of the core that holds it",
                    );
                }
            }
            Shared::Cache { .. } => {}
            Shared::Filter => add(
                "the interconnect's snoop filter".into(),
                "its entries are shared; an entry that is evicted takes its line out of every cache before it",
            ),
            Shared::MemoryCache => {
                add("the cache beside the memory".into(), "masks do not reach it: every request can evict there");
            }
        }
    }
    add(
        "the memory".into(),
        match offer.bandwidth.as_ref().filter(|_| to.classes.iter().any(|class| !class.limits.is_empty())) {
            Some(bandwidth) if bandwidth.unit == BandwidthUnit::Percent && !to.mount.mbps => {
                "a throttle delays requests on their way, roughly; banks, row buffers and the controller's queues stay shared"
            }
            Some(_) => {
                "a limit is held over a second or so; within it banks, row buffers and the controller's queues stay shared"
            }
            None => "its banks, row buffers, queues and bandwidth are shared",
        },
    );
    let unlisted = offer.caches.iter().filter(|cache| cache.control == Some(WayControl::CatNotEnumerated));
    for cache in unlisted.filter(|cache| cache.level == 3 && to.divided.iter().any(|it| it.level == 3)) {
        add(
            format!("graphics and devices in the L{}", cache.level),
            "they fill by masks of their own, which firmware sets (GT CLOS), and can overlap with every class",
        );
    }
    for cache in &offer.caches {
        if let Some(domain) = cache.domains.iter().find(|domain| !domain.devices().is_empty())
            && to.divided.iter().any(|it| it.level == cache.level)
        {
            let what = format!("devices in ways {} of the L{}", domain.devices().ways(), cache.level);
            add(what, "they fill there, whichever class has them");
        }
    }
    for group in offer.siblings.iter().filter(|group| is_contested(group, to)) {
        add(
            format!("the physical core of {}", format_cpulist(group)),
            "its threads are in different classes and share its first-level caches, TLBs and execution units",
        );
    }
    if to.classes.iter().any(|class| class.number > 0 && !class.cores.is_empty()) {
        add(
            "tasks with a class of their own".into(),
            "on a class's cores a task that was put into another group keeps that group's share; interrupts and kernel threads there count as the class",
        );
    }
    if !policy.pseudo_locks.is_empty() {
        add(
            "locked memory".into(),
            "CLFLUSH, WBINVD and deep power states empty it, and nothing loads it again; it is guarded in this cache alone",
        );
    }
    let controls = &to.controls;
    if !controls.priorities.is_empty() {
        add(
            "queues that know no priority".into(),
            "a priority counts where a queue, an arbiter or the memory controller looks at it; what is in service already goes on",
        );
    }
    if !controls.strides.is_empty() {
        add(
            "what strides leave".into(),
            "they order requests on their way out of the cache, and only while more is asked than there is; a study of this control saw that switching it on helps and larger strides for neighbours hardly do",
        );
    }
    if let Some(colours) = &controls.colours {
        add(
            "memory that nobody coloured".into(),
            "devices, page tables and what a hypervisor or kernel allocates for itself fill every colour unless they are told",
        );
        add(
            format!("the sets of one colour of the L{}", colours.level),
            "classes with the same colours, and translations of all of them, still meet there",
        );
    }
    if controls.lockdown.is_some() {
        add(
            "first-level caches".into(),
            "locked lines leave them as any others do: a hit in the second level is what remains assured",
        );
        add(
            "maintenance of the whole cache".into(),
            "cleaning and invalidating by way or by address takes locked lines out as well, and nothing loads them again",
        );
    }
    if !controls.clocks.is_empty() {
        add(
            "other causes of slower clocks".into(),
            "power and temperature limits come before what a core asks for; the kernel's frequency driver writes its own requests when its settings change",
        );
    }
    to.leaves_open = gaps;
}

/// Whether cores of different classes are among these.
fn is_contested(cores: &[CoreId], assignment: &Assignment) -> bool {
    let roams = assignment.classes.iter().any(|class| !class.members.is_empty());
    let here = |class: &&crate::assignment::AssignedClass| class.cores.iter().any(|core| cores.contains(core));
    let locked = assignment.locks.iter().any(|lock| lock.cores.iter().any(|core| cores.contains(core)));
    roams || locked || assignment.classes.iter().filter(here).count() > 1
}
