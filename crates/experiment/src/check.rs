//! What an experiment must fulfil beyond its grammar.

use std::collections::BTreeMap;

use waykeeper_workload::Nanoseconds;

use crate::describe::OneOrMany;
use crate::error::InputError;
use crate::expectation::Statement;
use crate::load::Loaded;
use crate::mitigation::NONE;
use crate::published::Figure;

/// What `table.columns` calls the mitigations.
pub(crate) const MITIGATION: &str = "mitigation";

/// Whether an experiment may call itself so: the folders of its runs begin with that name.
pub(crate) fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains(|c: char| c == '/' || c.is_control())
}

/// That no sweep has a name; `known` would do.
fn no_sweep(name: &str, known: &[&str]) -> String {
    match known {
        [] => format!(
            "found `{name}`, but the experiment has no sweep; expected none to be named, or a `[[sweep]]` of that name"
        ),
        known => format!("found `{name}`, which no sweep is called; expected one of: {}", known.join(", ")),
    }
}

/// Intervals of a repeat.
const MOST_PEAKS: f64 = 100_000.0;

impl Loaded {
    pub(crate) fn check(&self) -> Result<(), InputError> {
        let experiment = &self.experiment;
        if experiment.targets.is_empty() {
            return Err(self.error("targets", "the list is empty; expected at least one `[[targets]]` with a workload"));
        }
        if let Some(name) = experiment.name.as_ref().filter(|name| !is_name(name)) {
            let message = format!("found {name:?}; expected a name that can begin the name of a folder, without `/`");
            return Err(self.error("name", message));
        }
        // A counter of 2^63 picoseconds is the simulator's horizon; a day is far below it and above any sane case.
        let durations =
            [("duration", Some(experiment.duration)), ("simulated_duration", experiment.simulated_duration)];
        for (key, duration) in durations {
            if let Some(duration) = duration.filter(|d| !(1e3..=86_400e9).contains(&d.0)) {
                return Err(self.error(key, format!("found {duration}; expected 1 us to 24 h")));
            }
        }
        if experiment.simulated_samples == Some(0) {
            return Err(self.error("simulated_samples", "found 0; expected 1 or more"));
        }
        for (index, target) in experiment.targets.iter().enumerate() {
            if let Some((key, message)) = target.sampled.0.and_then(|sampling| sampling.mistake()) {
                return Err(self.error(&format!("targets.{index}.sampled.{key}"), message));
            }
        }
        if experiment.excursions.gap.0 < 1.0 {
            let message = format!("found {}; expected 1 ns or more, such as `100 us`", experiment.excursions.gap);
            return Err(self.error("excursions.gap", message));
        }
        self.check_peak_interval()?;
        self.check_references()?;
        self.check_layout()?;
        self.check_expectations()?;
        self.check_names()
    }

    /// What a repeat keeps must stay small, however long it is.
    fn check_peak_interval(&self) -> Result<(), InputError> {
        let experiment = &self.experiment;
        let interval = experiment.peak_interval;
        let longest = [Some(experiment.duration), experiment.simulated_duration].into_iter().flatten();
        let longest = longest.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or(experiment.duration);
        if interval.0 >= 1e3 && longest.0 / interval.0 <= MOST_PEAKS {
            return Ok(());
        }
        let least = Nanoseconds((longest.0 / MOST_PEAKS).max(1e3));
        let message = format!(
            "found {interval}; expected {least} or more for a duration of {longest}, so that a repeat has at most \
             {MOST_PEAKS} intervals"
        );
        Err(self.error("peak_interval", message))
    }

    fn check_references(&self) -> Result<(), InputError> {
        let experiment = &self.experiment;
        for (index, reference) in experiment.references.iter().enumerate() {
            if experiment.published.is_none() {
                return Err(self.error(
                    "references",
                    "reference figures need a `[published]` table that says what they belong to",
                ));
            }
            let at = format!("references.{index}");
            for figure in Figure::ALL {
                self.check_figure(&format!("{at}.{}", figure.key()), reference.figure(figure), figure.may_be_zero())?;
            }
            self.check_figure(&format!("{at}.run_length_s"), reference.run_length_s, false)?;
            self.check_point(&format!("{at}.point"), &reference.point)?;
            self.check_target(&format!("{at}.target"), reference.target.as_deref())?;
        }
        let Some(published) = &experiment.published else { return Ok(()) };
        if published.target.is_none() && !published.neighbours.is_empty() {
            let message = "neighbours without a `published.target`; expected both, or none for those of this file";
            return Err(self.error("published.neighbours", message));
        }
        self.check_figure("published.run_length_s", published.run_length_s, false)
    }

