//! Real processes, killed with SIGKILL before every effect: the kernel frees the lock, the journal on disk tells the rest.
//!
//! The machine outlives the process as a file of everything that was done to it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use rustix::process::{Signal, getpid, kill_process};
use waykeeper_control::{
    ApplyRequest, MachineAccess, OthersChanges, ResctrlTree, Restored, StateDirectory, Store, TreeError, apply_with,
    restore, restore_with,
};
use waykeeper_policy::{MountSettings, Step};
use waykeeper_resctrl::KernelRelease;

use crate::cut::Cut;
use crate::model::{Acting, Model};
use crate::plans::{Kind, group, write};

/// `FOLDER:EFFECT:WORK` makes the test `a_process_to_kill` one.
const ORDER: &str = "WAYKEEPER_TEST_KILLED";

/// Moves masks, CPUs and tasks, of the root and of groups of others.
fn steps() -> Vec<Step> {
    vec![
        Step::Mounted(Kind::Plain.settings()),
        write("schemata", "L3:0=ffc00;1=ffc00\nMB:0=33\n"),
        group("x"),
        write("x/schemata", "L3:0=3ff;1=3ff\n"),
        write("x/cpus_list", "0,2-3\n"),
        write("x/tasks", "1\n"),
        write("x/tasks", "5\n"),
    ]
}

pub fn start() -> Model {
    let mut model = Kind::Plain.model(KernelRelease::V6_12);
    model.mkdir("a").unwrap();
    model.mkdir("a/mon_groups/m").unwrap();
    model.mkdir("mon_groups/r").unwrap();
    model.write("a/cpus_list", "2-3\n").unwrap();
    model.write("a/mon_groups/m/cpus_list", "3\n").unwrap();
    model.write("mon_groups/r/cpus_list", "0-1\n").unwrap();
    model.write("a/tasks", "5\n").unwrap();
    model.write("a/mon_groups/m/tasks", "5\n").unwrap();
    model
}

/// The machine with everything done to it that the file tells.
pub fn machine(folder: &Path) -> Model {
    let mut model = start();
    let text = fs::read_to_string(folder.join("done")).unwrap_or_default();
    for line in text.lines() {
        let (action, path, text): (String, String, String) = serde_json::from_str(line).unwrap();
        let _ = match action.as_str() {
            "write" => model.write(&path, &text),
            "mkdir" => model.mkdir(&path),
            _ => model.rmdir(&path),
        };
    }
    model
}

/// Kills this process before its effect.
struct Killer {
    left: usize,
}

impl Killer {
    fn effect(&mut self) {
        if self.left == 0 {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
        self.left -= 1;
    }
}

struct Killed<'k, T: ?Sized> {
    inner: &'k mut T,
    killer: &'k std::cell::RefCell<Killer>,
    folder: &'k Path,
}

impl Killed<'_, dyn ResctrlTree + '_> {
    fn keep(&mut self, action: &str, path: &str, text: &str) {
        self.killer.borrow_mut().effect();
        let line = serde_json::to_string(&(action, path, text)).unwrap() + "\n";
        let file = OpenOptions::new().create(true).append(true).open(self.folder.join("done"));
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

impl ResctrlTree for Killed<'_, dyn ResctrlTree + '_> {
    fn unusable(&mut self) -> Option<String> {
        self.inner.unusable()
    }

    fn mounted(&mut self) -> Result<Option<MountSettings>, TreeError> {
        self.inner.mounted()
    }

    fn mount(&mut self, settings: MountSettings) -> Result<(), TreeError> {
        self.inner.mount(settings)
    }

    fn unmount(&mut self) -> Result<(), TreeError> {
        self.inner.unmount()
    }

    fn read(&mut self, path: &str) -> Result<String, TreeError> {
        self.inner.read(path)
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), TreeError> {
        self.keep("write", path, text);
        self.inner.write(path, text)
    }

    fn mkdir(&mut self, path: &str) -> Result<(), TreeError> {
        self.keep("mkdir", path, "");
        self.inner.mkdir(path)
    }

    fn rmdir(&mut self, path: &str) -> Result<(), TreeError> {
        self.keep("rmdir", path, "");
        self.inner.rmdir(path)
    }

    fn directories(&mut self, path: &str) -> Result<Vec<String>, TreeError> {
        self.inner.directories(path)
    }
}

impl Store for Killed<'_, StateDirectory> {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.inner.read()
    }

    fn create(&mut self, bytes: &[u8], more: u64) -> io::Result<()> {
        self.killer.borrow_mut().effect();
        self.inner.create(bytes, more)
    }

    fn append(&mut self, end: u64, bytes: &[u8]) -> io::Result<()> {
        self.killer.borrow_mut().effect();
        self.inner.append(end, bytes)
    }

    fn reserve(&mut self, end: u64, more: u64) -> io::Result<()> {
        self.inner.reserve(end, more)
    }

    fn remove(&mut self) -> io::Result<()> {
        self.killer.borrow_mut().effect();
        self.inner.remove()
    }
}

#[test]
fn a_process_to_kill() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let words: Vec<&str> = order.rsplitn(3, ':').collect();
    let [work, effect, folder] = words[..] else { panic!("{order}") };
    let folder = Path::new(folder);
    let state = StateDirectory::at(folder.join("state"));
    let _held = state.lock(work).unwrap();
    let killer = std::cell::RefCell::new(Killer { left: effect.parse().unwrap() });
    let mut acting = Acting::on(machine(folder), &Cut::default());
    let MachineAccess { tree, registers, system } = acting.machine();
    let mut tree: Killed<'_, dyn ResctrlTree + '_> = Killed { inner: tree, killer: &killer, folder };
    let mut store = Killed { inner: &mut state.clone(), killer: &killer, folder };
    let mut machine = MachineAccess { tree: &mut tree, registers, system };
    match work {
        "apply" => {
            let request = ApplyRequest { policy: "test", version: "0", steps: &steps() };
            apply_with(&mut machine, &mut store, &request, &AtomicBool::new(false)).map(drop).unwrap();
        }
        _ => drop(restore_with(&mut machine, &mut store, OthersChanges::Leave).unwrap()),
    }
}

/// Runs the work in a process of its own. Whether it came to its end.
fn ends(folder: &Path, work: &str, effect: usize) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "killed::a_process_to_kill", "--test-threads=1"]);
    let output = child.env(ORDER, format!("{}:{effect}:{work}", folder.display())).output().unwrap();
    let killed = std::os::unix::process::ExitStatusExt::signal(&output.status) == Some(Signal::KILL.as_raw());
    assert!(killed || output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    !killed
}

#[test]
fn whatever_is_killed_is_put_back() {
    let before = start().everything();
    let mut kills = 0;
    for work in ["apply", "restore"] {
        for effect in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            if work == "restore" {
                assert!(ends(folder, "apply", usize::MAX));
                assert_ne!(machine(folder).everything(), before);
            }
            let ended = ends(folder, work, effect);
            let state = StateDirectory::at(folder.join("state"));
            let mut acting = Acting::on(machine(folder), &Cut::default());
            let restored = restore(&mut acting.machine(), &state, OthersChanges::Leave).unwrap();
            assert!(matches!(restored, Restored::Back { .. } | Restored::Nothing), "{work} {effect}: {restored:?}");
            assert_eq!(acting.model.borrow_mut().everything(), before, "{work} {effect}");
            assert_eq!(state.clone().read().unwrap(), None);
            if ended {
                break;
            }
            kills += 1;
        }
    }
    // Seven steps with two lines of journal each, and what stands around them, at the least.
    assert!(kills > 30, "{kills}");
}
