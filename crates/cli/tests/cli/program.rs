//! Runs the program in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_waykeeper");

/// This machine, for a test that measures it: two at a time would take the cores from each other.
pub fn this_machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    // A test that failed leaves the machine as it was.
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `found` finds something; fails after a long while.
#[track_caller]
pub fn eventually<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} has not happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The root of the repository: where the bundled files lie.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder that runs start in; it is gone at the end.
pub struct Desk(TempDir);

impl Desk {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Lets everybody execute a file.
    pub fn make_executable(&self, name: &str) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(self.path().join(name), mode).unwrap();
    }

    /// The program with arguments, about to start in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.path());
        command
    }

    /// A copy of the program in this folder, which a user may reach who cannot reach the folder that it was built in.
    pub fn copy_of_program(&self) -> PathBuf {
        let copy = self.path().join("waykeeper");
        // Not `fs::copy`: whatever another test starts meanwhile would hold the copy open for writing until it has its
        // own program, and a file that is being written cannot be run.
        assert!(Command::new("cp").arg(PROGRAM).arg(&copy).status().unwrap().success());
        copy
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        Ended::from(self.command(arguments).output().unwrap())
    }

    /// Names in this folder.
    pub fn names(&self) -> Vec<String> {
        names_in(self.path())
    }

    /// A run.json of this folder.
    pub fn record(&self, run: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.path().join(run).join("run.json")).unwrap()).unwrap()
    }
}

/// Names in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// How the program ended.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// Runs a program to its end.
    pub fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }

    /// Checks the exit status.
    #[track_caller]
    pub fn with(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{}{}", self.stdout, self.stderr);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// The list at a key.
#[track_caller]
pub fn list<'v>(value: &'v Value, key: &str) -> &'v Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("`{key}` is no list in {value}"))
}

/// The case of that name in a run.
#[track_caller]
pub fn case<'v>(run: &'v Value, name: &str) -> &'v Value {
    let found = list(run, "cases").iter().find(|case| case["name"] == name);
    found.unwrap_or_else(|| panic!("no case `{name}` in {:?}", case_names(run)))
}

/// The names of a run's cases.
pub fn case_names(run: &Value) -> Vec<&str> {
    list(run, "cases").iter().map(|case| case["name"].as_str().unwrap()).collect()
}

/// Keys of an object.
pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
