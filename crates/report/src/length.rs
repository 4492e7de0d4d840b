//! How long the repeats of a case are.

use waykeeper_run::Run;

use crate::figure::{counted, seconds};

/// The length of the repeats of a case, as asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// Repeats of each case.
    pub repeats: u32,
    /// Length of each, seconds.
    pub duration_s: f64,
    /// Each ends with so many samples, if they come before.
    pub samples: Option<u64>,
}

impl Length {
    /// As a run kept it.
    pub fn of(run: &Run) -> Self {
        Self { repeats: run.repeats, duration_s: run.duration_s, samples: run.simulated_samples }
    }

    /// Without an end by samples, as for a target whose throughput counts.
    #[must_use]
    pub fn without_samples(self) -> Self {
        Self { samples: None, ..self }
    }

    /// One repeat: `5 s`, or `until 100 samples, at most 5 s`.
    pub fn of_repeat(&self) -> String {
        let most = seconds(self.duration_s);
        match self.samples {
            None => most,
            Some(samples) => format!("until {}, at most {most}", counted(samples, "sample", "samples")),
        }
    }
}

/// All repeats: `5 x 2 s`.
impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.repeats, self.of_repeat())
    }
}
