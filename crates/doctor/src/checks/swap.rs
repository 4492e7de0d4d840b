//! Swap.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const FILE: &str = "/proc/swaps";

pub(super) const CHECK: Check = Check {
    id: "swap",
    subject: "swap",
    why: "A page that was swapped out takes milliseconds to come back; only memory that is locked is safe, and the code \
          of libraries is often forgotten.",
    source: "mlock(2), mlockall(2); Linux Documentation/admin-guide/sysctl/vm.rst",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let text = view.text(FILE)?;
    if !text.starts_with("Filename") {
        return not_seen(format!("{FILE} does not begin with its heading"));
    }
    let places: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    if places.is_empty() {
        return fine("none", vec![Seen::new(FILE, "no entry")]);
    }
    let fixes = vec![
        Fix::Command("swapoff -a   (and take it out of /etc/fstab)".into()),
        Fix::Other("lock all memory in every real-time program: mlockall(MCL_CURRENT | MCL_FUTURE)".into()),
    ];
    let seen = vec![Seen::new(FILE, places.join(", "))];
    found(Severity::Warning, "Memory can be swapped out.", seen, fixes)
}
