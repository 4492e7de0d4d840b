//! Both sides step by step, and the shortest sequence that still ends in a difference.

use waykeeper_resctrl::ResctrlMachine;

use crate::astray::leads_astray;
use crate::modelled::Modelled;
use crate::step::{Answer, Outcome, Step};

/// Something that carries steps out.
pub trait Subject {
    /// Puts everything back as it is after boot.
    fn reset(&mut self);

    /// Carries a step out.
    fn run(&mut self, step: &Step) -> Outcome;
}

/// Where the two sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Position of the step.
    pub at: usize,
    /// What the kernel answered.
    pub real: Outcome,
    /// What the model answered.
    pub modelled: Outcome,
}

/// Runs a step on both sides.
pub fn both(subject: &mut dyn Subject, model: &mut Modelled, step: &Step) -> (Outcome, Outcome) {
    let real = subject.run(step);
    let started: &[i32] = match &real.answer {
        Ok(Answer::Started(started)) => started,
        _ => &[],
    };
    let modelled = model.run(step, started);
    (real, modelled)
}

/// Runs a sequence from a fresh start up to the first difference.
pub fn first_difference(subject: &mut dyn Subject, machine: &ResctrlMachine, steps: &[Step]) -> Option<Difference> {
    subject.reset();
    let mut model = Modelled::new(machine.clone());
    steps.iter().enumerate().find_map(|(at, step)| {
        // Without a mount there is nothing at the paths; a shrunk sequence can come here.
        if matches!(step, Step::Do(_)) && model.resctrl.mounted().is_none() || leads_astray(&model, step) {
            return None;
        }
        let (real, modelled) = both(subject, &mut model, step);
        (real != modelled).then_some(Difference { at, real, modelled })
    })
}

/// Leaves out of a sequence that ends in a difference what it does not need: halves, quarters, down to single steps.
pub fn shrink(subject: &mut dyn Subject, machine: &ResctrlMachine, steps: Vec<Step>) -> Vec<Step> {
    let mut steps = steps;
    let mut length = steps.len() / 2;
    while length > 0 {
        let mut at = 0;
        while at + length < steps.len() {
            let shorter = [&steps[..at], &steps[at + length..]].concat();
            match first_difference(subject, machine, &shorter) {
                Some(difference) => {
                    steps = shorter;
                    steps.truncate(difference.at + 1);
                }
                None => at += length,
            }
        }
        length /= 2;
    }
    steps
}
