//! Where the beginnings and ends of passes come from.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use waykeeper_linux::cgroup::descends_from;
use waykeeper_linux::events::{Activations, BoundaryEvent, Function, Functions, SETTLES};
use waykeeper_markers::{CLOCK_MONOTONIC_RAW, Mark, Rings, Unpaired, VARIABLE};
use waykeeper_workload::Passes;

use super::super::limits::file_of;
use super::anchor::Anchor;
use crate::measure::ExecutorError;

/// Where the beginnings and ends of passes come from.
pub enum PassDetector {
    /// The program's markers.
    Markers(Rings),
    /// Functions that it calls.
    Functions(Functions, Threads, Lineage),
    /// Context switches of its first thread; none before it runs.
    Period(Option<Activations>, Threads),
}

/// Threads in whose name the kernel reported events.
#[derive(Debug, Default)]
pub struct Threads {
    /// By their numbers in the kernel: process, place among the threads, number of the next mark.
    known: BTreeMap<u32, (u32, u32, u32)>,
    lost: u64,
}

impl Threads {
    /// An event as a mark. `lost` counts the events that are missing so far.
    fn mark(&mut self, event: BoundaryEvent, clock: Anchor, lost: u64) -> Mark {
        if lost > self.lost {
            // A gap in the numbers: no pass is made across it.
            self.known.values_mut().for_each(|(_, _, next)| *next = next.wrapping_add(1));
            self.lost = lost;
        }
        let place = self.known.len() as u32;
        let (_, thread, next) = self.known.entry(event.thread).or_insert((event.process, place, 0));
        let sequence = *next;
        *next = next.wrapping_add(1);
        Mark { thread: *thread, phase: 0, begins: event.begins, at: clock.ticks(event.at_ns), sequence }
    }

    fn list(&self) -> Vec<(u32, u32)> {
        self.known.iter().map(|(thread, (process, ..))| (*process, *thread)).collect()
    }
}

/// Which processes are of the program. The kernel reports whoever runs a file's code on the core, and two programs may share a
/// file: a library, or a second copy of the same program.
#[derive(Debug, Default)]
pub struct Lineage {
    /// The process from which those of the program descend; none before it runs.
    top: Option<u32>,
    known: BTreeMap<u32, (bool, Instant)>,
    /// Events of processes that had ended before they could be looked at.
    ended: u64,
}

/// So long the lineage of a process is not looked at again: the kernel uses numbers of ended processes anew.
const LINEAGE_KNOWN: Duration = Duration::from_secs(1);

impl Lineage {
    fn holds(&mut self, process: u32) -> bool {
        let Some(top) = self.top else { return false };
        if let Some((known, looked)) = self.known.get(&process)
            && looked.elapsed() < LINEAGE_KNOWN
        {
            return *known;
        }
        match descends_from(process, top) {
            Some(is_of_it) => {
                self.known.insert(process, (is_of_it, Instant::now()));
                is_of_it
            }
            None => {
                self.ended += 1;
                false
            }
        }
    }
}

impl PassDetector {
    /// Opens the source for a program that will run on a core.
    ///
    /// # Errors
    /// What this machine lacks, a function that the program does not have.
    pub fn open(passes: &Passes, program: &str, core: u32) -> Result<Self, ExecutorError> {
        match passes {
            Passes::Functions { begin, end } => {
                let [begin, end] = functions(program, begin, end).map_err(ExecutorError::Input)?;
                let open = Functions::open(&begin, &end, core);
                let functions = open.map_err(|error| unavailable("passes from functions need uprobes", &error))?;
                Ok(Self::Functions(functions, Threads::default(), Lineage::default()))
            }
            Passes::Period => Ok(Self::Period(None, Threads::default())),
            Passes::Markers { .. } | Passes::Process | Passes::Cyclictest => {
                let rings = Rings::create().map_err(|error| format!("no shared memory for markers: {error}"))?;
                Ok(Self::Markers(rings))
            }
        }
    }

    /// The descriptor and the variables that the program gets.
    pub fn handed_over(&self) -> (i32, Vec<(String, String)>) {
        match self {
            Self::Markers(rings) => (rings.file().as_raw_fd(), vec![(VARIABLE.to_owned(), rings.variable())]),
            _ => (-1, Vec::new()),
        }
    }

