//! Tasks and CPUs.

use waykeeper_resctrl::{Caller, Errno, FileOperation, KernelRelease, MountOptions, ResctrlMachine, Task, example};

use crate::{Mounted, error};

fn with_tasks(kernel: KernelRelease) -> Mounted {
    let mut fs = Mounted::on(ResctrlMachine { kernel, ..example::server() }, MountOptions::default());
    for tid in [1, 10, 20] {
        fs.0.start_task(None, Task::new(tid));
    }
    fs.0.start_task(Some(10), Task { process: 10, ..Task::new(11) });
    for path in ["a", "b", "a/mon_groups/m", "a/mon_groups/n"] {
        fs.mkdir(path).expect("free identifiers");
    }
    fs
}

#[test]
fn tasks_are_listed_process_by_process() {
    let mut fs = with_tasks(KernelRelease::V6_1);
    assert_eq!(fs.read("tasks"), "1\n10\n11\n20\n");
    assert_eq!(fs.write("a/tasks", "11\n"), Ok(()));
    assert_eq!((fs.read("tasks"), fs.read("a/tasks")), ("1\n10\n20\n".into(), "11\n".into()));
    assert_eq!(fs.0.task_groups(11), Ok(b"res:a\nmon:\n".to_vec()));
    assert_eq!(fs.0.task_groups(1), Ok(b"res:/\nmon:\n".to_vec()));
}

#[test]
fn zero_is_the_writer_and_children_follow() {
    let mut fs = with_tasks(KernelRelease::V6_1);
    assert_eq!(fs.write("a/tasks", "0\n"), Ok(()));
    fs.0.start_task(Some(1), Task::new(30));
    assert_eq!(fs.read("a/tasks"), "1\n30\n");
    fs.0.end_task(1);
    assert_eq!(fs.read("a/tasks"), "30\n");
}

#[test]
fn a_monitoring_group_takes_tasks_of_its_control_group() {
    let mut fs = with_tasks(KernelRelease::V6_1);
    assert_eq!(fs.refused("a/mon_groups/m/tasks", "10\n"), "Can't move task to different control group\n");
    fs.write("a/tasks", "10\n").expect("a task");
    assert_eq!(fs.write("a/mon_groups/m/tasks", "10\n"), Ok(()));
    assert_eq!((fs.read("a/tasks"), fs.read("a/mon_groups/m/tasks")), ("10\n".into(), "10\n".into()));
    assert_eq!(fs.0.task_groups(10), Ok(b"res:a\nmon:m\n".to_vec()));
    fs.rmdir("a/mon_groups/m").expect("a group");
    assert_eq!(fs.0.task_groups(10), Ok(b"res:a\nmon:\n".to_vec()));
    fs.rmdir("a").expect("a group");
    assert_eq!(fs.0.task_groups(10), Ok(b"res:/\nmon:\n".to_vec()));
}

#[test]
fn older_kernels_take_one_task_and_say_little() {
    let mut fs = with_tasks(KernelRelease::V6_1);
    assert_eq!(fs.write("a/tasks", "99\n"), error(Errno::ESRCH, "No task 99\n"));
    // What is no number does not even clear the status.
    assert_eq!(fs.write("a/tasks", "1,10\n"), error(Errno::EINVAL, "No task 99\n"));
    assert_eq!(fs.write("a/tasks", "-1\n"), error(Errno::EINVAL, "No task 99\n"));
    assert_eq!(fs.write("a/tasks", " 0x14 \n"), Ok(()));
    assert_eq!(fs.read("a/tasks"), "20\n");
}

#[test]
fn newer_kernels_take_a_list_up_to_the_first_mistake() {
    let mut fs = with_tasks(KernelRelease::V6_12);
    let failure = fs.write("a/tasks", "10,99,20\n");
    assert_eq!(failure, error(Errno::ESRCH, "No task 99\nError while processing task 99\n"));
    assert_eq!(fs.read("a/tasks"), "10\n");
    assert_eq!(fs.refused("a/tasks", "x\n"), "Task list parsing error pid x\n");
    assert_eq!(fs.refused("a/tasks", "20,-1\n"), "Invalid pid -1\n");
    assert_eq!(fs.read("a/tasks"), "10\n20\n");
    assert_eq!(fs.write("a/tasks", ""), Ok(()));
}

