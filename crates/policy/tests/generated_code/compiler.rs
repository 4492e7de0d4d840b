//! Compilers, and programs that they make.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const AARCH64: &str = "aarch64-linux-gnu-gcc";
const CORTEX_A9: &str = "arm-none-eabi-gcc";

/// A folder with sources.
pub struct Sources(TempDir);

impl Sources {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles one file for 64-bit Arm without an operating system.
    pub fn for_aarch64(&self, file: &str) -> PathBuf {
        self.compile(AARCH64, "gcc-aarch64-linux-gnu", &["-ffreestanding", "-c"], file, "code.o")
    }

    /// Compiles one file for a Cortex-A9 without an operating system.
    pub fn for_cortex_a9(&self, file: &str) -> PathBuf {
        self.compile(
            CORTEX_A9,
            "gcc-arm-none-eabi",
            &["-mcpu=cortex-a9", "-marm", "-ffreestanding", "-c"],
            file,
            "code.o",
        )
    }

    /// Compiles one file for this machine and runs it; its output.
    pub fn run(&self, file: &str, options: &[&str]) -> String {
        let program = self.compile("cc", "gcc", options, file, "program");
        output(&mut Command::new(program))
    }

    fn compile(&self, compiler: &str, package: &str, options: &[&str], file: &str, made: &str) -> PathBuf {
        let made = self.path(made);
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(self.0.path());
        command.args(options).arg(self.path(file)).arg("-o").arg(&made);
        let ended =
            command.output().unwrap_or_else(|error| panic!("{compiler}: {error}; the package {package} has it"));
        assert!(ended.status.success(), "{compiler}: {}", String::from_utf8_lossy(&ended.stderr));
        made
    }
}

/// What a command prints.
pub fn output(command: &mut Command) -> String {
    let ended = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

/// Instructions of an object file, or of a raw image where `raw`, without addresses and encodings.
pub fn disassembled(file: &Path, raw: bool) -> Vec<String> {
    let mut command = Command::new("aarch64-linux-gnu-objdump");
    match raw {
        true => command.args(["-D", "-b", "binary", "-m", "aarch64"]),
        false => command.arg("-d"),
    };
    let text = output(command.arg("--no-show-raw-insn").arg(file));
    let instruction = |line: &str| Some(line.split_once(":\t")?.1.split_whitespace().collect::<Vec<_>>().join(" "));
    text.lines().filter_map(instruction).map(|text| text.split(" //").next().unwrap().to_owned()).collect()
}
