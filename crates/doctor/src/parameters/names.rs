//! Parameters that more than one check names.

use crate::view::View;

/// What keeps the scheduler and interrupts that the kernel manages away from the real-time cores.
pub(crate) fn isolcpus(view: &View) -> String {
    format!("isolcpus=domain,managed_irq,{}", view.rt_list())
}
