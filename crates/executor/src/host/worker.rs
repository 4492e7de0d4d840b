//! The worker process: one repeat of one case, then an answer on standard output.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use waykeeper_kernels::AccessCounter;
use waykeeper_linux::cgroup;
use waykeeper_linux::format_cpulist;
use waykeeper_linux::latency::forbid_idle_states;
use waykeeper_linux::memory::{Mapping, Pages, lock_all};
use waykeeper_linux::schedule;
use waykeeper_linux::thread::{NoThread, spawn_scoped};
use waykeeper_platform::explain::read_json_text;
use waykeeper_run::off_core::THROTTLED_MS;
use waykeeper_run::{PlacementRecord, Privilege};
use waykeeper_workload::{Pattern, Xorshift};

use super::INPUT_STATUS;
use super::command::{Adopted, External};
use super::cycles::TargetCycles;
use super::gate::Gate;
use super::job::{ColourPartition, Job, JobPart, WorkerAnswer};
use super::packets::{Generator, GeneratorEnd};
use super::passes::{Beside, FurtherProgram, ProgramTarget};
use super::program::Runner;
use super::signals::{self, STOP};
use super::target::{self, TargetObservation};
use super::watch::{Watch, WatchedLoop};
use crate::measure::ExecutorError;

/// Non-zero once the neighbours are to end. They go on until the target has been observed.
static NEIGHBOURS_STOP: AtomicU32 = AtomicU32::new(0);

/// Reads a job from standard input, runs it and writes the answer. Returns the exit status.
pub fn worker_main() -> i32 {
    let mut text = String::new();
    let answer = std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| ExecutorError::Refused(error.to_string()))
        .and_then(|_| {
            let only = |error: String| {
                ExecutorError::Refused(format!("a worker is started by `waykeeper run` only ({error})"))
            };
            read_json_text::<Job>(text.as_bytes()).map_err(only)
        })
        .and_then(|job| run(&job))
        .and_then(|answer| serde_json::to_vec(&answer).map_err(|error| ExecutorError::Refused(error.to_string())));
    match answer {
        Ok(bytes) => i32::from(std::io::stdout().write_all(&bytes).is_err()),
        Err(why) => {
            eprintln!("{why}");
            if matches!(why, ExecutorError::Input(_)) { INPUT_STATUS } else { 1 }
        }
    }
}

/// A note on what was asked of the system and what it gave.
pub(super) fn privilege(what: &str, result: std::io::Result<String>) -> Privilege {
    match result {
        Ok(detail) => Privilege { what: what.into(), granted: true, detail },
        Err(error) => Privilege { what: what.into(), granted: false, detail: error.to_string() },
    }
}

fn run(job: &Job) -> Result<WorkerAnswer, ExecutorError> {
    signals::catch();
    let mut privileges = Vec::new();
    // Not killed with the parent: external programs may have started others, which only this process can end.
    if let Err(error) = schedule::end_with_parent() {
        privileges.push(privilege("ending with the parent", Err(error)));
    }
    if std::os::unix::process::parent_id() != job.parent {
        return Err("the program that started this worker is gone".into());
    }
    let idle_states = forbid_idle_states();
    let idle_result = idle_states.as_ref().map(|_| "no core enters a deep idle state".to_owned());
    privileges
        .push(privilege("/dev/cpu_dma_latency", idle_result.map_err(|e| std::io::Error::new(e.kind(), e.to_string()))));

    let gate = Gate::new();
    let progress: Vec<AccessCounter> = job.neighbours.iter().map(|_| AccessCounter::new()).collect();
    let jobs: Vec<Job> = job.companions.iter().map(|companion| job.of_companion(companion)).collect();
    let targets = AtomicUsize::new(1 + jobs.len());
    std::thread::scope(|scope| {
        let setup = Setup { scope, gate: &gate, job, companions: &jobs, targets: &targets };
        let outcome = setup.run(&progress, &mut privileges);
        // Whatever happened, nobody may be left waiting or running: the scope would never end.
        NEIGHBOURS_STOP.store(1, Ordering::Relaxed);
        gate.abandon();
        outcome
    })
}

struct Setup<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    gate: &'env Gate,
    job: &'env Job,
    /// The jobs of further targets.
    companions: &'env [Job],
    /// Targets that are still observed: the neighbours go on until the last one has been.
    targets: &'env AtomicUsize,
}

/// Waits for the end of a further target.
type Companion<'scope> = Box<dyn FnOnce() -> Result<(TargetObservation, Beside), ExecutorError> + 'scope>;

