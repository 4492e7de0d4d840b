//! A mounted tree, with tasks that are only written down.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_resctrl::{KernelRelease, MountOptions, ResctrlMachine};
use waykeeper_room::{Mounted, Room, RoomSpec, Still};

/// Tasks that every tree here has.
pub const TASKS: [i32; 3] = [101, 102, 103];

/// A room whose tree is mounted.
pub struct Ground {
    // Unmounted before the room ends.
    mounted: Option<Mounted>,
    pub room: Room,
    folder: TempDir,
}

pub fn platform(name: &str) -> Platform {
    Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap()
}

impl Ground {
    /// A platform's tree.
    pub fn of_platform(name: &str, kernel: KernelRelease) -> Self {
        Self::new(RoomSpec::new(platform(name), kernel))
    }

    /// Any machine's tree.
    pub fn of_machine(machine: ResctrlMachine) -> Self {
        let mut plan = RoomSpec::new(platform("xeon-d-2752ter"), machine.kernel);
        plan.machine = Ok(machine);
        Self::new(plan)
    }

    fn new(mut plan: RoomSpec) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        for task in TASKS {
            let own = proc.join(format!("{task}/task/{task}"));
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(own.join("status"), "PPid:\t0\nUid:\t0\t0\t0\t0\n").unwrap();
        }
        plan.proc = proc;
        // Nothing is to happen by itself.
        plan.limbo_every = Duration::from_secs(3600);
        let tree = folder.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let room = Room::open(plan, Box::new(Still::default())).unwrap();
        let mounted = room.mount_resctrl(&tree).expect("these tests need root and /dev/fuse");
        Self { mounted: Some(mounted), room, folder }
    }

    /// mount; the kernel's number where that fails.
    pub fn mount(&mut self, options: MountOptions) -> Result<(), i32> {
        let mounted = self.room.mount_resctrl_with(&self.root(), options);
        self.mounted = Some(mounted.map_err(|error| error.raw_os_error().unwrap_or(-1))?);
        Ok(())
    }

    /// umount.
    pub fn unmount(&mut self) {
        self.mounted = None;
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }
}
