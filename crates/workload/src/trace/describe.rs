//! A trace as a file describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_programs::{ImageSize, ProgramName, Spec, WholeProgram};
use waykeeper_trace::{PAGE, RecordedPasses};

use super::{TraceSource, load};
use crate::duration::Nanoseconds;
use crate::passes::{PassSource, Phase};
use crate::pattern::Pattern;
use crate::workload::{WorkloadError, refused};

/// A whole program: one that Waykeeper has itself (`program`, `size`), on the host and simulated; or what was recorded of
/// any (`file`), simulated only. One sample is one pass: of a recording the passes that it holds, or else all of it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// The program.
    pub program: Option<ProgramName>,
    /// The size of its image.
    pub size: Option<ImageSize>,
    /// What its image is made from; 1 where absent.
    pub seed: Option<u64>,
    /// For disparity: how many shifts are tried, 1 to 64; 64 where absent.
    pub shifts: Option<u32>,
    /// A trace: of `waykeeper trace`, lackey, Dinero or ChampSim.
    pub file: Option<String>,
    /// Which passes of a recording are measured: those that it holds (`markers` or `functions`), or the whole recording
    /// (`process`). Those that it holds where absent, if it holds any.
    pub passes: Option<PassSource>,
    /// The phase whose passes are measured, by number or name, where a recording has several.
    pub phase: Option<Phase>,
    /// Nanoseconds from the start of one pass to the start of the next; 0 for no pauses between them. What the recording says
    /// where absent.
    pub period: Option<Nanoseconds>,
}

impl Trace {
    /// The pattern on a core with lines of so many bytes. A file is read here, and checked.
    pub(crate) fn resolve(&self, line_bytes: u64) -> Result<Pattern, WorkloadError> {
        let mut measured = (None, None);
        let (source, data_bytes, code_bytes) = match (&self.program, &self.file) {
            (Some(_), Some(_)) => return Err(refused("file", "it has a `program` too; expected one of both")),
            (None, None) => {
                let why = "it has neither `program` nor `file`; `program = \"mser\"` with `size = \"vga\"` would do";
                return Err(refused("program", why));
            }
            (Some(program), None) => {
                let spec = self.spec(*program)?;
                (TraceSource::Program(spec), 4 * WholeProgram::new(spec).words() as u64, 0)
            }
            (None, Some(path)) => {
                let set =
                    [("size", self.size.is_some()), ("seed", self.seed.is_some()), ("shifts", self.shifts.is_some())];
                if let Some((key, _)) = set.iter().find(|(_, is_set)| *is_set) {
                    return Err(refused(key, "a trace in a file has none; it belongs to a `program`"));
                }
                let trace = load(path).map_err(|error| refused("file", &format!("`{path}`: {error}")))?;
                measured = self.passes_of(trace.recorded_passes())?;
                let [data, code] = [trace.data_pages(), trace.code_pages()].map(|pages| pages.pages() * PAGE);
                (TraceSource::File(path.clone()), data, code)
            }
        };
        if self.file.is_none() {
            let set =
                [("passes", self.passes.is_some()), ("phase", self.phase.is_some()), ("period", self.period.is_some())];
            if let Some((key, _)) = set.iter().find(|(_, is_set)| *is_set) {
                return Err(refused(key, "a `program` has none; it belongs to a recording in a `file`"));
            }
        }
        let (phase, period_ns) = measured;
        Ok(Pattern::Trace { source, data_bytes, code_bytes, line_bytes, phase, period_ns })
    }

    /// A recording in a file.
    pub fn of_file(path: impl Into<String>) -> Self {
        Self { file: Some(path.into()), ..Self::default() }
    }

    /// The phase that is measured, and its period; no phase for the whole recording.
    fn passes_of(&self, recorded: &RecordedPasses) -> Result<(Option<u32>, Option<f64>), WorkloadError> {
        let period = self.period.map(|period| period.0).or(recorded.period_ns).filter(|ns| *ns > 0.0);
        let phases = recorded.phases();
        let known = || {
            let names: Vec<_> = phases.keys().map(|phase| format!("`{}`", recorded.called(*phase))).collect();
            names.join(", ")
        };
        let whole = self.passes == Some(PassSource::Process) || (self.passes.is_none() && phases.is_empty());
        if self.passes == Some(PassSource::Period) {
            return Err(refused(
                "passes",
                "found `period`, and a recording has no time; expected `markers` or `process`",
            ));
        }
        if whole && self.phase.is_some() {
            let why = if phases.is_empty() { "the recording holds no passes" } else { "`passes` is `process`" };
            return Err(refused("phase", &format!("{why}; only passes from markers have a phase")));
        }
        if whole {
            return Ok((None, self.period.map(|period| period.0).filter(|ns| *ns > 0.0)));
        }
        if phases.is_empty() {
            return Err(refused(
                "passes",
                "the recording holds none; `waykeeper trace --passes markers -- PROGRAM` records a program that makes them",
            ));
        }
        let phase = match &self.phase {
            Some(Phase::Number(number)) => phases.contains_key(number).then_some(*number),
            Some(Phase::Name(name)) => phases.keys().find(|phase| recorded.called(**phase) == *name).copied(),
            None if phases.len() == 1 => phases.keys().next().copied(),
            None => {
                return Err(refused(
                    "phase",
                    &format!("the recording has several phases; expected one of {}", known()),
                ));
            }
        };
        let found = || self.phase.as_ref().map(ToString::to_string).unwrap_or_default();
        let phase = phase.ok_or_else(|| {
            refused("phase", &format!("found `{}`, which has no pass in the recording; expected {}", found(), known()))
        })?;
        Ok((Some(phase), period))
    }

    fn spec(&self, program: ProgramName) -> Result<Spec, WorkloadError> {
        let Some(size) = self.size else {
            let names: Vec<_> = ImageSize::ALL.iter().map(|size| size.name()).collect();
            return Err(refused("size", &format!("the key is missing; expected one of {}", names.join(", "))));
        };
        let mut spec = Spec::new(program, size, self.seed.unwrap_or(1));
        if let Some(shifts) = self.shifts {
            if program != ProgramName::Disparity {
                return Err(refused("shifts", &format!("{program} has none; only disparity tries shifts")));
            }
            if !(1..=Spec::SHIFTS).contains(&shifts) {
                return Err(refused("shifts", &format!("found {shifts}; expected 1 to {}", Spec::SHIFTS)));
            }
            spec.shifts = shifts;
        }
        Ok(spec)
    }
}