impl<'scope, 'env> Setup<'scope, 'env> {
    fn run(
        &self,
        progress: &'env [AccessCounter],
        privileges: &mut Vec<Privilege>,
    ) -> Result<WorkerAnswer, ExecutorError> {
        let targets = std::iter::once(self.job).chain(self.companions).map(|job| &job.target);
        let commands = targets.chain(&self.job.neighbours).any(starts_programs);
        let _adopted = commands.then(Adopted::begin);
        let mut program = ProgramTarget::prepare(self.job)?;
        let programs = self.companions.iter().map(FurtherProgram::prepare).collect::<Result<Vec<_>, _>>()?;
        let mut generator = Generator::prepare(self.job)?;
        let mut externals = prepare_commands(self.job)?;
        let (ready, set_up) = channel();
        let mut loops = self.start_neighbours(progress, &ready)?;
        let (ending, ended) = channel();
        let target = match &program {
            Some(_) => None,
            None => {
                let generator = generator.as_ref().map(Generator::ended);
                let start =
                    self.start_target(self.job, TARGET.into(), progress, ready.clone(), ending.clone(), generator);
                Some(start.map_err(|error| error.to_string())?)
            }
        };
        loops += usize::from(target.is_some());
        loops += programs.iter().filter(|program| program.is_none()).count();
        let companions = self.start_companions(programs, progress, ready, ending)?;
        let mut placed = (0..loops)
            .map(|_| set_up.recv().unwrap_or_else(|_| Err("a thread ended before it was set up".into())))
            .collect::<Result<Vec<_>, String>>()?;
        for external in &mut externals {
            external.1.go()?;
        }
        if !externals.is_empty() {
            std::thread::sleep(BEGINNING);
        }
        privileges.push(privilege("mlockall", lock_all().map(|()| "all memory of the loops is locked".into())));
        if program.is_some() {
            let jobs = std::iter::once(self.job).chain(self.companions).enumerate();
            placed.extend(
                jobs.map(|(place, job)| WatchedLoop::elsewhere(target_name(place, job.target.core), job.target.core)),
            );
        }
        let mut watch = Watch::new(placed, self.job.target.core);
        if let Some(program) = &mut program {
            program.start(self.job)?;
        }
        if let Some(generator) = &mut generator {
            generator.start()?;
        }
        let before = (cpu_times(&externals), cgroup::throttled());
        let begun = Instant::now();
        self.gate.open();

        let (mut observed, beside) = match (program, target) {
            (Some(program), _) => {
                let observed = program.observe(progress, &mut watch);
                end_target(self.targets);
                observed?
            }
            (None, target) => (self.await_loops(target, &ended, &mut watch)?, Beside::default()),
        };
        let beside_it = companions.into_iter().map(|ended| ended()).collect::<Result<Vec<_>, _>>()?;
        let elapsed_s = begun.elapsed().as_secs_f64();
        let after = (cpu_times(&externals), cgroup::throttled());
        let remarks = strays(&self.job.neighbours, &externals);
        went_on(&mut externals)?;
        if let Some(generator) = generator {
            account_for(generator.end(), &mut observed)?;
        }
        let all = Found {
            targets: std::iter::once((observed, beside)).chain(beside_it).collect(),
            cpu_s_per_s: cpu_s_per_s(&self.job.neighbours, &before.0, &after.0, elapsed_s),
            throttled: before.1.zip(after.1),
            remarks,
            privileges: std::mem::take(privileges),
        };
        Ok(all.answer(self.job, self.companions, watch))
    }

    /// Starts the neighbours that are loops; returns how many these are.
    fn start_neighbours(&self, progress: &'env [AccessCounter], ready: &Sender<SetUp>) -> Result<usize, String> {
        let mut loops = 0;
        for (index, part) in self.job.neighbours.iter().enumerate() {
            if !matches!(part.pattern, Pattern::Command { .. }) {
                self.start_neighbour(index, part, &progress[index], ready.clone())
                    .map_err(|error| error.to_string())?;
                loops += 1;
            }
        }
        Ok(loops)
    }

    /// Waits until all targets have ended; returns what the first one, a loop, brought home.
    fn await_loops(
        &self,
        target: Option<ScopedJoinHandle<'scope, Option<TargetObservation>>>,
        ended: &Receiver<()>,
        watch: &mut Watch,
    ) -> Result<TargetObservation, String> {
        (0..1 + self.companions.len()).for_each(|_| watch.until_ended(ended));
        let observed = target.map(ScopedJoinHandle::join).transpose();
        let observed = observed.map_err(|_| "the target's thread panicked".to_owned())?.flatten();
        observed.ok_or_else(|| "the target's thread was sent home".into())
    }

