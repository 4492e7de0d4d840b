//! What this machine says about itself.

use std::collections::BTreeMap;

use waykeeper_experiment::describe::SampleClock;
use waykeeper_experiment::site::{ExecutorKind, MitigationOffer, Site, SiteCore, cache_shapes, refused_elsewhere};
use waykeeper_linux::{Discovered, Facts, HUGE_PAGES, KeptTime, Root, discover, facts, kept_for_ordinary_tasks};
use waykeeper_platform::{CoreId, Platform};
use waykeeper_run::MachineRecord;

use super::bench::{Bench, Workers};
use super::in_force;
use super::{Host, WASH_MOST, WASH_TIMES, colours, policy, probe};
use crate::measure::{ExecutorError, OfferedSite};
use crate::policies::{self, PolicyFiles};

impl Host {
    /// This machine. `elsewhere` names mitigations that other places know, with the reason why not here; `policies` are
    /// files of policies that serve as mitigations; `clock` times the samples of loops.
    ///
    /// # Errors
    /// A machine that shows no cores, or allows this process none; a clock that cannot be read here.
    pub fn new(
        clock: SampleClock,
        elsewhere: &BTreeMap<String, String>,
        policies: &PolicyFiles,
    ) -> Result<Self, ExecutorError> {
        Self::on(Box::new(Workers::new(clock)?), elsewhere, policies)
    }

    /// The machine that this process sees, with its loops run by something else.
    ///
    /// # Errors
    /// As above.
    pub fn on(
        bench: Box<dyn Bench>,
        elsewhere: &BTreeMap<String, String>,
        policies: &PolicyFiles,
    ) -> Result<Self, ExecutorError> {
        let root = Root::default();
        let found = discover(&root).map_err(|error| ExecutorError::Refused(error.to_string()))?;
        let site = site(&found, bench.as_ref(), elsewhere, policies)?;
        let clock = bench.clock();
        let sample_ns = clock.tick_ns;
        let tick_ns = sample_ns * (1_u64 << bench.units_per_tick_log2().unwrap_or(0)) as f64;
        let llc = cache_shapes(&found.platform, site.auto_core).0.iter().map(|shape| shape.size_bytes).max();
        let facts = facts(&root, site.auto_core);
        let in_force = in_force::look();
        let kept = if bench.is_simulated() { Vec::new() } else { kept_notes(&root, site.auto_core) };
        let place = OfferedSite {
            pace: bench.pace(),
            notes: in_force
                .notes
                .iter()
                .cloned()
                .chain(notes(&facts))
                .chain(kept)
                .chain(unknown_caches(llc))
                .chain(bench.notes())
                .collect(),
            machine: MachineRecord {
                applied_before: in_force.applied.clone(),
                resctrl_groups_before: in_force.groups.clone(),
                ..machine(facts, &found.platform, &site)
            },
            clock,
            site,
            parameters: None,
        };
        let line_bytes = found.platform.line_bytes.value;
        Ok(Self {
            place,
            in_force,
            bench,
            tick_ns,
            sample_ns,
            line_bytes,
            policies: policies.clone(),
            wash_bytes: llc.map_or(0, |bytes| (WASH_TIMES * bytes).min(WASH_MOST)),
        })
    }
}

fn site(
    found: &Discovered,
    bench: &dyn Bench,
    elsewhere: &BTreeMap<String, String>,
    files: &PolicyFiles,
) -> Result<Site, ExecutorError> {
    let allowed = bench.cores();
    let cores: Vec<SiteCore> = found
        .platform
        .core_ids()
        .into_iter()
        // An isolated core is not in the ordinary affinity mask, but it may be asked for.
        .filter(|id| allowed.contains(id) || found.isolated.contains(id))
        .map(|id| SiteCore {
            id,
            caches: cache_shapes(&found.platform, id),
            siblings: found.siblings.get(&id).cloned().unwrap_or_default(),
        })
        .collect();
    let auto_core = auto_core(&cores, &found.isolated)
        .ok_or_else(|| ExecutorError::Refused("this process may use no core of this machine".into()))?;
    let mut mitigations = refused_elsewhere(elsewhere);
    for (name, mitigation) in &found.platform.mitigations {
        let offer = probe::refuses(name)
            .map_or_else(|| MitigationOffer::Applied(mitigation.title.clone()), MitigationOffer::Refused);
        mitigations.insert(name.clone(), offer);
    }
    mitigations.extend(colours::offers(cores.iter().find(|core| core.id == auto_core)));
    mitigations.extend(policies::offers(files, |name| policy::planned(name, auto_core).map(|_| Vec::new())));
    Ok(Site {
        executor: ExecutorKind::Host,
        platform: found.platform.name.clone(),
        called: bench.called().into(),
        cores,
        auto_core,
        mitigations,
        needs_own_memory: colours::NAMES.map(String::from).to_vec(),
        needs_buffer: std::iter::once(HUGE_PAGES).chain(colours::NAMES).map(String::from).collect(),
    })
}

fn auto_core(cores: &[SiteCore], isolated: &[CoreId]) -> Option<CoreId> {
    let ids = || cores.iter().map(|core| core.id);
    ids().rfind(|id| isolated.contains(id)).or_else(|| ids().next_back())
}

