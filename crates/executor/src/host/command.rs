//! External programs as neighbours: pinned, behind a guardian that ends them and all their descendants.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use waykeeper_linux::cgroup::{OwnedCgroup, children, descendants, tree_cpu_time};
use waykeeper_linux::schedule;

use super::guardian::{self, Group, Means, NO_GROUP, NOT_STARTED, Orders};
pub use super::guardian::{AsTarget, ProgramExit};
use crate::measure::ExecutorError;

/// Bytes of a program's standard error that are kept, the last ones.
const KEPT: usize = 1024;

/// A program behind its guardian; dropping it kills the program and everything that it started.
#[derive(Debug)]
pub struct External {
    name: String,
    guardian: libc::pid_t,
    line: Option<io::PipeWriter>,
    started: io::PipeReader,
    status: io::PipeReader,
    said: Arc<Mutex<VecDeque<u8>>>,
    group: Option<OwnedCgroup>,
}

/// What a program that is measured gets beside its core.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Variables beside those of this process.
    pub variables: Vec<(String, String)>,
    /// The rest.
    pub as_target: AsTarget,
}

impl External {
    /// Starts `argv` on a core.
    pub fn start(argv: &[String], core: u32) -> Result<Self, ExecutorError> {
        let mut external = Self::prepare(argv, core)?;
        external.go()?;
        Ok(external)
    }

    /// Starts the guardian alone. It is a fork: best before memory is laid out. The memory of workloads is kept from it
    /// (`Mapping`), whenever it is made.
    pub fn prepare(argv: &[String], core: u32) -> Result<Self, String> {
        Self::prepare_with(argv, core, Means::default(), None, None)
    }

    /// As [`prepare`](Self::prepare). The program also ends when the caller's own parent does, even while the caller is
    /// stopped (from Linux 5.3).
    pub fn prepare_below(argv: &[String], core: u32, parent: u32) -> Result<Self, String> {
        Self::prepare_with(argv, core, Means::default(), Some(parent), None)
    }

    /// As [`prepare_below`](Self::prepare_below), for the program that is measured.
    pub fn prepare_target(
        argv: &[String],
        core: u32,
        parent: u32,
        surroundings: &Surroundings,
    ) -> Result<Self, String> {
        Self::prepare_with(argv, core, Means::default(), Some(parent), Some(surroundings))
    }

    /// As [`prepare_below`](Self::prepare_below), for a program that says something: with its standard output.
    pub fn prepare_speaking(argv: &[String], core: u32, parent: u32) -> Result<(Self, io::PipeReader), String> {
        let name = argv.first().cloned().unwrap_or_default();
        let (output, input) = io::pipe().map_err(|error| cannot_start(&name, &error))?;
        let forked = Self::fork(argv, core, Means::default(), Some(parent), None, Some((&output, &input)));
        // The other end of the pipe is the program's alone: when that ends, the reader sees the end of file.
        drop(input);
        Ok((forked.map_err(|error| cannot_start(&name, &error))?, output))
    }

    fn prepare_with(
        argv: &[String],
        core: u32,
        means: Means,
        parent: Option<u32>,
        target: Option<&Surroundings>,
    ) -> Result<Self, String> {
        let name = argv.first().cloned().unwrap_or_default();
        Self::fork(argv, core, means, parent, target, None).map_err(|error| cannot_start(&name, &error))
    }