    /// Starts the further targets.
    fn start_companions(
        &self,
        programs: Vec<Option<FurtherProgram<'env>>>,
        progress: &'env [AccessCounter],
        ready: Sender<SetUp>,
        ending: Sender<()>,
    ) -> Result<Vec<Companion<'scope>>, String> {
        // Whoever looks at the targets does it from another core, where there is one.
        self.companions.iter().for_each(|job| drop(schedule::leave(job.target.core)));
        let both = self.companions.iter().zip(programs);
        both.map(|(job, program)| self.start_companion(job, program, progress, &ready, &ending)).collect()
    }

    /// Starts a further target, a loop or a program.
    fn start_companion(
        &self,
        job: &'env Job,
        program: Option<FurtherProgram<'env>>,
        progress: &'env [AccessCounter],
        ready: &Sender<SetUp>,
        ending: &Sender<()>,
    ) -> Result<Companion<'scope>, String> {
        let Some(program) = program else {
            let name = target_name(1, job.target.core);
            let target = self.start_target(job, name, progress, ready.clone(), ending.clone(), None);
            let target = target.map_err(|error| error.to_string())?;
            return Ok(Box::new(move || {
                let observed = target.join().map_err(|_| "a target's thread panicked".to_owned())?;
                Ok((observed.ok_or("a target's thread was sent home")?, Beside::default()))
            }));
        };
        let (gate, targets, ending) = (self.gate, self.targets, ending.clone());
        let observe = move || {
            let observed = match gate.pass() {
                Some(_) => program.observe(job, progress),
                None => Err("a target's thread was sent home".into()),
            };
            end_target(targets);
            let _ = ending.send(());
            observed
        };
        let observer = spawn_scoped(self.scope, "companion", observe).map_err(|error| error.to_string())?;
        Ok(Box::new(move || observer.join().unwrap_or_else(|_| Err("a target's thread panicked".into()))))
    }

    fn start_neighbour(
        &self,
        index: usize,
        part: &'env JobPart,
        progress: &'env AccessCounter,
        ready: Sender<SetUp>,
    ) -> Result<(), NoThread> {
        let (gate, seed, colours) = (self.gate, self.job.seed, &self.job.colours);
        let work = move || {
            let memory = match &colours {
                Some(colours) => Memory::Coloured(colours, &colours.neighbours),
                None => Memory::Own(Pages::Huge),
            };
            let prepared = lay_out(part, memory, seed ^ (index as u64 + 1));
            match prepared {
                Ok((mapping, mut runner)) => {
                    // Neighbours that run in lock step would interfere less than they can.
                    runner.start_at_outer(Xorshift::new(seed ^ (index as u64 + 1)).next_u64());
                    let name = format!("neighbour on core {}", part.core);
                    let memory = match memory {
                        Memory::Coloured(_, wanted) => in_colours(&format!("{name}, memory"), wanted, mapping.as_ref()),
                        _ => pages(&format!("{name}, memory"), "huge pages", mapping.as_ref()),
                    };
                    let _ = ready.send(Ok(WatchedLoop::here(name, part.core, memory)));
                    if let Some(start) = gate.pass() {
                        runner.start_at(start);
                        runner.run_neighbour(progress, &NEIGHBOURS_STOP);
                    }
                    drop(runner);
                }
                Err(why) => {
                    let _ = ready.send(Err(why));
                }
            }
        };
        spawn_scoped(self.scope, "neighbour", work).map(drop)
    }

    fn start_target(
        &self,
        job: &'env Job,
        name: String,
        progress: &'env [AccessCounter],
        ready: Sender<SetUp>,
        ending: Sender<()>,
        generator_ended: Option<Arc<AtomicBool>>,
    ) -> Result<ScopedJoinHandle<'scope, Option<TargetObservation>>, NoThread> {
        let (gate, targets) = (self.gate, self.targets);
        let work = move || {
            let own = Memory::Own(if job.huge_pages { Pages::Huge } else { Pages::Small });
            let memory = match (&job.region, &job.colours) {
                (Some(region), _) => Memory::Region(region),
                (None, Some(colours)) => Memory::Coloured(colours, &colours.target),
                (None, None) => own,
            };
            let laid_out = lay_out(&job.target, memory, job.seed);
            match laid_out.and_then(|(mapping, runner)| Ok((mapping, runner, TargetCycles::open(job)?))) {
                Ok((mapping, mut runner, cycles)) => {
                    // With further targets everything waits for that; one alone does it before it is observed.
                    if job.wash_bytes > 0 && !job.companions.is_empty() {
                        target::wash(job.wash_bytes);
                    }
                    let wanted = if job.huge_pages { "huge pages" } else { "small pages" };
                    let memory = match memory {
                        Memory::Region(region) => in_region(region, mapping.as_ref()),
                        Memory::Coloured(_, wanted) => in_colours("target, memory", wanted, mapping.as_ref()),
                        Memory::Own(_) => pages("target, memory", wanted, mapping.as_ref()),
                    };
                    let _ = ready.send(Ok(WatchedLoop::here(name, job.target.core, memory)));
                    let mut observed = gate.pass().map(|start| {
                        runner.start_at(start);
                        target::observe(job, &mut runner, cycles, progress)
                    });
                    end_target(targets);
                    if let (Runner::Packets(packets), Some(observed)) = (&mut runner, &mut observed) {
                        if let Some(ended) = &generator_ended {
                            packets.linger(ended, &STOP);
                        }
                        let (account, lost) = packets.account();
                        observed.packets = Some(account);
                        observed.not_counted.extend(lost);
                    }
                    let _ = ending.send(());
                    drop(runner);
                    observed
                }
                Err(why) => {
                    let _ = ready.send(Err(why));
                    None
                }
            }
        };
        spawn_scoped(self.scope, "target", work)
    }
}

