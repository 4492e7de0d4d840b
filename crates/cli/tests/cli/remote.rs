//! `--remote`: commands on a board, which is this machine behind a real `sshd`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Desk, Ended, PROGRAM, eventually, names_in, this_machine};

/// What ends at once everywhere, and is equal wherever it runs.
const SHORT: [&str; 4] = ["agilex5-cluster-latency", "--duration=2ms", "--repeats=1", "--set=mitigations=none"];

/// An `sshd` with keys of its own, and a folder for its user's commands.
struct Board {
    desk: Desk,
    port: u16,
    server: Option<Child>,
    options: String,
}

impl Board {
    fn new() -> Self {
        Self::with("")
    }

    /// One with further lines in its configuration.
    fn with(options: &str) -> Self {
        let desk = Desk::new();
        for name in ["host", "key", "other"] {
            keygen(&desk.path().join(name), "");
        }
        keygen(&desk.path().join("locked"), "secret");
        for folder in ["home", "cache", "bin", "work"] {
            fs::create_dir(desk.path().join(folder)).unwrap();
        }
        let accepted = ["key.pub", "locked.pub"].map(|name| fs::read_to_string(desk.path().join(name)).unwrap());
        desk.file("authorized_keys", &accepted.concat());
        // Nobody listens there yet.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut board = Self { desk, port, server: None, options: options.to_owned() };
        board.options = board.options.replace("DESK", &board.text(""));
        board.use_key("key");
        let host_key = fs::read_to_string(board.path("host.pub")).unwrap();
        board.desk.file("known", &format!("[127.0.0.1]:{port} {host_key}"));
        let wrapper = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", board.text("client"));
        fs::set_permissions(board.desk.file("bin/ssh", &wrapper), PermissionsExt::from_mode(0o755)).unwrap();
        board.up();
        board
    }

    fn use_key(&self, name: &str) {
        let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
        let text = format!(
            "Host board\n  HostName 127.0.0.1\n  Port {}\n  User {}\n  IdentityFile {}\n  IdentitiesOnly yes\n  IdentityAgent none\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking ask\n",
            self.port,
            user.trim(),
            self.text(name),
            self.text("known")
        );
        self.desk.file("client", &text);
    }

    fn up(&mut self) {
        let text = format!(
            "ListenAddress 127.0.0.1\nPort {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n{}\n",
            self.port,
            self.text("host"),
            self.text("authorized_keys"),
            self.options
        );
        let configuration = self.desk.file("server", &text);
        // As root it wants the empty folder that it gives up its rights in.
        let _ = fs::create_dir_all("/run/sshd");
        let log = fs::File::create(self.path("server.log")).unwrap();
        let mut server = Command::new("/usr/sbin/sshd");
        server.args(["-D", "-e", "-f"]).arg(configuration).stderr(log);
        self.server = Some(server.spawn().expect("sshd (openssh-server) starts"));
        eventually("sshd listens", || std::net::TcpStream::connect(("127.0.0.1", self.port)).ok());
    }

