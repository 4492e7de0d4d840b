//! The simulator as a place that runs cases.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use waykeeper_experiment::cases::{Case, Placed};
use waykeeper_experiment::mitigation::parts;
use waykeeper_experiment::sampled::Sampling;
use waykeeper_experiment::site::{ExecutorKind, Offer, Site, SiteCore, cache_shapes, refused_elsewhere};
use waykeeper_platform::{Mitigation, Platform};
use waykeeper_run::measurement::{Measurement, NeighbourProgress, Simulation};
use waykeeper_run::samples::{Collector, Samples};
use waykeeper_run::{Clock, FastCheck, MachineRecord, Parameter, Parameters, SampledRecord};
use waykeeper_simulator::{Counters, Engine, Estimate, Program, Refused, Role, counter_tick_ns};
use waykeeper_workload::Pattern;

use crate::explained;
use crate::fast_check;
use crate::measure::{Executor, ExecutorError, OfferedSite, Pace, PlannedRepeat};
use crate::not_given::not_given;
use crate::occupancy::Watch;
use crate::policies::{self, PolicyFiles, is_policy, located, offers, settings, the_policy};

/// Runs cases on a simulated platform.
#[derive(Debug)]
pub struct Simulated {
    platform: Platform,
    policies: PolicyFiles,
    place: OfferedSite,
}

/// Caches and filters fill before the first sample counts: 5 ms is one pass of a chase over a few MiB. A buffer also
/// makes its first pass, which comes after one period.
const WARM_UP_PS: u64 = 5_000_000_000;

fn warm_up_ps(pattern: &Pattern) -> u64 {
    WARM_UP_PS + (1.5e3 * pattern.period_ns().unwrap_or(0.0)) as u64
}

/// Advances in slices until a time or a stop; gives the time reached.
pub(crate) fn advance(
    engine: &mut Engine,
    from_ps: u64,
    until_ps: u64,
    stop: &AtomicBool,
    samples: &mut dyn waykeeper_simulator::SampleReceiver,
) -> u64 {
    let mut now = from_ps;
    while now < until_ps && !stop.load(Ordering::Relaxed) {
        now = (now + SLICE_PS).min(until_ps);
        engine.advance(now, samples);
    }
    now
}

/// Samples of the warm-up.
pub(crate) struct Nothing;

impl waykeeper_simulator::SampleReceiver for Nothing {
    fn record(&mut self, _: u64, _: u64, _: u64) {}
}

/// The engine is asked to stop after this much simulated time, so that Ctrl-C and the collector get their turn.
const SLICE_PS: u64 = 1_000_000_000;

/// A pass that is measured in windows takes little more simulated time than its warm-ups: a slice is shorter than that, as
/// going through a pass that is not wanted costs as much as one that is.
fn slice_ps(case: &Case) -> u64 {
    match case.sampled {
        None => SLICE_PS,
        Some(sampling) => {
            ((sampling.windows as f64 * sampling.warm_up.0 * 1e3 / 4.0) as u64).clamp(10_000_000, SLICE_PS)
        }
    }
}

const PS_PER_S: f64 = 1e12;

/// A simulated loop does not wobble, so any distance above its ordinary spread is an excursion.
const PACE: Pace = Pace { pilot_s: 0.002, sentinel_s: 0.01, least_excursion_ns: 0.0 };

impl Simulated {
    /// A simulated platform. `elsewhere` names mitigations that other places know, with the reason why not here; `policies`
    /// are files of policies that serve as mitigations.
    ///
    /// # Errors
    /// A platform without what the simulator needs.
    pub fn new(
        platform: Platform,
        elsewhere: &BTreeMap<String, String>,
        policies: &PolicyFiles,
    ) -> Result<Self, ExecutorError> {
        let tick_ns = platform.counter.as_ref().map(counter_tick_ns).ok_or_else(|| {
            ExecutorError::Refused(format!(
                "platform `{}` has no `counter`, so nothing can be timed on it; add `counter.tick_ns`",
                platform.name
            ))
        })?;
        let place = OfferedSite {
            pace: PACE,
            site: site(&platform, elsewhere, policies),
            clock: Clock {
                name: "simulated counter".into(),
                frequency_hz: 1e9 / tick_ns,
                tick_ns,
                resolution_ns: Some(tick_ns),
                read_overhead_ns: None,
                stability_ppm: None,
                invariant: None,
            },
            machine: MachineRecord {
                architecture: "simulated".into(),
                cores: platform.core_ids().len() as u32,
                ..MachineRecord::default()
            },
            parameters: Some(parameters(&platform)),
            notes: std::iter::once(
                "A simulated figure is as good as its parameters: `parameters` lists them with what each rests on."
                    .into(),
            )
            .chain(not_given(&platform))
            .collect(),
        };
        Ok(Self { platform, policies: policies.clone(), place })
    }

