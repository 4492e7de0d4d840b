//! Published figures beside a case.

use waykeeper_workload::Pattern;

use crate::cases::Case;
use crate::cores::{NeighbourCores, TargetCore};
use crate::describe::{Measure, Neighbour, Target};
use crate::load::{Loaded, Variant};
use crate::mitigation;
use crate::place::{self, bundled_workload};
use crate::point::PointLabel;
use crate::published::{self, Figure, Reference, ReferenceFigures};
use crate::site::Site;

/// What was published, at one point of the sweeps.
pub(crate) struct Published<'a> {
    variant: &'a Variant,
    as_written: &'a Loaded,
    setup: &'a published::Published,
    site: &'a Site,
}

impl<'a> Published<'a> {
    /// `None` where nothing was published, or not for this platform, or not for this point.
    pub fn new(variant: &'a Variant, site: &'a Site) -> Option<Self> {
        let as_written = variant.as_written.as_ref()?;
        let setup = variant.loaded.experiment.published.as_ref()?;
        (site.platform == setup.platform).then_some(Self { variant, as_written, setup, site })
    }

    /// The figures of a case, if the case is one of the published ones: same target on the same core, same neighbours on
    /// the same cores, under the same mitigation. With an explicit set-up the workloads must be as bundled.
    pub fn figures_of(&self, case: &Case) -> Option<Reference> {
        let same = match &self.setup.target {
            Some(target) => self.is_target(target, case) && (case.solo() || self.are_neighbours(case)),
            None => self.is_as_written(case),
        };
        if !same || !self.own_assignments_are_as_written(case) {
            return None;
        }
        let figures = self.variant.loaded.experiment.references.iter().filter(|figures| self.is_for(figures, case));
        // The figures of one point go before those of any.
        let figures = figures.max_by_key(|figures| figures.point.len())?;
        let names = |list: &[Figure]| -> Vec<String> { list.iter().map(|figure| figure.key().to_owned()).collect() };
        Some(Reference {
            min_ns: figures.min_ns,
            mean_ns: figures.mean_ns,
            max_ns: figures.max_ns,
            slowdown: figures.slowdown,
            bandwidth_bytes_per_s: figures.bandwidth_bytes_per_s,
            total_bandwidth_bytes_per_s: figures.total_bandwidth_bytes_per_s,
            misses_per_sample: figures.misses_per_sample,
            run_length_s: figures.run_length_s.or(self.setup.run_length_s),
            run_samples: self.setup.run_samples,
            source: self.setup.source.clone(),
            imposed: names(&figures.imposed),
            fitted: names(&figures.fitted),
        })
    }

    fn is_for(&self, figures: &ReferenceFigures, case: &Case) -> bool {
        let at_point = |(sweep, label): (&String, &PointLabel)| self.variant.point.label(sweep) == Some(&label.0);
        figures.neighbours != case.solo()
            && mitigation::same(&figures.mitigation, &case.mitigation)
            && figures.target.as_ref().is_none_or(|target| *target == case.target.workload)
            && figures.point.iter().all(at_point)
    }

    fn is_as_written(&self, case: &Case) -> bool {
        let own = &self.as_written.experiment;
        let mut targets = own.targets.iter().enumerate();
        let is_target = targets.any(|(index, target)| {
            place::target(self.as_written, self.site, index, target).is_ok_and(|target| target == case.target)
                && (target.measure == Measure::Throughput) == case.throughput
        });
        let group = || place::group(self.as_written, self.site, &case.target, &case.group);
        is_target && (case.solo() || group().is_ok_and(|group| group == case.neighbours))
    }

    fn own_assignments_are_as_written(&self, case: &Case) -> bool {
        let own = &self.as_written.experiment.assignments;
        case.assignments.iter().all(|(name, set)| own.get(name).is_some_and(|assignment| assignment.set == *set))
    }

    fn is_target(&self, target: &Target, case: &Case) -> bool {
        target.core == TargetCore::Number(case.target.core)
            && target.workload == case.target.workload
            && self.pattern(&target.workload, &target.with, case.target.core).as_ref() == Some(&case.target.pattern)
    }

    fn are_neighbours(&self, case: &Case) -> bool {
        let mut expected: Vec<(&Neighbour, u32)> = Vec::new();
        for neighbour in &self.setup.neighbours {
            let NeighbourCores::Numbers(cores) = &neighbour.cores else { return false };
            expected.extend(cores.iter().map(|core| (neighbour, *core)));
        }
        expected.len() == case.neighbours.len()
            && case.neighbours.iter().all(|found| {
                expected.iter().any(|(neighbour, core)| {
                    (&neighbour.workload, *core) == (&found.workload, found.core)
                        && self.pattern(&neighbour.workload, &neighbour.with, *core).as_ref() == Some(&found.pattern)
                })
            })
    }

    /// What the bundled workload of that name does there: an experiment may have redefined the name.
    fn pattern(&self, workload: &str, with: &toml::Table, core: u32) -> Option<Pattern> {
        bundled_workload(workload, with)?.resolve(&self.site.core(core)?.caches).ok()
    }
}