/// What a repeat found: of the target and of further ones, and what holds for all of them.
struct Found {
    targets: Vec<(TargetObservation, Beside)>,
    cpu_s_per_s: Vec<Option<f64>>,
    throttled: Option<(Duration, Duration)>,
    remarks: Vec<String>,
    privileges: Vec<Privilege>,
}

impl Found {
    fn answer(mut self, job: &Job, companions: &[Job], mut watch: Watch) -> WorkerAnswer {
        let jobs: Vec<&Job> = std::iter::once(job).chain(companions).collect();
        for ((observed, _), (place, job)) in self.targets.iter().zip(jobs.iter().enumerate()) {
            watch.saw(&target_name(place, job.target.core), observed.core);
        }
        // Where it was seen says more than how often it was moved.
        let moved = watch.moved();
        for (observed, _) in &mut self.targets {
            add_throttling(observed, self.throttled);
            observed.not_counted.splice(0..0, moved.iter().cloned());
        }
        let mut placement = watch.placement();
        // Each target's own place, by the key that it has where there is one only.
        let places: Vec<_> = jobs
            .iter()
            .enumerate()
            .map(|(place, job)| placement.remove(&target_name(place, job.target.core)))
            .collect();
        let targets = std::mem::take(&mut self.targets).into_iter().zip(jobs).zip(places);
        let mut answers = targets.map(|(((observed, beside), job), place)| {
            let own = place.map(|place| (TARGET.to_owned(), place));
            let placement = placement.clone().into_iter().chain(own).chain(beside.placements).collect();
            let remarks = self.remarks.iter().cloned().chain(beside.remarks).collect();
            let answer = answer(job, observed, placement, self.privileges.clone());
            WorkerAnswer { cpu_s_per_s: self.cpu_s_per_s.clone(), remarks, ..answer }
        });
        let first = answers.next();
        let companions = answers.collect();
        first.map(|first| WorkerAnswer { companions, ..first }).expect("the target is the first one")
    }
}

/// What a target is called among the loops: the first one, or a further one.
fn target_name(place: usize, core: u32) -> String {
    if place == 0 { TARGET.into() } else { format!("target on core {core}") }
}

/// A target has been observed. With the last one the neighbours end.
fn end_target(targets: &AtomicUsize) {
    if targets.fetch_sub(1, Ordering::Relaxed) == 1 {
        NEIGHBOURS_STOP.store(1, Ordering::Relaxed);
    }
}

type Placed = Option<(String, PlacementRecord)>;
type SetUp = Result<WatchedLoop, String>;

/// The target's key among the placements.
const TARGET: &str = "target";

/// External programs get this long to lay out their memory and start their processes before the target is observed beside them:
/// stress-ng takes 0.1 s.
const BEGINNING: Duration = Duration::from_millis(250);

/// Less throttled time than this is not worth a repeat.
const THROTTLED_LEAST: Duration = Duration::from_millis(1);

