//! From an assignment to exact writes: as steps that Waykeeper carries out, and as a script that anyone can run.

mod cmdline;
mod colours;
mod dsu;
mod hwp;
mod mpam;
mod msr;
mod need;
mod pl310;
mod pqos;
mod resctrl;
mod tfa;
mod uboot;
mod write;

use serde::Serialize;
use waykeeper_platform::WayControl;

use crate::assignment::Assignment;
use crate::offer::Offer;
use crate::refusal::Refusal;
use crate::step::Step;

pub use write::RegisterWrite;

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
    /// Performance levels and the ring's ratio, in model-specific registers (Intel Speed Shift).
    Hwp,
    /// System registers of an Arm DSU, as a list.
    Dsu,
    /// The same as C for TF-A.
    Tfa,
    /// The same as a U-Boot script.
    Uboot,
    /// Registers of an Arm MPAM component and labels of the cores, as C.
    Mpam,
    /// Lockdown of an Arm PL310 and of the Cortex-A9's TLB, as C.
    Pl310,
    /// Page colours for Xen.
    Xen,
    /// Page colours for Bao.
    Bao,
    /// Page colours or cache regions for Jailhouse.
    Jailhouse,
    /// Parameters of the Linux kernel for the cores of the classes.
    Cmdline,
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Resctrl => "resctrl",
            Self::Pqos => "pqos",
            Self::Msr => "msr",
            Self::Hwp => "hwp",
            Self::Dsu => "dsu",
            Self::Tfa => "tfa",
            Self::Uboot => "uboot",
            Self::Mpam => "mpam",
            Self::Pl310 => "pl310",
            Self::Xen => "xen",
            Self::Bao => "bao",
            Self::Jailhouse => "jailhouse",
            Self::Cmdline => "cmdline",
        })
    }
}

impl Form {
    /// Every form, those that suit more machines first.
    pub const ALL: [Self; 13] = [
        Self::Resctrl,
        Self::Msr,
        Self::Pqos,
        Self::Hwp,
        Self::Dsu,
        Self::Tfa,
        Self::Uboot,
        Self::Mpam,
        Self::Pl310,
        Self::Xen,
        Self::Bao,
        Self::Jailhouse,
        Self::Cmdline,
    ];

    /// What suits an assignment: resctrl, registers where the kernel does not see what is divided, or the first of the
    /// others that writes all of it.
    pub fn suiting(assignment: &Assignment, offer: &Offer) -> Self {
        need::suiting(assignment, offer)
    }

    /// Whether its text is a shell script.
    pub fn is_shell(self) -> bool {
        matches!(self, Self::Resctrl | Self::Pqos | Self::Msr | Self::Hwp)
    }
}

/// One line of a script, and the steps that do the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptLine {
    /// The command, or the statement in the form's language.
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
    pub lines: Vec<ScriptLine>,
    /// What a reader should know of this form.
    pub notes: Vec<String>,
    /// Writes to registers that Linux does not reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<RegisterWrite>,
    /// The whole text, where it is no shell script made of the lines.
    #[serde(skip)]
    pub text: Option<String>,
}

/// Lowers an assignment.
///
/// # Errors
/// What the form cannot express on this machine.
pub fn lower(assignment: &Assignment, offer: &Offer, form: Form) -> Result<Lowered, Refusal> {
    as_form(assignment, offer, form).map_err(|refusal| with_forms(refusal, assignment, offer))
}

/// Adds the forms that write all of it, where one lacks something: found out by writing it.
fn with_forms(mut refusal: Refusal, assignment: &Assignment, offer: &Offer) -> Refusal {
    if refusal.lacking {
        let forms = Form::ALL.into_iter().filter(|form| *form != Form::Cmdline);
        let forms = forms.filter(|form| as_form(assignment, offer, *form).is_ok());
        let forms: Vec<_> = forms.map(|form| format!("`{form}`")).collect();
        refusal.message += &match forms.as_slice() {
            [] => "; no form writes all of this policy here: one with less would do, or two".to_owned(),
            forms => format!("; as {} the whole policy can be written", forms.join(" or ")),
        };
    }
    refusal
}

