//! `apply`, `status`, `verify` and `restore` on files that stand for a machine.

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use waykeeper_control::StateDirectory;

use crate::program::{Desk, Ended};

/// The first L3 mask, the second one, and the register with the class of a CPU.
const MASKS: [u64; 2] = [0xc90, 0xc91];
const PQR: u64 = 0xc8f;

/// A machine of four CPUs: its files are below `machine`.
pub struct Fake {
    pub desk: Desk,
}

impl Fake {
    pub fn new() -> Self {
        let fake = Self { desk: Desk::new() };
        fake.file("proc/sys/kernel/random/boot_id", "first\n");
        fake.file("proc/filesystems", "nodev\tproc\nnodev\tresctrl\n");
        fake.file("proc/mounts", "proc /proc proc rw 0 0\n");
        fake.file("sys/devices/system/cpu/online", "0-3\n");
        fake
    }

    /// With resctrl: plain files, which are enough for what is refused before anything is written.
    pub fn with_resctrl(options: &str) -> Self {
        let fake = Self::new();
        fake.file("proc/mounts", &format!("resctrl /sys/fs/resctrl resctrl rw,relatime{options} 0 0\n"));
        fake.file("sys/fs/resctrl/schemata", "L3:0=fff;1=fff\n");
        fake.file("sys/fs/resctrl/mode", "shareable\n");
        fake.file("sys/fs/resctrl/cpus_list", "0-3\n");
        fake.file("sys/fs/resctrl/tasks", "1\n");
        fake.file("sys/fs/resctrl/info/L3/num_closids", "4\n");
        fake.file("sys/fs/resctrl/info/L3/cbm_mask", "fff\n");
        fake
    }

