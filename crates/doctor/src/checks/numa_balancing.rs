//! Memory that follows its users between nodes.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const FILE: &str = "/proc/sys/kernel/numa_balancing";

pub(super) const CHECK: Check = Check {
    id: "numa-balancing",
    subject: "pages that move between NUMA nodes",
    why: "The kernel takes translations away to see who uses a page, and moves pages: accesses of a real-time task fault \
          and wait, also in locked memory.",
    source: "Linux Documentation/admin-guide/sysctl/kernel.rst (numa_balancing); TCC user guide chapter 4 (numa_balancing=disable)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    if view.root.is_absent(FILE) {
        // Kernels with PREEMPT_RT are built without it.
        return fine("this kernel moves none", Vec::new());
    }
    let text = view.text(FILE)?;
    let seen = vec![Seen::new(FILE, text.clone())];
    if text == "0" {
        return fine("off", seen);
    }
    let fixes =
        vec![Fix::Parameter("numa_balancing=disable".into()), Fix::Command("sysctl -w kernel.numa_balancing=0".into())];
    found(Severity::Warning, "The kernel moves pages between NUMA nodes.", seen, fixes)
}
