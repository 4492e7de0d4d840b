//! A connection: one `ssh` that stays, and others that share it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use tempfile::TempDir;

use crate::destination::Destination;
use crate::error::RemoteError;
use crate::scripts::{BEGINS, Script};

/// The program, by `PATH`.
const SSH: &str = "ssh";
/// A connection that is not there by then will not come.
const LONGEST_OPENING: Duration = Duration::from_secs(120);
/// The longest answer of a script that is read at once, in bytes.
const LONGEST_ANSWER: u64 = 1 << 20;
/// The longest path of a socket that every system takes, with room for what `ssh` adds while it makes it.
const LONGEST_SOCKET: usize = 80;

/// Options of every `ssh`. The user's configuration holds besides. Nothing may be asked, since nobody may be there to answer;
/// a connection that is dead is noticed; a command of the configuration would stand in the way of ours.
const OPTIONS: [&str; 8] = [
    "BatchMode=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ControlPersist=no",
];

/// A connection to a board. It ends with this value.
#[derive(Debug)]
pub struct Connection {
    destination: Destination,
    folder: TempDir,
    master: Child,
}

/// A script that runs on the board.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// What it prints, after what the login shell printed.
    pub(crate) output: BufReader<ChildStdout>,
    said: Said,
}

/// A script that did not end well.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The connection was lost; the script may have done its work.
    pub(crate) lost: bool,
    /// What was said.
    pub(crate) said: String,
}

/// Where an `ssh` writes its standard error: a file never fills up, as a pipe does that nobody reads.
#[derive(Debug)]
struct Said(PathBuf);

