//! Frequencies of the cores.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "governor",
    subject: "the cores' frequency governor",
    why: "A governor that follows the load answers the first work after a pause at a low frequency, and each change \
          stops the core for microseconds.",
    source: "Linux Documentation/admin-guide/pm/cpufreq.rst; TCC user guide 5.3",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let mut seen = Vec::new();
    for &core in &view.rt_cores {
        let folder = format!("/sys/devices/system/cpu/cpu{core}/cpufreq");
        let file = format!("{folder}/scaling_governor");
        let Some(governor) = view.root.text(&file) else {
            return Err(view.hosts_affair("the frequency").unwrap_or_else(|| NotSeen(view.root.absence(&file))));
        };
        let number = |name: &str| view.root.number(&format!("{folder}/{name}"));
        let fixed = number("scaling_min_freq").zip(number("scaling_max_freq")).is_some_and(|(min, max)| min == max);
        seen.push(Seen::new(&file, governor.clone()));
        if governor != "performance" && !fixed {
            let fixes = vec![
                Fix::Command(format!("echo performance > {file}   (and so for every real-time core)")),
                Fix::Parameter("cpufreq.default_governor=performance".into()),
            ];
            return found(Severity::Warning, format!("The governor of core {core} is {governor}."), seen, fixes);
        }
    }
    fine("performance, or one frequency", seen)
}
