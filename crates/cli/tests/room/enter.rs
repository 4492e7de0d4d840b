//! `enter`.

use std::process::{Output, Stdio};

use crate::{children, lives, wait_until, waykeeper};

/// A command in a room.
fn inside(room: &[&str], script: &str) -> Output {
    let mut arguments = vec!["enter"];
    arguments.extend(room);
    arguments.extend(["--", "sh", "-c", script]);
    waykeeper(&arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_exit_status_is_the_commands() {
    assert_eq!(inside(&["xeon-d-2752ter"], "exit 7").status.code(), Some(7));
    assert_eq!(inside(&["xeon-d-2752ter"], "kill -TERM $$").status.code(), Some(128 + 15));
    let absent = waykeeper(&["enter", "xeon-d-2752ter", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(absent.status.code(), Some(127));
}

#[test]
fn nothing_changes_outside() {
    let look = || {
        let names = ["/dev", "/run", "/sys/fs", "/sys/devices/system/cpu"].map(|folder| {
            let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
            names.sort();
            names
        });
        // Other tests mount things of their own elsewhere.
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mounts: Vec<_> = mounts.lines().filter(|line| !line.contains("/tmp")).map(str::to_owned).collect();
        (names, mounts, std::fs::read_to_string("/proc/filesystems").unwrap())
    };
    let before = look();
    let output = inside(&["xeon-d-2752ter"], "touch /run/x /dev/y /var/lock/z; echo L3:0=f > /sys/fs/resctrl/schemata");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(look(), before);
}

#[test]
fn the_platform_is_in_its_places() {
    let script = "cat /sys/fs/resctrl/info/L3/num_closids; grep -c ^processor /proc/cpuinfo; \
                  grep -o 'nodev.resctrl' /proc/filesystems; awk '$3 == \"resctrl\" {print $2}' /proc/mounts; \
                  cat /sys/devices/system/cpu/cpu3/cache/index3/size; \
                  cat /sys/devices/system/cpu/online; ls /dev/cpu | wc -l";
    let text = said(&inside(&["xeon-d-2752ter"], script));
    assert_eq!(text, "16\n12\nnodev\tresctrl\n/sys/fs/resctrl\n20480K\n0-11\n12\n");
    // The command itself, not its children, sees the other two tables too.
    let table = waykeeper(&["enter", "xeon-d-2752ter", "--", "grep", "-c", " - resctrl ", "/proc/self/mountinfo"]);
    let mut table = table;
    assert_eq!(said(&table.output().unwrap()), "1\n");
}

#[test]
fn what_is_not_enumerated_is_registers_only() {
    let script = "test -e /sys/fs/resctrl && echo there; grep -c resctrl /proc/filesystems; ls /dev/cpu/0; echo ok";
    assert_eq!(said(&inside(&["i7-1185gre"], script)), "0\nmsr\nok\n");
    let refused = waykeeper(&["mount", "i7-1185gre", "/tmp"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    let arm = waykeeper(&["enter", "agilex5"]).output().unwrap();
    assert_eq!(arm.status.code(), Some(3));
    let text = String::from_utf8_lossy(&arm.stderr).into_owned();
    assert!(text.contains("no resctrl") && text.contains("DSU"), "{text}");
}

#[test]
fn tasks_have_the_rooms_numbers_and_children_their_parents_group() {
    let script = "cd /sys/fs/resctrl; mkdir a; echo $$ > a/tasks; sleep 60 & \
                  grep -qx $$ a/tasks && grep -qx $! a/tasks && ! grep -qx $! tasks && echo inherited; \
                  echo 0 > tasks; grep -qx $! a/tasks && echo stays; kill $!; wait $! 2>/dev/null; \
                  grep -qx $! a/tasks || echo gone; echo 30000 > tasks || cat info/last_cmd_status";
    let text = said(&inside(&["xeon-d-2752ter"], script));
    assert_eq!(text, "inherited\nstays\ngone\nNo task 30000\nError while processing task 30000\n");
}

#[test]
fn a_load_has_a_process_that_can_be_moved() {
    // The cache takes in what the second level evicts: it is occupied a while after the first bytes have moved.
    let script = "cd /sys/fs/resctrl; mkdir a; pid=$(grep -l '^wk-load-1' /proc/[0-9]*/comm | cut -d/ -f3); \
                  echo $pid > a/tasks && cat a/tasks | grep -cx $pid; \
                  for try in $(seq 600); do test $(cat a/mon_data/mon_L3_00/llc_occupancy) -gt 0 && break; sleep 0.05; done; \
                  test $(cat a/mon_data/mon_L3_00/llc_occupancy) -gt 0 && echo occupies; \
                  test $(cat a/mon_data/mon_L3_00/mbm_total_bytes) -gt 0 && echo moves";
    let text = said(&inside(&["xeon-d-2752ter", "--load", "cache_stressor@1"], script));
    assert_eq!(text, "1\noccupies\nmoves\n");
}

#[test]
fn registers_and_resctrl_are_one() {
    let script = "cd /sys/fs/resctrl; echo L3:0=ff0 > schemata; \
                  dd if=/dev/cpu/3/msr ibs=8 count=1 skip=$((0xc90)) iflag=skip_bytes 2>/dev/null | od -An -tx8; \
                  mkdir a; echo 2 > a/cpus_list; \
                  dd if=/dev/cpu/2/msr ibs=8 count=1 skip=$((0xc8f)) iflag=skip_bytes 2>/dev/null | od -An -tx8; \
                  dd if=/dev/cpu/2/msr ibs=8 count=1 skip=$((0xdead)) iflag=skip_bytes 2>&1 | grep -c 'Input/output error'";
    let text = said(&inside(&["xeon-d-2752ter"], script));
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    // CLOSID 1, RMID 1.
    assert_eq!(lines, ["0000000000000ff0", "0000000100000001", "1"]);
}

/// Starts a room whose command writes its pid outside, and gives the child, the room's first process and the command.
fn sleeping() -> (std::process::Child, u32, u32) {
    let mut outer = waykeeper(&["enter", "xeon-d-2752ter", "--", "sleep", "1000"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut first, mut command) = (0, 0);
    wait_until("the command runs", || {
        assert!(outer.try_wait().unwrap().is_none(), "the room ended");
        first = children(outer.id()).first().copied().unwrap_or(0);
        let is_sleep = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|it| it == "sleep\n");
        command = children(first).into_iter().find(is_sleep).unwrap_or(0);
        command != 0
    });
    (outer, first, command)
}

#[test]
fn killing_the_outer_process_ends_the_room() {
    let (mut outer, first, command) = sleeping();
    outer.kill().unwrap();
    outer.wait().unwrap();
    wait_until("all inside are gone", || !lives(first) && !lives(command));
}

#[test]
fn killing_the_rooms_first_process_ends_the_room() {
    let (mut outer, first, command) = sleeping();
    rustix::process::kill_process(rustix::process::Pid::from_raw(first as i32).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    assert_eq!(outer.wait().unwrap().code(), Some(128 + 9));
    wait_until("the command is gone", || !lives(command));
}

#[test]
fn resctrl_can_be_unmounted_and_mounted_inside() {
    let script = "cd /; r=/sys/fs/resctrl; mkdir $r/a; umount $r; ls -A $r; grep -c resctrl /proc/mounts; \
                  mount -t resctrl -o nonsense resctrl $r 2>/dev/null || echo refused; \
                  mount -t resctrl -o cdp resctrl $r && ls -d $r/a 2>/dev/null; grep -c L3CODE $r/schemata; \
                  grep -o 'resctrl rw,relatime,cdp' /proc/mounts; \
                  mount -t resctrl resctrl /mnt 2>/dev/null || echo busy; \
                  exec 3<$r/schemata; umount -l $r; mount -t resctrl resctrl $r 2>/dev/null || echo open; \
                  exec 3<&-; mount -t resctrl resctrl $r && grep -c L3: $r/schemata; \
                  mkdir /run/x; mount -t tmpfs none /run/x && touch /run/x/y && umount /run/x; ls -A /run/x";
    let text = said(&inside(&["xeon-d-2752ter"], script));
    assert_eq!(text, "0\nrefused\n1\nresctrl rw,relatime,cdp\nbusy\nopen\n1\n");
}

#[test]
fn registers_are_reset_before_an_unmount_returns() {
    let register = "dd if=/dev/cpu/3/msr ibs=8 count=1 skip=$((0xc90)) iflag=skip_bytes 2>/dev/null | od -An -tx8";
    let script =
        format!("cd /; echo L3:0=f > /sys/fs/resctrl/schemata; {register}; umount /sys/fs/resctrl; {register}");
    let text = said(&inside(&["xeon-d-2752ter"], &script));
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    assert_eq!(lines, ["000000000000000f", "00000000000fffff"]);
}

#[test]
fn whoever_may_not_mount_is_told_so() {
    // Without CAP_SYS_ADMIN, and in a namespace of its own.
    let script = "cd /; umount /sys/fs/resctrl; \
                  setpriv --bounding-set -sys_admin --inh-caps -sys_admin mount -t resctrl resctrl /sys/fs/resctrl \
                  2>/dev/null || echo refused; \
                  unshare -m mount -t resctrl resctrl /sys/fs/resctrl 2>/dev/null || echo elsewhere; \
                  ls -A /sys/fs/resctrl; mount -t resctrl resctrl /sys/fs/resctrl && echo mounted";
    let text = said(&inside(&["xeon-d-2752ter"], script));
    assert_eq!(text, "refused\nelsewhere\nmounted\n");
}
