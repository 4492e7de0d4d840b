//! The pipe from valgrind, and what becomes of the program at its other end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// So long nothing comes before somebody looks at the program.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How the file of a valgrind tool is called: `lackey-amd64-linux`.
const TOOL: &str = "lackey-";

/// A program that the recorded one started in its place (`execve`), which valgrind does not follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuccessorProgram {
    /// The program's file and its arguments.
    pub command: Vec<OsString>,
    /// Its environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// What was seen of the program.
pub(super) type Seen = Arc<Mutex<Option<SuccessorProgram>>>;

/// Reads until the program has ended, whoever else still has the pipe: children of a program inherit it.
pub(super) struct Pipe {
    file: File,
    process: u32,
    is_recorded: bool,
    seen: Seen,
}

impl Pipe {
    /// The reading end, of a program that runs as this process.
    pub(super) fn new(file: File, process: u32, seen: Seen) -> Self {
        Self { file, process, is_recorded: false, seen }
    }

    /// Whether nothing more will come.
    fn has_ended(&mut self) -> bool {
        let Ok(file) = std::fs::read_link(format!("/proc/{}/exe", self.process)) else { return true };
        let is_tool = file.file_name().is_some_and(|name| name.as_bytes().starts_with(TOOL.as_bytes()));
        // Before the first line it is still valgrind that starts.
        if is_tool || !self.is_recorded {
            return false;
        }
        let read = |name: &str| std::fs::read(format!("/proc/{}/{name}", self.process)).unwrap_or_default();
        let parts = |bytes: &[u8]| -> Vec<OsString> {
            let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
            bytes.split(|byte| *byte == 0).map(|part| OsStr::from_bytes(part).to_owned()).collect()
        };
        let mut command = parts(&read("cmdline"));
        if let Some(program) = command.first_mut() {
            *program = file.into_os_string();
        }
        let environment = parts(&read("environ")).into_iter().filter_map(|entry| {
            let at = entry.as_bytes().iter().position(|byte| *byte == b'=')?;
            let (name, value) = entry.as_bytes().split_at(at);
            Some((OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(&value[1..]).to_owned()))
        });
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(SuccessorProgram { command, environment: environment.collect() });
        true
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut polled = [PollFd::new(&self.file, PollFlags::IN)];
            let is_there = match poll(&mut polled, Some(&QUIET)) {
                Ok(ready) => ready > 0,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if is_there {
                let read = self.file.read(buffer)?;
                self.is_recorded |= read > 0;
                return Ok(read);
            }
            if self.has_ended() {
                return Ok(0);
            }
        }
    }
}