    /// With registers (N is the 8 bytes at 8 N): full masks of twelve bits, RMID 5 on every CPU.
    pub fn with_registers() -> Self {
        let fake = Self::new();
        for cpu in 0..4 {
            let device = fake.file(&format!("dev/cpu/{cpu}/msr"), "");
            let device = std::fs::OpenOptions::new().write(true).open(device).unwrap();
            for (register, value) in [(MASKS[0], 0xfff_u64), (MASKS[1], 0xfff), (PQR, 5)] {
                device.write_all_at(&value.to_le_bytes(), 8 * register).unwrap();
            }
        }
        fake
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.desk.path().join("machine").join(name)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub fn state(&self) -> StateDirectory {
        StateDirectory::at(self.desk.path().join("state"))
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = self.desk.command(arguments);
        command.args(["--root", "machine"]).env("WAYKEEPER_STATE", self.desk.path().join("state"));
        Ended::from(command.output().unwrap())
    }

    pub fn apply(&self, steps: &Value, options: &[&str]) -> Ended {
        self.desk.file("plan.json", &steps.to_string());
        self.run(&[&["apply", "--steps", "plan.json"], options].concat())
    }

    /// The refusal of a plan: one line; and that nothing was written, neither by `apply` nor by a dry run.
    #[track_caller]
    fn refused(&self, steps: &Value, status: i32) -> String {
        let before = self.everything();
        let dry = self.apply(steps, &["--dry-run"]).with(status);
        let ended = self.apply(steps, &[]).with(status);
        assert_eq!(dry.stderr, ended.stderr);
        assert!(ended.stdout.is_empty() && ended.stderr.starts_with("error: "), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert_eq!(self.everything(), before);
        assert_eq!(self.run(&["status"]).with(0).stdout, "nothing is applied\n");
        ended.stderr.trim().trim_start_matches("error: ").to_owned()
    }

    /// Every file of the machine.
    pub fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut files, mut folders) = (Vec::new(), vec![self.path("")]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((path.clone(), std::fs::read(path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }

    pub fn register(&self, cpu: u32, register: u64) -> u64 {
        let mut bytes = [0; 8];
        let device = std::fs::File::open(self.path(&format!("dev/cpu/{cpu}/msr"))).unwrap();
        device.read_exact_at(&mut bytes, 8 * register).unwrap();
        u64::from_le_bytes(bytes)
    }
}

fn group(name: &str) -> Value {
    json!({ "make_group": { "group": name } })
}

fn write(path: &str, text: &str) -> Value {
    json!({ "write": { "path": path, "text": text } })
}

fn register(cpu: u32, register: u64, value: u64, mask: u64) -> Value {
    json!({ "register": { "cpu": cpu, "register": register, "value": value, "mask": mask } })
}

/// One half for class 0, the other for class 1, and CPUs 2 and 3 in that.
pub fn halves() -> Value {
    let upper = 0xffff_ffff_0000_0000_u64;
    json!([
        register(0, MASKS[0], 0x3f, 0xfff),
        register(0, MASKS[1], 0xfc0, 0xfff),
        register(2, PQR, 1 << 32, upper),
        register(3, PQR, 1 << 32, upper),
    ])
}

#[test]
fn the_whole_circle_over_registers() {
    let fake = Fake::with_registers();
    let before = fake.everything();
    let dry = fake.apply(&halves(), &["--dry-run"]).with(0).stdout;
    assert!(dry.contains("write 0x3f (mask 0xfff) to register 0xc90 of CPU 0\n      now: 0xfff\n"), "{dry}");
    assert_eq!(fake.everything(), before);

    // As `plan --json` prints it: the steps are one key of several.
    let applied = fake.apply(&json!({ "script": "#!/bin/sh", "steps": halves() }), &[]).with(0).stdout;
    assert!(applied.starts_with("applied plan: 4 steps, all of them read back\n"), "{applied}");
    // Class 1 in bits 63:32, and the RMID stays.
    assert_eq!((fake.register(0, MASKS[1]), fake.register(3, PQR), fake.register(1, PQR)), (0xfc0, 0x1_0000_0005, 5));
    let status = fake.run(&["status", "--json"]).with(0).json();
    assert_eq!((&status["applied"]["phase"], &status["applied"]["policy"]), (&json!("applied"), &json!("plan")));
    assert!(fake.run(&["verify", "--no-probe"]).with(0).stdout.contains("every setting reads as it was left"));

    let again = fake.apply(&halves(), &[]).with(3).stderr;
    assert!(again.contains("`plan` is applied already") && again.contains("`waykeeper restore`"), "{again}");

    let restored = fake.run(&["restore", "--json"]).with(0).json();
    assert_eq!((&restored["outcome"], &restored["findings"]), (&json!("back"), &json!([])));
    assert_eq!(fake.everything(), before);
    assert!(fake.run(&["restore"]).with(0).stdout.starts_with("nothing is applied"));
}

#[test]
fn changes_of_others_show_in_the_status_and_stay() {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    let device = std::fs::OpenOptions::new().write(true).open(fake.path("dev/cpu/0/msr")).unwrap();
    device.write_all_at(&0xf_u64.to_le_bytes(), 8 * MASKS[0]).unwrap();
    let status = fake.run(&["status"]).with(1).stdout;
    assert!(status.contains("register 0xc90 of CPU 0 (mask 0xfff): 0x3f was written, it reads 0xf"), "{status}");
    fake.run(&["verify", "--no-probe"]).with(1);
    let restored = fake.run(&["restore"]).with(1).stdout;
    assert!(restored.contains("reads 0xf, which is not what was left there; it stays so"), "{restored}");
    assert_eq!((fake.register(0, MASKS[0]), fake.register(0, MASKS[1])), (0xf, 0xfff));
}

/// Halves are applied, somebody writes another mask, and a restore leaves it.
fn left() -> Fake {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    let device = std::fs::OpenOptions::new().write(true).open(fake.path("dev/cpu/0/msr")).unwrap();
    device.write_all_at(&0xf_u64.to_le_bytes(), 8 * MASKS[0]).unwrap();
    let restored = fake.run(&["restore", "--json"]).with(1).json();
    let told = "register 0xc90 of CPU 0 reads 0xf, which is not what was left there; it stays so";
    assert_eq!((&restored["outcome"], &restored["left"]), (&json!("left"), &json!([told])));
    fake
}

#[test]
fn what_a_restore_leaves_can_still_be_put_back() {
    let fake = left();
    let again = fake.run(&["restore"]).with(1).stdout;
    let ways = ["`waykeeper restore --force` puts back", "`waykeeper restore --keep` accepts"];
    assert!(ways.iter().all(|way| again.contains(way)), "{again}");
    let status = fake.run(&["status"]).with(1).stdout;
    assert!(status.contains("undone, but for what others have changed since\n  register 0xc90 of CPU 0 reads 0xf"));
    assert!(ways.iter().all(|way| status.contains(way)), "{status}");
    assert!(!status.contains("0xc91"), "what is back is not told: {status}");
    let refused = fake.apply(&halves(), &[]).with(3).stderr;
    assert!(refused.contains("`plan`, applied 2") && refused.contains("do one of them first"), "{refused}");
    fake.run(&["restore", "--force"]).with(0);
    assert_eq!(fake.register(0, MASKS[0]), 0xfff);
    assert_eq!(fake.run(&["status"]).with(0).stdout, "nothing is applied\n");
}

#[test]
fn what_a_restore_leaves_can_be_accepted() {
    let fake = left();
    let accepted = fake.run(&["restore", "--keep"]).with(0).stdout;
    assert!(accepted.contains("reads 0xf, which is not what was left there; it stays so"), "{accepted}");
    assert_eq!(fake.register(0, MASKS[0]), 0xf);
    assert_eq!(fake.run(&["status"]).with(0).stdout, "nothing is applied\n");
    fake.run(&["restore", "--keep", "--force"]).with(2);
}

#[test]
fn after_a_reboot_it_is_only_told() {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    fake.file("proc/sys/kernel/random/boot_id", "second\n");
    let before = fake.everything();
    assert!(fake.run(&["status"]).with(1).stdout.contains("the machine was started again since"));
    assert!(fake.run(&["restore"]).with(0).stdout.contains("nothing was written"));
    assert_eq!(fake.everything(), before);
    fake.run(&["status"]).with(0);
}

#[test]
fn the_second_is_told_who_is_at_work() {
    let fake = Fake::with_registers();
    let before = fake.everything();
    let held = fake.state().lock("apply tcc-halves").unwrap();
    let by = format!("(process {}: apply tcc-halves)", std::process::id());
    let told = fake.apply(&halves(), &[]).with(3).stderr;
    assert!(told.contains("another Waykeeper is at work") && told.contains(&by), "{told}");
    assert!(fake.run(&["restore"]).with(3).stderr.contains(&by));
    assert!(fake.run(&["status"]).with(0).stdout.contains("is at work: apply tcc-halves"));
    drop(held);
    assert_eq!(fake.everything(), before);
}

#[test]
fn names_of_what_is_not_there() {
    let fake = Fake::with_resctrl("");
    let told = fake.refused(&json!([group("x"), write("x/cpus_list", "3-5\n")]), 2);
    assert_eq!(told, "no CPU 4-5 is online here; expected some of 0-3");
    let told = fake.refused(&json!([group("x"), write("x/tasks", "77\n")]), 2);
    assert_eq!(told, "there is no task 77");
    let told = fake.refused(&json!([write("schemata", "L3:7=f\n")]), 2);
    assert_eq!(told, "step 1: there is no L3:7; expected some of L3:0, L3:1");
    let told = fake.refused(&json!([register(9, MASKS[0], 1, 1)]), 2);
    assert_eq!(told, "no CPU 9 is online here; expected some of 0-3");
}

#[test]
fn more_classes_than_there_are() {
    let fake = Fake::with_resctrl("");
    let groups: Vec<Value> = ["a", "b", "c", "d"].map(group).into();
    assert_eq!(fake.refused(&json!(groups), 2), "the plan makes 4 groups, and of 4 classes 3 are free");
}

#[test]
fn a_pseudo_lock_where_linux_cannot() {
    let fake = Fake::with_resctrl("");
    fake.file("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: Ice Lake\n");
    let told = fake.refused(&json!([group("x"), write("x/mode", "pseudo-locksetup\n")]), 3);
    assert!(told.starts_with("Linux cannot pseudo-lock on Ice Lake"), "{told}");
}

#[test]
fn resctrl_that_is_mounted_otherwise_or_not_at_all() {
    let mount = json!({ "mounted": { "mbps": true } });
    let told = Fake::with_resctrl(",cdp").refused(&json!([mount, group("x")]), 3);
    assert!(told.starts_with("resctrl is mounted with cdp, and the plan needs it with mba_MBps"), "{told}");
    let told = Fake::new().refused(&json!([group("x")]), 3);
    assert!(told.starts_with("resctrl is not mounted"), "{told}");
    let fake = Fake::new();
    fake.file("proc/filesystems", "nodev\tproc\n");
    let told = fake.refused(&json!([group("x")]), 3);
    assert!(told.starts_with("this kernel offers no resctrl"), "{told}");
}

#[test]
fn groups_of_others() {
    let fake = Fake::with_resctrl("");
    for (file, text) in [("schemata", "L3:0=fff;1=fff\n"), ("mode", "shareable\n"), ("cpus_list", "\n"), ("tasks", "")]
    {
        fake.file(&format!("sys/fs/resctrl/theirs/{file}"), text);
    }
    let told = fake.refused(&json!([group("theirs")]), 2);
    assert!(told.starts_with("the group theirs is there already, and Waykeeper did not make it"), "{told}");
    let told = fake.refused(&json!([write("theirs/schemata", "L3:0=f\n")]), 2);
    assert!(told.contains("no earlier step makes the group `theirs`; groups of others stay as they are"), "{told}");
}

#[test]
fn no_msr_driver() {
    let told = Fake::new().refused(&json!([register(1, MASKS[0], 1, 1)]), 3);
    assert!(told.starts_with("machine/dev/cpu/1/msr: ") && told.contains("`modprobe msr` loads the driver"), "{told}");
}

#[test]
fn no_privilege() {
    const NOBODY: u32 = 65534;
    let fake = Fake::with_resctrl("");
    fake.desk.file("plan.json", &json!([write("schemata", "L3:0=f\n")]).to_string());
    let open = |path: PathBuf, mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    open(fake.path("sys/fs/resctrl/schemata"), 0o444);
    open(fake.desk.path().to_owned(), 0o755);
    std::fs::create_dir(fake.state().path()).unwrap();
    let own = rustix::process::geteuid().is_root().then_some(NOBODY);
    std::os::unix::fs::chown(fake.state().path(), own, None).unwrap();
    let mut command = std::process::Command::new(fake.desk.copy_of_program());
    command.args(["apply", "--steps", "plan.json", "--root", "machine"]).current_dir(fake.desk.path());
    command.env("WAYKEEPER_STATE", fake.state().path());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY);
    }
    let told = Ended::from(command.output().unwrap()).with(3).stderr;
    assert!(told.contains("sys/fs/resctrl/schemata: Permission denied") && told.contains("root may"), "{told}");
}

#[test]
fn masks_that_the_machine_does_not_have() {
    let fake = Fake::with_resctrl("");
    fake.file("sys/fs/resctrl/info/L3/min_cbm_bits", "2\n");
    fake.file("sys/fs/resctrl/info/L3/sparse_masks", "0\n");
    for (mask, why) in [("ffc00", "has bits beyond fff"), ("5", "has a hole"), ("8", "has fewer bits than the 2")] {
        let told = fake.refused(&json!([write("schemata", &format!("L3:0={mask}\n"))]), 2);
        assert!(told.starts_with(&format!("step 1: L3:0={mask} {why}")), "{told}");
    }
}

#[test]
fn plans_that_are_none() {
    let fake = Fake::with_resctrl("");
    assert_eq!(fake.refused(&json!([]), 2), "the plan has no steps: there is nothing to apply");
    let told = fake.refused(&json!([write("mode", "exclusive\n")]), 2);
    assert!(told.starts_with("step 1 (write `exclusive` to mode): `mode` of the root group is not changed"), "{told}");
    let told = fake.refused(&json!([register(0, 0x79, 1, 1)]), 2);
    assert!(told.contains("this register is none of cache or bandwidth allocation"), "{told}");
    let told = fake.refused(&json!([group("x"), { "wipe": {} }]), 2);
    assert!(told.starts_with("plan.json: step 2: found `wipe`, expected one of"), "{told}");
    let told = fake.refused(&json!("x"), 2);
    assert!(told.starts_with("plan.json: this is no plan; expected JSON: a list of steps"), "{told}");
    let missing = fake.run(&["apply", "--steps", "none.json"]).with(2).stderr;
    assert!(missing.contains("none.json: the plan cannot be read"), "{missing}");
}

fn cgroup(group: &str, cgroup: &str) -> Value {
    json!({ "cgroup": { "group": group, "cgroup": cgroup } })
}

#[test]
fn cgroups_of_a_plan() {
    let fake = Fake::with_resctrl("");
    fake.file("proc/7/stat", "7 (pod) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 700 0 0\n");
    fake.file("proc/7/status", "Name:\tpod\nTgid:\t7\nPid:\t7\n");
    fake.file("sys/fs/resctrl/tasks", "1\n7\n");
    fake.file("sys/fs/cgroup/pods/cgroup.threads", "");
    fake.file("sys/fs/cgroup/pods/a/cgroup.threads", "7\n");
    let steps = json!([group("x"), cgroup("x", "pods"), cgroup("x", "batch.slice")]);
    let dry = fake.apply(&steps, &["--dry-run"]).with(0).stdout;
    for line in [
        "put the tasks of cgroup pods into group x\n      now: tasks: 1 in the root group\n",
        "put the tasks of cgroup batch.slice into group x\n      now: not there; its tasks join when it comes, while \
         `waykeeper follow` runs\n",
    ] {
        assert!(dry.contains(line), "{dry}");
    }
    let told = fake.refused(&json!([cgroup("theirs", "pods")]), 2);
    assert!(told.contains("no earlier step makes the group `theirs`"), "{told}");
    let told = fake.refused(&json!([group("x"), cgroup("x", "../pods")]), 2);
    assert!(told.contains("expected a path below /sys/fs/cgroup"), "{told}");
}

#[test]
fn nothing_to_follow() {
    let fake = Fake::with_registers();
    let told = fake.run(&["follow"]).with(3).stderr;
    assert!(told.contains("nothing is applied: there is nothing to follow; `waykeeper apply` comes first"), "{told}");
    let told = fake.run(&["follow", "--interval", "1ms"]).with(2).stderr;
    assert!(told.contains("--interval 1ms") && told.contains("expected 10ms or more"), "{told}");
    fake.apply(&halves(), &[]).with(0);
    let told = fake.run(&["follow", "--count", "1"]).with(3).stderr;
    assert!(told.contains("`plan` is applied, and names no cgroup: there is nothing to follow"), "{told}");
}

#[test]
fn nothing_to_verify() {
    let told = Fake::with_registers().run(&["verify"]).with(3).stderr;
    assert!(told.contains("nothing is applied: there is nothing to verify"), "{told}");
}