#[test]
fn users_move_their_own_tasks() {
    let mut fs = with_tasks(KernelRelease::V6_1);
    fs.0.start_task(None, Task { uid: 7, saved_uid: 7, ..Task::new(40) });
    let user = Caller { uid: 7, gid: 7, ..Caller::default() };
    let write = |tid: &str| FileOperation::Write { path: b"a/tasks".to_vec(), data: tid.into() };
    assert!(fs.0.apply_for(&user, &write("40")).is_ok());
    let refusal = fs.0.apply_for(&user, &write("10")).expect_err("not the user's");
    assert_eq!((refusal.errno, refusal.status), (Errno::EPERM, b"No permission to move task 10\n".to_vec()));
}

#[test]
fn cpus_leave_the_group_that_had_them() {
    let mut fs = with_tasks(KernelRelease::V6_1);
    assert_eq!((fs.read("cpus"), fs.read("cpus_list")), ("f\n".into(), "0-3\n".into()));
    assert_eq!((fs.read("a/cpus"), fs.read("a/cpus_list")), ("0\n".into(), "\n".into()));
    assert_eq!(fs.write("a/cpus_list", "1-2\n"), Ok(()));
    assert_eq!(fs.read("cpus_list"), "0,3\n");
    assert_eq!(fs.write("b/cpus", "4,"), Ok(()));
    assert_eq!((fs.read("a/cpus_list"), fs.read("b/cpus_list")), ("1\n".into(), "2\n".into()));
    assert_eq!(fs.write("a/cpus_list", "\n"), Ok(()));
    assert_eq!(fs.read("cpus_list"), "0-1,3\n");
    assert_eq!(fs.0.cpu_identifiers(2), (2, 2));
}

#[test]
fn cpus_of_a_monitoring_group_are_its_control_groups() {
    let mut fs = with_tasks(KernelRelease::V6_1);
    fs.write("a/cpus_list", "1-3\n").expect("CPUs");
    let text = "Can only add CPUs to mongroup that belong to parent\n";
    assert_eq!(fs.refused("a/mon_groups/m/cpus_list", "0\n"), text);
    fs.write("a/mon_groups/m/cpus_list", "1-2\n").expect("CPUs");
    fs.write("a/mon_groups/n/cpus_list", "2-3\n").expect("CPUs");
    assert_eq!((fs.read("a/mon_groups/m/cpus_list"), fs.read("a/cpus_list")), ("1\n".into(), "1-3\n".into()));
    // A write to the control group empties its monitoring groups.
    fs.write("a/cpus_list", "1-3\n").expect("CPUs");
    assert_eq!(fs.read("a/mon_groups/n/cpus_list"), "\n");
}

#[test]
fn wrong_cpus_are_refused_with_the_parsers_error() {
    let mut fs = with_tasks(KernelRelease::V7_3);
    let text = "Bad CPU list/mask\n";
    assert_eq!(fs.write("a/cpus_list", "4\n"), error(Errno::ERANGE, text));
    assert_eq!(fs.write("a/cpus_list", "99999999999\n"), error(Errno::EOVERFLOW, text));
    assert_eq!(fs.write("a/cpus", "10\n"), error(Errno::EOVERFLOW, text));
    assert_eq!(fs.write("a/cpus", "x\n"), error(Errno::EINVAL, text));
    assert_eq!(fs.refused("cpus_list", "0-2\n"), "Can't drop CPUs from default group\n");
    assert_eq!(fs.write("a/cpus_list", ""), Ok(()));
    let mut machine = example::server();
    machine.cpus.possible = 6;
    machine.cpus.parsed = 6;
    let mut fs = Mounted::on(machine, MountOptions::default());
    assert_eq!(fs.read("cpus"), "0f\n");
    assert_eq!(fs.refused("cpus_list", "0-4\n"), "Can only assign online CPUs\n");
}
