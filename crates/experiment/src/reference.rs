//! Published figures beside a case.

use waykeeper_workload::{CacheShapes, Pattern};

use crate::cases::{Placed, bundled_workload};
use crate::cores::{NeighbourCores, TargetCore};
use crate::describe::{Experiment, Figure, Published};
use crate::mitigation;
use crate::run;
use crate::site::Site;

/// Published figures of one case, as the run keeps them.
pub type Reference = run::Reference;

/// The reference of a case, if the case is one of the published ones: same platform, same target on the same core, same
/// neighbours on the same cores, with the workloads as bundled.
pub(crate) fn reference_for(
    experiment: &Experiment,
    site: &Site,
    target: &Placed,
    neighbours: &[Placed],
    mitigation: &str,
) -> Option<Reference> {
    let published = experiment.published.as_ref()?;
    if site.platform != published.platform || !same_target(published, site, target) {
        return None;
    }
    if !neighbours.is_empty() && !same_neighbours(published, site, neighbours) {
        return None;
    }
    let figures = experiment.references.iter().find(|figures| {
        figures.neighbours != neighbours.is_empty() && mitigation::same(&figures.mitigation, mitigation)
    })?;
    let names = |list: &[Figure]| -> Vec<String> { list.iter().map(|figure| figure.key().to_owned()).collect() };
    Some(Reference {
        min_ns: figures.min_ns,
        mean_ns: figures.mean_ns,
        max_ns: figures.max_ns,
        run_length_s: figures.run_length_s.or(published.run_length_s),
        source: published.source.clone(),
        imposed: names(&figures.imposed),
        fitted: names(&figures.fitted),
    })
}

impl Figure {
    fn key(self) -> &'static str {
        match self {
            Self::MinNs => "min_ns",
            Self::MeanNs => "mean_ns",
            Self::MaxNs => "max_ns",
        }
    }
}

fn same_target(published: &Published, site: &Site, target: &Placed) -> bool {
    published.target.core == TargetCore::Number(target.core)
        && published.target.workload == target.workload
        && as_bundled(&target.workload, site, target.core).is_some_and(|pattern| pattern == target.pattern)
}

fn same_neighbours(published: &Published, site: &Site, neighbours: &[Placed]) -> bool {
    let mut expected: Vec<(&str, u32)> = Vec::new();
    for neighbour in &published.neighbours {
        let cores = match &neighbour.cores {
            NeighbourCores::Numbers(cores) => cores.clone(),
            NeighbourCores::Others => return false,
        };
        expected.extend(cores.into_iter().map(|core| (neighbour.workload.as_str(), core)));
    }
    let mut found: Vec<(&str, u32)> = neighbours.iter().map(|n| (n.workload.as_str(), n.core)).collect();
    expected.sort_unstable();
    found.sort_unstable();
    expected == found
        && neighbours.iter().all(|n| as_bundled(&n.workload, site, n.core).is_some_and(|pattern| pattern == n.pattern))
}

/// What the bundled workload of that name does there: an experiment may have redefined the name.
fn as_bundled(name: &str, site: &Site, core: u32) -> Option<Pattern> {
    let caches: &CacheShapes = &site.core(core)?.caches;
    bundled_workload(name)?.resolve(caches).ok()
}
