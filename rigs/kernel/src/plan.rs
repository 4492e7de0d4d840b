//! What a guest is to do: lines of text in its `/plan`.

use crate::image::KernelImage;
use crate::setup::Setup;
use crate::step::Step;
use crate::text::{read_step, write_step};

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Random sequences until there were so many operations, after some that are kept.
    Compare {
        /// Where the first sequence begins; the next ones count on.
        seed: u64,
        /// How many operations.
        operations: usize,
        /// Sequences that come first.
        kept: Vec<Vec<Step>>,
    },
    /// Given sequences are compared.
    Replay(Vec<Vec<Step>>),
    /// One random sequence is printed with the kernel's answers, to be kept.
    Record {
        /// Where it begins.
        seed: u64,
        /// How many operations.
        operations: usize,
    },
}

/// Whether the doctor examines the kernel afterwards, and how it was booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doctor {
    /// It does not.
    No,
    /// As the rig boots it.
    Plain,
    /// With parameters that help a real-time core: [`crate::doctor::TUNED`].
    Tuned,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The machine that QEMU emulates.
    pub setup: Setup,
    /// The kernel that runs.
    pub kernel: KernelImage,
    /// What is done.
    pub task: Task,
    /// Whether plans are applied and restored afterwards, with kills on the way.
    pub circle: bool,
    /// Whether the doctor examines the kernel as well.
    pub doctor: Doctor,
    /// Whether launch times of packets are tried.
    pub launch: bool,
    /// Whether a user's own program is measured.
    pub own_task: bool,
}

impl Plan {
    /// As text.
    pub fn write(&self) -> String {
        let text = |sequences: &Vec<Vec<Step>>| {
            let lines =
                |steps: &Vec<Step>| steps.iter().map(|step| format!("\n{}", write_step(step))).collect::<String>();
            sequences.iter().map(|steps| lines(steps) + "\n").collect::<String>()
        };
        let task = match &self.task {
            Task::Compare { seed, operations, kept } => format!("compare {seed} {operations}{}", text(kept)),
            Task::Record { seed, operations } => format!("record {seed} {operations}"),
            Task::Replay(sequences) => format!("replay{}", text(sequences)),
        };
        let [circle, launch, own_task] =
            [self.circle, self.launch, self.own_task].map(|wanted| if wanted { "yes" } else { "no" });
        let doctor = match self.doctor {
            Doctor::No => "no",
            Doctor::Plain => "plain",
            Doctor::Tuned => "tuned",
        };
        format!(
            "setup {}\nkernel {}\ncircle {circle}\ndoctor {doctor}\nlaunch {launch}\nown_task {own_task}\n{task}\n",
            self.setup.name,
            self.kernel.name()
        )
    }

    /// From text.
    ///
    /// # Errors
    /// The line that cannot be understood.
    pub fn read(text: &str) -> Result<Plan, String> {
        let mut lines = text.lines();
        let mut word = |name: &str| {
            let line = lines.next().unwrap_or_default();
            line.strip_prefix(name).map(|rest| rest.trim().to_owned()).ok_or_else(|| format!("{line}: not {name}"))
        };
        let setup = word("setup")?;
        let setup = Setup::named(&setup).ok_or_else(|| format!("{setup}: no such setup"))?;
        let kernel = word("kernel")?;
        let kernel = KernelImage::named(&kernel).ok_or("no such kernel")?;
        let circle = word("circle")? == "yes";
        let doctor = match word("doctor")?.as_str() {
            "plain" => Doctor::Plain,
            "tuned" => Doctor::Tuned,
            _ => Doctor::No,
        };
        let launch = word("launch")? == "yes";
        let own_task = word("own_task")? == "yes";
        let task = word("")?;
        let numbers: Vec<u64> = task.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let task = match (task.split_whitespace().next(), &numbers[..]) {
            (Some("compare"), &[seed, operations]) => {
                Task::Compare { seed, operations: operations as usize, kept: read_sequences(lines)? }
            }
            (Some("record"), &[seed, operations]) => Task::Record { seed, operations: operations as usize },
            (Some("replay"), _) => Task::Replay(read_sequences(lines)?),
            _ => return Err(format!("{task}: no such task")),
        };
        Ok(Plan { setup, kernel, task, circle, doctor, launch, own_task })
    }
}

/// Sequences of steps with empty lines between them; lines that begin with `#` or `<` are not read.
///
/// # Errors
/// The line that cannot be understood.
pub fn read_sequences<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<Vec<Step>>, String> {
    let mut sequences = vec![Vec::new()];
    for line in lines {
        match line.trim() {
            "" => sequences.push(Vec::new()),
            line if line.starts_with(['#', '<']) => (),
            line => sequences.last_mut().expect("there is one from the start").push(read_step(line)?),
        }
    }
    sequences.retain(|steps| !steps.is_empty());
    Ok(sequences)
}
