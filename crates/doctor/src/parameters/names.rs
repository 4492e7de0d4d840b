//! Parameters that more than one check names.

use crate::finding::Fix;
use crate::view::View;

/// What keeps the scheduler and interrupts that the kernel manages away from the real-time cores.
pub(crate) fn isolcpus(view: &View) -> String {
    format!("isolcpus=domain,managed_irq,{}", view.rt_list())
}

/// A parameter that takes the real-time cores out of the kernel's hands, or why it would not.
pub(crate) fn isolating(view: &View, parameter: String) -> Fix {
    match view.cannot_isolate() {
        None => Fix::Parameter(parameter),
        Some(why) => Fix::Other(format!("`{parameter}` would not be obeyed: {why}")),
    }
}