    fn fork(
        argv: &[String],
        core: u32,
        means: Means,
        parent: Option<u32>,
        target: Option<&Surroundings>,
        output: Option<(&io::PipeReader, &io::PipeWriter)>,
    ) -> io::Result<Self> {
        let name = argv.first().cloned().unwrap_or_default();
        // The text of a refusal must not be made after the fork, where nothing may allocate.
        schedule::fits_mask(core)?;
        let text = |bytes: &[u8]| CString::new(bytes).map_err(io::Error::from);
        let arguments = argv.iter().map(|part| text(part.as_bytes())).collect::<io::Result<Vec<_>>>()?;
        let environment = environment(target.map(|target| target.variables.as_slice()).unwrap_or_default())?;
        let group = means.group.then(|| OwnedCgroup::create().ok()).flatten();
        let (line, started, status, errors) = (io::pipe()?, io::pipe()?, io::pipe()?, io::pipe()?);
        let parent = parent.and_then(watch);
        let orders = Orders {
            parent: parent.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            argv: arguments.iter().map(|part| part.as_ptr()).chain([std::ptr::null()]).collect(),
            environment: environment.iter().map(|part| part.as_ptr()).chain([std::ptr::null()]).collect(),
            core,
            target: target.map(|target| target.as_target),
            line: line.0.as_raw_fd(),
            status: status.1.as_raw_fd(),
            started: started.1.as_raw_fd(),
            errors: errors.1.as_raw_fd(),
            output: output.map_or(-1, |(_, input)| input.as_raw_fd()),
            callers: [
                line.1.as_raw_fd(),
                started.0.as_raw_fd(),
                status.0.as_raw_fd(),
                errors.0.as_raw_fd(),
                output.map_or(-1, |(output, _)| output.as_raw_fd()),
            ],
            highest: highest_descriptor(),
            group: group.as_ref().map(paths).transpose()?,
            means,
        };
        // SAFETY: the child makes system calls only, with what was allocated above.
        let guardian = unsafe {
            let guardian = libc::fork();
            if guardian == 0 {
                guardian::guard(&orders);
            }
            guardian
        };
        if guardian < 0 {
            return Err(io::Error::last_os_error());
        }
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (kept, mut source) = (Arc::clone(&said), errors.0);
        std::thread::spawn(move || keep_last(&mut source, &kept));
        Ok(Self { name, guardian, line: Some(line.1), started: started.0, status: status.0, said, group })
    }

    /// Starts the program.
    ///
    /// # Errors
    /// A program that does not exist or cannot be executed; what the system refuses.
    pub fn go(&mut self) -> Result<(), ExecutorError> {
        let mut why = Vec::new();
        let sent = self.line.as_mut().map_or(Ok(()), |line| line.write_all(b"g"));
        sent.and_then(|()| self.started.read_to_end(&mut why)).map_err(|error| cannot_start(&self.name, &error))?;
        if why.first() == Some(&NO_GROUP) {
            self.group = None;
            why.remove(0);
        }
        match why.split_first() {
            Some((&kind, number)) if kind == NOT_STARTED => {
                let number = number.try_into().map_or(libc::EINVAL, i32::from_ne_bytes);
                let why = cannot_start(&self.name, &io::Error::from_raw_os_error(number));
                let is_mistake = [libc::ENOENT, libc::ENOTDIR, libc::EACCES, libc::ENOEXEC].contains(&number);
                Err(if is_mistake { ExecutorError::Input(why) } else { ExecutorError::Refused(why) })
            }
            _ => Ok(()),
        }
    }

    /// Whether it has ended by itself: how, and its last words on standard error.
    pub fn ended(&mut self) -> Option<String> {
        let how = match self.wait(Duration::ZERO)? {
            Ok(ended) => ExitStatus::from_raw(ended.status).to_string(),
            Err(_) => "its guardian process was killed".to_owned(),
        };
        Some(self.with_last_words(how))
    }

