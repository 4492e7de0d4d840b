//! What holds in every state that operations can lead to.

use proptest::prelude::*;
use waykeeper_resctrl::{
    ConfType, FileOperation, KernelRelease, MountOptions, Reply, Resctrl, ResctrlMachine, ResourceId, Task, example,
};

const GROUPS: [&str; 4] = ["", "a/", "b/", "c/"];

fn write(path: String, data: String) -> FileOperation {
    FileOperation::Write { path: path.into_bytes(), data: data.into_bytes() }
}

/// A run of ones.
fn mask() -> impl Strategy<Value = u32> {
    (0_u32..20, 1_u32..8).prop_map(|(start, length)| (((1_u64 << length) - 1) << start) as u32)
}

fn operation() -> impl Strategy<Value = FileOperation> {
    let group = prop::sample::select(&GROUPS[..]);
    let name = prop::sample::select(&["a", "b", "c", "a/mon_groups/m", "b/mon_groups/m"][..]);
    // Not pseudo-locksetup: who leaves that is not checked against exclusive groups (see the golden tests).
    let modes = prop::sample::select(&["shareable", "exclusive"][..]);
    let line = (mask(), mask(), 0..120_u32).prop_map(|(first, second, percent)| match percent % 3 {
        0 => format!("L3:0={first:x};1={second:x}\n"),
        1 => format!("L3:1={second:x}\n"),
        _ => format!("MB:0={percent}\nL3:0={first:x}\n"),
    });
    prop_oneof![
        3 => name.clone().prop_map(|name| FileOperation::Mkdir { path: name.into(), mode: 0o755 }),
        1 => name.prop_map(|name| FileOperation::Rmdir { path: name.into() }),
        5 => (group.clone(), line).prop_map(|(group, line)| write(format!("{group}schemata"), line)),
        2 => (group.clone(), modes).prop_map(|(group, mode)| write(format!("{group}mode"), format!("{mode}\n"))),
        1 => (group.clone(), 0_u32..16).prop_map(|(group, cpus)| write(format!("{group}cpus"), format!("{cpus:x}\n"))),
        1 => (group, 0_i32..4).prop_map(|(group, tid)| write(format!("{group}tasks"), format!("{tid}\n"))),
    ]
}

fn fresh(kernel: KernelRelease) -> Resctrl {
    let mut machine: ResctrlMachine = example::server();
    machine.kernel = kernel;
    if let Some(l3) = &mut machine.l3 {
        l3.shareable = 0;
    }
    let mut resctrl = Resctrl::new(machine);
    resctrl.mount(MountOptions::default()).expect("plain options");
    (1..4).for_each(|tid| resctrl.start_task(None, Task::new(tid)));
    resctrl
}

fn read(resctrl: &mut Resctrl, path: &str) -> Option<String> {
    match resctrl.apply(&FileOperation::Read { path: path.into() }) {
        Ok(Reply::Bytes(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}

/// The mode of a group and its mask in each domain, from the files.
fn masks(resctrl: &mut Resctrl, group: &str) -> Option<(String, [u32; 2])> {
    let mode = read(resctrl, &format!("{group}mode"))?;
    let schemata = read(resctrl, &format!("{group}schemata"))?;
    let line = schemata.lines().find_map(|line| line.trim().strip_prefix("L3:0=").map(str::to_owned))?;
    let (first, second) = line.split_once(";1=")?;
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    Some((mode, [number(first)?, number(second)?]))
}

proptest! {
    #[test]
    fn exclusive_groups_share_nothing_and_masks_are_runs(
        operations in prop::collection::vec(operation(), 0..60),
        kernel in prop::sample::select(&KernelRelease::ALL[..]),
    ) {
        let mut resctrl = fresh(kernel);
        for operation in &operations {
            let _ = resctrl.apply(operation);
        }
        let groups: Vec<_> = GROUPS.iter().filter_map(|group| masks(&mut resctrl, group)).collect();
        for (index, (mode, own)) in groups.iter().enumerate() {
            for domain in 0..2 {
                let run = own[domain] >> own[domain].trailing_zeros();
                prop_assert!(own[domain] != 0 && run & (run + 1) == 0, "{:x}", own[domain]);
                for (other, (_, masks)) in groups.iter().enumerate() {
                    prop_assert!(mode != "exclusive\n" || other == index || own[domain] & masks[domain] == 0);
                }
            }
        }
    }

    #[test]
    fn a_refused_write_to_schemata_changes_nothing(
        operations in prop::collection::vec(operation(), 0..40),
        line in "(L3|MB|L2):[0-2]=[0-9a-f]{1,5}(;[0-2]=[0-9a-f]{1,5})?\n",
    ) {
        let mut resctrl = fresh(KernelRelease::V6_18);
        for operation in &operations {
            let _ = resctrl.apply(operation);
        }
        let before: Vec<_> = GROUPS.iter().map(|group| read(&mut resctrl, &format!("{group}schemata"))).collect();
        if resctrl.apply(&write("schemata".into(), line)).is_err() {
            let after: Vec<_> = GROUPS.iter().map(|group| read(&mut resctrl, &format!("{group}schemata"))).collect();
            prop_assert_eq!(before, after);
        }
    }

    #[test]
    fn every_cpu_and_task_is_in_one_control_group(operations in prop::collection::vec(operation(), 0..60)) {
        let mut resctrl = fresh(KernelRelease::V7_3);
        for operation in &operations {
            let _ = resctrl.apply(operation);
        }
        let mut cpus = 0;
        let mut tasks = Vec::new();
        for group in GROUPS {
            let Some(mask) = read(&mut resctrl, &format!("{group}cpus")) else { continue };
            let mask = u32::from_str_radix(mask.trim(), 16).expect("a mask");
            prop_assert_eq!(cpus & mask, 0);
            cpus |= mask;
            tasks.extend(read(&mut resctrl, &format!("{group}tasks")).expect("a file").lines().map(str::to_owned));
        }
        tasks.sort();
        prop_assert_eq!(cpus, 0xf);
        prop_assert_eq!(tasks, ["1", "2", "3"]);
    }

    #[test]
    fn unmounting_is_forgetting(operations in prop::collection::vec(operation(), 0..60)) {
        let mut resctrl = fresh(KernelRelease::V7_3);
        let before = read(&mut resctrl, "schemata");
        for operation in &operations {
            let _ = resctrl.apply(operation);
        }
        resctrl.unmount();
        prop_assert_eq!(resctrl.mount(MountOptions::default()), Ok(()));
        prop_assert_eq!(read(&mut resctrl, "schemata"), before);
        prop_assert_eq!(resctrl.control(ResourceId::L3, 0, 1, ConfType::Both), Some(0xfffff));
    }

    #[test]
    fn noise_is_answered(path in "[a-z0-9_/]{0,20}", data in prop::collection::vec(any::<u8>(), 0..50)) {
        let mut resctrl = fresh(KernelRelease::V7_3);
        for path in [path.as_str(), "schemata", "tasks", "cpus", "cpus_list", "mode", "info/L3_MON/max_threshold_occupancy"] {
            let _ = resctrl.apply(&FileOperation::Write { path: path.into(), data: data.clone() });
        }
        prop_assert_eq!(read(&mut resctrl, "mode"), Some("shareable\n".into()));
    }
}
