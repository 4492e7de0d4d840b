//! As parameters of the Linux kernel that keep its own work off the cores of a policy (Linux,
//! Documentation/admin-guide/kernel-parameters.txt). Shares are written by another form beside them.

use waykeeper_platform::{CoreId, format_cpulist};

use crate::assignment::Assignment;
use crate::offer::Offer;
use crate::refusal::Refusal;

use super::{Form, Lowered, ScriptLine};

/// Lowers an assignment.
///
/// # Errors
/// A policy none of whose classes has anything alone, or whose classes have all cores.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let mut cores: Vec<CoreId> = (1..assignment.classes.len() as u32)
        .filter(|class| is_guarded(assignment, *class))
        .flat_map(|class| assignment.classes[class as usize].cores.clone())
        .chain(assignment.controls.lockdown.iter().map(|lockdown| lockdown.core))
        .collect();
    cores.sort_unstable();
    cores.dedup();
    if cores.is_empty() {
        let message = "no class with cores has anything alone, so that there are no cores to isolate";
        return Err(Refusal::wrong("classes", message));
    }
    let rest: Vec<_> = offer.cores.iter().copied().filter(|core| !cores.contains(core)).collect();
    if rest.is_empty() {
        let message = "its classes have all cores; one at least has to do the kernel's own work";
        return Err(Refusal::wrong("classes", message));
    }
    let (list, rest) = (format_cpulist(&cores), format_cpulist(&rest));
    let lines: Vec<_> = [
        (
            format!("isolcpus=domain,managed_irq,{list}"),
            "the scheduler puts no task there by itself, and drivers no interrupts that they manage",
        ),
        (format!("nohz_full={list}"), "no timer tick while one task runs there"),
        (format!("rcu_nocbs={list}"), "callbacks of RCU run elsewhere"),
        ("rcu_nocb_poll".into(), "and the cores need not wake those who run them"),
        (format!("irqaffinity={rest}"), "interrupts go to the other cores unless somebody says otherwise"),
        ("skew_tick=1".into(), "the cores' ticks do not come at the same moment and meet at a lock"),
        ("nosoftlockup".into(), "no watchdog thread on each core"),
        ("nmi_watchdog=0".into(), "no periodic interrupt that nothing can mask"),
    ]
    .into_iter()
    .map(|(shell, why): (String, &str)| ScriptLine { shell, why: why.into(), steps: Vec::new() })
    .collect();
    let mut text = super::comment(assignment, "# ", &["Kernel parameters, in one line below."]);
    for line in &lines {
        text += &format!("# {}: {}\n", line.shell, line.why);
    }
    text += &lines.iter().map(|line| line.shell.as_str()).collect::<Vec<_>>().join(" ");
    text.push('\n');
    let mut notes =
        vec!["they isolate the cores; what the policy assigns to them is written by another form beside them".into()];
    if cores.contains(&0) {
        notes.push(
            "the kernel boots on core 0 and leaves timekeeping there; another core is easier to keep quiet".into(),
        );
    }
    Ok(Lowered { form: Form::Cmdline, lines, notes, writes: Vec::new(), text: Some(text) })
}

/// Whether a class has anything that others have not: a cap alone is none.
fn is_guarded(assignment: &Assignment, class: u32) -> bool {
    let controls = &assignment.controls;
    let masks = assignment.classes[class as usize].masks.iter().any(|mask| mask.exclusive);
    let priority = controls.priority(class) > controls.priority(0);
    let clock = controls.clocks.iter().any(|clock| clock.class == class && clock.fixed);
    let colours = controls.colours.as_ref().is_some_and(|colours| colours.share(class).is_some());
    let weight = controls.stride(class) < controls.stride(0);
    masks || priority || clock || colours || weight
}