    fn down(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.desk.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The program on this side, about to start in the folder `work`.
    fn command(&self, arguments: &[&str]) -> Command {
        // Before what belongs to the user's program.
        let cache = format!("--remote-cache={}", self.text("cache"));
        self.bare(&[&["--remote=board", &cache], arguments].concat())
    }

    fn bare(&self, arguments: &[&str]) -> Command {
        let mut path = OsString::from(self.path("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.path("work")).env("PATH", path).env("HOME", self.path("home"));
        command.env("SOURCE_DATE_EPOCH", "1000000000").env("WAYKEEPER_REMOTE_PATIENCE", "20");
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(&mut self.command(arguments))
    }

    /// Names below the cache on the board.
    fn left(&self, folder: &str) -> Vec<String> {
        names_in(&self.path("cache/waykeeper-remote").join(folder))
    }

    /// Nothing stays but the program, and nothing is remembered here.
    #[track_caller]
    fn is_tidy(&self) {
        assert_eq!(self.left(""), ["bin", "runs"]);
        assert_eq!(self.left("runs"), [""; 0]);
        assert_eq!(self.left("bin").len(), 1);
        let remembered = self.path("home/.local/state/waykeeper/remote");
        assert!(!remembered.exists() || names_in(&remembered).is_empty());
    }

    /// The run that this machine makes of the same arguments.
    fn local(&self, arguments: &[&str], out: &str) -> PathBuf {
        Ended::of(self.bare(&["run"]).args(arguments).arg(format!("--out={out}"))).with(0);
        self.path("work").join(out)
    }

    /// The `ssh` of this board's commands.
    fn clients(&self) -> Vec<Pid> {
        processes(&format!("-F {} ", self.text("client")))
    }

    /// Waits until a run on the board has measured something, and is followed: the connection that starts it is another one
    /// than that which follows it, and between them there is none.
    fn wait_for_progress(&self) {
        const STEPS: usize = 12;
        eventually("progress on the board", || {
            let runs = self.path("cache/waykeeper-remote/runs");
            let run = fs::read_dir(&runs).ok()?.next()?.ok()?;
            let steps = fs::read_to_string(run.path().join("progress")).ok()?;
            (steps.lines().count() >= STEPS && !self.clients().is_empty()).then_some(())
        });
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        for process in self.clients() {
            let _ = kill_process(process, Signal::KILL);
        }
        self.down();
    }
}

fn keygen(path: &Path, passphrase: &str) {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", passphrase, "-f"]).arg(path);
    assert!(command.status().unwrap().success());
}

/// Processes with this text in their command line.
fn processes(text: &str) -> Vec<Pid> {
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let matching = |process: &i32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
    };
    numbers.filter(matching).filter_map(Pid::from_raw).collect()
}

/// Two runs are equal but for the command lines that made them.
#[track_caller]
fn are_equal(a: &Path, b: &Path) {
    assert_eq!(names_in(a), names_in(b));
    for name in names_in(a) {
        let read = |folder: &Path| fs::read(folder.join(&name)).unwrap();
        if name == "run.json" {
            let json = |folder: &Path| {
                let mut json: serde_json::Value = serde_json::from_slice(&read(folder)).unwrap();
                assert!(json.as_object_mut().unwrap().remove("command_line").is_some());
                json
            };
            assert_eq!(json(a), json(b));
        } else {
            assert!(read(a) == read(b), "{name}");
        }
    }
}

/// A run long enough to be interrupted in: some seconds.
const LONG: [&str; 4] = ["agilex5-cluster-latency", "--duration=60ms", "--repeats=10", "--set=mitigations=none,nl3a"];

/// The same run of this machine, which is made once.
fn long_here() -> PathBuf {
    static MADE: OnceLock<(Desk, PathBuf)> = OnceLock::new();
    let make = || {
        let desk = Desk::new();
        let mut command = desk.command(&["run", "--out=here"]);
        Ended::of(command.args(LONG).env("SOURCE_DATE_EPOCH", "1000000000")).with(0);
        let path = desk.path().join("here");
        (desk, path)
    };
    MADE.get_or_init(make).1.clone()
}

#[test]
fn a_simulated_run_on_a_board_is_equal_to_one_of_this_machine() {
    let board = Board::new();
    let first = Ended::of(board.command(&["run", "--out=there"]).args(SHORT)).with(0);
    assert!(first.stdout.contains("kept in there"), "{}", first.stdout);
    assert!(first.stderr.contains("was copied to board"), "{}", first.stderr);
    are_equal(&board.path("work/there"), &board.local(&SHORT, "here"));
    board.is_tidy();

    // The program is there by now, and a folder is found where none is named.
    let second = Ended::of(board.command(&["run"]).args(SHORT)).with(0);
    assert!(!second.stderr.contains("was copied"), "{}", second.stderr);
    let runs = names_in(&board.path("work/waykeeper-runs"));
    assert!(second.stdout.contains(&format!("kept in waykeeper-runs/{}", runs[0])), "{}", second.stdout);
    are_equal(&board.path("work/waykeeper-runs").join(&runs[0]), &board.path("work/here"));

    // A program that was damaged there is copied anew.
    let program = board.path("cache/waykeeper-remote/bin").join(&board.left("bin")[0]);
    fs::write(&program, "damaged").unwrap();
    assert!(board.run(&["status"]).stderr.contains("was copied to board"));
    board.is_tidy();
}

#[test]
fn this_machine_and_a_users_program_are_measured_on_the_board() {
    let board = Board::new();
    let program = board.desk.file("work/program", "#!/bin/sh\ncat shared/words\n");
    fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
    fs::create_dir(board.path("work/shared")).unwrap();
    board.desk.file("work/shared/words", "some words");
    let _machine = this_machine();
    let mut command = board.command(&["run", "this-machine", "--duration=50ms", "--repeats=1", "--json"]);
    command.args(["--out=kept", "--set=neighbours=[]", "--remote-send=shared", "--passes=process", "--", "./program"]);
    let json = Ended::of(&mut command).with(0).json();
    assert_eq!(json["cases"][0]["target"], "program", "{json}");
    assert_eq!(json, board.desk.record("work/kept"));
    board.is_tidy();
}

#[test]
fn files_that_a_command_names_are_sent_along() {
    let board = Board::new();
    fs::create_dir_all(board.path("work/experiments/inner")).unwrap();
    fs::create_dir(board.path("work/platforms")).unwrap();
    let platform = fs::read_to_string(crate::program::repository().join("platforms/agilex5.toml")).unwrap();
    board.desk.file("work/platforms/box.toml", &platform);
    let experiment = |platform: &str| {
        format!(
            "title = 'x'\nplatform = '{platform}'\nsimulated_duration = '1 ms'\nrepeats = 1\n\
             targets = [{{ workload = 'latency_loop', core = 3 }}]\n"
        )
    };
    let relative = experiment("../inner/../../platforms/box.toml");
    board.desk.file("work/experiments/inner/relative.toml", &relative);
    let absolute = experiment(&board.text("work/platforms/box.toml"));
    board.desk.file("work/absolute.toml", &absolute);

    for (experiment, out) in [("experiments/inner/relative.toml", "a"), ("absolute.toml", "b")] {
        let ended = board.run(&["run", experiment, "--out", out]).with(0);
        assert!(ended.stdout.contains(&format!("kept in {out}\n")), "{}", ended.stdout);
        assert!(!ended.stdout.contains("waykeeper-remote"), "{}", ended.stdout);
    }
    // The experiment and its platform by absolute paths; the run into an absolute path outside of the working directory.
    let file = board.text("work/experiments/inner/relative.toml");
    let set = format!("--set=platform={}", board.text("work/platforms/box.toml"));
    let ended = board.run(&["run", &file, &set, "--out", &board.text("elsewhere")]).with(0);
    assert!(ended.stdout.contains(&format!("kept in {}\n", board.text("elsewhere"))), "{}", ended.stdout);
    assert!(board.path("elsewhere/run.json").exists());

    let policy = fs::read_to_string(crate::program::repository().join("policies/tcc-halves.toml")).unwrap();
    board.desk.file("work/mine.toml", &policy);
    let here = Ended::of(&mut board.bare(&["plan", "mine.toml", "--for", "i7-13800hre"])).with(0);
    let there = board.run(&["plan", "mine.toml", "--for", "i7-13800hre"]).with(0);
    assert_eq!(there.stdout, here.stdout);

    let missing = experiment("no-such-platform.toml");
    board.desk.file("work/missing.toml", &missing);
    let ended = board.run(&["run", "missing.toml"]).with(2);
    assert!(
        ended.stderr.contains("missing.toml:2") && ended.stderr.contains("no-such-platform.toml"),
        "{}",
        ended.stderr
    );
    let ended = board.run(&["run", "no-such.toml"]).with(2);
    assert!(ended.stderr.contains("no experiment of this name"), "{}", ended.stderr);
    let ended = board.run(&["run", "this-machine", "--", "./no-such"]).with(2);
    assert!(ended.stderr.contains("./no-such"), "{}", ended.stderr);
    assert!(!board.path("work/waykeeper-runs").exists());
    board.is_tidy();
}

#[test]
fn other_commands_end_there_as_here() {
    let board = Board::new();
    let machine = board.run(&["machine", "--json"]).with(0).json();
    assert_eq!(machine["identity"]["architecture"], std::env::consts::ARCH);
    board.run(&["machine", "--record", "box.tar.zst"]).with(0);
    let taken = board.run(&["machine", "--record", "box.tar.zst"]).with(2);
    assert!(taken.stderr.contains("there already"), "{}", taken.stderr);
    let here = Ended::of(&mut board.bare(&["machine", "--root", "box.tar.zst", "--json"])).with(0).json();
    assert_eq!(here["identity"]["processor"], machine["identity"]["processor"]);
    // The status of the command there is the status here; so is its error.
    let broken = board.run(&["run", SHORT[0], SHORT[1], SHORT[3], "--repeats=5", "--budget=max<=1ns", "--out=broken"]);
    assert!(board.path("work/broken/run.json").exists());
    broken.with(1);
    let refused = board.run(&["verify"]).with(3);
    assert!(refused.stderr.starts_with("error: nothing is applied"), "{}", refused.stderr);
    let refused = board.run(&["rtcp", "respond", "--if=no-such-if", "--out=cycles.json"]).with(3);
    assert!(refused.stderr.contains("no-such-if"), "{}", refused.stderr);
    for command in ["show", "enter", "report"] {
        let refused = board.run(&[command, "x"]).with(2);
        assert!(refused.stderr.contains("needs no board"), "{}", refused.stderr);
    }
    let refused = board.run(&["doctor", "--root=box.tar.zst"]).with(2);
    assert!(refused.stderr.contains("--root box.tar.zst"), "{}", refused.stderr);
    board.is_tidy();
}

#[test]
fn busybox_is_enough_on_the_board() {
    let board = Board::with("SetEnv PATH=DESK/applets");
    fs::create_dir(board.path("applets")).unwrap();
    let install = Command::new("busybox").args(["--install", "-s"]).arg(board.path("applets")).status();
    assert!(install.expect("busybox").success());
    // What Debian's BusyBox has no applet for is missing there, as on a board.
    Ended::of(board.command(&["run", "--out=there"]).args(SHORT)).with(0);
    are_equal(&board.path("work/there"), &board.local(&SHORT, "here"));
    board.is_tidy();
    Ended::of(&mut board.command(&["--remote-clean"])).with(0);
    assert_eq!(names_in(&board.path("cache")), [""; 0]);
}

/// A command on the board in a process group of its own.
fn started(board: &Board, out: &str) -> Child {
    let mut command = board.command(&["run", "--out", out]);
    command.args(LONG).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_lost_connection_is_made_again() {
    let board = Board::new();
    let running = started(&board, "there");
    board.wait_for_progress();
    for process in board.clients() {
        let _ = kill_process(process, Signal::KILL);
    }
    let ended = Ended::from(running.wait_with_output().unwrap()).with(0);
    assert!(ended.stderr.contains("was lost") && ended.stderr.contains("connected to board again"), "{}", ended.stderr);
    assert_eq!(ended.stdout.matches("kept in there").count(), 1, "{}", ended.stdout);
    are_equal(&board.path("work/there"), &long_here());
    board.is_tidy();
}

#[test]
fn a_run_goes_on_without_anybody_and_is_fetched_later() {
    let board = Board::new();
    let mut running = started(&board, "there");
    board.wait_for_progress();
    running.kill().unwrap();
    running.wait().unwrap();
    eventually("the connection ends with who has made it", || board.clients().is_empty().then_some(()));
    let attached = Ended::of(&mut board.bare(&["--remote=board", "--attach"])).with(0);
    assert!(attached.stdout.contains("kept in there"), "{}", attached.stdout);
    are_equal(&board.path("work/there"), &long_here());
    board.is_tidy();
    let nothing = Ended::of(&mut board.bare(&["--remote=board", "--attach"])).with(2);
    assert!(nothing.stderr.contains("no run was begun here on board"), "{}", nothing.stderr);
}

#[test]
fn a_board_that_does_not_come_back_is_said_and_the_run_goes_on() {
    let mut board = Board::new();
    let mut command = board.command(&["run", "--out=there"]);
    command.args(LONG).env("WAYKEEPER_REMOTE_PATIENCE", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    board.wait_for_progress();
    board.down();
    for process in board.clients() {
        let _ = kill_process(process, Signal::KILL);
    }
    let ended = Ended::from(running.wait_with_output().unwrap()).with(5);
    let advice = ended.stderr.lines().last().unwrap();
    let attach = advice.split('`').nth(1).unwrap().strip_prefix("waykeeper ").unwrap().to_owned();
    assert!(attach.starts_with("--remote board --attach="), "{advice}");
    board.up();
    let attach: Vec<&str> = attach.split(' ').collect();
    Ended::of(&mut board.bare(&attach)).with(0);
    are_equal(&board.path("work/there"), &long_here());
    board.is_tidy();
}

#[test]
fn ctrl_c_ends_the_run_there_and_fetches_what_it_measured() {
    let board = Board::new();
    let running = started(&board, "there");
    board.wait_for_progress();
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    let ended = Ended::from(running.wait_with_output().unwrap()).with(130);
    assert!(ended.stdout.contains("kept in there"), "{}", ended.stdout);
    let record = board.desk.record("work/there");
    assert_eq!(record["cut_short"], true);
    board.is_tidy();
}

#[test]
fn a_command_that_is_killed_there_is_said_to_have_ended_so() {
    let board = Board::new();
    let running = started(&board, "there");
    board.wait_for_progress();
    let folder = board.path("cache/waykeeper-remote/runs").join(&board.left("runs")[0]);
    for file in ["supervisor", "pid"] {
        let process = fs::read_to_string(folder.join(file)).unwrap();
        kill_process(Pid::from_raw(process.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    }
    let ended = Ended::from(running.wait_with_output().unwrap()).with(3);
    assert!(ended.stderr.contains("ended without a status"), "{}", ended.stderr);
    // What it had measured is here, and goes on there.
    board.run(&["run", "--resume=there"]).with(0);
    are_equal(&board.path("work/there"), &long_here());
    board.is_tidy();
}

#[test]
fn a_program_for_another_architecture_is_refused() {
    let board = Board::new();
    let mut program = fs::read(PROGRAM).unwrap();
    program.truncate(1 << 16);
    // The machine of an ELF file is at byte 18; 243 is RISC-V's number, in no program of ours.
    program[18..20].copy_from_slice(&243u16.to_le_bytes());
    fs::write(board.path("work/foreign"), &program).unwrap();
    let refused = board.run(&["status", "--remote-binary=foreign"]).with(2);
    assert!(
        refused.stderr.contains("ELF machine 243") && refused.stderr.contains("the board is"),
        "{}",
        refused.stderr
    );
    board.desk.file("work/script", "#!/bin/sh\n");
    let refused = board.run(&["status", "--remote-binary=script"]).with(2);
    assert!(refused.stderr.contains("no ELF file"), "{}", refused.stderr);
    // Nor is a user's program started that cannot run there.
    let refused = board.run(&["run", "this-machine", "--out=kept", "--remote-send=foreign"]).with(2);
    assert!(refused.stderr.contains("foreign") && refused.stderr.contains("build it for"), "{}", refused.stderr);
    assert!(!board.path("work/kept").exists());
    // One that has the right header, and is none, is not kept.
    fs::write(board.path("work/cut"), &fs::read(PROGRAM).unwrap()[..1 << 16]).unwrap();
    let refused = board.run(&["status", "--remote-binary=cut"]).with(3);
    assert!(refused.stderr.contains("was not taken"), "{}", refused.stderr);
    assert_eq!(board.left("bin"), [""; 0]);
}

#[test]
fn what_ssh_refuses_is_one_line_that_says_what_to_do() {
    let mut board = Board::new();
    for (key, advice) in [("other", "ssh-copy-id"), ("locked", "ssh-add")] {
        board.use_key(key);
        let refused = board.run(&["status"]).with(3);
        assert!(
            refused.stderr.contains("no key was accepted") && refused.stderr.contains(advice),
            "{}",
            refused.stderr
        );
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    }
    board.use_key("key");
    board.desk.file("known", "");
    let refused = board.run(&["status"]).with(3);
    assert!(refused.stderr.contains("connect once with `ssh board`"), "{}", refused.stderr);
    board.down();
    let refused = board.run(&["status"]).with(3);
    assert!(refused.stderr.contains("Connection refused"), "{}", refused.stderr);
    for bad in ["-oProxyCommand=x", "a b", "board:x"] {
        let refused = Ended::of(&mut board.bare(&["status", &format!("--remote={bad}")])).with(2);
        assert!(refused.stderr.contains("--remote"), "{}", refused.stderr);
    }
}

#[test]
fn a_shipped_program_is_found_by_its_name() {
    let board = Board::new();
    let name = format!("waykeeper-{}", std::env::consts::ARCH);
    fs::create_dir(board.path("shipped")).unwrap();
    let shipped =
        |arguments: &[&str]| Ended::of(board.command(arguments).env("WAYKEEPER_BINARIES", board.path("shipped")));
    // Another length, so that it is another program than the one under test.
    let mut program = fs::read(PROGRAM).unwrap();
    program.extend(b"shipped");
    fs::write(board.path("shipped").join(&name), &program).unwrap();
    let found = shipped(&["status"]).with(0);
    assert!(found.stderr.contains(&format!("shipped/{name} was copied")), "{}", found.stderr);
    program.truncate(1 << 16);
    program[18..20].copy_from_slice(&243u16.to_le_bytes());
    fs::write(board.path("shipped").join(&name), &program).unwrap();
    let refused = shipped(&["status"]).with(2);
    assert!(refused.stderr.contains(&name) && refused.stderr.contains("ELF machine 243"), "{}", refused.stderr);
}

#[test]
fn a_cache_of_another_user_is_not_run_from() {
    let board = Board::new();
    fs::create_dir(board.path("cache/waykeeper-remote")).unwrap();
    std::os::unix::fs::chown(board.path("cache/waykeeper-remote"), Some(54321), None).unwrap();
    let refused = board.run(&["status"]).with(3);
    assert!(refused.stderr.contains("belongs to another user"), "{}", refused.stderr);
}

/// A small file system, which is gone at the end.
struct Small(PathBuf);

impl Small {
    fn at(path: PathBuf) -> Self {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "small"]).arg(&path).status();
        assert!(mount.unwrap().success(), "a small file system needs root");
        Self(path)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_board_without_space_is_left_as_it_was() {
    let board = Board::new();
    let _small = Small::at(board.path("cache"));
    let refused = board.run(&["status"]).with(3);
    assert!(
        refused.stderr.contains("MiB are free in") && refused.stderr.contains("--remote-cache"),
        "{}",
        refused.stderr
    );
    assert_eq!(board.left("bin"), [""; 0]);
    let mut command = board.bare(&["status", "--remote=board", "--remote-cache=/proc/none"]);
    let refused = Ended::of(&mut command).with(3);
    assert!(refused.stderr.contains("--remote-cache"), "{}", refused.stderr);
}

#[test]
fn cleaning_leaves_nothing() {
    let board = Board::new();
    board.desk.file("cache/others", "x");
    let mut command = board.command(&["load", "latency_loop@0"]);
    let running = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the load runs", || {
        let run = fs::read_dir(board.path("cache/waykeeper-remote/runs")).ok()?.next()?.ok()?;
        fs::read_to_string(run.path().join("stdout")).ok()?.contains("running").then_some(())
    });
    let busy = Ended::of(&mut board.command(&["--remote-clean"])).with(3);
    assert!(busy.stderr.contains("nothing was removed"), "{}", busy.stderr);
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    let ended = Ended::from(running.wait_with_output().unwrap()).with(0);
    assert!(ended.stdout.contains("running: latency_loop@0"), "{}", ended.stdout);
    board.is_tidy();
    let removed = Ended::of(&mut board.command(&["--remote-clean"])).with(0);
    assert!(removed.stdout.contains("removed"), "{}", removed.stdout);
    assert_eq!(names_in(&board.path("cache")), ["others"]);
    let nothing = Ended::of(&mut board.command(&["--remote-clean"])).with(0);
    assert!(nothing.stdout.contains("nothing of Waykeeper"), "{}", nothing.stdout);
    for bad in [&["--remote-clean"][..], &["--attach"], &["status", "--remote-cache=x"]] {
        let refused = Ended::of(&mut board.bare(bad)).with(2);
        assert!(refused.stderr.contains("expected the board"), "{}", refused.stderr);
    }
    board.run(&["status", "--remote-clean"]).with(2);
    Ended::of(&mut board.command(&[])).with(2);
}

#[test]
fn what_a_hostile_board_prints_is_shown_as_escapes() {
    // Its sha256sum says what is asked for.
    let board = Board::with("SetEnv PATH=DESK/fake:/usr/bin:/bin");
    board.run(&["status"]).with(0);
    let program = board.path("cache/waykeeper-remote/bin").join(&board.left("bin")[0]);
    fs::create_dir(board.path("fake")).unwrap();
    let executable = |name: &str, text: &str| {
        fs::set_permissions(board.desk.file(name, text), PermissionsExt::from_mode(0o755)).unwrap();
    };
    executable("fake/sha256sum", "#!/bin/sh\necho \"$1  $1\"\n");
    fs::remove_file(&program).unwrap();
    let hostile = "#!/bin/sh\nprintf '\"a\\033[2J\\302\\233b\"\\n'\nprintf 'error: c\\033]0;d\\007\\n' >&2\nexit 7\n";
    executable(program.strip_prefix(board.path("")).unwrap().to_str().unwrap(), hostile);
    let text = board.run(&["status"]).with(7);
    assert_eq!(text.stdout, "\"a\\u{1b}[2J\\u{9b}b\"\n");
    assert_eq!(text.stderr, "error: c\\u{1b}]0;d\\u{7}\n");
    // In JSON they are the same characters still.
    let json = board.run(&["status", "--json"]).with(7);
    assert!(!json.stdout.contains('\x1b'), "{}", json.stdout);
    assert_eq!(json.json(), "a\x1b[2J\u{9b}b");
}
