//! The guest as a board elsewhere: what `--remote` does with it from this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::checks::{expect, samples};
use crate::guest::Guest;
use crate::programs::{program_here, target};
use crate::server::Server;

/// A run that is still going when its client or its connection is killed.
const LONG: [&str; 6] =
    ["run", "this-machine", "--duration=1s", "--repeats=3", "--set=mitigations=[]", "--set=sentinel=false"];

/// Where runs lie on the board.
const RUNS: &str = "/root/.cache/waykeeper-remote/runs";

/// This side of the connection.
struct Desk<'s> {
    server: &'s Server,
    guest: &'s Guest,
    /// The working directory, and the user's home.
    folder: PathBuf,
    /// Programs by architecture, as a package lays them beside each other.
    programs: PathBuf,
}

/// Runs commands on the guest.
///
/// # Errors
/// The first thing that is not as it must be.
pub fn look(server: &Server, guest: &Guest, program: &Path) -> Result<(), String> {
    let desk = Desk::new(server, guest, program)?;
    for (name, step) in STEPS {
        let begun = Instant::now();
        step(&desk).map_err(|why| format!("{name}: {why}"))?;
        println!("{}: passed {name} in {:.1} s", guest.name, begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// A step: what must hold, or why it does not.
type Step = fn(&Desk) -> Result<(), String>;

/// In this order: the first one copies the program, the last one removes it.
const STEPS: [(&str, Step); 7] = [
    ("remote-wrong-program", wrong_program),
    ("remote-machine", machine),
    ("remote-doctor", doctor),
    ("remote-program", users_program),
    ("remote-connection-lost", connection_lost),
    ("remote-attach", attach),
    ("remote-clean", clean),
];

impl<'s> Desk<'s> {
    fn new(server: &'s Server, guest: &'s Guest, program: &Path) -> Result<Self, String> {
        let folder = target().join(format!("arm-rig-{}-elsewhere", guest.name));
        let _ = std::fs::remove_dir_all(&folder);
        let programs = folder.join("programs");
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&programs).map_err(failed)?;
        std::fs::copy(program, programs.join(format!("waykeeper-{}", guest.name))).map_err(failed)?;
        Ok(Self { server, guest, folder, programs })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program_here());
        command.arg("--remote=board").args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.env("PATH", self.server.path()).env("HOME", &self.folder).env_remove("XDG_STATE_HOME");
        command.env("WAYKEEPER_BINARIES", &self.programs).env("WAYKEEPER_REMOTE_PATIENCE", "60");
        command
    }

    /// Standard output and error of a command, which must end with `status`.
    fn run(&self, status: i32, arguments: &[&str]) -> Result<(String, String), String> {
        let output = self.command(arguments).output().map_err(|error| format!("waykeeper: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, said) = (text(&output.stdout), text(&output.stderr));
        if output.status.code() == Some(status) {
            return Ok((out, said));
        }
        Err(format!("{arguments:?} ended with {}, expected {status}:\n{out}{said}", output.status))
    }

    fn record(&self, run: &str) -> Result<Value, String> {
        let path = self.folder.join(run).join("run.json");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        parse(&text)
    }

    /// A run is here, was measured on the guest, and has samples in every case.
    fn holds(&self, run: &str) -> Result<(), String> {
        let record = self.record(run)?;
        let architecture = &record["machine"]["architecture"];
        let cases = samples(&record);
        // A run names the program's architecture, `uname -m` that of the kernel and its processor.
        let measured = architecture.as_str().is_some_and(|name| self.guest.architecture.starts_with(name));
        expect(measured, || format!("{run} was measured on {architecture}, expected {}", self.guest.architecture))?;
        expect(!cases.is_empty() && cases.iter().all(|samples| *samples > 0), || format!("{run}: samples {cases:?}"))
    }

    /// Starts a long run and waits until it has made progress on the board.
    fn long_run(&self, out: &str) -> Result<std::process::Child, String> {
        let child = self.command(&LONG).args(["--out", out]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("waykeeper: {error}"))?;
        let begun = Instant::now();
        while self.server.shell(&format!("cat {RUNS}/*/progress 2>/dev/null | wc -l"))?.trim().len() < 2 {
            expect(begun.elapsed() < Duration::from_secs(120), || "the run has not begun after 120 s".to_owned())?;
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(child)
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error} in:\n{text}"))
}

/// This machine's own program is refused before anything is copied.
fn wrong_program(desk: &Desk) -> Result<(), String> {
    let own = program_here();
    let (_, said) = desk.run(2, &["machine", "--remote-binary", &own.to_string_lossy()])?;
    expect(said.contains(desk.guest.name) && said.lines().count() == 1, || format!("said: {said}"))
}

fn machine(desk: &Desk) -> Result<(), String> {
    let (out, said) = desk.run(0, &["machine", "--json"])?;
    expect(said.contains("was copied to board"), || format!("the program was not copied: {said}"))?;
    let machine = parse(&out)?;
    let kind = &machine["cores"][0]["kind"];
    expect(kind == desk.guest.cores, || format!("the board's cores are {kind}, expected {}", desk.guest.cores))
}

fn doctor(desk: &Desk) -> Result<(), String> {
    let (out, said) = desk.run(1, &["doctor", "--rt-cores", "1", "--json"])?;
    expect(!said.contains("was copied"), || format!("the program was copied again: {said}"))?;
    let findings = parse(&out)?["findings"].as_array().map_or(0, Vec::len);
    expect(findings > 20, || format!("{findings} findings"))
}

/// A program of this side is sent along, and its run comes back.
fn users_program(desk: &Desk) -> Result<(), String> {
    let cookbook = target().join(format!("arm-rig-{}-cookbook", desk.guest.name));
    std::fs::copy(&cookbook, desk.folder.join("cookbook"))
        .map_err(|error| format!("{}: {error}", cookbook.display()))?;
    let own = ["run", "this-machine", "--core=1", "--duration=300ms", "--repeats=1", "--set=sentinel=false"];
    let rest = ["--set=mitigations=[]", "--set=neighbours=[]", "--out=own", "--", "./cookbook", "4096", "2000"];
    desk.run(0, &[&own[..], &rest].concat())?;
    desk.holds("own")
}

/// The server's end of the connection dies amid a run: the run goes on, and the client finds it again.
fn connection_lost(desk: &Desk) -> Result<(), String> {
    let mut child = desk.long_run("lost")?;
    // It ends the connection that this line came by as well.
    let _ = desk.server.shell("killall -9 sshd; /bin/sshd -f /etc/sshd_config");
    let _ = desk.server.shell("true").or_else(|_| desk.server.shell("true"));
    let status = child.wait().map_err(|error| format!("waykeeper: {error}"))?;
    expect(status.success(), || format!("the run ended with {status}"))?;
    desk.holds("lost")
}

/// The client dies amid a run: another one attaches, and fetches it.
fn attach(desk: &Desk) -> Result<(), String> {
    let mut child = desk.long_run("attached")?;
    child.kill().and_then(|()| child.wait()).map_err(|error| format!("waykeeper: {error}"))?;
    desk.run(0, &["--attach"])?;
    desk.holds("attached")
}

fn clean(desk: &Desk) -> Result<(), String> {
    desk.run(0, &["--remote-clean"])?;
    let left = desk.server.shell("ls -A /root/.cache /root")?;
    expect(!left.contains("waykeeper"), || format!("left on the board: {left}"))
}
