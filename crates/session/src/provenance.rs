//! Hashes of what a run is made from, for those who cite it or make it again.

use std::collections::BTreeMap;
use std::path::Path;

use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_platform::find_bundled;
use waykeeper_run::sha256::{of_bytes, of_file};
use waykeeper_run::{Provenance, Tool};
use waykeeper_workload::{Pattern, TraceSource};

use crate::place::HOST;

/// This program.
pub(crate) fn tool(commit: Option<&str>) -> Tool {
    Tool {
        name: "waykeeper".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: commit.map(str::to_owned),
        // A program whose file was replaced meanwhile is still the one that this link leads to.
        sha256: of_file(Path::new("/proc/self/exe")).ok(),
    }
}

/// What an experiment is made from.
///
/// # Errors
/// A name that stands for no file.
pub(crate) fn provenance(loaded: &Loaded, plan: &Plan) -> Result<Provenance, InputError> {
    let platform = loaded.experiment.platform.as_str();
    let platform = match find_bundled(platform) {
        _ if platform == HOST => None,
        Some(bundled) => Some(of_bytes(bundled.text)),
        None => of_file(Path::new(&loaded.file("platform", platform)?)).ok(),
    };
    let policies = loaded.policy_files()?.into_iter();
    let policies = policies.filter_map(|(name, path)| Some((name, of_file(Path::new(&path)).ok()?))).collect();
    Ok(Provenance { experiment: of_bytes(loaded.to_toml()), platform, workloads: workloads(loaded, plan), policies })
}

fn workloads(loaded: &Loaded, plan: &Plan) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for placed in plan.cases.iter().flat_map(|case| std::iter::once(&case.target).chain(&case.neighbours)) {
        if hashes.contains_key(&placed.workload) {
            continue;
        }
        let own = loaded.experiment.workloads.contains_key(&placed.workload);
        let hash = match &placed.pattern {
            Pattern::Trace { source: TraceSource::File(path), .. } => of_file(Path::new(path)).ok(),
            _ if own => None,
            _ => waykeeper_workload::find_bundled(&placed.workload).map(|bundled| of_bytes(bundled.text)),
        };
        hashes.extend(hash.map(|hash| (placed.workload.clone(), hash)));
    }
    hashes
}
