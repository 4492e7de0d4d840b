//! The sequences that the model was compared with real kernels by, now on the model and on mounted files: same
//! operations, same answers, errno for errno, and the same `last_cmd_status` after each.
//!
//! `WAYKEEPER_ROOM_OPERATIONS` says how many operations each machine gets.

use waykeeper_kernel_rig::generate::Generator;
use waykeeper_kernel_rig::modelled::Modelled;
use waykeeper_kernel_rig::setup::SETUPS;
use waykeeper_kernel_rig::step::Step;
use waykeeper_resctrl::{
    Attributes, Caller, FileOperation, KernelRelease, MonitorEvent, MountOptions, Reading, Reply, Task,
};

use crate::calls::{Said, call};
use crate::ground::{Ground, TASKS};

fn said(reply: Reply) -> Said {
    match reply {
        Reply::Done | Reply::Written(_) => Said::Done,
        Reply::Bytes(bytes) => Said::Bytes(bytes),
        Reply::Entries(entries) => Said::Entries(entries),
        Reply::Attributes(Attributes { directory, mode, links, uid, gid, .. }) => {
            Said::Attributes(directory, mode, links.into(), uid, gid, 0)
        }
    }
}

/// A FUSE file system cannot answer these: the kernel's own layers do before it is asked.
fn is_the_layers(operation: &FileOperation) -> bool {
    let paths: &[&Vec<u8>] = match operation {
        FileOperation::Rename { from, to } => &[from, to],
        // A write of no bytes never leaves the client.
        FileOperation::Write { data, .. } if data.is_empty() => return true,
        FileOperation::Read { path }
        | FileOperation::Write { path, .. }
        | FileOperation::Mkdir { path, .. }
        | FileOperation::Rmdir { path }
        | FileOperation::Readdir { path }
        | FileOperation::Getattr { path }
        | FileOperation::Chmod { path, .. }
        | FileOperation::Unlink { path }
        | FileOperation::Create { path } => &[path],
    };
    // FUSE has a limit for names (1024 bytes), kernfs has none of its own.
    paths.iter().any(|path| path.split(|byte| *byte == b'/').any(|name| name.len() > 1024))
}

fn operations() -> usize {
    std::env::var("WAYKEEPER_ROOM_OPERATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(600)
}

fn compare(setup: usize, kernel: KernelRelease, seed: u64) -> usize {
    let setup = SETUPS[setup];
    let machine = setup.machine(kernel);
    let mut ground = Ground::of_machine(machine.clone());
    let mut model = Modelled::new(machine);
    model.resctrl.set_all_counters(MonitorEvent::LlcOccupancy, Reading::Value(0));
    // The tasks of the mounted side are those of the ground alone.
    model.resctrl.end_task(1);
    TASKS.iter().for_each(|tid| model.resctrl.start_task(None, Task::new(*tid)));
    model.resctrl.mount(MountOptions::default()).unwrap();
    model.processes.push(TASKS.to_vec());
    let caller = Caller { tid: rustix::thread::gettid().as_raw_nonzero().get(), umask: 0o022, ..Caller::default() };
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let mut generator = Generator::new(&setup, seed);
    let (mut done, mut trail) = (0, Vec::new());
    while done < operations() {
        let operation = match generator.next(&model) {
            Step::Do(operation) if !is_the_layers(&operation) => operation,
            Step::Settle => {
                model.resctrl.check_limbo();
                ground.room.check_limbo();
                continue;
            }
            Step::Mount(options) => {
                let wanted = model.resctrl.mount(options).map_err(|errno| errno.number());
                let found = ground.mount(options);
                assert_eq!(found, wanted, "{options:?}: {} on {kernel:?}, seed {seed}, after {done}", setup.name);
                done += 1;
                continue;
            }
            Step::Unmount => {
                model.resctrl.unmount();
                ground.unmount();
                done += 1;
                continue;
            }
            _ => continue,
        };
        let wanted = model.resctrl.apply_for(&caller, &operation).map(said).map_err(|refusal| refusal.errno.number());
        let found = call(&ground.root(), &operation);
        trail.push(operation);
        let tail = &trail[trail.len().saturating_sub(3)..];
        assert_eq!(found, wanted, "{} on {kernel:?}, seed {seed}, after {done}: {tail:?}", setup.name);
        let status = FileOperation::Read { path: b"info/last_cmd_status".to_vec() };
        let wanted = model.resctrl.apply(&status).map(said).map_err(|refusal| refusal.errno.number());
        let found = call(&ground.root(), &status);
        assert_eq!(found, wanted, "status: {} on {kernel:?}, seed {seed}, after {done}: {tail:?}", setup.name);
        done += 1;
    }
    done
}

#[test]
fn mounted_files_answer_as_the_model() {
    let mut total = 0;
    for (at, _) in SETUPS.iter().enumerate() {
        for kernel in KernelRelease::ALL {
            total += compare(at, kernel, at as u64 + 1);
        }
    }
    println!("{total} operations without a difference");
}
