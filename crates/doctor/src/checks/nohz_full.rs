//! The tick.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::parameters::names::isolating;
use crate::view::View;
use waykeeper_linux::parse_cpulist;

pub(crate) const NOHZ_FULL: &str = "/sys/devices/system/cpu/nohz_full";

pub(super) const CHECK: Check = Check {
    id: "nohz-full",
    subject: "the scheduler's tick",
    why: "The tick interrupts a busy core 100 to 1000 times a second, for a microsecond or more, and its handlers leave \
          their data in the caches.",
    source: "Linux Documentation/timers/no_hz.rst; TCC user guide 3.4",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let Some(text) = view.root.text(NOHZ_FULL) else {
        // A tree may lack the file of a kernel that has it.
        if !view.root.is_absent(NOHZ_FULL) {
            return not_seen(view.root.absence(NOHZ_FULL));
        }
        let seen = vec![Seen::new(NOHZ_FULL, "not there: built without CONFIG_NO_HZ_FULL")];
        let ignored = view.booted("nohz_full").map(|word| format!(", and ignores {word}")).unwrap_or_default();
        return found(
            Severity::Warning,
            format!("This kernel cannot stop the tick of a busy core{ignored}."),
            seen,
            vec![Fix::Other("a kernel with CONFIG_NO_HZ_FULL, such as those of Debian, Ubuntu and RHEL".into())],
        );
    };
    let tickless = parse_cpulist(&text).unwrap_or_default();
    let lacking = view.lacking(&tickless);
    let seen = vec![Seen::new(NOHZ_FULL, if text.is_empty() { "nothing".into() } else { text })];
    if lacking.is_empty() {
        return fine(format!("stopped on {} while one task runs there", named(&view.rt_cores)), seen);
    }
    let fixes = vec![isolating(view, format!("nohz_full={}", view.rt_list()))];
    found(Severity::Warning, format!("The tick goes on while a program runs on {}.", named(&lacking)), seen, fixes)
}