    /// The key of the first thing that a platform lacks to be simulated, and what is wrong with it.
    pub fn lacks(platform: &Platform) -> Option<(String, String)> {
        Engine::new(platform, &[], &[], 0).err().map(|refused| (refused.what, refused.why))
    }

    fn engine(&self, case: &Case, programs: &[Program], seed: u64) -> Result<Engine, Refused> {
        let names = parts(&case.mitigation);
        let policy = the_policy(&names, |name| is_policy(name) && !self.platform.mitigations.contains_key(name))
            .map_err(|why| Refused { what: format!("mitigation `{}`", case.mitigation), why })?;
        if case.assignments.is_empty() && policy.is_none() {
            return Engine::new(&self.platform, programs, &names, seed);
        }
        let mut platform = self.platform.clone();
        for (name, set) in &case.assignments {
            let title = format!("the experiment's own `{name}`");
            platform.mitigations.insert(name.clone(), Mitigation { title, set: set.clone() });
        }
        if let Some(name) = policy {
            let refused = |why| Refused { what: format!("policy `{name}`"), why };
            let neighbours: Vec<_> = case.neighbours.iter().map(|neighbour| neighbour.core).collect();
            let policies::Simulated { set, left_out } =
                settings(located(&self.policies, name), &platform, case.target.core, &neighbours).map_err(refused)?;
            let title = policies::title(&format!("policy `{name}`"), &left_out);
            platform.mitigations.insert(name.to_owned(), Mitigation { title, set });
        }
        if let Err((key, message)) = platform.check() {
            return Err(Refused { what: key.replacen("mitigations.", "assignments.", 1), why: message });
        }
        Engine::new(&platform, programs, &names, seed)
    }

    fn programs(case: &Case) -> Vec<Program> {
        let program = |placed: &Placed, role| Program { core: placed.core, pattern: placed.pattern.clone(), role };
        let role = if case.throughput { Role::Throughput } else { Role::Target };
        std::iter::once(program(&case.target, role))
            .chain(case.neighbours.iter().map(|neighbour| {
                program(neighbour, if neighbour.buffer.is_own() { Role::Neighbour } else { Role::Sharing })
            }))
            .collect()
    }
}

fn site(platform: &Platform, elsewhere: &BTreeMap<String, String>, files: &PolicyFiles) -> Site {
    let cores: Vec<SiteCore> = platform
        .core_ids()
        .into_iter()
        .map(|id| SiteCore { id, caches: cache_shapes(platform, id), siblings: Vec::new() })
        .collect();
    let mut mitigations = refused_elsewhere(elsewhere);
    let target = platform.core_ids().first().copied().unwrap_or_default();
    mitigations.extend(offers(files, |name| {
        let settings = settings(name, platform, target, &[]).or_else(|why| {
            // Another core may be in one of its classes.
            platform.core_ids().into_iter().find_map(|core| settings(name, platform, core, &[]).ok()).ok_or(why)
        });
        settings.map(|policy| policy.left_out)
    }));
    mitigations.extend(platform.mitigations.iter().map(|(name, m)| (name.clone(), Offer::Applied(m.title.clone()))));
    Site {
        executor: ExecutorKind::Sim,
        platform: platform.name.clone(),
        called: format!("platform `{}`", platform.name),
        auto_core: cores.last().map_or(0, |core| core.id),
        cores,
        mitigations,
        needs_buffer: Vec::new(),
        needs_own_memory: Vec::new(),
    }
}

