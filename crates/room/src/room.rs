//! A room: a platform with its kernel, what runs on it, and the one lock around what its files change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use waykeeper_platform::{CoreId, Platform};
use waykeeper_resctrl::{
    Caller, FileOperation, KernelRelease, MountOptions, OperationError, Reply, Resctrl, ResctrlMachine,
};

use crate::backing::{Backing, BufferMemory, Work};
use crate::files::Mounted;
use crate::files::devices::{DeviceFiles, Outside};
use crate::files::mounting::Tree;
use crate::files::resctrl::ResctrlFiles;
use crate::hardware::{Hardware, Throttles};
use crate::load::PlacedLoad;
use crate::machine::{NoResctrl, machine_of};
use crate::runner::{Ask, Runner};
use crate::state::{Load, State};
use crate::tasks::Tasks;

/// How often tasks are looked for. A look at a full /proc takes long: then less often.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A look takes at most this share of the time.
const LOOK_SHARE: u32 = 20;
/// How often the kernel looks whether RMIDs are clean.
const LIMBO_EVERY: Duration = Duration::from_secs(1);

/// What a room is made of.
#[derive(Debug, Clone)]
pub struct RoomSpec {
    /// The platform.
    pub platform: Platform,
    /// The kernel that is seen on it.
    pub kernel: KernelRelease,
    /// The machine that the kernel found there, or why it found nothing for resctrl.
    pub machine: Result<ResctrlMachine, NoResctrl>,
    /// The folder in which tasks are looked for: /proc of the room's processes.
    pub proc: PathBuf,
    /// How often the kernel looks whether freed RMIDs are clean.
    pub limbo_every: Duration,
}

impl RoomSpec {
    /// A platform with a kernel, for tasks of this process namespace.
    pub fn new(platform: Platform, kernel: KernelRelease) -> Self {
        let machine = machine_of(&platform, kernel);
        Self { platform, kernel, machine, proc: "/proc".into(), limbo_every: LIMBO_EVERY }
    }
}

/// A running room. It ends when it is dropped.
#[derive(Debug)]
pub struct Room {
    shared: Arc<Shared>,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What the servers of a room share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub platform: Platform,
    pub kernel: KernelRelease,
    pub no_resctrl: Option<NoResctrl>,
    pub runner: Runner,
    /// Locked before the state: a look at /proc takes long, and files that have nothing to do with tasks do not wait for it.
    tasks: Mutex<(Tasks, PathBuf)>,
    state: Mutex<State>,
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out an operation on resctrl's files.
    pub fn apply(&self, caller: &Caller, operation: &FileOperation) -> Result<Reply, OperationError> {
        if asks_for_tasks(operation) {
            self.look_at_tasks();
        }
        self.state().apply(&self.runner, caller, operation)
    }

    /// Learns who began and who ended.
    pub fn look_at_tasks(&self) {
        let mut held = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let (tasks, proc) = &mut *held;
        let news = tasks.look(proc);
        // Two looks at one time would tell their news in the wrong order.
        self.state().learn(news);
    }

    /// Mounts the model anew and shows it at a folder.
    ///
    /// # Errors
    /// The kernel's number, and what the system says of the folder.
    pub fn mount(self: &Arc<Self>, at: &Path, source: &str, options: MountOptions) -> io::Result<Mounted> {
        let instance = {
            let mut state = self.state();
            let resctrl = state.resctrl.as_mut().ok_or(io::Error::from_raw_os_error(libc::ENODEV))?;
            resctrl.mount(options).map_err(|errno| io::Error::from_raw_os_error(errno.number()))?;
            state.instance += 1;
            state.settle(&self.runner);
            state.instance
        };
        self.show(instance, at, source).inspect_err(|_| self.unmounted(instance))
    }

    /// Shows a mount of the model at a folder.
    fn show(self: &Arc<Self>, instance: u64, at: &Path, source: &str) -> io::Result<Mounted> {
        let files = ResctrlFiles::new(Arc::clone(self), instance);
        let tree = Tree { shared: Arc::clone(self), instance, kernel: files.kernel() };
        Mounted::new(files, at, "resctrl", source, Some(tree))
    }

