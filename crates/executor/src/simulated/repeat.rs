//! One simulated repeat: warm up, observe the target, and put together what was seen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use waykeeper_experiment::cases::Placed;
use waykeeper_experiment::sampled::Sampling;
use waykeeper_platform::Platform;
use waykeeper_run::measurement::{Measurement, NeighbourProgress, Simulation};
use waykeeper_run::samples::{Collector, Samples};
use waykeeper_run::{FastCheck, Occupancy, SampledRecord};
use waykeeper_simulator::{Engine, Estimate, Program, Refused};
use waykeeper_workload::Pattern;

use super::counted::Counted;
use super::slices::{Collecting, Nothing, advance, next_slice, slice_ps};
use crate::explained;
use crate::fast_check;
use crate::measure::{ExecutorError, PlannedRepeat};
use crate::occupancy::Watch;

/// Caches and filters fill before the first sample counts: 5 ms is one pass of a chase over a few MiB. A buffer also
/// makes its first pass, which comes after one period.
const WARM_UP_PS: u64 = 5_000_000_000;

fn warm_up_ps(pattern: &Pattern) -> u64 {
    WARM_UP_PS + (1.5e3 * pattern.period_ns().unwrap_or(0.0)) as u64
}

const PS_PER_S: f64 = 1e12;

/// A repeat on a simulated platform.
pub(super) struct SimulatedRepeat<'a> {
    pub platform: &'a Platform,
    pub assignment: &'a PlannedRepeat<'a>,
    pub programs: &'a [Program],
}

/// What was seen of the target.
struct Observed {
    samples: Samples,
    /// How long it was observed.
    ps: u64,
    /// Whether there were as many samples as were asked for.
    enough: bool,
    occupancy: Option<Occupancy>,
}