fn parameters(platform: &Platform) -> Parameters {
    let rows = platform.parameters();
    let mut counts = BTreeMap::new();
    for row in &rows {
        *counts.entry(row.is.to_string()).or_insert(0) += 1;
    }
    let list = rows.into_iter().map(|row| Parameter {
        key: row.path,
        value: row.value,
        is: row.is.to_string(),
        note: row.note,
    });
    Parameters { counts, list: list.collect() }
}

/// Hands the engine's samples to the collector, so many at most, with times from the end of the warm-up.
struct Collecting<'c> {
    collector: &'c mut Collector,
    warm: u64,
    most: u64,
}

impl waykeeper_simulator::SampleReceiver for Collecting<'_> {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        let count = count.min(self.most.saturating_sub(self.collector.count()));
        if count > 0 {
            self.collector.record(ticks, count, at_ps.saturating_sub(self.warm));
        }
    }
}

/// The longest slice where nearly all of its time is skipped. Each begins with steps in full, so that short ones take most
/// of the time then; the next one is short again where less was skipped, so that Ctrl-C never waits long.
const LONGEST_SLICE_PS: u64 = 64 * SLICE_PS;

/// How long the next slice is, from the shortest one, the last one and what was skipped of that.
fn next_slice(shortest_ps: u64, last_ps: u64, skipped_ps: u64) -> u64 {
    let nearly_all = last_ps - last_ps / 64;
    if skipped_ps >= nearly_all { (2 * last_ps).min(LONGEST_SLICE_PS) } else { shortest_ps }
}

impl Executor for Simulated {
    fn place(&self) -> &OfferedSite {
        &self.place
    }