fn machine(facts: Facts, platform: &Platform, site: &Site) -> MachineRecord {
    MachineRecord {
        processor: facts.processor,
        architecture: std::env::consts::ARCH.into(),
        cores: site.cores.len() as u32,
        caches: platform.caches(site.auto_core).iter().map(describe_cache).collect(),
        kernel: facts.kernel,
        kernel_command_line: facts.command_line,
        preemption: facts.preemption,
        clocksource: facts.clocksource,
        governor: facts.governor,
        smt: facts.smt,
        isolated: facts.isolated,
        nohz_full: facts.nohz_full,
        hypervisor: facts.hypervisor,
        transparent_hugepages: facts.transparent_hugepages,
        realtime_throttling: facts.realtime_throttling,
        ..MachineRecord::default()
    }
}

fn describe_cache(cache: &waykeeper_platform::CacheGeometry) -> String {
    let (value, unit) = match cache.size_bytes >> 10 {
        kib if kib >= 1024 && kib % 1024 == 0 => (kib / 1024, "MiB"),
        kib => (kib, "KiB"),
    };
    let side = if cache.level == 1 { "d" } else { "" };
    let shared = match cache.shared_by.len() {
        0 | 1 => "private".to_owned(),
        n => format!("shared by {n} cores"),
    };
    format!("L{}{side} {value} {unit} {}-way {shared}", cache.level, cache.ways)
}

/// What a loop that never sleeps loses to ordinary tasks on a core, a sentence for each mechanism.
fn kept_notes(root: &Root, core: CoreId) -> Vec<String> {
    kept_for_ordinary_tasks(root, core).0.into_iter().map(|one| kept_note(one, core)).collect()
}

fn kept_note(kept: KeptTime, core: CoreId) -> String {
    let kept = match kept {
        KeptTime::NotSeen(why) => {
            return format!(
                "Whether the kernel takes a core from a loop under SCHED_FIFO that never sleeps, for ordinary tasks, was not \
                 seen: {why}."
            );
        }
        KeptTime::Throttling { runtime_us, period_us } => format!(
            "The kernel keeps {} of every {period_us} us of a core for ordinary tasks (/proc/sys/kernel/sched_rt_runtime_us)",
            period_us - runtime_us
        ),
        KeptTime::FairServer { runtime_ns, period_ns, file } => format!(
            "The kernel's fair server may take {runtime_ns} of every {period_ns} ns of core {core} for ordinary tasks ({file})"
        ),
    };
    format!(
        "{kept}: a loop under SCHED_FIFO that never sleeps can be off its core for that long while one of them waits."
    )
}

/// What a machine means that shows no sizes of caches, as kernels for some boards do.
fn unknown_caches(largest: Option<u64>) -> Option<String> {
    largest.is_none().then(|| {
        "The kernel shows no sizes of caches: of `min(LLC, 64 MiB)` and the like the other size is taken, and nobody can tell \
         which cache a workload fits in."
            .into()
    })
}

fn notes(facts: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.hypervisor.is_some() {
        notes.push(
            "This is a virtual machine: the hypervisor takes cores away unseen, and other tenants may share the caches and the memory. Steal time shows part of it.".into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(ids: &[CoreId]) -> Vec<SiteCore> {
        ids.iter().map(|id| SiteCore { id: *id, caches: Default::default(), siblings: Vec::new() }).collect()
    }

    #[test]
    fn the_note_names_the_mechanism_that_the_kernel_has() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let notes = |release: &str| {
            put("proc/sys/kernel/osrelease", release);
            kept_notes(&Root::at(folder.path()), 3)
        };
        let only = |release: &str, text: &str| {
            let notes = notes(release);
            assert!(notes.len() == 1 && notes[0].contains(text), "{release}: {text} in {notes:?}");
        };
        put("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
        put("proc/sys/kernel/sched_rt_period_us", "1000000\n");
        // 1000000 - 950000 = 50000 us, Linux's default.
        only("6.11.9", "keeps 50000 of every 1000000 us");
        put("boot/config-6.12.0", "# CONFIG_RT_GROUP_SCHED is not set\n");
        only("6.12.0", "was not seen: since 6.12 only debugfs shows it");
        put("sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000\n");
        put("sys/kernel/debug/sched/fair_server/cpu3/period", "1000000000\n");
        only("6.12.0", "50000000 of every 1000000000 ns of core 3");
        put("boot/config-7.0.1", "CONFIG_RT_GROUP_SCHED=y\n");
        assert_eq!(notes("7.0.1").len(), 2, "one a mechanism");
        put("sys/kernel/debug/sched/fair_server/cpu3/runtime", "0\n");
        only("7.0.1", "keeps 50000 of every 1000000 us");
        assert_eq!(notes("6.12.0"), [""; 0]);
        only("6.12.1", "neither /proc/config.gz nor /boot/config-6.12.1 shows that");
    }

    #[test]
    fn auto_is_an_isolated_core_where_there_is_one() {
        assert_eq!(auto_core(&cores(&[0, 1, 2, 3]), &[]), Some(3));
        assert_eq!(auto_core(&cores(&[0, 1, 2, 3]), &[1, 2]), Some(2));
        // Isolated, but offline.
        assert_eq!(auto_core(&cores(&[0, 1, 2]), &[3]), Some(2));
        assert_eq!(auto_core(&[], &[3]), None);
    }
}