impl SimulatedRepeat<'_> {
    /// Runs it on a fresh engine.
    ///
    /// # Errors
    /// What the engine refuses; a stop before anything was observed.
    pub fn run(
        &self,
        engine: &dyn Fn() -> Result<Engine, Refused>,
        stop: &AtomicBool,
    ) -> Result<Measurement, ExecutorError> {
        let (assignment, case) = (self.assignment, self.assignment.case);
        let (mut own, skips) = self.begin(engine).map_err(|refused| ExecutorError::Refused(refused.to_string()))?;
        let (length, warm) = (self.length_ps(), self.warm_up_ps());
        // Events of a lone target are another fast path: its background is fast-forwarded, and nothing is skipped.
        let plain = || engine().ok();
        let in_full = (assignment.check_fast && skips && !case.solo())
            .then(|| fast_check::in_full(plain, case.target.core, warm, length, stop))
            .flatten();
        let functional = (!assignment.timed_warm_up && !skips).then(|| own.warm_up(warm, stop)).flatten();
        // Stopped in the warm-up, nothing is observed, and no samples follow.
        let begun_at = match functional {
            Some(_) => warm,
            None => advance(&mut own, 0, warm, stop, &mut Nothing),
        };
        let before = own.counters();
        let begun = Instant::now();
        let observed = self.observe(&mut own, begun_at, skips, stop)?;
        let counted = Counted { before, after: own.counters() };
        let fast_check = in_full.and_then(|full| {
            let fast = counted.memory_reads(case.target.core);
            FastCheck::new(&full.reads, full.ps as f64 / PS_PER_S, fast, observed.ps as f64 / PS_PER_S)
        });
        let without_time = functional.map(|warmed| warm - warmed.timed_ps).or_else(|| {
            let all = own.estimates().iter().flat_map(|pass| &pass.windows).map(|window| window.functional_ps);
            let windows: Vec<u64> = all.filter(|ps| *ps > 0).collect();
            (!windows.is_empty()).then(|| windows.iter().sum::<u64>() / windows.len() as u64)
        });
        let simulation = Simulation {
            wall_s: Some(begun.elapsed().as_secs_f64()),
            functional_warm_up_s: without_time.map(|ps| ps as f64 / PS_PER_S),
            accesses: self.programs.iter().map(|program| counted.simulated(program.core)).sum(),
            skipped_accesses: self.programs.iter().map(|program| counted.skipped(program.core)).sum(),
            fast_check,
        };
        Ok(self.measurement(&own, observed, &counted, simulation))
    }

    fn length_ps(&self) -> u64 {
        (self.assignment.duration_s * PS_PER_S) as u64
    }

    /// The first pass of a program in windows counts, and begins with empty caches, as in full where a pass is longer than the
    /// warm-up.
    fn warm_up_ps(&self) -> u64 {
        let case = self.assignment.case;
        if case.sampled.is_some() { 0 } else { warm_up_ps(&case.target.pattern) }
    }

    /// The engine, and whether it skips accesses.
    fn begin(&self, engine: &dyn Fn() -> Result<Engine, Refused>) -> Result<(Engine, bool), Refused> {
        let assignment = self.assignment;
        let mut engine = engine()?;
        let skips = assignment.fast && engine.set_skipping();
        if let Some(sampling) = assignment.case.sampled {
            engine.sample(windows(sampling, !assignment.timed_warm_up, assignment.seed))?;
        }
        if assignment.explain > 0 {
            engine.explain(assignment.explain, self.warm_up_ps());
        }
        Ok((engine, skips))
    }

    /// Goes on until the repeat's end, samples enough, or a stop.
    fn observe(
        &self,
        engine: &mut Engine,
        begun_at: u64,
        skips: bool,
        stop: &AtomicBool,
    ) -> Result<Observed, ExecutorError> {
        let (assignment, case) = (self.assignment, self.assignment.case);
        let (warm, length) = (self.warm_up_ps(), self.length_ps());
        let mut collector = self.collector(engine.tick_ns());
        let most = assignment.simulated_samples.unwrap_or(u64::MAX);
        let shortest = slice_ps(case);
        let mut slice = shortest;
        let watch = || Watch::new(self.platform, case, engine, length);
        let mut watch = assignment.occupancy.then(watch).flatten();
        // Who looks at the end of each slice, or counts there, has them of one length.
        let may_grow = skips && watch.is_none() && assignment.simulated_samples.is_none();
        let mut now = begun_at;
        while now < warm + length && collector.count() < most && !stop.load(Ordering::Relaxed) {
            if let Some(watch) = &mut watch {
                watch.look(engine, now - begun_at);
            }
            let until = (now + slice).min(warm + length);
            let most = if case.sampled.is_some() { most } else { u64::MAX };
            let skipped = engine.skipped_ps();
            engine.advance(until, &mut Collecting { collector: &mut collector, warm, most });
            if may_grow {
                slice = next_slice(shortest, until - now, engine.skipped_ps() - skipped);
            }
            now = until;
        }
        let ps = now - begun_at;
        let enough = collector.count() >= most;
        let samples: Samples = collector.finish();
        if ps == 0 || (samples.count == 0 && stop.load(Ordering::Relaxed)) {
            return Err(ExecutorError::Stopped);
        }
        Ok(Observed { samples, ps, enough, occupancy: watch.and_then(Watch::finish) })
    }

    fn collector(&self, tick_ns: f64) -> Collector {
        let assignment = self.assignment;
        let threshold = assignment.excursion_above_ns.map_or(u64::MAX, |ns| (ns / tick_ns).round() as u64);
        let [gap_ps, interval_ps] = [assignment.gap_ns, assignment.peak_interval_ns].map(|ns| (ns * 1e3) as u64);
        Collector::new(tick_ns, threshold, gap_ps, interval_ps)
    }

    fn measurement(
        &self,
        engine: &Engine,
        observed: Observed,
        counted: &Counted,
        simulation: Simulation,
    ) -> Measurement {
        let case = self.assignment.case;
        let target = case.target.core;
        let observed_s = observed.ps as f64 / PS_PER_S;
        // A pass in progress when there were samples enough is none of them.
        let passes = &engine.estimates()[..engine.estimates().len().min(observed.samples.count as usize)];
        let bytes_per_access = case.target.pattern.bytes_per_access(self.platform.line_bytes.value);
        let bytes_per_sample = case.target.pattern.accesses_per_sample().zip(bytes_per_access);
        let bytes_in_all = bytes_per_access.map(|bytes| (bytes * counted.accesses(target)) as f64);
        Measurement {
            seed: self.assignment.seed,
            bytes_per_sample: bytes_per_sample.map(|(accesses, bytes)| accesses * bytes),
            target_bytes_per_s: bytes_in_all.filter(|_| case.throughput).map(|bytes| bytes / observed_s),
            misses: Some(match case.sampled {
                None => self.misses(counted),
                Some(_) => passes.iter().map(Estimate::memory_reads).sum(),
            }),
            sampled: case.sampled.and_then(|_| estimated(passes)),
            occupancy: observed.occupancy,
            longest: explained::longest(engine, self.warm_up_ps()),
            samples: observed.samples,
            observed_s,
            neighbours: case.neighbours.iter().map(|placed| self.progress(placed, counted, observed_s)).collect(),
            placement: BTreeMap::new(),
            privileges: Vec::new(),
            disturbances: BTreeMap::new(),
            counters: self.counters(counted),
            waits_between_samples: case.target.pattern.waits_between_samples(),
            cut_short: observed.ps < self.length_ps() && !observed.enough,
            not_counted: None,
            remarks: Vec::new(),
            packets: None,
            started: None,
            simulation: Some(simulation),
        }
    }

    /// Of samples with a beginning and an end only what lies between.
    fn misses(&self, counted: &Counted) -> u64 {
        let case = self.assignment.case;
        let within_samples = !case.throughput && !matches!(case.target.pattern, Pattern::Tick { .. });
        match within_samples {
            true => counted.memory_reads_within_samples(case.target.core),
            false => counted.memory_reads(case.target.core),
        }
    }

    fn progress(&self, neighbour: &Placed, counted: &Counted, observed_s: f64) -> NeighbourProgress {
        let accesses = counted.accesses(neighbour.core) as f64 / observed_s;
        let bytes = neighbour.pattern.bytes_per_access(self.platform.line_bytes.value);
        NeighbourProgress {
            core: neighbour.core,
            accesses_per_s: Some(accesses).filter(|rate| rate.is_finite()),
            per_second: bytes.map(|bytes| (accesses, accesses * bytes as f64)),
            cpu_s_per_s: None,
        }
    }

    fn counters(&self, counted: &Counted) -> BTreeMap<String, u64> {
        let case = self.assignment.case;
        let mut counts = counted.by_name(case.target.core);
        let forwarded = counted.forwarded(case.target.core);
        if case.sampled.is_some() || forwarded > 0 {
            counts.insert("target_forwarded_accesses".into(), forwarded);
        }
        counts
    }
}

