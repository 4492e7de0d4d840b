//! What an assignment cannot stop, from what the machine shares.

use waykeeper_platform::{CoreId, WayControl, format_cpulist};

use crate::assignment::{AssignedControls, Assignment, Gap};
use crate::describe::Policy;
use crate::offer::{BandwidthUnit, Offer, Shared};

/// Notes what still reaches the classes.
pub fn find(policy: &Policy, offer: &Offer, to: &mut Assignment) {
    let mut gaps = Gaps(Vec::new());
    gaps.in_caches(offer, to);
    gaps.add("the memory", memory(offer, to));
    gaps.of_devices(offer, to);
    gaps.of_classes(policy, offer, to);
    gaps.of_controls(&to.controls);
    to.leaves_open = gaps.0;
}

/// What stays open, in the order in which it is said.
struct Gaps(Vec<Gap>);

impl Gaps {
    fn add(&mut self, what: impl Into<String>, why: &str) {
        self.0.push(Gap { what: what.into(), why: why.to_owned() });
    }

    /// Caches and filters that cores of different classes share.
    fn in_caches(&mut self, offer: &Offer, to: &Assignment) {
        if !to.divided.is_empty() {
            self.add(
                "hits",
                "a mask guards fills alone: everyone still hits lines in every way, and lines that are there when it is set stay until they are replaced",
            );
        }
        for shared in &offer.shared {
            match shared {
                Shared::Cache { level, groups, filter } if groups.iter().any(|group| is_contested(group, to)) => {
                    let divided = to.divided.iter().any(|cache| cache.level == *level);
                    let coloured = to.controls.colours.as_ref().is_some_and(|colours| colours.level == *level);
                    if divided || coloured {
                        self.add(
                            format!("the L{level}'s queues"),
                            "its ports, its miss queue (MSHRs) and its write buffers serve all cores, whatever their ways",
                        );
                    } else {
                        self.add(
                            format!("the L{level}"),
                            "this policy does not divide it: every core that shares it can evict",
                        );
                    }
                    if *filter {
                        self.add(
                            format!("the L{level}'s snoop filter"),
                            "its entries are shared; an entry that is evicted takes its line out of the core that holds it",
                        );
                    }
                }
                Shared::Cache { .. } => {}
                Shared::Filter => self.add(
                    "the interconnect's snoop filter",
                    "its entries are shared; an entry that is evicted takes its line out of every cache before it",
                ),
                Shared::MemoryCache => {
                    self.add("the cache beside the memory", "masks do not reach it: every request can evict there");
                }
            }
        }
    }

    /// Graphics and devices that fill ways by masks of their own.
    fn of_devices(&mut self, offer: &Offer, to: &Assignment) {
        let unlisted = offer.caches.iter().filter(|cache| cache.control == Some(WayControl::CatNotEnumerated));
        for cache in unlisted.filter(|cache| cache.level == 3 && to.divided.iter().any(|it| it.level == 3)) {
            self.add(
                format!("graphics and devices in the L{}", cache.level),
                "they fill by masks of their own, which firmware sets (GT CLOS), and can overlap with every class",
            );
        }
        for cache in &offer.caches {
            if let Some(domain) = cache.domains.iter().find(|domain| !domain.devices().is_empty())
                && to.divided.iter().any(|it| it.level == cache.level)
            {
                let what = format!("devices in ways {} of the L{}", domain.devices().ways(), cache.level);
                self.add(what, "they fill there, whichever class has them");
            }
        }
    }

    /// Threads, tasks and memory that the classes do not keep apart.
    fn of_classes(&mut self, policy: &Policy, offer: &Offer, to: &Assignment) {
        for group in offer.siblings.iter().filter(|group| is_contested(group, to)) {
            self.add(
                format!("the physical core of {}", format_cpulist(group)),
                "its threads are in different classes and share its first-level caches, TLBs and execution units",
            );
        }
        if to.classes.iter().any(|class| class.number > 0 && !class.cores.is_empty()) {
            self.add(
                "tasks with a class of their own",
                "on a class's cores a task that was put into another group keeps that group's share; interrupts and kernel threads there count as the class",
            );
        }
        if !policy.pseudo_locks.is_empty() {
            self.add(
                "locked memory",
                "CLFLUSH, WBINVD and deep power states empty it, and nothing loads it again; it is guarded in this cache alone",
            );
        }
    }

    /// What each control besides masks and limits leaves.
    fn of_controls(&mut self, controls: &AssignedControls) {
        if !controls.priorities.is_empty() {
            self.add(
                "queues that know no priority",
                "a priority counts where a queue, an arbiter or the memory controller looks at it; what is in service already goes on",
            );
        }
        if !controls.strides.is_empty() {
            self.add(
                "what strides leave",
                "they order requests on their way out of the cache, and only while more is asked than there is; a study of this control saw that switching it on helps and larger strides for neighbours hardly do",
            );
        }
        if let Some(colours) = &controls.colours {
            self.add(
                "memory that nobody coloured",
                "devices, page tables and what a hypervisor or kernel allocates for itself fill every colour unless they are told",
            );
            self.add(
                format!("the sets of one colour of the L{}", colours.level),
                "classes with the same colours, and translations of all of them, still meet there",
            );
        }
        if controls.lockdown.is_some() {
            self.add(
                "first-level caches",
                "locked lines leave them as any others do: a hit in the second level is what remains assured",
            );
            self.add(
                "maintenance of the whole cache",
                "cleaning and invalidating by way or by address takes locked lines out as well, and nothing loads them again",
            );
        }
        if !controls.clocks.is_empty() {
            self.add(
                "other causes of slower clocks",
                "power and temperature limits come before what a core asks for; the kernel's frequency driver writes its own requests when its settings change",
            );
        }
    }
}

/// What is shared behind the caches.
fn memory(offer: &Offer, to: &Assignment) -> &'static str {
    match offer.bandwidth.as_ref().filter(|_| to.classes.iter().any(|class| !class.limits.is_empty())) {
        Some(bandwidth) if bandwidth.unit == BandwidthUnit::Percent && !to.mount.mbps => {
            "a throttle delays requests on their way, roughly; banks, row buffers and the controller's queues stay shared"
        }
        Some(_) => {
            "a limit is held over a second or so; within it banks, row buffers and the controller's queues stay shared"
        }
        None => "its banks, row buffers, queues and bandwidth are shared",
    }
}

/// Whether cores of different classes are among these.
fn is_contested(cores: &[CoreId], assignment: &Assignment) -> bool {
    let roams = assignment.classes.iter().any(|class| !class.members.is_empty());
    let here = |class: &&crate::assignment::AssignedClass| class.cores.iter().any(|core| cores.contains(core));
    let locked = assignment.locks.iter().any(|lock| lock.cores.iter().any(|core| cores.contains(core)));
    roams || locked || assignment.classes.iter().filter(here).count() > 1
}
