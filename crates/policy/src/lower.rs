//! From an assignment to exact writes: as steps that Waykeeper carries out, and as a script that anyone can run.

mod msr;
mod pqos;
mod resctrl;

use serde::Serialize;
use waykeeper_platform::WayControl;

use crate::assignment::Assignment;
use crate::offer::Offer;
use crate::refusal::Refusal;
use crate::step::Step;

/// What an assignment is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The kernel's resctrl.
    Resctrl,
    /// Commands of `pqos` (intel-cmt-cat).
    Pqos,
    /// Model-specific registers of Intel processors.
    Msr,
}

impl Form {
    /// What suits an assignment: resctrl, or registers where the kernel does not see what is divided.
    pub fn suiting(assignment: &Assignment, offer: &Offer) -> Self {
        let unseen = |level| control(offer, level) == Some(WayControl::CatNotEnumerated);
        if assignment.divided.iter().any(|cache| unseen(cache.level)) { Self::Msr } else { Self::Resctrl }
    }
}

/// One line of a script, and the steps that do the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The command.
    pub shell: String,
    /// What it does.
    pub why: String,
    /// The same as steps; none for a line that only looks, or that cannot be known before it runs.
    pub steps: Vec<Step>,
}

/// An assignment in one form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lowered {
    /// The form.
    pub form: Form,
    /// The lines, in the order in which they have to be run.
    pub lines: Vec<Line>,
    /// What a reader should know of this form.
    pub notes: Vec<String>,
}

/// Lowers an assignment.
///
/// # Errors
/// What the form cannot express on this machine.
pub fn lower(assignment: &Assignment, offer: &Offer, form: Form) -> Result<Lowered, Refusal> {
    match form {
        Form::Resctrl => resctrl::lower(assignment, offer),
        Form::Pqos => pqos::lower(assignment, offer),
        Form::Msr => msr::lower(assignment, offer),
    }
}

impl Lowered {
    /// All steps, in order.
    pub fn steps(&self) -> Vec<Step> {
        self.lines.iter().flat_map(|line| line.steps.iter().cloned()).collect()
    }

    /// The lines as a shell script.
    pub fn script(&self, assignment: &Assignment) -> String {
        // Names come from files: a line break in one would end the comment.
        let plain = |text: &str| text.replace(char::is_control, " ");
        let (policy, title) = (plain(&assignment.policy), plain(&assignment.title));
        let mut text =
            format!("#!/bin/sh\n# {policy}: {title}\n# for {}; run as root\nset -e\n", plain(&assignment.machine));
        let width = self.lines.iter().map(|line| line.shell.chars().count()).filter(|width| *width <= WIDE).max();
        for line in &self.lines {
            text += &format!("{:width$}  # {}\n", line.shell, line.why, width = width.unwrap_or(0));
        }
        text
    }
}

/// Comments stand beside commands up to this wide in one column.
const WIDE: usize = 72;

fn control(offer: &Offer, level: u8) -> Option<WayControl> {
    offer.cache(level).and_then(|cache| cache.control)
}

/// Refuses what does not go through Intel's registers.
fn is_cat(assignment: &Assignment, offer: &Offer, form: &str) -> Result<(), Refusal> {
    for cache in &assignment.divided {
        match control(offer, cache.level) {
            Some(WayControl::Cat | WayControl::CatNotEnumerated) => {}
            Some(other) => {
                let message = format!(
                    "the L{} of {} is divided by {other}, which {form} does not set",
                    cache.level, offer.called
                );
                return Err(Refusal::lacking("", message));
            }
            None => return Err(Refusal::lacking("", format!("the registers of the L{} are not known", cache.level))),
        }
    }
    if let Some(lock) = assignment.locks.first() {
        let message = format!("`{}`: only Linux itself locks memory into a cache; as resctrl it does", lock.name);
        return Err(Refusal::lacking("pseudo_locks", message));
    }
    Ok(())
}

/// Classes that have a limit, with their names.
fn named(assignment: &Assignment, number: u32) -> &str {
    assignment.classes.iter().find(|class| class.number == number).map_or("", |class| class.name.as_str())
}