    fn check_figure(&self, key: &str, figure: Option<f64>, zero: bool) -> Result<(), InputError> {
        match figure {
            Some(figure) if !(figure > 0.0 || zero && figure == 0.0) => {
                let least = if zero { "of 0 or more" } else { "above 0" };
                Err(self.error(key, format!("found {figure}; expected a number {least}")))
            }
            _ => Ok(()),
        }
    }

    /// Points that are named must be points of the sweeps; which of them are run does not matter.
    fn check_point<L: AsRef<str>>(&self, key: &str, point: &BTreeMap<String, L>) -> Result<(), InputError> {
        for (name, label) in point {
            let sweeps = &self.experiment.sweep;
            let Some(sweep) = sweeps.iter().find(|sweep| sweep.name == *name) else {
                let known: Vec<_> = sweeps.iter().map(|sweep| sweep.name.as_str()).collect();
                return Err(self.error(key, no_sweep(name, &known)));
            };
            let known = sweep.labels();
            if !known.iter().any(|known| known == label.as_ref()) {
                let message = format!(
                    "found `{}`, which no point of the sweep `{name}` is called; expected one of {}",
                    label.as_ref(),
                    known.join(", ")
                );
                return Err(self.error(key, message));
            }
        }
        Ok(())
    }

    fn check_target(&self, key: &str, target: Option<&str>) -> Result<(), InputError> {
        let known: Vec<_> = self.experiment.targets.iter().map(|target| target.workload.as_str()).collect();
        match target {
            // A sweep may put others in their places.
            Some(name) if self.experiment.sweep.is_empty() && !known.contains(&name) => {
                let message = format!("found `{name}`, which is no target here; expected one of {}", known.join(", "));
                Err(self.error(key, message))
            }
            _ => Ok(()),
        }
    }

    fn check_layout(&self) -> Result<(), InputError> {
        let Some(table) = &self.experiment.table else { return Ok(()) };
        let sweeps: Vec<&str> = self.experiment.sweep.iter().map(|sweep| sweep.name.as_str()).collect();
        for (key, name) in [("table.rows", &table.rows), ("table.columns", &table.columns)] {
            let Some(name) = name else { continue };
            if !(sweeps.contains(&name.as_str()) || key == "table.columns" && name == MITIGATION) {
                let mut known = sweeps.clone();
                known.extend((key == "table.columns").then_some(MITIGATION));
                return Err(self.error(key, no_sweep(name, &known)));
            }
        }
        if table.rows.is_some() && table.rows == table.columns {
            return Err(self.error("table.columns", "the same as `table.rows`; expected another sweep"));
        }
        Ok(())
    }

    fn check_expectations(&self) -> Result<(), InputError> {
        for (index, expectation) in self.experiment.expectations.iter().enumerate() {
            let at = format!("expectations.{index}");
            self.check_point(&format!("{at}.point"), &expectation.point)?;
            self.check_target(&format!("{at}.target"), expectation.target.as_deref())?;
            let texts = expectation.order.as_slice();
            if texts.is_empty() {
                let message = "the list is empty; expected statements such as `none > cp`";
                return Err(self.error(&format!("{at}.order"), message));
            }
            for (number, text) in texts.iter().enumerate() {
                let key = match expectation.order {
                    OneOrMany::One(_) => format!("{at}.order"),
                    OneOrMany::Many(_) => format!("{at}.order.{number}"),
                };
                let statement: Statement = text
                    .parse()
                    .map_err(|why| self.error(&key, format!("found `{text}`: {why}; `none > 2 x cp` would do")))?;
                for case in statement.cases() {
                    self.check_point(&key, &case.point)?;
                }
            }
        }
        Ok(())
    }

    /// Names stand in the names of cases, where other characters would be ambiguous.
    fn check_names(&self) -> Result<(), InputError> {
        let legal = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        if let Some(name) = self.experiment.workloads.keys().find(|name| !legal(name)) {
            let message = format!("found the name {name:?}; expected letters, digits, `_` and `-`");
            return Err(self.error("workloads", message));
        }
        let mut assignments = self.experiment.assignments.keys();
        if let Some(name) = assignments.find(|name| !legal(name) || *name == NONE) {
            let message = format!("found the name {name:?}; expected letters, digits, `_` and `-`, and not `{NONE}`");
            return Err(self.error("assignments", message));
        }
        for (index, neighbour) in self.experiment.neighbours.iter().enumerate() {
            if let Some(group) = neighbour.group.as_ref().filter(|group| !legal(group)) {
                let message = format!("found the name {group:?}; expected letters, digits, `_` and `-`");
                return Err(self.error(&format!("neighbours.{index}.group"), message));
            }
        }
        Ok(())
    }
}