/// Windows as an engine has them. All cases of a repeat have one seed, so that they are measured at the same accesses.
fn windows(sampling: Sampling, functional: bool, seed: u64) -> waykeeper_simulator::PassSampling {
    let Sampling { windows, accesses, warm_up } = sampling;
    waykeeper_simulator::PassSampling { windows, accesses, warm_up_ps: (warm_up.0 * 1e3) as u64, functional, seed }
}

/// What the passes of a repeat rest on.
fn estimated(passes: &[Estimate]) -> Option<SampledRecord> {
    let ns = |ps: u64| ps as f64 / 1e3;
    let of_pass = |pass: &Estimate| SampledRecord {
        windows: pass.windows.len() as u64,
        accesses: pass.windows.iter().map(|window| window.accesses).sum(),
        share: pass.share(),
        standard_error_ns: pass.standard_error_ps().map(|ps| ps / 1e3),
        shortest_warm_up_ns: pass.windows.iter().map(|window| window.warmed_ps).filter(|ps| *ps > 0).min().map(ns),
        window_ns: pass.windows.iter().map(|window| ns(window.ps)).collect(),
    };
    let passes: Vec<_> = passes.iter().map(of_pass).collect();
    SampledRecord::merged(passes.iter().map(|pass| (pass, 1)))
}