    /// The program runs as this process; it and all that it starts descend from its guardian.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn started(&mut self, process: Option<u32>, guardian: u32) -> Result<(), String> {
        match (self, process) {
            (Self::Functions(.., lineage), _) => lineage.top = Some(guardian),
            (Self::Period(activations, _), Some(process)) => {
                let open = Activations::open(process);
                let open = open.map_err(|error| unavailable("passes from the period need perf events", &error))?;
                *activations = Some(open);
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes the marks that are there, their times in ticks of the counter.
    pub fn drain(&mut self, clock: Anchor, mut each: impl FnMut(Mark)) {
        match self {
            Self::Markers(rings) => {
                let writers = rings.writers().into_iter().filter(|writer| writer.clock == CLOCK_MONOTONIC_RAW);
                let raw: Vec<u32> = writers.map(|writer| writer.place).collect();
                rings.drain(|mark| {
                    let at = if raw.contains(&mark.thread) { clock.ticks(mark.at) } else { mark.at };
                    each(Mark { at, ..mark });
                });
            }
            Self::Functions(functions, threads, lineage) => {
                let lost = functions.lost();
                functions.drain(|event| {
                    if lineage.holds(event.process) {
                        each(threads.mark(event, clock, lost));
                    }
                });
            }
            Self::Period(None, _) => {}
            Self::Period(Some(activations), threads) => {
                let lost = activations.lost();
                activations.drain(|event| each(threads.mark(event, clock, lost)));
            }
        }
    }

    /// Marks are read so long after they were made.
    pub fn delay(&self) -> Duration {
        match self {
            Self::Markers(_) | Self::Period(..) => Duration::ZERO,
            Self::Functions(..) => SETTLES + Duration::from_millis(1),
        }
    }

    /// The threads that made marks: process and thread.
    pub fn threads(&self) -> Vec<(u32, u32)> {
        match self {
            Self::Markers(rings) => rings.writers().iter().map(|writer| (writer.process, writer.thread)).collect(),
            Self::Functions(_, threads, _) | Self::Period(_, threads) => threads.list(),
        }
    }

    /// The name that the program gave a phase.
    pub fn phase_name(&self, phase: u32) -> Option<String> {
        match self {
            Self::Markers(rings) => rings.phase_name(phase),
            _ => None,
        }
    }

    /// What was measured, in the words of the file.
    pub fn described(&self, called: &str) -> String {
        match self {
            Self::Markers(_) => format!("phase {called}"),
            Self::Functions(..) => "from function to function, by uprobes".into(),
            Self::Period(..) => "from each switch to the first thread after a sleep to its next sleep".into(),
        }
    }

    /// What is missing, and what was part of no pass.
    pub fn complaints(&self, unpaired: Unpaired) -> Vec<String> {
        let (begun, ended, missing, without_ring) = match self {
            Self::Markers(rings) => {
                // What was dropped last is not followed by a marker that shows the gap.
                let dropped = rings.writers().iter().map(|writer| writer.lost).sum();
                let lost = unpaired.lost.max(dropped);
                let missing = (lost, "markers dropped because a ring was full: their passes are missing");
                let begun = "`wk_begin` of a phase that was open already";
                (begun, "`wk_end` of a phase that was not open", missing, rings.without_ring())
            }
            Self::Functions(functions, ..) => {
                let missing = (functions.lost(), "events dropped because a buffer was full: their passes are missing");
                (
                    "entries of the first function before the second one returned",
                    "returns without an entry before",
                    missing,
                    0,
                )
            }
            Self::Period(activations, _) => {
                let missing = (
                    activations.as_ref().map_or(0, Activations::lost),
                    "events dropped because a buffer was full: their passes are missing",
                );
                ("activations before the next sleep", "sleeps without an activation before", missing, 0)
            }
        };
        let counted = [
            (unpaired.begins, begun),
            (unpaired.ends, ended),
            missing,
            (unpaired.unknown_phase, "markers of a phase above 63"),
            (
                self.of_ended_processes(),
                "calls by processes that ended before it was seen whether they are the program's: they are no passes",
            ),
            (u64::from(without_ring), "threads without a ring (64 threads get one): their passes are missing"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        counted.map(|(count, what)| format!("{count} {what}")).collect()
    }

    fn of_ended_processes(&self) -> u64 {
        match self {
            Self::Functions(.., lineage) => lineage.ended,
            _ => 0,
        }
    }

    /// What would do, where no pass was made by a program that runs on, or by one that has ended.
    pub fn no_passes(&self, runs_on: bool) -> String {
        match self {
            Self::Markers(rings) if rings.writers().is_empty() => {
                let or = match runs_on {
                    // A whole run of it has no end.
                    true => {
                        "`--begin FUNCTION`, each call of which is a pass, or `--passes period`, from one sleep to the next"
                    }
                    false => "`--passes process`, which measures whole runs of it",
                };
                format!(
                    "; expected markers in its source (`waykeeper markers c` prints `waykeeper.h`; a program that closes \
                     descriptors or changes its user before the first one calls `wk_open()` before that), {or} (`begin` and \
                     `passes` in an experiment)"
                )
            }
            Self::Markers(_) => "; it made markers, but no `wk_end` that belongs to a `wk_begin`".into(),
            Self::Functions(..) => {
                "; expected a begin function that it calls on its core, and an end function that returns there".into()
            }
            Self::Period(..) => "; expected a program whose first thread sleeps and is woken again and again".into(),
        }
    }
}

/// The functions of a program, or of its libraries, between which its passes are.
///
/// # Errors
/// A program, a library or a function that does not exist.
pub fn functions(program: &str, begin: &str, end: &str) -> Result<[Function; 2], String> {
    let file = file_of(program).ok_or_else(|| format!("the program `{program}` is not on this machine"))?;
    let find = |name: &str| Function::of_program(&file, name).map_err(|error| error.to_string());
    Ok([find(begin)?, find(end)?])
}

fn unavailable(what: &str, error: &std::io::Error) -> String {
    format!(
        "{what}, which are unavailable here: {error}; expected root (or CAP_PERFMON) and a kernel that has them, or markers"
    )
}