/// Where a workload's memory comes from.
#[derive(Debug, Clone, Copy)]
enum Memory<'m> {
    /// Memory of its own.
    Own(Pages),
    /// A region that a cache holds.
    Region(&'m Path),
    /// Pages of these colours.
    Coloured(&'m ColourPartition, &'m [u32]),
}

/// Pins the calling thread, maps its memory from there, and lays the workload into it.
fn lay_out(part: &JobPart, memory: Memory<'_>, seed: u64) -> Result<(Option<Mapping>, Runner), String> {
    schedule::pin(part.core).map_err(|error| format!("core {} cannot be used: {error}", part.core))?;
    let bytes = part.pattern.data_bytes() as usize;
    let mapping = match (bytes, memory) {
        (0, _) => None,
        (_, Memory::Own(pages)) => Some(
            Mapping::new(bytes, pages)
                .map_err(|error| format!("{} MiB of memory is unavailable: {error}", bytes >> 20))?,
        ),
        (_, Memory::Coloured(colours, wanted)) => {
            Some(colours.memory(bytes, wanted).map_err(|error| format!("coloured memory is unavailable: {error}"))?)
        }
        (_, Memory::Region(region)) => Some(Mapping::of_file(region, bytes).map_err(|error| {
            format!("{} KiB of the locked region {} is unavailable: {error}", bytes.div_ceil(1024), region.display())
        })?),
    };
    // SAFETY: the mapping is this thread's own, and callers drop the runner before the mapping.
    let runner = unsafe { Runner::new(&part.pattern, mapping.as_ref(), seed) }.map_err(|error| error.to_string())?;
    Ok((mapping, runner))
}

/// Quotas of control groups are for threads that are not real-time. Neighbours that were throttled show in their work.
fn add_throttling(observed: &mut TargetObservation, times: Option<(Duration, Duration)>) {
    let Some((before, after)) = times else { return };
    let throttled = after.saturating_sub(before);
    observed.disturbances.insert(THROTTLED_MS.into(), throttled.as_secs_f64() * 1e3);
    if throttled >= THROTTLED_LEAST && observed.policy == "SCHED_OTHER" {
        observed.not_counted.push(format!(
            "the quota of its control group (cpu.max) kept it off its core for up to {:.3} s",
            throttled.as_secs_f64()
        ));
    }
}

fn in_region(region: &Path, mapping: Option<&Mapping>) -> Placed {
    let got = format!("{} KiB of it", mapping?.length() >> 10);
    Some(("target, memory".to_owned(), PlacementRecord { asked: region.display().to_string(), got }))
}

fn in_colours(name: &str, wanted: &[u32], mapping: Option<&Mapping>) -> Placed {
    let asked = format!("colours {}", format_cpulist(wanted));
    let got = format!("{} KiB in pages of these colours of the L2", mapping?.length() >> 10);
    Some((name.to_owned(), PlacementRecord { asked, got }))
}

fn pages(name: &str, asked: &str, mapping: Option<&Mapping>) -> Placed {
    let mapping = mapping?;
    let (huge, all) = (mapping.huge_bytes()?, mapping.length() as u64);
    let pool = if mapping.from_pool { ", from the reserved pool" } else { "" };
    let got = format!("{} of {} MiB in huge pages{pool}", huge >> 20, all >> 20);
    Some((name.to_owned(), PlacementRecord { asked: asked.into(), got }))
}

/// Whether external programs belong to it.
fn starts_programs(part: &JobPart) -> bool {
    match &part.pattern {
        Pattern::Packets { sensor, .. } => !sensor.generator.is_empty(),
        pattern => matches!(pattern, Pattern::Command { .. }),
    }
}

/// Adds what the generator says. A repeat whose generator failed does not count, and where no packet came at all nothing else is
/// worth trying.
fn account_for(end: GeneratorEnd, observed: &mut TargetObservation) -> Result<(), String> {
    match end {
        GeneratorEnd::Said(account) => {
            if let Some(packets) = &mut observed.packets {
                packets.generator = Some(*account);
            }
        }
        // Whoever stops the run also stops the generator.
        GeneratorEnd::Failed(_) if STOP.load(Ordering::Relaxed) != 0 => {}
        GeneratorEnd::Failed(why) if observed.recorded.samples == 0 => return Err(why),
        GeneratorEnd::Failed(why) => observed.not_counted.push(why),
    }
    Ok(())
}

