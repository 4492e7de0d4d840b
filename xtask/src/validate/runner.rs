//! Runs experiments through the command line that everybody uses.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::plan::{Length, Part};

/// The program, and where runs are kept.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The `waykeeper` binary.
    pub program: PathBuf,
    /// A folder for runs and variants of platforms.
    pub folder: PathBuf,
    /// Whether a run that the folder has from the same command and platform is taken as it is.
    pub kept: bool,
}

impl Runner {
    /// Runs an experiment, unless the same run was kept, and returns its `run.json`.
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
        let asked = asked(&command, platform);
        let note = self.folder.join(format!("{name}.asked"));
        if self.kept
            && std::fs::read_to_string(&note).is_ok_and(|kept| kept == asked)
            && let Ok(run) = std::fs::read(out.join("run.json"))
        {
            return serde_json::from_slice(&run).map_err(|error| format!("{}/run.json: {error}", out.display()));
        }
        let _ = std::fs::remove_file(&note);
        let _ = std::fs::remove_dir_all(&out);
        // A broken or thin budget (1 and 4) still leaves figures.
        let run = self.answer(command, &[0, 1, 4], name)?;
        std::fs::write(&note, asked).map_err(|error| format!("{}: {error}", note.display()))?;
        Ok(run)
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

/// What decides a run: the arguments, and what a variant of a platform has in it.
fn asked(command: &Command, platform: Option<&Path>) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned() + "\n");
    let variant = platform.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    arguments.collect::<String>() + &variant
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_kept_run_is_taken_if_the_same_was_asked() {
        let folder = std::env::temp_dir().join(format!("waykeeper-kept-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        // It answers with the number of times that it was run.
        let program = folder.join("program");
        let script = "#!/bin/sh\nfor out; do [ \"$before\" = --out ] && break; before=$out; done\nmkdir -p \"$out\"\n\
                      echo x >> \"${0%/*}/runs\"\nwc -l < \"${0%/*}/runs\" | tee \"$out/run.json\"\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let part: Part = toml::from_str("name = 'a'\nplatform = 'p'\nbase = {}\nmember = {}").unwrap();
        let run = |kept, seconds: &str| {
            let length = Length { duration: Some(seconds.into()), repeats: None };
            let runner = Runner { program: program.clone(), folder: folder.clone(), kept };
            runner.run(&part, &length, &[], None, "one").unwrap().as_u64()
        };
        assert_eq!(
            [(true, "1 s"), (true, "1 s"), (true, "2 s"), (false, "2 s")].map(|(kept, s)| run(kept, s)),
            [1, 1, 2, 3].map(Some)
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
