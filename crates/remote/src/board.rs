//! What a board is, and what lies in its cache.

use std::ffi::OsStr;
use std::fs::File;

use crate::connection::Connection;
use crate::destination::Destination;
use crate::error::RemoteError;
use crate::program::{BoardProgram, InstructionSet};
use crate::scripts::{ASK, CHECK, CLEAN, PUT};

/// What a run needs beside what is copied: its output, its log. More of it is the run's own business.
const MARGIN_BYTES: u64 = 1 << 20;

/// A board, as it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// What its programs are made of.
    pub instruction_set: InstructionSet,
    /// Where the cache of Waykeeper is there: an absolute path.
    pub cache: String,
    /// Free space there, in bytes; none where it is unknown.
    pub free_bytes: Option<u64>,
}

impl Board {
    /// Asks the board, and makes its cache where it is missing.
    ///
    /// # Errors
    /// A folder that cannot be made; an architecture that no program is made for.
    pub fn ask(connection: &Connection, cache: Option<&OsStr>) -> Result<Self, RemoteError> {
        let board = connection.destination();
        let text = connection.run(ASK, &[cache.unwrap_or_default()]).map_err(|error| match error {
            RemoteError::Board(why) if why.contains("mkdir") || why.contains("cd:") => RemoteError::Board(format!(
                "{why}; Waykeeper needs a folder there for its program and this run: name another one with --remote-cache"
            )),
            other => other,
        })?;
        Self::parse(board, &text)
    }

    fn parse(board: &Destination, text: &str) -> Result<Self, RemoteError> {
        let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let machine = line("machine ").unwrap_or_default();
        let instruction_set = InstructionSet::of_machine(machine).ok_or_else(|| {
            RemoteError::on(board, format!("its architecture is `{machine}`; expected x86_64, aarch64 or armv7l"))
        })?;
        let cache = line("cache ").filter(|path| path.starts_with('/') && !path.contains(char::is_control));
        let cache = cache.ok_or_else(|| RemoteError::on(board, "it does not say where its cache folder is"))?;
        Ok(Self { instruction_set, cache: cache.into(), free_bytes: line("df ").and_then(free_bytes) })
    }

    /// Puts a program into the cache where it is not there yet. Returns whether it was copied.
    ///
    /// # Errors
    /// Too little space; a copy that is not equal, or that does not start there.
    pub fn provide(&self, connection: &Connection, program: &BoardProgram) -> Result<bool, RemoteError> {
        let arguments = [OsStr::new(&self.cache), OsStr::new(&program.sha256)];
        if connection.run(CHECK, &arguments)?.lines().any(|line| line == "has") {
            return Ok(false);
        }
        self.check_space(connection.destination(), program.bytes, "the program")?;
        let shown = program.path.display();
        let failed = |error| RemoteError::Input(format!("{shown}: {error}"));
        let mut file = File::open(&program.path).map_err(failed)?;
        let copied = connection.feed(PUT, &arguments, |mut stdin| std::io::copy(&mut file, &mut stdin).map(drop));
        let what = match program.is_static {
            true => format!("the program {shown}"),
            false => {
                format!("the program {shown}, which is not static and needs the C library that it was linked with,")
            }
        };
        copied.map_err(|fed| fed.explain(connection.destination(), &what))?;
        Ok(true)
    }

    /// Checks that so much can be copied.
    ///
    /// # Errors
    /// Too little space.
    pub(crate) fn check_space(&self, board: &Destination, bytes: u64, what: &str) -> Result<(), RemoteError> {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        match self.free_bytes {
            Some(free) if free < bytes + MARGIN_BYTES => Err(RemoteError::on(
                board,
                format!(
                    "{:.1} MiB are free in {}, and {what} needs {:.1} MiB: make room, or name a folder elsewhere with --remote-cache",
                    mib(free),
                    self.cache,
                    mib(bytes + MARGIN_BYTES)
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// Free space in a line of `df -Pk`: the number before the one in percent. Names before and after may have spaces.
fn free_bytes(line: &str) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let percent =
        fields.iter().rposition(|field| field.strip_suffix('%').is_some_and(|it| it.parse::<u64>().is_ok()))?;
    fields.get(percent.checked_sub(1)?)?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What became of a cache that was to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaned {
    /// Nothing was there.
    Nothing,
    /// It was removed.
    Removed,
    /// It stays: these runs go on there.
    Running(Vec<String>),
    /// It stays: a policy is applied, and the program is what restores it.
    Applied,
}

/// Removes all that Waykeeper left on a board.
///
/// # Errors
/// A folder that cannot be removed.
pub fn clean(connection: &Connection, cache: Option<&OsStr>) -> Result<Cleaned, RemoteError> {
    let text = connection.run(CLEAN, &[cache.unwrap_or_default()])?;
    let running: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("running ")).map(str::to_owned).collect();
    let says = |word: &str| text.lines().any(|line| line == word);
    match () {
        () if !running.is_empty() => Ok(Cleaned::Running(running)),
        () if says("applied") => Ok(Cleaned::Applied),
        () if says("removed") => Ok(Cleaned::Removed),
        () if says("nothing") => Ok(Cleaned::Nothing),
        () => Err(RemoteError::on(connection.destination(), "it does not say whether the cache was removed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_read_from_any_line_of_df() {
        assert_eq!(free_bytes("/dev/root 7223800 1024 16 99% /"), Some(16 * 1024));
        assert_eq!(free_bytes("//a b/c 10 5 5 50% /my 7% disk"), None, "the name looks like a column");
        assert_eq!(free_bytes("//a b/c 10 5 5 50% /my disk"), Some(5 * 1024));
        assert_eq!(free_bytes("none 0 0 0 - /proc"), None);
        assert_eq!(free_bytes("50% x"), None);
    }

    #[test]
    fn answers_of_strangers_are_refused_with_what_they_said() {
        let board: Destination = "board".parse().unwrap();
        let asked = |text: &str| Board::parse(&board, text).map_err(|error| error.to_string());
        let good = "machine aarch64\ncache /root/.cache/waykeeper-remote\ndf x 1 1 2 3% /\n";
        let board = asked(good).unwrap();
        assert_eq!((board.instruction_set, board.free_bytes), (InstructionSet::Aarch64, Some(2048)));
        assert!(asked("machine mips\n").unwrap_err().contains("`mips`"));
        assert!(asked("machine x86_64\ncache relative\n").unwrap_err().contains("cache"));
        assert!(asked("").is_err());
    }
}