impl Connection {
    /// Connects, and waits until the board has accepted.
    ///
    /// # Errors
    /// No `ssh`; a board that is not reached; a key that is refused.
    pub fn open(destination: &Destination) -> Result<Self, RemoteError> {
        let failed = |error: std::io::Error| RemoteError::Board(format!("a folder for the connection: {error}"));
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("waykeeper-ssh-");
        let mut folder = builder.tempdir().map_err(failed)?;
        if folder.path().as_os_str().len() > LONGEST_SOCKET {
            folder = builder.tempdir_in("/tmp").map_err(failed)?;
        }
        let said = Said(folder.path().join("master"));
        let mut command = ssh(destination, &folder);
        command.args(["-o", "ControlMaster=yes", "-N"]).arg(destination.host());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.file()?);
        // However this process ends: nobody else would end the connection, and its session on the board.
        // SAFETY: one system call between fork and exec.
        unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?)) };
        let mut connection = Self { destination: destination.clone(), master: spawn(command)?, folder };
        connection.wait(&said)?;
        Ok(connection)
    }

    /// The socket is there once the board has accepted.
    fn wait(&mut self, said: &Said) -> Result<(), RemoteError> {
        let begun = Instant::now();
        let socket = socket(&self.folder);
        loop {
            let ended = self.master.try_wait().map_err(|error| RemoteError::on(&self.destination, error))?;
            if ended.is_some() {
                return Err(refused(&self.destination, &said.text()));
            }
            if socket.exists() {
                return Ok(());
            }
            if begun.elapsed() > LONGEST_OPENING {
                return Err(RemoteError::on(&self.destination, "no connection after 120 s"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Where it leads.
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Starts a script; `stdin` is what it reads.
    pub(crate) fn start(&self, script: Script, arguments: &[&OsStr], stdin: Stdio) -> Result<Running, RemoteError> {
        let said = Said(self.folder.path().join(format!("said-{:016x}", fastrand::u64(..))));
        let mut command = ssh(&self.destination, &self.folder);
        command.args(["-o", "ControlMaster=no", "-T"]).arg(self.destination.host());
        command.arg(script.command_line(arguments));
        command.stdin(stdin).stdout(Stdio::piped()).stderr(said.file()?);
        let mut child = spawn(command)?;
        let output = child.stdout.take().ok_or_else(|| RemoteError::on(&self.destination, "no output of ssh"))?;
        Ok(Running { child, output: BufReader::new(output), said })
    }

    /// Runs a script to its end and returns what it prints.
    ///
    /// # Errors
    /// A script that fails: with what it said.
    pub(crate) fn run(&self, script: Script, arguments: &[&OsStr]) -> Result<String, RemoteError> {
        self.try_run(script, arguments)?.map_err(|failed| refused(&self.destination, &failed.said))
    }

    /// The same, with the failure of the script apart from that of starting it.
    pub(crate) fn try_run(&self, script: Script, arguments: &[&OsStr]) -> Result<Result<String, Failed>, RemoteError> {
        let mut running = self.start(script, arguments, Stdio::null())?;
        let mut text = Vec::new();
        if running.begin() {
            let _ = running.output.by_ref().take(LONGEST_ANSWER).read_to_end(&mut text);
        }
        Ok(running.end().map(|()| String::from_utf8_lossy(&text).into_owned()))
    }

    /// Runs a script that reads what `write` writes.
    ///
    /// # Errors
    /// A script that fails; what `write` returns.
    pub(crate) fn feed(
        &self,
        script: Script,
        arguments: &[&OsStr],
        write: impl FnOnce(ChildStdin) -> std::io::Result<()>,
    ) -> Result<(), Fed> {
        let mut running = self.start(script, arguments, Stdio::piped()).map_err(Fed::Failed)?;
        let written = match running.child.stdin.take() {
            Some(stdin) => write(stdin),
            None => Ok(()),
        };
        // Why the script took no more is in what it said, not in the broken pipe.
        running.end().map_err(|failed| Fed::Refused(failed.said))?;
        written.map_err(|error| Fed::Failed(RemoteError::on(&self.destination, error)))
    }
}

/// Why a script did not take its input.
#[derive(Debug)]
pub(crate) enum Fed {
    /// It was refused there, with what was said.
    Refused(String),
    /// It was not sent.
    Failed(RemoteError),
}

impl Fed {
    pub(crate) fn explain(self, destination: &Destination, what: &str) -> RemoteError {
        match self {
            Self::Refused(said) if said.trim().is_empty() => {
                RemoteError::on(destination, format!("{what} was not taken"))
            }
            Self::Refused(said) => RemoteError::on(destination, format!("{what} was not taken: {}", last_lines(&said))),
            Self::Failed(error) => error,
        }
    }
}

impl Running {
    /// Reads over what the login shell prints; false where the script did not begin.
    pub(crate) fn begin(&mut self) -> bool {
        let mut line = Vec::new();
        loop {
            line.clear();
            match self.output.by_ref().take(LONGEST_ANSWER).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return false,
                Ok(_) if line.trim_ascii_end() == BEGINS.as_bytes() => return true,
                Ok(_) => {}
            }
        }
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What was said, where it failed.
    pub(crate) fn end(mut self) -> Result<(), Failed> {
        // Whoever is not read to its end would wait for a reader.
        let _ = std::io::copy(&mut self.output, &mut std::io::sink());
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            // 255 is ssh's own, and whoever killed it left none.
            Ok(status) => Err(Failed { lost: matches!(status.code(), None | Some(255)), said: self.said.text() }),
            Err(error) => Err(Failed { lost: true, said: error.to_string() }),
        }
    }

    /// Ends it from outside, with the reader of its output.
    pub(crate) fn child(self) -> (Child, BufReader<ChildStdout>, impl FnOnce() -> String) {
        let said = self.said;
        (self.child, self.output, move || said.text())
    }
}

impl Said {
    fn file(&self) -> Result<File, RemoteError> {
        File::create(&self.0).map_err(|error| RemoteError::Board(format!("{}: {error}", self.0.display())))
    }

    fn text(&self) -> String {
        let mut bytes = Vec::new();
        let read = File::open(&self.0).and_then(|file| file.take(LONGEST_ANSWER).read_to_end(&mut bytes));
        read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.master.kill();
        let _ = self.master.wait();
    }
}

fn socket(folder: &TempDir) -> PathBuf {
    folder.path().join("s")
}

fn ssh(destination: &Destination, folder: &TempDir) -> Command {
    let mut command = Command::new(SSH);
    command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
    let mut path = std::ffi::OsString::from("ControlPath=");
    path.push(socket(folder));
    command.arg("-o").arg(path);
    if let Some(port) = destination.port() {
        command.arg("-p").arg(port.to_string());
    }
    // A group of its own: Ctrl-C of the terminal is for this program, which stops the run in an orderly way.
    command.process_group(0);
    command
}

fn spawn(mut command: Command) -> Result<Child, RemoteError> {
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            RemoteError::Board("there is no program `ssh` here; install OpenSSH's client (openssh-client)".into())
        }
        _ => RemoteError::Board(format!("ssh cannot be started: {error}")),
    })
}

/// What an `ssh` or a script said, as one paragraph that says what to do.
pub(crate) fn refused(destination: &Destination, said: &str) -> RemoteError {
    let why = last_lines(said);
    let advice = if said.contains("Permission denied (") {
        format!(
            "no key was accepted, and none may ask for a password here: load the key into the agent (`ssh-add`), or bring it to \
             the board (`ssh-copy-id`); `ssh {destination} true` must work without a question"
        )
    } else if said.contains("Host key verification failed") {
        format!("the board's key is unknown here, or is another one: connect once with `ssh {destination}` and look")
    } else if why.is_empty() {
        return RemoteError::on(destination, "the connection ended without a message from ssh");
    } else {
        return RemoteError::on(destination, why);
    };
    RemoteError::on(destination, format!("{advice} ({why})"))
}

/// The last lines of a text that say something, as one.
pub(crate) fn last_lines(text: &str) -> String {
    let chatter = |line: &&str| !line.is_empty() && !line.starts_with("Warning: Permanently added");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(chatter).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}
