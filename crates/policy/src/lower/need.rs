//! What an assignment needs, and which forms can write it. A form refuses what it cannot reach rather than doing a part.

use waykeeper_platform::WayControl;

use super::{Form, control};
use crate::assignment::Assignment;
use crate::offer::Offer;
use crate::refusal::Refusal;

/// Something that a form can write or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Ways(Option<WayControl>),
    Limits,
    PseudoLocks,
    Tasks,
    Priorities,
    NoAllocateMode,
    Weights,
    Clocks,
    Ring,
    Colours,
    Lockdown,
}

/// What an assignment needs, with the key that asks for it.
pub fn needs(assignment: &Assignment, offer: &Offer) -> Vec<(Need, &'static str)> {
    let controls = &assignment.controls;
    let mut needs = Vec::new();
    for cache in &assignment.divided {
        let need = Need::Ways(control(offer, cache.level));
        if !needs.contains(&(need, "classes")) {
            needs.push((need, "classes"));
        }
    }
    let classes = &assignment.classes;
    for (is_needed, need, key) in [
        (classes.iter().any(|class| !class.limits.is_empty()), Need::Limits, "classes"),
        (!assignment.locks.is_empty(), Need::PseudoLocks, "pseudo_locks"),
        (classes.iter().any(|class| !class.members.is_empty()), Need::Tasks, "classes"),
        (!controls.priorities.is_empty(), Need::Priorities, "classes"),
        (controls.no_allocate_mode_off, Need::NoAllocateMode, "no_allocate_mode"),
        (!controls.strides.is_empty(), Need::Weights, "classes"),
        (!controls.clocks.is_empty(), Need::Clocks, "classes"),
        (controls.ring_mhz.is_some(), Need::Ring, "ring"),
        (controls.colours.is_some(), Need::Colours, "classes"),
        (controls.lockdown.is_some(), Need::Lockdown, "lockdown"),
    ] {
        if is_needed {
            needs.push((need, key));
        }
    }
    needs
}

impl Need {
    /// Whether a form can write it.
    fn is_written_by(self, form: Form) -> bool {
        use WayControl::{Cat, CatNotEnumerated, DsuSchemes, Lockdown, MpamPortions};
        match form {
            // Their own files refuse ways that they cannot set, each with its reason.
            Form::Resctrl | Form::Pqos => {
                matches!(self, Self::Ways(_) | Self::Limits | Self::PseudoLocks | Self::Tasks)
            }
            Form::Msr => {
                let own = matches!(self, Self::Ways(_) | Self::Limits | Self::PseudoLocks | Self::Tasks);
                own || matches!(self, Self::Clocks | Self::Ring)
            }
            Form::Hwp => matches!(self, Self::Clocks | Self::Ring),
            Form::Dsu | Form::Tfa | Form::Uboot => {
                matches!(self, Self::Ways(Some(DsuSchemes)) | Self::Priorities | Self::NoAllocateMode)
            }
            Form::Mpam => matches!(self, Self::Ways(Some(MpamPortions)) | Self::Weights),
            Form::Pl310 => matches!(self, Self::Ways(Some(Lockdown)) | Self::Lockdown),
            Form::Xen | Form::Bao => self == Self::Colours,
            Form::Jailhouse => matches!(self, Self::Colours | Self::Ways(Some(Cat | CatNotEnumerated))),
            // Kernel parameters isolate cores; shares are written by another form beside them.
            Form::Cmdline => true,
        }
    }

    fn said(self) -> String {
        match self {
            Self::Ways(Some(control)) => format!("cache ways that are set through {control}"),
            Self::Ways(None) => "ways of a cache whose registers are not known".into(),
            Self::Limits => "limits of bandwidth".into(),
            Self::PseudoLocks => "pseudo-locked memory".into(),
            Self::Tasks => "tasks".into(),
            Self::Priorities => "priorities on the bus".into(),
            Self::NoAllocateMode => "the mode without allocation".into(),
            Self::Weights => "weights of bandwidth".into(),
            Self::Clocks => "clocks of cores".into(),
            Self::Ring => "the clock of the ring".into(),
            Self::Colours => "page colours".into(),
            Self::Lockdown => "locked lines and pages".into(),
        }
    }
}

/// Forms that write everything that an assignment needs.
fn writing_all(needs: &[(Need, &str)]) -> impl Iterator<Item = Form> {
    let all = move |form: &Form| needs.iter().all(|(need, _)| need.is_written_by(*form));
    Form::ALL.into_iter().filter(|form| *form != Form::Cmdline).filter(all)
}

/// The form that suits an assignment.
pub fn suiting(assignment: &Assignment, offer: &Offer) -> Form {
    let needs = needs(assignment, offer);
    let has = |wanted: fn(WayControl) -> bool| {
        needs.iter().any(|(need, _)| matches!(need, Need::Ways(Some(control)) if wanted(*control)))
    };
    if has(|control| control == WayControl::CatNotEnumerated) {
        return Form::Msr;
    }
    // The first three reach no registers of the DSU and the PL310.
    let beyond = has(|control| matches!(control, WayControl::DsuSchemes | WayControl::Lockdown));
    let skip = |form: &Form| beyond && matches!(form, Form::Resctrl | Form::Msr | Form::Pqos);
    let only_clocks = !needs.is_empty() && needs.iter().all(|(need, _)| matches!(need, Need::Clocks | Need::Ring));
    if only_clocks {
        return Form::Hwp;
    }
    writing_all(&needs).find(|form| !skip(form)).unwrap_or(Form::Resctrl)
}

/// Refuses what a form cannot write.
///
/// # Errors
/// The first need that the form does not serve.
pub fn check(assignment: &Assignment, offer: &Offer, form: Form) -> Result<(), Refusal> {
    let needs = needs(assignment, offer);
    let Some((need, key)) = needs.iter().find(|(need, _)| !need.is_written_by(form)) else { return Ok(()) };
    Err(Refusal::lacking(*key, format!("form `{form}` cannot write {}", need.said())))
}