fn as_form(assignment: &Assignment, offer: &Offer, form: Form) -> Result<Lowered, Refusal> {
    need::check(assignment, offer, form)?;
    match form {
        Form::Resctrl => resctrl::lower(assignment, offer),
        Form::Pqos => pqos::lower(assignment, offer),
        Form::Msr => msr::lower(assignment, offer),
        Form::Hwp => hwp::lower(assignment, offer),
        Form::Dsu => dsu::lower(assignment, offer),
        Form::Tfa => tfa::lower(assignment, offer),
        Form::Uboot => uboot::lower(assignment, offer),
        Form::Mpam => mpam::lower(assignment, offer),
        Form::Pl310 => pl310::lower(assignment, offer),
        Form::Xen => colours::xen(assignment, offer),
        Form::Bao => colours::bao(assignment, offer),
        Form::Jailhouse => colours::jailhouse(assignment, offer),
        Form::Cmdline => cmdline::lower(assignment, offer),
    }
}

impl Lowered {
    /// All steps, in order.
    pub fn steps(&self) -> Vec<Step> {
        self.lines.iter().flat_map(|line| line.steps.iter().cloned()).collect()
    }

    /// Lines of a shell script.
    fn shell(form: Form, lines: Vec<ScriptLine>, notes: Vec<String>) -> Self {
        Self { form, lines, notes, writes: Vec::new(), text: None }
    }

    /// The whole text: a shell script, or what the form's own readers take.
    pub fn script(&self, assignment: &Assignment) -> String {
        match &self.text {
            Some(text) => text.clone(),
            None => {
                let (policy, title) = (plain(&assignment.policy), plain(&assignment.title));
                let machine = plain(&assignment.machine);
                format!("#!/bin/sh\n# {policy}: {title}\n# for {machine}; run as root\nset -e\n") + &beside(&self.lines)
            }
        }
    }
}

/// Names come from files: a line break in one would end the comment.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Text within a comment of C.
fn in_comment(text: &str) -> String {
    plain(text).replace("*/", "* /")
}

/// What the text is for, as comments.
fn comment(assignment: &Assignment, mark: &str, more: &[&str]) -> String {
    let (policy, title, machine) = (&assignment.policy, &assignment.title, &assignment.machine);
    let lines = [format!("{policy}: {title}"), format!("for {machine}")].into_iter();
    lines.chain(more.iter().map(|line| (*line).to_owned())).map(|line| format!("{mark}{}\n", plain(&line))).collect()
}

/// The same as a comment of C.
fn c_comment(assignment: &Assignment, more: &[&str]) -> String {
    let (policy, title, machine) = (&assignment.policy, &assignment.title, &assignment.machine);
    let mut lines = vec![format!("{policy}: {title}"), format!("for {machine}"), String::new()];
    lines.extend(more.iter().map(|line| (*line).to_owned()));
    c_block(&lines)
}

fn c_block(lines: &[String]) -> String {
    let lines: Vec<_> =
        lines.iter().map(|line| format!(" * {}", in_comment(line)).trim_end().to_owned() + "\n").collect();
    format!("/*\n{} */\n", lines.concat())
}

/// Commands with their comments beside them.
fn beside(lines: &[ScriptLine]) -> String {
    let width = lines.iter().map(|line| line.shell.chars().count()).filter(|width| *width <= WIDE).max().unwrap_or(0);
    lines.iter().map(|line| format!("{:width$}  # {}\n", line.shell, plain(&line.why))).collect()
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
        let message = format!("`{}`: only Linux itself locks memory into a cache", lock.name);
        return Err(Refusal::lacking("pseudo_locks", message));
    }
    Ok(())
}

/// Classes that have a limit, with their names.
fn named(assignment: &Assignment, number: u32) -> &str {
    assignment.classes.iter().find(|class| class.number == number).map_or("", |class| class.name.as_str())
}