    /// A mount of the model has ended, if it is the present one: masks become full, and all groups die.
    pub fn unmounted(&self, instance: u64) {
        let mut state = self.state();
        if state.instance == instance
            && let Some(resctrl) = state.resctrl.as_mut().filter(|resctrl| resctrl.mounted().is_some())
        {
            resctrl.unmount();
            state.settle(&self.runner);
        }
    }

    /// Starts a workload whose groups are those of a task; 0 for the groups of its core.
    pub fn start(&self, name: &str, work: Work, tid: i32, target: bool) -> Result<u64, String> {
        let core = work.core;
        self.look_at_tasks();
        // The class comes before the first access.
        let mut state = self.state();
        if state.loads.iter().any(|load| load.core == core) {
            return Err(format!("core {core} runs something already"));
        }
        state.loads.push(Load { id: 0, name: name.into(), core, tid, target });
        state.settle(&self.runner);
        let started = self.runner.ask_for(|answer| Ask::Start(work, answer));
        match &started {
            Ok(id) => state.loads.iter_mut().filter(|load| load.core == core).for_each(|load| load.id = *id),
            Err(_) => state.loads.retain(|load| load.core != core),
        }
        state.settle(&self.runner);
        started
    }

    /// Ends a workload.
    pub fn stop(&self, id: u64) -> Result<(), String> {
        self.runner.ask_for(|answer| Ask::Stop(id, answer))?;
        let mut state = self.state();
        state.loads.retain(|load| load.id != id);
        state.settle(&self.runner);
        Ok(())
    }
}

