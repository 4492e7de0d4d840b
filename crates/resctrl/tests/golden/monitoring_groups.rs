//! Monitoring groups that are renamed and moved.

use waykeeper_resctrl::{Errno, KernelRelease, MountOptions, ResctrlMachine, Task, example};

use crate::{Mounted, error, silent};

fn groups(kernel: KernelRelease) -> Mounted {
    let mut fs = Mounted::on(ResctrlMachine { kernel, ..example::server() }, MountOptions::default());
    fs.0.start_task(None, Task::new(10));
    for path in ["a", "b", "a/mon_groups/m", "a/mon_groups/n"] {
        fs.mkdir(path).expect("free identifiers");
    }
    fs.write("a/tasks", "10\n").expect("a task");
    fs.write("a/mon_groups/m/tasks", "10\n").expect("a task");
    fs
}

#[test]
fn a_moved_group_takes_its_tasks_to_another_class() {
    let mut fs = groups(KernelRelease::V6_18);
    assert_eq!(fs.rename("a/mon_groups/m", "b/mon_groups/x"), Ok(()));
    assert_eq!(fs.0.task_groups(10), Ok(b"res:b\nmon:x\n".to_vec()));
    assert_eq!(fs.names("a/mon_groups"), ["n"]);
    assert_eq!(fs.rename("b/mon_groups/x", "b/mon_groups/y"), Ok(()));
    assert_eq!(fs.0.task_groups(10), Ok(b"res:b\nmon:y\n".to_vec()));
}

#[test]
fn what_cannot_be_renamed() {
    let mut fs = groups(KernelRelease::V6_18);
    let forbidden = |text| error(Errno::EPERM, text);
    let directories = "Source and destination must be directories";
    assert_eq!(fs.rename("a/tasks", "a/x"), forbidden(directories));
    assert_eq!(fs.rename("a", "c"), forbidden("Source must be a MON group\n"));
    assert_eq!(fs.rename("a/mon_groups", "a/x"), forbidden("Source must be a MON group\n"));
    let destination = "Destination must be a mon_groups subdirectory\n";
    assert_eq!(fs.rename("a/mon_groups/m", "c"), forbidden(destination));
    assert_eq!(fs.rename("a/mon_groups/m", "b/mon_groups/mon_groups"), forbidden(destination));
    assert_eq!(fs.rename("a/mon_groups/m", "a/mon_groups/n"), silent(Errno::EEXIST));
    assert_eq!(fs.rename("info", "x"), silent(Errno::ENOENT));
    assert_eq!(fs.rename("a/mon_groups/m", "a/mon_groups/m/x"), silent(Errno::EINVAL));
    assert_eq!(fs.rename("a/mon_groups/m", "a"), silent(Errno::ENOTEMPTY));
}

#[test]
fn a_group_that_monitors_cpus_stays_with_its_class() {
    let mut fs = groups(KernelRelease::V6_18);
    fs.write("a/cpus_list", "1\n").expect("a CPU");
    fs.write("a/mon_groups/m/cpus_list", "1\n").expect("a CPU");
    let text = "Cannot move a MON group that monitors CPUs\n";
    assert_eq!(fs.rename("a/mon_groups/m", "b/mon_groups/m"), error(Errno::EPERM, text));
    assert_eq!(fs.rename("a/mon_groups/m", "a/mon_groups/x"), Ok(()));
}

#[test]
fn older_kernels_rename_nothing() {
    let mut fs = groups(KernelRelease::V6_1);
    assert_eq!(fs.rename("a/mon_groups/m", "b/mon_groups/m"), silent(Errno::EPERM));
}
