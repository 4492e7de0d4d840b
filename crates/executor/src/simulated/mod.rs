//! The simulator as a place that runs cases.

mod counted;
mod repeat;
pub(crate) mod slices;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use waykeeper_experiment::cases::{Case, Placed};
use waykeeper_experiment::mitigation::parts;
use waykeeper_experiment::site::{ExecutorKind, MitigationOffer, Site, SiteCore, cache_shapes, refused_elsewhere};
use waykeeper_platform::{Mitigation, Platform};
use waykeeper_run::measurement::Measurement;
use waykeeper_run::{ClockRecord, MachineRecord, ParameterRecord, Parameters};
use waykeeper_simulator::{Engine, Program, Refused, Role, counter_tick_ns};

use self::repeat::SimulatedRepeat;
use crate::measure::{Executor, ExecutorError, OfferedSite, Pace, PlannedRepeat};
use crate::not_given::not_given;
use crate::policies::{self, PolicyFiles, is_policy, located, offers, settings, the_policy};

/// Runs cases on a simulated platform.
#[derive(Debug)]
pub struct Simulated {
    platform: Platform,
    policies: PolicyFiles,
    place: OfferedSite,
}

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
            clock: ClockRecord {
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
    mitigations
        .extend(platform.mitigations.iter().map(|(name, m)| (name.clone(), MitigationOffer::Applied(m.title.clone()))));
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
    let list = rows.into_iter().map(|row| ParameterRecord {
        key: row.path,
        value: row.value,
        is: row.is.to_string(),
        note: row.note,
    });
    Parameters { counts, list: list.collect() }
}

impl Executor for Simulated {
    fn place(&self) -> &OfferedSite {
        &self.place
    }

    fn measure(&self, assignment: &PlannedRepeat<'_>, stop: &AtomicBool) -> Result<Measurement, ExecutorError> {
        let (case, seed) = (assignment.case, assignment.seed);
        let programs = Self::programs(case);
        let engine = || self.engine(case, &programs, seed);
        SimulatedRepeat { platform: &self.platform, assignment, programs: &programs }.run(&engine, stop)
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
