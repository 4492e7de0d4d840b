//! Programs that use the files of the program's side.

use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use waykeeper_markers::{Mark, Rings, SOURCES, VARIABLE};

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");

/// A folder with the program's side, and the program in it.
pub struct Program {
    folder: TempDir,
    argv: Vec<String>,
}

impl Program {
    pub fn c(files: &[&str]) -> Self {
        Self::compiled("cc", &["-std=c11", "-x", "c"], files)
    }

    pub fn static_c(files: &[&str]) -> Self {
        Self::compiled("cc", &["-static", "-std=c11", "-x", "c"], files)
    }

    pub fn cpp(files: &[&str]) -> Self {
        Self::compiled("c++", &["-std=c++11", "-x", "c++"], files)
    }

    fn compiled(compiler: &str, language: &[&str], files: &[&str]) -> Self {
        let folder = folder();
        let program = folder.path().join("program");
        let mut command = Command::new(compiler);
        command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-D_GNU_SOURCE", "-o"]).arg(&program).arg("-I");
        command.arg(folder.path()).args(language).args(files.iter().map(|file| Path::new(PROGRAMS).join(file)));
        succeeds(&mut command);
        Self { argv: vec![program.display().to_string()], folder }
    }

    pub fn rust(file: &str) -> Self {
        let folder = folder();
        let (source, program) = (folder.path().join(file), folder.path().join("program"));
        std::fs::copy(Path::new(PROGRAMS).join(file), &source).unwrap();
        succeeds(
            Command::new("rustc").args(["--edition", "2024", "-O", "-D", "warnings", "-o"]).arg(&program).arg(source),
        );
        Self { argv: vec![program.display().to_string()], folder }
    }

    pub fn python(file: &str) -> Self {
        let folder = folder();
        let source = folder.path().join(file);
        std::fs::copy(Path::new(PROGRAMS).join(file), &source).unwrap();
        Self { argv: vec!["python3".into(), source.display().to_string()], folder }
    }

    /// Runs it to its end, without rings.
    pub fn run_alone(&self) -> Output {
        succeeds(Command::new(&self.argv[0]).args(&self.argv[1..]).current_dir(self.folder.path()))
    }

    /// Runs it to its end; the markers that are then in the rings.
    pub fn run(&self, rings: &mut Rings) -> Vec<Mark> {
        let file = rings.file().as_raw_fd();
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]).env(VARIABLE, rings.variable()).current_dir(self.folder.path());
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(move || {
                rustix::io::fcntl_setfd(std::os::fd::BorrowedFd::borrow_raw(file), rustix::io::FdFlags::empty())?;
                Ok(())
            });
        }
        succeeds(&mut command);
        let mut marks = Vec::new();
        rings.drain(|mark| marks.push(mark));
        marks
    }
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for source in SOURCES {
        std::fs::write(PathBuf::from(folder.path()).join(source.file), source.text).unwrap();
    }
    folder
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
