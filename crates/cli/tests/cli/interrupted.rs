//! Ctrl-C and worse: a run that is interrupted ends at once, keeps what it measured, and leaves no process behind.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::program::{self, Desk, Ended, PROGRAM, case, list, this_machine};

/// A neighbour that starts a process of its own and waits for it. Both have the marker in their command lines.
fn experiment(marker: &str) -> String {
    format!(
        "title = 'x'\nsentinel = false\nduration = '3 s'\nrepeats = 20\ntargets = [{{ workload = 'latency_loop' }}]\n\
         neighbours = [{{ workload = 'parent' }}]\n[workloads.parent]\nkind = 'command'\n\
         argv = ['sh', '-c', 'sleep 1000.{marker} & wait; : {marker}']\n"
    )
}

/// Processes that are alive and have all these words in their command line.
fn alive(words: &[&str]) -> Vec<u32> {
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let matching = |process: &u32| {
        let folder = Path::new("/proc").join(process.to_string());
        let command_line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let command_line = String::from_utf8_lossy(&command_line).into_owned();
        let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        // A zombie is dead: nobody has asked for its status yet.
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| state != 'Z') && words.iter().all(|word| command_line.contains(word))
    };
    processes.filter(matching).collect()
}

/// Waits until `done` holds; fails after a long while.
#[track_caller]
fn eventually(what: &str, done: impl Fn() -> bool) {
    program::eventually(what, || done().then_some(()));
}

#[test]
fn what_was_measured_is_shown_also_where_it_cannot_be_kept() {
    let desk = Desk::new();
    // No file may grow, as on a disk that is full.
    let script = format!(
        "trap '' XFSZ; ulimit -f 0; exec {PROGRAM} run agilex5-cluster-latency --duration=2ms --repeats=1 --out=kept"
    );
    let ended = Ended::of(Command::new("sh").arg("-c").arg(script).current_dir(desk.path())).with(3);
    assert!(ended.stdout.contains("nl3a+cp+qos") && !ended.stdout.contains("kept in"), "{}", ended.stdout);
    assert!(ended.stderr.contains("the log of repeats cannot be written"), "{}", ended.stderr);
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("tries again").count(), 1, "it is said once: {}", ended.stderr);
    assert_eq!(desk.names(), [""; 0]);
}

/// A run on this machine whose neighbours are running: the idle case has been measured once by then.
struct Running {
    desk: Desk,
    marker: String,
    child: Child,
}

