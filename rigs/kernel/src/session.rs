//! What the guest does with a plan. Lines that begin with `RIG` are for the host.

use fastrand::Rng;
use waykeeper_resctrl::{FileOperation, ResctrlMachine};

use crate::circle;
use crate::compare::{Difference, Subject as _, both, first_difference, shrink};
use crate::doctor;
use crate::generate::Generator;
use crate::launch;
use crate::modelled::Modelled;
use crate::own_task;
use crate::plan::{Doctor, Plan, Task};
use crate::real::Real;
use crate::step::Step;
use crate::text::{write_outcome, write_step};

/// Operations of one sequence, before everything is put back.
const SEQUENCE: usize = 400;

/// After so many operations every file and directory is looked at.
const LOOK_EVERY: usize = 200;

/// A plan and the kernel.
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    machine: ResctrlMachine,
    real: Real,
    operations: usize,
    looks: usize,
}

impl Session {
    /// Ready to run.
    pub fn new(plan: Plan, real: Real) -> Self {
        Session { machine: plan.setup.machine(plan.kernel.generation), plan, real, operations: 0, looks: 0 }
    }

    /// Does what the plan says.
    ///
    /// # Errors
    /// A circle that does not close; differences are printed.
    pub fn run(mut self) -> Result<(), String> {
        let equal = match self.plan.task.clone() {
            Task::Compare { seed, operations, kept } => self.replay(&kept) && self.compare(seed, operations),
            Task::Replay(sequences) => self.replay(&sequences),
            Task::Record { seed, operations } => self.record(seed, operations),
        };
        if !equal {
            return Ok(());
        }
        println!("RIG equal {} {}", self.operations, self.looks);
        if self.plan.circle {
            self.real.reset();
            let carried = circle::run(&self.plan.setup)?;
            println!("RIG circle {} scenarios and {} kills in all", carried.scenarios, carried.kills);
        }
        if self.plan.doctor != Doctor::No {
            println!("RIG doctor {:?}: {}", self.plan.doctor, doctor::run(self.plan.kernel.realtime)?);
        }
        if self.plan.launch {
            println!("RIG launch {}", launch::run()?);
        }
        if self.plan.own_task {
            println!("RIG own-task {}", own_task::run()?);
        }
        Ok(())
    }

    /// Whether random sequences are equal.
    fn compare(&mut self, seed: u64, operations: usize) -> bool {
        let mut reported = 0;
        for seed in seed.. {
            if self.operations >= operations {
                break;
            }
            let length = SEQUENCE.min(operations - self.operations);
            if let Some(steps) = self.differing_sequence(seed, length) {
                println!("RIG difference after {} operations, seed {seed}", self.operations);
                self.report(steps);
                return false;
            }
            let thousands = self.operations / 1000;
            if thousands > reported {
                reported = thousands;
                println!("RIG progress {} {}", self.operations, self.looks);
            }
        }
        true
    }

    /// A random sequence; its steps when it ends in a difference.
    fn differing_sequence(&mut self, seed: u64, length: usize) -> Option<Vec<Step>> {
        self.real.reset();
        let mut model = Modelled::new(self.machine.clone());
        let mut generator = Generator::new(&self.plan.setup, seed);
        let mut steps = Vec::new();
        for number in 0..length {
            let step = generator.next(&model);
            steps.push(step.clone());
            let (real, modelled) = both(&mut self.real, &mut model, &step);
            self.operations += 1;
            if real != modelled {
                return Some(steps);
            }
            if number % LOOK_EVERY == LOOK_EVERY - 1 || number + 1 == length {
                for look in looks(&model, seed ^ number as u64) {
                    let (real, modelled) = both(&mut self.real, &mut model, &look);
                    self.looks += 1;
                    steps.push(look);
                    if real != modelled {
                        return Some(steps);
                    }
                }
            }
        }
        None
    }

    fn report(&mut self, steps: Vec<Step>) {
        let Some(difference) = first_difference(&mut self.real, &self.machine, &steps) else {
            println!("RIG the difference did not show again");
            let from = steps.len().saturating_sub(20);
            steps[from..].iter().for_each(|step| println!("RIG step {}", write_step(step)));
            return;
        };
        println!("RIG first at step {}", write_step(&steps[difference.at]));
        print_difference(&difference);
        let steps = shrink(&mut self.real, &self.machine, steps[..=difference.at].to_vec());
        steps.iter().for_each(|step| println!("RIG step {}", write_step(step)));
        if let Some(difference) = first_difference(&mut self.real, &self.machine, &steps) {
            print_difference(&difference);
        }
    }

    fn replay(&mut self, sequences: &[Vec<Step>]) -> bool {
        for steps in sequences {
            self.operations += steps.len();
            if let Some(difference) = first_difference(&mut self.real, &self.machine, steps) {
                println!("RIG difference in a sequence that is replayed");
                steps[..=difference.at].iter().for_each(|step| println!("RIG step {}", write_step(step)));
                print_difference(&difference);
                return false;
            }
        }
        true
    }

    fn record(&mut self, seed: u64, operations: usize) -> bool {
        self.real.reset();
        let mut model = Modelled::new(self.machine.clone());
        let mut generator = Generator::new(&self.plan.setup, seed);
        for _ in 0..operations {
            let step = generator.next(&model);
            let (real, modelled) = both(&mut self.real, &mut model, &step);
            println!("RIG record {}", write_step(&step));
            println!("RIG record < {}", write_outcome(&real));
            if real != modelled {
                println!("RIG difference while recording");
                println!("RIG model: {}", write_outcome(&modelled));
                return false;
            }
        }
        self.operations += operations;
        true
    }
}

fn print_difference(difference: &Difference) {
    println!("RIG kernel answers: {}", write_outcome(&difference.real));
    println!("RIG model answers:  {}", write_outcome(&difference.modelled));
}

/// Reads of every file and directory, the directories first, in random order otherwise.
fn looks(model: &Modelled, seed: u64) -> Vec<Step> {
    if model.resctrl.mounted().is_none() {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        steps.push(FileOperation::Getattr { path: path.clone() });
        let list = FileOperation::Readdir { path: path.clone() };
        match model.resctrl.entries(&path) {
            Ok(entries) => {
                let below =
                    |name: &[u8]| if path.is_empty() { name.to_vec() } else { [&path, &b"/"[..], name].concat() };
                open.extend(entries.iter().map(|entry| below(&entry.name)));
                steps.push(list);
            }
            Err(_) => steps.push(FileOperation::Read { path }),
        }
    }
    Rng::with_seed(seed).shuffle(&mut steps);
    steps.into_iter().map(Step::Do).collect()
}