    fn measure(&self, assignment: &PlannedRepeat<'_>, stop: &AtomicBool) -> Result<Measurement, ExecutorError> {
        let case = assignment.case;
        let programs = Self::programs(case);
        let mut engine = self
            .engine(case, &programs, assignment.seed)
            .map_err(|refused| ExecutorError::Refused(refused.to_string()))?;
        let skips = assignment.fast && engine.set_skipping();
        if let Some(sampling) = case.sampled {
            let sampling = windows(sampling, assignment.seed);
            engine.sample(sampling).map_err(|refused| ExecutorError::Refused(refused.to_string()))?;
        }
        let tick_ns = engine.tick_ns();
        let threshold = assignment.excursion_above_ns.map_or(u64::MAX, |ns| (ns / tick_ns).round() as u64);
        let [gap_ps, interval_ps] = [assignment.gap_ns, assignment.peak_interval_ns].map(|ns| (ns * 1e3) as u64);
        let mut collector = Collector::new(tick_ns, threshold, gap_ps, interval_ps);
        let length = (assignment.duration_s * PS_PER_S) as u64;
        // The first pass counts, and begins with empty caches, as in full where a pass is longer than the warm-up.
        let warm = if case.sampled.is_some() { 0 } else { warm_up_ps(&case.target.pattern) };
        if assignment.explain > 0 {
            engine.explain(assignment.explain, warm);
        }
        // Events of a lone target are another fast path: its background goes forward, and nothing is skipped.
        let plain = || self.engine(case, &programs, assignment.seed).ok();
        let in_full = (assignment.check_fast && skips && !case.solo())
            .then(|| fast_check::in_full(plain, case.target.core, warm, length, stop))
            .flatten();
        let functional = (!assignment.timed_warm_up && !skips).then(|| engine.warm_up(warm, stop)).flatten();
        // Stopped in the warm-up, nothing is observed, and no samples follow.
        let begun_at = match functional {
            Some(_) => warm,
            None => advance(&mut engine, 0, warm, stop, &mut Nothing),
        };
        let before = engine.counters();
        let begun = Instant::now();
        let most = assignment.simulated_samples.unwrap_or(u64::MAX);
        let shortest = slice_ps(case);
        let mut slice = shortest;
        let watch = || Watch::new(&self.platform, case, &engine, length);
        let mut watch = assignment.occupancy.then(watch).flatten();
        // Who looks at the end of each slice, or counts there, has them of one length.
        let may_grow = skips && watch.is_none() && assignment.simulated_samples.is_none();
        let mut now = begun_at;
        while now < warm + length && collector.count() < most && !stop.load(Ordering::Relaxed) {
            if let Some(watch) = &mut watch {
                watch.look(&engine, now - begun_at);
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
        now -= begun_at;
        let enough = collector.count() >= most;
        let samples: Samples = collector.finish();
        if now == 0 || (samples.count == 0 && stop.load(Ordering::Relaxed)) {
            return Err(ExecutorError::Stopped);
        }
        let observed_s = now as f64 / PS_PER_S;
        let counters = engine.counters();
        let memory_reads = |counters: &Counters| counters.core(case.target.core).map_or(0, |core| core.memory_reads);
        let fast_check = in_full.and_then(|full| {
            let fast = memory_reads(&counters) - memory_reads(&before);
            FastCheck::new(&full.reads, full.ps as f64 / PS_PER_S, fast, observed_s)
        });
        // The program's own: what page walks read is no work done.
        let total_of = |counters: &Counters, core| {
            let walks = counters.front(core).map_or(0, |front| front.walk_reads);
            counters.core(core).map_or(0, |c| c.accesses) - walks
        };
        let simulated_of = |core| total_of(&counters, core) - total_of(&before, core);
        let skipped = |counters: &Counters, core| counters.core(core).map_or(0, |c| c.skipped_accesses);
        let skipped_of = |core| skipped(&counters, core) - skipped(&before, core);
        let accesses_of = |core| simulated_of(core) + skipped_of(core);
        let neighbours = case.neighbours.iter().map(|neighbour| {
            let accesses = accesses_of(neighbour.core) as f64 / observed_s;
            let bytes = neighbour.pattern.bytes_per_access(self.platform.line_bytes.value);
            NeighbourProgress {
                core: neighbour.core,
                accesses_per_s: Some(accesses).filter(|rate| rate.is_finite()),
                per_second: bytes.map(|bytes| (accesses, accesses * bytes as f64)),
                cpu_s_per_s: None,
            }
        });
        // A pass that was under way when there were samples enough is none of them.
        let passes = &engine.estimates()[..engine.estimates().len().min(samples.count as usize)];
        let bytes_per_access = case.target.pattern.bytes_per_access(self.platform.line_bytes.value);
        let bytes_per_sample = case.target.pattern.accesses_per_sample().zip(bytes_per_access);
        let bytes_in_all = bytes_per_access.map(|bytes| (bytes * accesses_of(case.target.core)) as f64);
        // Of samples with a beginning and an end only what lies between: not what the recorder reads.
        let within_samples = !case.throughput && !matches!(case.target.pattern, Pattern::Tick { .. });
        let reads = |counters: &Counters| match within_samples {
            true => counters.front(case.target.core).map_or(0, |front| front.sample_memory_reads),
            false => memory_reads(counters),
        };
        Ok(Measurement {
            seed: assignment.seed,
            bytes_per_sample: bytes_per_sample.map(|(accesses, bytes)| accesses * bytes),
            target_bytes_per_s: bytes_in_all.filter(|_| case.throughput).map(|bytes| bytes / observed_s),
            misses: Some(match case.sampled {
                None => reads(&counters) - reads(&before),
                Some(_) => passes.iter().map(Estimate::memory_reads).sum(),
            }),
            sampled: case.sampled.and_then(|_| estimated(passes)),
            occupancy: watch.and_then(Watch::finish),
            longest: explained::longest(&engine, warm),
            samples,
            observed_s,
            neighbours: neighbours.collect(),
            placement: BTreeMap::new(),
            privileges: Vec::new(),
            disturbances: BTreeMap::new(),
            counters: {
                let mut counts = added(&before, &counters, case.target.core);
                let forwarded = |of: &Counters| of.front(case.target.core).map_or(0, |front| front.forwarded_accesses);
                let forwarded = forwarded(&counters) - forwarded(&before);
                if case.sampled.is_some() || forwarded > 0 {
                    counts.insert("target_forwarded_accesses".into(), forwarded);
                }
                counts
            },
            cut_short: now < length && !enough,
            not_counted: None,
            remarks: Vec::new(),
            packets: None,
            started: None,
            simulation: Some(Simulation {
                wall_s: Some(begun.elapsed().as_secs_f64()),
                functional_warm_up_s: functional.map(|warmed| (warm - warmed.timed_ps) as f64 / PS_PER_S),
                accesses: programs.iter().map(|p| simulated_of(p.core)).sum(),
                skipped_accesses: programs.iter().map(|p| skipped_of(p.core)).sum(),
                fast_check,
            }),
        })
    }

    fn refuses(&self, case: &Case) -> Option<ExecutorError> {
        let refused = self.engine(case, &Self::programs(case), 0).err()?;
        Some(ExecutorError::Refused(format!("case `{}`: {refused}", case.name)))
    }

    fn explains(&self) -> bool {
        true
    }

    fn at_once(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }
}

/// Windows as an engine has them. All cases of a repeat have one seed, so that they are measured at the same accesses.
fn windows(sampling: Sampling, seed: u64) -> waykeeper_simulator::Sampling {
    let Sampling { windows, accesses, warm_up } = sampling;
    waykeeper_simulator::Sampling { windows, accesses, warm_up_ps: (warm_up.0 * 1e3) as u64, seed }
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

/// What the counters counted after `before`.
fn added(before: &Counters, after: &Counters, target: waykeeper_platform::CoreId) -> BTreeMap<String, u64> {
    let before = by_name(before, target);
    by_name(after, target)
        .into_iter()
        .map(|(name, total)| {
            let earlier = before[&name];
            (name, total - earlier)
        })
        .collect()
}

/// The counters that a run keeps, by name: those of the target's core, of the shared cache and of the memory.
fn by_name(counters: &Counters, target: waykeeper_platform::CoreId) -> BTreeMap<String, u64> {
    let core = counters.core(target).copied().unwrap_or_default();
    let front = counters.front(target).copied().unwrap_or_default();
    let (shared, memory) = (&counters.shared, &counters.memory);
    let traffic = |class: usize| counters.classes.get(class).copied().unwrap_or_default();
    let list = [
        ("target_accesses", core.accesses),
        ("target_l1_hits", core.l1_hits),
        ("target_l2_hits", core.l2_hits),
        ("target_shared_cache_hits", core.shared_hits),
        ("target_on_chip_reads", core.on_chip_reads),
        ("target_memory_reads", core.memory_reads),
        ("target_llc_misses", front.sample_memory_reads),
        ("target_page_walks", front.walks),
        ("target_page_walk_memory_reads", front.walk_memory_reads),
        ("target_prefetches", front.prefetches),
        ("target_streamed_lines", front.streamed_lines),
        ("target_lines_lost_to_cluster_filter", core.invalidated_by_cluster),
        ("target_lines_lost_to_interconnect_filter", core.invalidated_by_interconnect),
        ("target_stalled_for_memory_ns", core.stalled_for_memory_ps / 1000),
        ("target_stalled_for_shared_cache_ns", core.stalled_for_shared_ps / 1000),
        ("target_stalled_for_filters_ns", core.stalled_for_filters_ps / 1000),
        ("target_stalled_for_page_walks_ns", front.stalled_for_walks_ps / 1000),
        ("cluster_filter_evictions", shared.cluster_filter_evictions),
        ("interconnect_filter_evictions", shared.interconnect_filter_evictions),
        ("no_l3_allocate_entries", shared.no_allocate_entries),
        ("no_l3_allocate_ns", shared.no_allocate_ps / 1000),
        ("target_class_bytes_read", traffic(1).bytes_read),
        ("target_class_bytes_written", traffic(1).bytes_written),
        ("other_class_bytes_read", traffic(0).bytes_read),
        ("other_class_bytes_written", traffic(0).bytes_written),
        ("memory_reads", memory.reads),
        ("memory_writes", memory.writes),
        ("memory_row_misses", memory.row_misses),
        ("memory_refreshes", memory.refreshes),
    ];
    list.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}