impl Room {
    /// A room with nothing running in it. A platform without resctrl has a room too: it may have registers.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn open(plan: RoomSpec, backing: Box<dyn Backing>) -> io::Result<Self> {
        let RoomSpec { platform, kernel, machine, proc, limbo_every } = plan;
        let (machine, no_resctrl) = match machine {
            Ok(machine) => (Some(machine), None),
            Err(none) => (None, Some(none)),
        };
        let throttles = machine.as_ref().and_then(|machine| machine.mb.as_ref()).map(|mb| Throttles {
            groups: mb.domains.iter().map(|domain| domain.cpus.iter().collect::<Vec<CoreId>>()).collect(),
            values: vec![vec![mb.max; mb.closids as usize]; mb.domains.len()],
        });
        let hardware = Hardware::new(&platform, throttles);
        let monitors = backing.monitors();
        let mut resctrl = machine.map(Resctrl::new);
        if let Some(resctrl) = &mut resctrl {
            // Nobody can have mounted it before.
            let _ = resctrl.mount(MountOptions::default());
        }
        let mut state = State::new(resctrl, hardware, monitors);
        let runner = Runner::start(backing)?;
        state.tell(&runner);
        let (tasks, state) = (Mutex::new((Tasks::default(), proc)), Mutex::new(state));
        let shared = Arc::new(Shared { platform, kernel, no_resctrl, runner, tasks, state });
        shared.look_at_tasks();
        let ticker = tick(Arc::clone(&shared), limbo_every)?;
        Ok(Self { shared, ticker: Some(ticker) })
    }

    /// Starts the loads, each under its placeholder's pid.
    ///
    /// # Errors
    /// The first that cannot run, and why.
    pub fn start(&self, loads: &[(PlacedLoad, i32)]) -> Result<(), String> {
        for (load, pid) in loads {
            let work = Work {
                core: load.core,
                pattern: load.pattern.clone(),
                watched: load.target,
                buffer: BufferMemory::Own,
                samples: None,
            };
            self.shared
                .start(&load.name, work, *pid, load.target)
                .map_err(|why| format!("load {} on core {}: {why}", load.name, load.core))?;
        }
        Ok(())
    }

    /// Why this platform has no resctrl, if it has none.
    pub fn no_resctrl(&self) -> Option<&NoResctrl> {
        self.shared.no_resctrl.as_ref()
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Carries out an operation on resctrl's files, as the mounted files do.
    ///
    /// # Errors
    /// What the kernel would answer.
    pub fn apply(&self, caller: &Caller, operation: &FileOperation) -> Result<Reply, OperationError> {
        self.shared.apply(caller, operation)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.ticker.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Whether an operation depends on which tasks there are.
fn asks_for_tasks(operation: &FileOperation) -> bool {
    match operation {
        FileOperation::Read { path } => path.ends_with(b"tasks"),
        FileOperation::Write { path, .. } => path.ends_with(b"tasks") || path.ends_with(b"mode"),
        _ => false,
    }
}

/// Looks for tasks and for clean RMIDs from time to time.
fn tick(shared: Arc<Shared>, limbo_every: Duration) -> io::Result<(Sender<()>, JoinHandle<()>)> {
    let (end, ended) = channel();
    let work = move || {
        let mut pause = LOOK_EVERY;
        let mut limbo = Instant::now();
        while ended.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let began = Instant::now();
            shared.look_at_tasks();
            pause = LOOK_EVERY.max(began.elapsed() * LOOK_SHARE);
            let mut state = shared.state();
            state.settle(&shared.runner);
            if limbo.elapsed() >= limbo_every {
                limbo = began;
                state.check_limbo(&shared.runner);
            }
        }
    };
    Ok((end, std::thread::Builder::new().name("tasks".into()).spawn(work)?))
}

impl Room {
    /// Reads a register of a core, as /dev/cpu/N/msr does; `None` where the processor has none of that number.
    pub fn read_msr(&self, core: CoreId, number: u32) -> Option<u64> {
        self.shared.read_msr(core, number).ok()
    }

    /// Writes a register of a core, as /dev/cpu/N/msr does; `None` where the processor refuses.
    pub fn write_msr(&self, core: CoreId, number: u32, value: u64) -> Option<()> {
        self.shared.write_msr(core, number, value).ok()
    }

    /// Answers a line as the socket does.
    pub fn answer(&self, line: &[u8]) -> crate::socket::protocol::RoomAnswer {
        crate::socket::answer(&self.shared, line)
    }

    /// Looks now whether freed RMIDs are clean.
    pub fn check_limbo(&self) {
        self.shared.state().check_limbo(&self.shared.runner);
    }

    /// Mounts the tree of resctrl at a folder; with the mount of the model that is there already, or a new one without
    /// options.
    ///
    /// # Errors
    /// A platform without resctrl; what the system says.
    pub fn mount_resctrl(&self, at: &Path) -> io::Result<Mounted> {
        if let Some(none) = self.no_resctrl() {
            return Err(io::Error::other(none.clone()));
        }
        let there = {
            let state = self.shared.state();
            state.resctrl.as_ref().and_then(Resctrl::mounted).map(|_| state.instance)
        };
        match there {
            Some(instance) => self.shared.show(instance, at, "resctrl"),
            None => self.mount_resctrl_with(at, MountOptions::default()),
        }
    }

    /// Mounts resctrl at a folder, as `mount -t resctrl -o OPTIONS` does.
    ///
    /// # Errors
    /// The kernel's number, and what the system says of the folder.
    pub fn mount_resctrl_with(&self, at: &Path, options: MountOptions) -> io::Result<Mounted> {
        self.shared.mount(at, "resctrl", options)
    }
}

impl Room {
    /// Mounts registers, locked regions and the tables of mounts at a folder. The tables hide what is mounted outside.
    pub(crate) fn mount_devices(&self, at: &Path, outside: Outside) -> io::Result<Mounted> {
        Mounted::new(DeviceFiles::new(self.shared(), outside), at, "waykeeper", "waykeeper", None)
    }
}

impl Room {
    /// Listens for clients at a path.
    ///
    /// # Errors
    /// What the system says.
    pub fn listen(&self, at: &Path) -> io::Result<crate::socket::Listening> {
        crate::socket::Listening::new(self.shared(), at)
    }
}
