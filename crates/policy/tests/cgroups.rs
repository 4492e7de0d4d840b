//! Classes by cgroup: what a plan makes of them, and what its script does when a shell runs it.

use std::fs;
use std::process::Command;

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::offer::Texts;
use waykeeper_policy::{Assignment, Form, LoadedPolicy, Lowered, Membership, Offer, Step, lower, plan};

/// Below one slice a nested one, and a process named by number: who is named more closely comes last.
const POLICY: &str = "title = 'x'
[[classes]]
name = 'inner'
cgroups = ['pods/a/b']
tasks = [12]
l3 = '2 ways'
[[classes]]
name = 'outer'
cgroups = ['/pods/', 'system-wk\\x2dx.slice']
l3 = '2 ways'
";

fn texts(files: &[(&str, &str)]) -> Texts {
    Texts(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

fn offer() -> Offer {
    let file = find_bundled("xeon-d-2752ter").unwrap();
    Offer::of_platform(&Platform::from_toml(file.text, "xeon-d-2752ter").unwrap())
}

fn planned(policy: &str, tree: &Texts) -> (Assignment, Lowered) {
    let loaded = LoadedPolicy::from_text("my", "my.toml", policy).unwrap();
    let membership = Membership::read(&loaded.policy, tree).unwrap();
    let assignment = plan(&loaded, &offer(), &membership).unwrap();
    let lowered = lower(&assignment, &offer(), Form::Resctrl).unwrap();
    (assignment, lowered)
}

fn cgroup(group: &str, cgroup: &str) -> Step {
    Step::Cgroup { group: group.into(), cgroup: cgroup.into() }
}

#[test]
fn who_is_named_more_closely_comes_last() {
    let tree = texts(&[
        ("/sys/fs/cgroup/pods/cgroup.threads", "7\n"),
        ("/sys/fs/cgroup/pods/a/b/cgroup.threads", "8\n9\n"),
        ("/proc/12/status", "Tgid:\t12\n"),
        ("/proc/12/task/12/comm", "x\n"),
    ]);
    let (assignment, lowered) = planned(POLICY, &tree);
    let members = |step: &Step| match step {
        Step::Write { path, .. } => path.ends_with("tasks"),
        step => matches!(step, Step::Cgroup { .. }),
    };
    let steps: Vec<_> = lowered.steps().into_iter().filter(members).collect();
    let task = Step::Write { path: "inner/tasks".into(), text: "12\n".into() };
    let expected =
        [cgroup("outer", "pods"), cgroup("outer", r"system-wk\x2dx.slice"), cgroup("inner", "pods/a/b"), task];
    assert_eq!(steps, expected);
    // One that is not there may come, or be misspelt: both read the same, so that it is said.
    let notes = assignment.notes.join("\n");
    let absent = r"there is no cgroup `system-wk\x2dx.slice` now, so `outer` has none of its tasks yet";
    assert!(notes.contains(absent) && !notes.contains("`pods`"), "{notes}");
    assert!(lowered.notes.join("\n").contains("`waykeeper follow`"), "{:?}", lowered.notes);
    let threads: Vec<_> =
        assignment.classes.iter().flat_map(|class| &class.members).map(|it| it.threads.clone()).collect();
    // Without those of a cgroup that is named itself.
    assert!(threads.contains(&Some(vec![7])) && threads.contains(&Some(vec![8, 9])), "{threads:?}");
}

#[test]
fn cgroups_that_are_none() {
    let wrong = |cgroups: &str| {
        let text = format!("title = 'x'\n[[classes]]\nname = 'a'\ncgroups = {cgroups}\nl3 = 'half'\n");
        let more = "[[classes]]\nname = 'b'\ncgroups = ['two/']\nl3 = '1 way'\n";
        LoadedPolicy::from_text("my", "my.toml", &(text + more)).map(drop).map_err(|error| error.to_string())
    };
    for name in ["", "/", "..", "a/../b", "a//b", "a b", "$(reboot)", "a'b", "`x`", "a\nb"] {
        let told = wrong(&format!("[{name:?}]")).unwrap_err();
        assert!(told.starts_with("my.toml:4: classes.0.cgroups.0: found"), "{told}");
        assert!(told.contains("expected a path below /sys/fs/cgroup"), "{told}");
    }
    let told = wrong("['one', '/two']").unwrap_err();
    assert!(told.contains("classes.1.cgroups.0: cgroup `two` is in class `a` already"), "{told}");
    // Names as systemd and Kubernetes write them.
    wrong(r"['kubepods.slice/kubepods-pod1.slice/cri-containerd-0f.scope', 'system-a\x2db.slice', 'user@0:x']")
        .unwrap();
}

/// Cgroups as files below a folder, and the tree that shows them: `pods` has the tasks 7, 8 and 9 at three depths.
fn on_disk(at: &str) -> Texts {
    let pods = format!("{at}/cgroups/pods");
    // 0 is a task of another PID namespace. A shell that writes it moves itself.
    let files = [
        (format!("{pods}/cgroup.threads"), "7\n0\n"),
        (format!("{pods}/a/cgroup.threads"), "8\n0\n"),
        (format!("{pods}/a/b/cgroup.threads"), "9\n"),
    ];
    for (path, text) in &files {
        fs::create_dir_all(path.rsplit_once('/').unwrap().0).unwrap();
        fs::write(path, text).unwrap();
    }
    let mounts = format!("cgroup2 {at}/cgroups cgroup2 rw 0 0\n");
    let mut tree = texts(&[("/proc/mounts", &mounts)]);
    tree.0.extend(files.iter().map(|(path, text)| (path.clone(), (*text).to_owned())));
    tree
}

#[test]
fn a_shell_moves_every_task_and_not_itself() {
    let dir = tempfile::tempdir().unwrap();
    let tree = on_disk(dir.path().to_str().unwrap());
    let policy = "title = 'x'\n[[classes]]\nname = 'outer'\ncgroups = ['pods', 'absent']\nl3 = '2 ways'\n";
    let (_, lowered) = planned(policy, &tree);
    // The lines that move tasks, with a log in the place of the kernel's file.
    let lines = lowered.lines.iter().filter(|line| line.steps.iter().any(|step| matches!(step, Step::Cgroup { .. })));
    let script: Vec<_> = lines.map(|line| line.shell.replace("> /sys/fs/resctrl/outer/tasks", ">> log")).collect();
    assert_eq!(script.len(), 2, "{script:?}");
    let script = format!("set -eu\n{}\necho end >> log\n", script.join("\n"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = fs::read_to_string(dir.path().join("log")).unwrap();
    let mut moved: Vec<_> = log.lines().collect();
    moved.sort_unstable();
    assert_eq!(moved, ["7", "8", "9", "end"]);
}

#[test]
fn pqos_gets_the_tasks_of_cgroups_from_the_outside_in() {
    let dir = tempfile::tempdir().unwrap();
    let tree = on_disk(dir.path().to_str().unwrap());
    let policy = "title = 'x'
[[classes]]
name = 'inner'
cgroups = ['pods/a/b']
l3 = '2 ways'
[[classes]]
name = 'outer'
cgroups = ['pods', 'absent']
l3 = '2 ways'
";
    let (assignment, _) = planned(policy, &tree);
    let lowered = lower(&assignment, &offer(), Form::Pqos).unwrap();
    // In the place of pqos a function that writes down its last argument.
    let lines: Vec<_> =
        lowered.lines.iter().map(|line| line.shell.as_str()).filter(|line| line.contains("pid:")).collect();
    let script = format!("set -eu\npqos() {{ echo \"$3\" >> log; }}\n{}\necho end >> log\n", lines.join("\n"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = fs::read_to_string(dir.path().join("log")).unwrap();
    let sorted = |line: &str| {
        let (class, tasks) = line.split_once('=').unwrap_or((line, ""));
        let mut tasks: Vec<_> = tasks.split(',').collect();
        tasks.sort_unstable();
        format!("{class} {}", tasks.join(" "))
    };
    // Class 2 is `outer`. Nothing is asked of pqos for the cgroup that is not there.
    let moved: Vec<_> = log.lines().map(sorted).collect();
    assert_eq!(moved, ["pid:2 7 8 9", "pid:1 9", "end "]);
    assert!(lowered.notes.join("\n").contains("nothing follows later ones"), "{:?}", lowered.notes);
}
