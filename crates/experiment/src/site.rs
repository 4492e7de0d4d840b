//! The place where cases run, as far as the case matrix needs to know it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_platform::{CoreId, Platform};
use waykeeper_workload::{CacheShape, CacheShapes, Passes, Pattern, TraceSource};

/// What runs the cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutorKind {
    /// This Linux machine.
    Host,
    /// The simulator.
    Sim,
}

impl std::fmt::Display for ExecutorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Sim => "sim",
        })
    }
}

/// A core that can run a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteCore {
    /// Its number.
    pub id: CoreId,
    /// The data and unified caches that it sees.
    pub caches: CacheShapes,
    /// Cores that share its pipeline (SMT).
    pub siblings: Vec<CoreId>,
}

/// Whether a mitigation can be applied here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MitigationOffer {
    /// It can; what it does.
    Applied(String),
    /// It is known, but unavailable here; why.
    Refused(String),
}

/// Something that this place cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename = "Refusal")]
pub struct RefusalRecord {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Offers of a place that can apply none of what other places know; `elsewhere` has the reasons by name.
pub fn refused_elsewhere(elsewhere: &BTreeMap<String, String>) -> BTreeMap<String, MitigationOffer> {
    elsewhere.iter().map(|(name, why)| (name.clone(), MitigationOffer::Refused(why.clone()))).collect()
}

/// The place where cases run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Which executor.
    pub executor: ExecutorKind,
    /// The platform's name (`host` for this machine).
    pub platform: String,
    /// How errors call it: `this machine` or `platform agilex5`.
    pub called: String,
    /// The cores that may be used.
    pub cores: Vec<SiteCore>,
    /// The core that `auto` means.
    pub auto_core: CoreId,
    /// Every mitigation that is known here or elsewhere.
    pub mitigations: BTreeMap<String, MitigationOffer>,
    /// Those of them that act on the target's buffer, and so need it to have one.
    pub needs_buffer: Vec<String>,
    /// Those of them that place the target's memory, and so need it to be Waykeeper's own.
    pub needs_own_memory: Vec<String>,
}

/// The data and unified caches of a core of a platform.
pub fn cache_shapes(platform: &Platform, core: CoreId) -> CacheShapes {
    let shapes = platform.caches(core).into_iter().map(|cache| CacheShape {
        level: cache.level,
        size_bytes: cache.size_bytes,
        ways: cache.ways,
        line_bytes: cache.line_bytes,
    });
    CacheShapes(shapes.collect())
}

impl Site {
    /// The core of that number.
    pub fn core(&self, id: CoreId) -> Option<&SiteCore> {
        self.cores.iter().find(|core| core.id == id)
    }

    /// Every core but the target's and its siblings.
    pub fn others(&self, target: CoreId) -> Vec<CoreId> {
        let siblings = self.core(target).map(|core| core.siblings.as_slice()).unwrap_or_default();
        self.cores.iter().map(|core| core.id).filter(|id| *id != target && !siblings.contains(id)).collect()
    }

    /// The core numbers for an error message: `0 to 3`, or `0, 2 and 3`.
    pub fn core_list(&self) -> String {
        let ids: Vec<_> = self.cores.iter().map(|core| core.id).collect();
        match ids.as_slice() {
            [] => "none".into(),
            [one] => format!("only {one}"),
            [first, .., last] if u64::from(last - first) + 1 == ids.len() as u64 => format!("{first} to {last}"),
            [init @ .., last] => {
                format!("{} and {last}", init.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Why a mitigation means nothing for a target, where it does.
    pub fn means_nothing(&self, mitigation: &str, target: &Pattern) -> Option<String> {
        let is_in = |names: &[String]| names.iter().any(|name| name == mitigation);
        // A program has memory, though nobody knows how much.
        if matches!(target, Pattern::Command { .. }) {
            let why = "the memory of an external program cannot be placed from outside";
            return is_in(&self.needs_own_memory).then(|| why.into());
        }
        let no_buffer = is_in(&self.needs_buffer) && target.data_bytes() == 0;
        no_buffer.then(|| "the target has no buffer, so its pages make no difference".into())
    }

    /// Whether the executor can run a pattern as target, and if not why.
    pub fn refuses_target(&self, pattern: &Pattern) -> Option<String> {
        self.refuses_rhythm(pattern).or_else(|| self.refuses_sleep(pattern)).or_else(|| self.refuses_recording(pattern))
    }

    /// A program is recorded for the simulator, and a recording has no time.
    fn refuses_rhythm(&self, pattern: &Pattern) -> Option<String> {
        let by_period = matches!(pattern, Pattern::Command { passes: Passes::Period, .. });
        (by_period && self.executor == ExecutorKind::Sim).then(|| {
            "a program is recorded for a simulated platform, and a recording has no time and so no period; expected `passes` \
             from `markers`, `functions` or `process`"
                .into()
        })
    }

    /// Nothing sleeps on a simulated platform.
    fn refuses_sleep(&self, pattern: &Pattern) -> Option<String> {
        let why = pattern.host_only().filter(|_| self.executor == ExecutorKind::Sim)?;
        Some(format!("{why}; use `--on host` or another workload"))
    }

    /// A recording says where a program went, not what it did.
    fn refuses_recording(&self, pattern: &Pattern) -> Option<String> {
        let is_file = matches!(pattern, Pattern::Trace { source: TraceSource::File(_), .. });
        (self.executor == ExecutorKind::Host && is_file).then(|| {
            "a recorded trace can only be simulated; use `program` in place of `file`, or another workload".into()
        })
    }

    /// Whether the executor can run a pattern as neighbour, and if not why.
    pub fn refuses_neighbour(&self, pattern: &Pattern) -> Option<String> {
        (self.executor == ExecutorKind::Sim && matches!(pattern, Pattern::Command { .. }))
            .then(|| "an external command cannot run in the simulator; use `--on host` or another workload".into())
            .or_else(|| self.refuses_sleep(pattern))
            .or_else(|| self.refuses_recording(pattern))
    }
}
