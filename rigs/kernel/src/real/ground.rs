//! What plans are carried out on: the kernel's resctrl, with processes and groups of others.

use waykeeper_resctrl::{MonitorEvent, MountOptions, Reading};

use super::process::Process;
use super::system::System;
use super::{clock, count};

/// The kernel with some processes.
#[derive(Debug)]
pub struct Ground {
    /// resctrl.
    pub system: System,
    /// CPUs that are online.
    pub cpus: Vec<u32>,
    processes: Vec<Process>,
}

/// Threads, by where they are.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// In the root.
    pub root: Vec<i32>,
    /// In a group of others.
    pub theirs: Vec<i32>,
    /// In a monitoring group of the root.
    pub watched: Vec<i32>,
}

impl Ground {
    /// Not mounted, with empty caches.
    ///
    /// # Errors
    /// Nothing at present.
    pub fn new() -> Result<Self, String> {
        clock::pin(0);
        count(MonitorEvent::LlcOccupancy, Reading::Value(0));
        Ok(Ground { system: System::new(), cpus: clock::online(), processes: Vec::new() })
    }

    /// Starts processes. With `others`, mounts and makes groups that they are in.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn populate(&mut self, others: bool) -> Result<Threads, String> {
        let mut threads = Threads { root: self.start()?, ..Threads::default() };
        if !others {
            return Ok(threads);
        }
        let failed = |what: &'static str| move |errno: i32| format!("{what}: errno {errno}");
        self.system.mount(MountOptions::default()).map_err(failed("mount"))?;
        let monitors = self.system.mode(b"mon_groups").is_ok();
        self.system.mkdir(b"theirs", 0o755).map_err(failed("mkdir theirs"))?;
        // A write to each schema that may be there; some machines lack it.
        for line in ["L3:0=70;1=70\n", "L2:0=70;1=70\n", "MB:0=30\n"] {
            let _ = self.system.write(b"theirs/schemata", line.as_bytes());
        }
        self.system.write(b"theirs/cpus_list", b"3\n").map_err(failed("theirs/cpus_list"))?;
        threads.theirs = self.start()?;
        self.join(&threads.theirs, b"theirs/tasks")?;
        threads.watched = self.start()?;
        if monitors {
            for group in [&b"mon_groups/watch"[..], b"theirs/mon_groups/inner"] {
                self.system.mkdir(group, 0o755).map_err(failed("mkdir of a monitoring group"))?;
            }
            self.join(&threads.watched, b"mon_groups/watch/tasks")?;
            self.join(&threads.theirs[1..], b"theirs/mon_groups/inner/tasks")?;
            self.system.write(b"theirs/mon_groups/inner/cpus_list", b"3\n").map_err(failed("cpus of inner"))?;
        }
        Ok(threads)
    }

    fn start(&mut self) -> Result<Vec<i32>, String> {
        let process = Process::start(1).map_err(|errno| format!("a process cannot be started: errno {errno}"))?;
        let tids = process.tids.clone();
        self.processes.push(process);
        Ok(tids)
    }

    fn join(&self, tids: &[i32], path: &[u8]) -> Result<(), String> {
        for tid in tids {
            let written = self.system.write(path, format!("{tid}\n").as_bytes());
            written.map_err(|errno| format!("{tid} to {}: errno {errno}", path.escape_ascii()))?;
        }
        Ok(())
    }

    /// Whether resctrl is mounted.
    pub fn is_mounted(&self) -> bool {
        self.system.mode(b"info").is_ok()
    }

    /// Lets freed RMIDs come back.
    pub fn settle(&self) {
        clock::jump(1200);
        self.cpus.iter().for_each(|&cpu| clock::let_run(cpu));
    }

    /// Ends the processes and unmounts.
    pub fn clear(self) {
        self.processes.into_iter().for_each(Process::end);
        let _ = self.system.unmount();
        clock::jump(1200);
        self.cpus.iter().for_each(|&cpu| clock::let_run(cpu));
    }
}
