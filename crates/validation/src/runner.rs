//! Runs experiments through the command line that everybody uses.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::plan::{Length, Part};

/// The program, and where runs are kept.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The `waykeeper` binary.
    pub program: PathBuf,
    /// A folder for runs and variants of platforms.
    pub folder: PathBuf,
}

impl Runner {
    /// Runs an experiment and gives its `run.json`.
    ///
    /// # Errors
    /// What the program wrote on its standard error, if it did not end well.
    pub fn run(
        &self,
        part: &Part,
        length: &Length,
        sets: &[String],
        platform: Option<&Path>,
        name: &str,
    ) -> Result<Value, String> {
        let out = self.folder.join(name);
        let _ = std::fs::remove_dir_all(&out);
        let mut command = Command::new(&self.program);
        command.args(["run", &part.name, "--on", "sim", "--json", "--out"]).arg(&out);
        if part.fast {
            command.arg("--fast");
        }
        if let Some(duration) = &length.duration {
            command.args(["--duration", duration]);
        }
        if let Some(repeats) = length.repeats {
            command.args(["--repeats", &repeats.to_string()]);
        }
        if let Some(platform) = platform {
            command.arg("--set").arg(format!("platform={}", platform.display()));
        }
        for set in part.set.iter().chain(sets) {
            command.args(["--set", set]);
        }
        // A broken or thin budget (1 and 4) still leaves figures.
        self.answer(command, &[0, 1, 4], name)
    }

    /// What a kept run says about runs of the published length: `waykeeper tail --json`.
    ///
    /// # Errors
    /// What the program wrote on its standard error, if it did not end well.
    pub fn tail(&self, name: &str) -> Result<Value, String> {
        let mut command = Command::new(&self.program);
        command.args(["tail", "--json"]).arg(self.folder.join(name));
        self.answer(command, &[0], name)
    }

    /// What a command prints as JSON, if it ends with one of these numbers.
    fn answer(&self, mut command: Command, well: &[i32], name: &str) -> Result<Value, String> {
        let output = command.output().map_err(|error| format!("{}: {error}", self.program.display()))?;
        match output.status.code().is_some_and(|code| well.contains(&code)) {
            true => serde_json::from_slice(&output.stdout).map_err(|error| format!("{name}: {error}")),
            false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }
}