    /// Whether it has ended, and how, after waiting for at most so long. `None`: it still runs.
    pub fn wait(&mut self, longest: Duration) -> Option<io::Result<ProgramExit>> {
        let mut ready = libc::pollfd { fd: self.status.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = i32::try_from(longest.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one descriptor, which outlives the call.
        let ended = unsafe { libc::poll(&mut ready, 1, milliseconds) } > 0;
        ended.then(|| self.read_end())
    }

    /// A text about its end, with its last lines on standard error, where it wrote any.
    pub fn with_last_words(&self, how: String) -> String {
        let said = self.last_words();
        if said.is_empty() { how } else { format!("{how}; its last lines on standard error: {said}") }
    }

    /// Its process, while it runs.
    pub fn process(&self) -> Option<u32> {
        children(self.guardian as u32).first().copied()
    }

    /// The process from which the program and all that it starts descend, also where a parent between them has ended.
    pub fn guardian(&self) -> u32 {
        self.guardian as u32
    }

    /// Asks the program to end (SIGTERM) and waits for at most so long. Whoever drops this value kills what is left.
    pub fn terminate(&mut self, longest: Duration) {
        if let Some(process) = self.process() {
            // SAFETY: no memory is passed. The guardian waits for the program: its number was not given to another one,
            // except in the moment between its end and this call.
            unsafe { libc::kill(process as libc::pid_t, libc::SIGTERM) };
            let _ = self.wait(longest);
        }
    }

    fn read_end(&mut self) -> io::Result<ProgramExit> {
        let mut bytes = [0; size_of::<ProgramExit>()];
        self.status.read_exact(&mut bytes)?;
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let status = i32::from_ne_bytes(bytes[..4].try_into().expect("four bytes"));
        Ok(ProgramExit { status, reserved: 0, begun: long(8), ended: long(16) })
    }

    /// Processor time of the program and all its descendants so far: to the microsecond from the program's own cgroup,
    /// else to the clock tick from `/proc`. `None` where neither can be read.
    pub fn cpu_time(&self) -> Option<Duration> {
        self.group.as_ref().and_then(OwnedCgroup::cpu_time).or_else(|| tree_cpu_time(self.guardian as u32))
    }

    /// Cores beside `core`, its own, that it or a descendant may use now: a program can change that by itself.
    pub fn other_cores(&self, core: u32) -> Vec<u32> {
        let all = descendants(self.guardian as u32).into_iter().flat_map(schedule::allowed_of);
        let others: BTreeSet<u32> = all.filter(|allowed| *allowed != core).collect();
        others.into_iter().collect()
    }

    fn last_words(&self) -> String {
        // The reader may be a moment behind the program's end.
        std::thread::sleep(Duration::from_millis(20));
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = said.iter().copied().collect();
        printable(&String::from_utf8_lossy(&bytes))
    }
}

impl Drop for External {
    fn drop(&mut self) {
        drop(self.line.take());
        // SAFETY: no memory is passed. The guardian is this process's own child and was not waited for.
        unsafe { libc::waitpid(self.guardian, std::ptr::null_mut(), 0) };
    }
}

/// A pidfd of the caller's parent, closed on `exec`; `None` before Linux 5.3, or where another process is the parent.
fn watch(parent: u32) -> Option<OwnedFd> {
    // SAFETY: no memory is passed; a descriptor that is returned is new and owned here.
    let file = unsafe {
        let file = libc::syscall(libc::SYS_pidfd_open, parent as libc::pid_t, 0) as RawFd;
        (file >= 0).then(|| OwnedFd::from_raw_fd(file))
    };
    // Still the parent: the number was not reused before the descriptor was there.
    file.filter(|_| std::os::unix::process::parent_id() == parent)
}

/// Makes this process adopt what a killed guardian leaves; dropping it kills all children of this process. For a worker,
/// whose only children are guardians and what they left: it is dropped after all of its [`External`] values.
#[derive(Debug)]
pub struct Adopted(());

impl Adopted {
    /// Begins to adopt.
    pub fn begin() -> Self {
        // SAFETY: no memory is passed.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
        Self(())
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        loop {
            let left = children(std::process::id());
            // SAFETY: no memory is passed; children that were not waited for keep their numbers.
            let killed = left.iter().filter(|child| unsafe { libc::kill(**child as libc::pid_t, libc::SIGKILL) } == 0);
            // SAFETY: as above.
            if killed.count() == 0 || unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } <= 0 {
                return;
            }
        }
    }
}

/// This process's environment and more, as `exec` takes it.
fn environment(more: &[(String, String)]) -> io::Result<Vec<CString>> {
    let own = std::env::vars_os().filter(|(name, _)| more.iter().all(|(other, _)| name != other.as_str()));
    let own = own.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let more = more.iter().map(|(name, value)| format!("{name}={value}").into_bytes());
    own.chain(more).map(|text| CString::new(text).map_err(io::Error::from)).collect()
}

/// The files of a group that the guardian uses.
fn paths(group: &OwnedCgroup) -> io::Result<Group> {
    let path = |name: &str| CString::new(group.path().join(name).as_os_str().as_bytes()).map_err(io::Error::from);
    Ok(Group {
        directory: path("")?,
        processes: path("cgroup.procs")?,
        kill: path("cgroup.kill")?,
        freeze: path("cgroup.freeze")?,
    })
}

/// A descriptor above all that are open, with some more that other threads may open before the fork.
fn highest_descriptor() -> RawFd {
    let number = |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok();
    let open = std::fs::read_dir("/proc/self/fd").ok().and_then(|all| all.filter_map(number).max());
    open.map_or(65_536, |highest| highest.saturating_add(256))
}

fn cannot_start(name: &str, error: &io::Error) -> String {
    format!("the program `{name}` cannot be started: {error}; install it, or use another program")
}

fn keep_last(source: &mut io::PipeReader, kept: &Mutex<VecDeque<u8>>) {
    let mut some = [0; 1024];
    while let Ok(length @ 1..) = source.read(&mut some) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&some[..length]);
        let beyond = kept.len().saturating_sub(KEPT);
        kept.drain(..beyond);
    }
}

/// The last three lines, control characters escaped.
fn printable(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    escaped(&last)
}

/// A text of a program with its control characters escaped.
pub fn escaped(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
