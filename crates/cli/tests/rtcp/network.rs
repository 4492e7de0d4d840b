//! Network namespaces, cables between them, and the program in them.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_waykeeper");

/// One test at a time: two pairs of busy threads on two cores would measure each other.
pub fn this_machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A network namespace. A sleeping process holds it, which ends with the tests: nothing is left, also where they are killed.
pub struct Namespace(Child);

impl Namespace {
    pub fn new() -> Self {
        let sleeper = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "--net", "sleep", "1000"])
            .spawn()
            .expect("setpriv can be started");
        let namespace = Self(sleeper);
        let own = std::fs::read_link("/proc/self/ns/net").unwrap();
        let path = format!("/proc/{}/ns/net", namespace.0.id());
        let deadline = Instant::now() + Duration::from_secs(30);
        while std::fs::read_link(&path).is_ok_and(|other| other == own) {
            assert!(Instant::now() < deadline, "these tests need root: there is no network namespace");
            std::thread::sleep(Duration::from_millis(2));
        }
        namespace
    }

    /// A command inside.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.0.id().to_string(), "--net", program]).args(arguments);
        command
    }

    /// Runs `ip` inside.
    #[track_caller]
    pub fn ip(&self, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = self.command("ip", &arguments).output().unwrap();
        assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program inside.
    pub fn waykeeper(&self, arguments: &str) -> Ended {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        Ended::of(self.command(PROGRAM, &arguments).output().unwrap())
    }

    /// Moves the calling thread inside.
    pub fn enter(&self) {
        let file = File::open(format!("/proc/{}/ns/net", self.0.id())).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    }

    /// A cable to another one. Both ends are up; their addresses end with the given bytes.
    pub fn cable(&self, own: &str, own_mac: u8, other: &Self, others: &str, other_mac: u8) {
        self.ip(&format!(
            "link add {own} address 02:00:00:00:00:{own_mac:02x} numrxqueues 1 numtxqueues 1 type veth peer name {others} \
             address 02:00:00:00:00:{other_mac:02x} numrxqueues 1 numtxqueues 1 netns {}",
            other.0.id()
        ));
        self.ip(&format!("link set {own} up"));
        other.ip(&format!("link set {others} up"));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How the program ended.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    pub fn with(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A responder that can be sent to.
pub struct Responder {
    child: Option<Child>,
    complaints: Option<std::thread::JoinHandle<String>>,
}

/// Of a test that failed before its end.
impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Responder {
    /// Starts one and waits until it says that it waits.
    pub fn start(namespace: &Namespace, arguments: &str) -> Self {
        use std::io::{BufRead, BufReader, Read};
        let arguments: Vec<&str> = ["rtcp", "respond"].into_iter().chain(arguments.split_whitespace()).collect();
        let mut child =
            namespace.command(PROGRAM, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains("waits for a generator"), "{line}");
        let complaints = std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = stderr.read_to_string(&mut rest);
            rest
        });
        Self { child: Some(child), complaints: Some(complaints) }
    }

    pub fn send(&self, signal: Signal) {
        let child = self.child.as_ref().unwrap();
        kill_process(Pid::from_child(child), signal).unwrap();
    }

    /// Waits for its end.
    pub fn ended(mut self) -> Ended {
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        Ended { stderr: self.complaints.take().unwrap().join().unwrap(), ..Ended::of(output) }
    }
}

/// A count of a record.
#[track_caller]
pub fn count(record: &Value, name: &str) -> u64 {
    record["counts"][name].as_u64().unwrap_or_else(|| panic!("no count `{name}` in {record}"))
}

/// A figure of a record, by what it is of.
#[track_caller]
pub fn figure<'r>(record: &'r Value, what: &str) -> &'r Value {
    let found = record["figures"].as_array().unwrap().iter().find(|figure| figure["what"] == what);
    found.unwrap_or_else(|| panic!("no figure `{what}` in {record}"))
}
