//! A trace as a file describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_programs::{ImageSize, Program, ProgramName, Spec};
use waykeeper_trace::PAGE;

use super::{TraceSource, load};
use crate::pattern::Pattern;
use crate::workload::{Refused, refused};

/// A whole program: one that Waykeeper has itself (`program`, `size`), on the host and simulated; or what was recorded of
/// any (`file`), simulated only. One sample is one pass.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}

impl Trace {
    /// The pattern on a core with lines of so many bytes. A file is read here, and checked.
    pub(crate) fn resolve(&self, line_bytes: u64) -> Result<Pattern, Refused> {
        let (source, data_bytes, code_bytes) = match (&self.program, &self.file) {
            (Some(_), Some(_)) => return Err(refused("file", "it has a `program` too; expected one of both")),
            (None, None) => {
                let why = "it has neither `program` nor `file`; `program = \"mser\"` with `size = \"vga\"` would do";
                return Err(refused("program", why));
            }
            (Some(program), None) => {
                let spec = self.spec(*program)?;
                (TraceSource::Program(spec), 4 * Program::new(spec).words() as u64, 0)
            }
            (None, Some(path)) => {
                let set =
                    [("size", self.size.is_some()), ("seed", self.seed.is_some()), ("shifts", self.shifts.is_some())];
                if let Some((key, _)) = set.iter().find(|(_, is_set)| *is_set) {
                    return Err(refused(key, "a trace in a file has none; it belongs to a `program`"));
                }
                let trace = load(path).map_err(|error| refused("file", &format!("`{path}`: {error}")))?;
                let [data, code] = [trace.data_pages(), trace.code_pages()].map(|pages| pages.pages() * PAGE);
                (TraceSource::File(path.clone()), data, code)
            }
        };
        Ok(Pattern::Trace { source, data_bytes, code_bytes, line_bytes })
    }

    fn spec(&self, program: ProgramName) -> Result<Spec, Refused> {
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
