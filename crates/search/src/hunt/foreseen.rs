//! What a hunt would do, without doing it.

use serde::Serialize;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_policy::size;
use waykeeper_report::figure::{counted, seconds};
use waykeeper_report::text::paragraph;

use super::hunting::{HuntError, HuntRequest};
use super::not_tried;
use super::prepared::PreparedHunt;

/// What a hunt would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HuntForeseen {
    /// The experiment.
    pub experiment: String,
    /// Its place.
    pub platform: String,
    /// What runs it.
    pub executor: ExecutorKind,
    /// The target, and its core.
    pub target: String,
    /// What of the target counts.
    pub objective: String,
    /// The neighbours' cores.
    pub cores: Vec<u32>,
    /// Bundled workloads that are tried first.
    pub bundled: Vec<String>,
    /// Operations that drawn patterns may have.
    pub operations: Vec<String>,
    /// The target's buffer, bytes, where neighbours that access it are tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_buffer_bytes: Option<u64>,
    /// Stressors of stress-ng that are measured too.
    pub stress_ng: Vec<String>,
    /// At most so many candidates.
    pub candidates: usize,
    /// Fresh repeats of what is shown.
    pub fresh_repeats: usize,
    /// Length of a repeat, seconds.
    pub repeat_s: f64,
    /// The time limit, seconds.
    pub time_limit_s: f64,
    /// What none of the candidates has: `without ...`.
    pub not_tried: String,
}

impl HuntForeseen {
    /// Looks at the experiment and its place. Nothing is measured.
    ///
    /// # Errors
    /// What [`hunt`](super::hunt) refuses before it measures.
    pub fn of(request: &HuntRequest) -> Result<Self, HuntError> {
        let prepared = PreparedHunt::new(request)?;
        let (candidates, fresh_repeats) = (prepared.candidates(), prepared.fresh_repeats());
        let programs = prepared.stress_ng.iter().flat_map(|found| &found.taken);
        Ok(Self {
            experiment: prepared.with_neighbours.loaded().name.clone(),
            platform: prepared.site.platform.clone(),
            executor: prepared.site.executor,
            target: prepared.target,
            objective: request.objective.name().into(),
            cores: prepared.cores,
            bundled: prepared.named,
            operations: prepared.operations.iter().map(|operation| operation.name().to_owned()).collect(),
            target_buffer_bytes: prepared.geometry.target_buffer_bytes(),
            stress_ng: programs.map(|stressor| stressor.name.clone()).collect(),
            candidates,
            fresh_repeats,
            repeat_s: prepared.bare.duration_s(),
            time_limit_s: request.time_limit.as_secs_f64(),
            not_tried: not_tried(prepared.target_period_ns, request.shared_lines),
        })
    }

    /// As text.
    pub fn text(&self) -> String {
        let cores: Vec<String> = self.cores.iter().map(ToString::to_string).collect();
        let mut lines = vec![
            format!(
                "{} on {}: {} beside neighbours on the cores {}; {} of the target",
                self.experiment,
                self.platform,
                self.target,
                cores.join(", "),
                self.objective
            ),
            format!(
                "At most {} in {}, {} a repeat; {} of those that are shown.",
                counted(self.candidates as u64, "candidate", "candidates"),
                seconds(self.time_limit_s),
                seconds(self.repeat_s),
                counted(self.fresh_repeats as u64, "fresh repeat", "fresh repeats"),
            ),
            format!("Bundled workloads first: {}.", self.bundled.join(", ")),
            format!("Then patterns that are drawn and changed; their accesses: {}.", self.operations.join(", ")),
        ];
        if let Some(bytes) = self.target_buffer_bytes {
            lines
                .push(format!("Half of them access the target's buffer of {} in the place of their own.", size(bytes)));
        }
        if !self.stress_ng.is_empty() {
            lines.push(format!("Stressors of stress-ng: {}.", self.stress_ng.join(", ")));
        }
        lines.push(format!("All are {}.", self.not_tried));
        lines.iter().map(|line| paragraph(line, "  ") + "\n").collect()
    }
}