impl Running {
    fn start() -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(1);
        let desk = Desk::new();
        // Digits, for it is the fraction of a time to sleep.
        let marker = format!("{:07}{:03}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        desk.file("long.toml", &experiment(&marker));
        // Whoever runs the tests under `nohup` ignores SIGHUP, and so would the program.
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP", PROGRAM, "run", "long.toml", "--out=kept"]).current_dir(desk.path());
        // A group of its own, as a shell gives it: what reaches the group does not reach the tests.
        let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let running = Self { desk, marker, child };
        eventually("the neighbours' start", || {
            let shells = alive(&["sh", &running.marker]).len();
            shells > 0 && running.neighbours().len() == 2 * shells
        });
        running
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn neighbours(&self) -> Vec<u32> {
        alive(&[&self.marker])
    }

    /// Waits for the end, which must come soon.
    fn ended(self) -> (Desk, Ended) {
        let asked = Instant::now();
        let marker = self.marker;
        let ended = Ended::from(self.child.wait_with_output().unwrap());
        assert!(asked.elapsed() < Duration::from_secs(2), "it took {:?} to end", asked.elapsed());
        assert_eq!(alive(&[&marker]), [0; 0], "neighbours survived");
        (self.desk, ended)
    }
}

/// The record of a run that was interrupted in the second case of its first repeat.
fn check_cut_short(run: &Value) {
    assert_eq!(run["cut_short"], true);
    let idle = case(run, "idle");
    assert_eq!(list(idle, "repeats").len(), 1);
    assert!(idle["run_length_s"].as_f64().unwrap() >= 2.999 && idle["repeats"][0].get("cut_short").is_none());
    // What the interrupted repeat had measured until then is kept, and marked.
    for repeat in list(case(run, "none"), "repeats") {
        assert_eq!(repeat["cut_short"], true);
        assert!(repeat["run_length_s"].as_f64().unwrap() < 3.0);
    }
}

#[test]
fn an_interrupt_of_the_program_alone_keeps_what_was_measured() {
    let _alone = this_machine();
    let running = Running::start();
    kill_process(running.pid(), Signal::INT).unwrap();
    let (desk, ended) = running.ended();
    let ended = ended.with(130);
    check_cut_short(&desk.record("kept"));
    assert!(ended.stdout.contains("CUT SHORT"), "{}", ended.stdout);
}

#[test]
fn an_interrupt_of_the_whole_group_does_the_same() {
    let _alone = this_machine();
    // What a terminal does on Ctrl-C.
    let running = Running::start();
    kill_process_group(running.pid(), Signal::INT).unwrap();
    let (desk, ended) = running.ended();
    ended.with(130);
    check_cut_short(&desk.record("kept"));
}

#[test]
fn a_polite_request_to_end_does_the_same() {
    let _alone = this_machine();
    let running = Running::start();
    kill_process(running.pid(), Signal::TERM).unwrap();
    let (desk, ended) = running.ended();
    ended.with(130);
    check_cut_short(&desk.record("kept"));
}

#[test]
fn a_terminal_that_goes_away_does_the_same() {
    let _alone = this_machine();
    let running = Running::start();
    // What the kernel does to the whole group when its terminal hangs up.
    kill_process_group(running.pid(), Signal::HUP).unwrap();
    let (desk, ended) = running.ended();
    ended.with(130);
    check_cut_short(&desk.record("kept"));
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = "run this-machine --duration=1s --repeats=1 --set sentinel=false --out=kept";
    let script = format!("trap '' HUP; exec {PROGRAM} {run}");
    let mut command = Command::new("sh");
    let command = command.arg("-c").arg(script).current_dir(desk.path()).process_group(0);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("a worker", || alive(&["__worker"]).iter().any(|worker| parent(*worker) == Some(child.id())));
    kill_process_group(Pid::from_child(&child), Signal::HUP).unwrap();
    Ended::from(child.wait_with_output().unwrap()).with(0);
    assert_eq!(desk.record("kept")["cut_short"], false);
}

#[test]
fn a_program_that_is_killed_takes_workers_and_neighbours_with_it() {
    let _alone = this_machine();
    let running = Running::start();
    let program = running.child.id();
    let workers =
        || -> Vec<u32> { alive(&["__worker"]).into_iter().filter(|worker| parent(*worker) == Some(program)).collect() };
    let worker = workers();
    assert_eq!(worker.len(), 1);
    kill_process(running.pid(), Signal::KILL).unwrap();
    eventually("the worker's end", || alive(&["__worker"]).iter().all(|process| !worker.contains(process)));
    eventually("the neighbours' end", || running.neighbours().is_empty());
    assert!(!running.desk.path().join("kept/run.json").exists());
    // The idle repeat had ended before the neighbours started.
    let shown = running.desk.run(&["show", "kept", "--json"]).with(0).json();
    assert_eq!((list(case(&shown, "idle"), "repeats").len(), list(case(&shown, "none"), "repeats").len()), (1, 0));
}

fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn an_interrupt_before_the_first_sample_leaves_nothing() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file("long.toml", &experiment("unused"));
    let command = desk.command(&["run", "long.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = command.unwrap();
    // The worker of the pilot is there: nothing has been measured yet that counts.
    eventually("the pilot", || alive(&["__worker"]).iter().any(|worker| parent(*worker) == Some(child.id())));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = Ended::from(child.wait_with_output().unwrap()).with(130);
    assert!(ended.stdout.is_empty() && ended.stderr.contains("interrupted before anything was measured"), "{ended:?}");
    assert_eq!(desk.names(), ["long.toml"]);
}

#[test]
fn a_simulation_is_interrupted_too() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = ["run", "agilex5-cluster-latency", "--duration=20s", "--out=kept", "--set=mitigations=[]"];
    let child = desk.command(&run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Simulated repeats tell nothing of themselves; after this the pilots of 2 ms are behind it.
    eventually("the folder", || desk.path().join("kept").exists());
    std::thread::sleep(Duration::from_secs(3));
    let asked = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Ended::from(child.wait_with_output().unwrap()).with(130);
    assert!(asked.elapsed() < Duration::from_secs(2), "it took {:?} to end", asked.elapsed());
    let run = desk.record("kept");
    assert_eq!(run["cut_short"], true);
    let lengths = list(&run, "cases").iter().map(|case| case["run_length_s"].as_f64().unwrap());
    assert!(lengths.into_iter().all(f64::is_sign_positive), "a case that did not begin took 0 s, not -0");
    let repeats = list(case(&run, "none"), "repeats");
    assert!(!repeats.is_empty());
    for repeat in repeats {
        assert_eq!(repeat["cut_short"], true);
        let simulated_s = repeat["run_length_s"].as_f64().unwrap();
        assert!(simulated_s > 0.0 && simulated_s < 20.0, "{simulated_s}");
    }
}