/// The guardians of the commands: they are forks, so they come before any memory is laid out.
fn prepare_commands(job: &Job) -> Result<Vec<(String, External)>, String> {
    let commands = job.neighbours.iter().filter_map(|part| match &part.pattern {
        Pattern::Command { argv, .. } => Some((argv, part.core)),
        _ => None,
    });
    commands.map(|(argv, core)| Ok((argv[0].clone(), External::prepare_below(argv, core, job.parent)?))).collect()
}

/// A command that ended by itself was no neighbour to the end.
fn went_on(externals: &mut [(String, External)]) -> Result<(), String> {
    let ended = externals.iter_mut().find_map(|(name, external)| external.ended().map(|status| (name, status)));
    ended.map_or(Ok(()), |(name, status)| {
        Err(format!("the neighbour `{name}` ended by itself ({status}) before the target had been observed"))
    })
}

/// Processor time of each command's process tree so far. The target's thread does not read it: that would slow it.
fn cpu_times(externals: &[(String, External)]) -> Vec<Option<Duration>> {
    externals.iter().map(|(_, external)| external.cpu_time()).collect()
}

/// Commands that may run on other cores than their own, so that one may have taken the target's.
fn strays(neighbours: &[JobPart], externals: &[(String, External)]) -> Vec<String> {
    let cores = neighbours.iter().filter(|part| matches!(part.pattern, Pattern::Command { .. })).map(|part| part.core);
    let stray = |(core, (name, external)): (u32, &(String, External))| {
        let others = external.other_cores(core);
        (!others.is_empty()).then(|| {
            format!(
                "the neighbour `{name}` was started on core {core} and then let itself run on others too ({}): it may have run \
                 on the target's; look for an option of it against that, such as stress-ng's --cache-no-affinity",
                format_cpulist(&others)
            )
        })
    };
    cores.zip(externals).filter_map(stray).collect()
}

/// The rate of each neighbour's processor time; `before` and `after` have the commands only, in the neighbours' order.
fn cpu_s_per_s(
    neighbours: &[JobPart],
    before: &[Option<Duration>],
    after: &[Option<Duration>],
    elapsed_s: f64,
) -> Vec<Option<f64>> {
    let mut commands = before.iter().zip(after);
    let of = |part: &JobPart| {
        let (before, after) = matches!(part.pattern, Pattern::Command { .. }).then(|| commands.next())??;
        Some(after.as_ref()?.saturating_sub((*before)?).as_secs_f64() / elapsed_s).filter(|rate| rate.is_finite())
    };
    neighbours.iter().map(of).collect()
}

fn answer(
    job: &Job,
    observed: TargetObservation,
    mut placement: BTreeMap<String, PlacementRecord>,
    mut privileges: Vec<Privilege>,
) -> WorkerAnswer {
    privileges.extend(observed.privileges);
    let accesses = job
        .neighbours
        .iter()
        .zip(&observed.accesses)
        .map(|(part, accesses)| (!matches!(part.pattern, Pattern::Command { .. })).then_some(*accesses));
    let asked = if job.fifo { "SCHED_FIFO" } else { "SCHED_OTHER" };
    placement.insert("target, scheduling".into(), PlacementRecord { asked: asked.into(), got: observed.policy.into() });
    WorkerAnswer {
        accesses: accesses.collect(),
        cpu_s_per_s: vec![None; job.neighbours.len()],
        recorded: observed.recorded,
        observed_s: observed.observed_s,
        placement,
        privileges,
        disturbances: observed.disturbances,
        counters: observed.counters,
        cut_short: STOP.load(Ordering::Relaxed) != 0,
        remarks: Vec::new(),
        companions: Vec::new(),
        packets: observed.packets,
        not_counted: (!observed.not_counted.is_empty()).then(|| observed.not_counted.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_workload::Passes;

    use super::*;

    #[test]
    fn only_commands_have_processor_time_and_each_has_its_own() {
        let command = || Pattern::Command { argv: vec!["x".into()], passes: Passes::Process };
        let part = |pattern, core| JobPart { pattern, core };
        let spin = Pattern::Tick { body: waykeeper_workload::TickBody::Nothing };
        let parts = [part(command(), 1), part(spin, 2), part(command(), 3), part(command(), 4)];
        let s = |s: f64| Some(Duration::from_secs_f64(s));
        // Two seconds: the first worked all the time, the second was stopped, the third was not seen at the end.
        let rates = cpu_s_per_s(&parts, &[s(1.0), s(5.0), s(0.0)], &[s(3.0), s(5.0), None], 2.0);
        assert_eq!(rates, [Some(1.0), None, Some(0.0), None]);
    }
}
