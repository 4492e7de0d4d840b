//! Huge pages that the kernel makes by itself.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) const CHECK: Check = Check {
    id: "transparent-hugepages",
    subject: "huge pages that the kernel makes by itself",
    why: "To make a huge page the kernel moves memory that is in use: a program waits for the copy, and all cores drop \
          their translations, also those of locked memory.",
    source: "Linux Documentation/admin-guide/mm/transhuge.rst",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    if view.root.is_absent(FILE) {
        // Kernels with PREEMPT_RT are built without them.
        return fine("this kernel makes none", Vec::new());
    }
    let text = view.text(FILE)?;
    let seen = vec![Seen::new(FILE, text.clone())];
    if !["[always]", "[madvise]", "[never]"].iter().any(|chosen| text.contains(chosen)) {
        return not_seen(format!("{FILE} holds `{text}`, of which nothing is chosen"));
    }
    if !text.contains("[always]") {
        return fine("only where a program asks for them, or never", seen);
    }
    let fixes =
        vec![Fix::Parameter("transparent_hugepage=madvise".into()), Fix::Command(format!("echo madvise > {FILE}"))];
    found(Severity::Warning, "The kernel makes huge pages of any program's memory.", seen, fixes)
}
