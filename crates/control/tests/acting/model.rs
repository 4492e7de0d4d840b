//! The model of the kernel as a machine to act on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use waykeeper_control::{
    MachineAccess, MountSeen, RegisterError, Registers, ResctrlTree, System, TaskFacts, TreeError,
};
use waykeeper_policy::MountSettings;
use waykeeper_resctrl::{FileOperation, KernelRelease, MountOptions, OperationError, Reply, Resctrl, Task};

use crate::cut::Cut;

/// A task of the model: its parent is for the system only.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub process: i32,
    pub parent: i32,
    pub began: u64,
}

/// A machine with the model's resctrl. Clones share nothing.
#[derive(Debug, Clone)]
pub struct Model {
    pub resctrl: Resctrl,
    pub tasks: BTreeMap<i32, Known>,
    /// Tasks by cgroup; those that have ended may be among them.
    pub cgroups: BTreeMap<String, Vec<i32>>,
    /// How many children are born, one with each move of a task: in the cgroup and in the group that their parent leaves.
    pub births: usize,
    pub registers: BTreeMap<(u32, u32), u64>,
    pub boot: String,
    /// What tells the mount of resctrl from others.
    pub mount: Option<MountSeen>,
}

impl Model {
    pub fn new(machine: waykeeper_resctrl::ResctrlMachine) -> Self {
        Self {
            resctrl: Resctrl::new(machine),
            tasks: BTreeMap::new(),
            cgroups: BTreeMap::new(),
            births: 0,
            registers: BTreeMap::new(),
            boot: "first".into(),
            mount: None,
        }
    }

    /// A process with one thread.
    pub fn start(&mut self, parent: Option<i32>, tid: i32) {
        self.start_thread(parent, tid, tid);
    }

    /// A thread of a process; `parent` is who made it.
    pub fn start_thread(&mut self, parent: Option<i32>, process: i32, tid: i32) {
        self.resctrl.start_task(parent, Task { process, ..Task::new(tid) });
        self.tasks.insert(tid, Known { process, parent: parent.unwrap_or(0), began: tid as u64 });
    }

    /// A task forks just before it is moved.
    fn forks(&mut self, path: &str, text: &str) {
        let Some(parent) = text.trim().parse().ok().filter(|_| self.births > 0 && path.ends_with("tasks")) else {
            return;
        };
        self.births -= 1;
        let child = self.tasks.keys().last().copied().unwrap_or(0) + 1;
        self.start(Some(parent), child);
        for tids in self.cgroups.values_mut().filter(|tids| tids.contains(&parent)) {
            tids.push(child);
        }
    }

    pub fn end(&mut self, tid: i32) {
        self.resctrl.end_task(tid);
        self.tasks.remove(&tid);
    }

    pub fn write(&mut self, path: &str, text: &str) -> Result<Reply, OperationError> {
        self.resctrl.apply(&FileOperation::Write { path: path.into(), data: text.into() })
    }

    pub fn mkdir(&mut self, path: &str) -> Result<Reply, OperationError> {
        self.resctrl.apply(&FileOperation::Mkdir { path: path.into(), mode: 0o755 })
    }

    pub fn rmdir(&mut self, path: &str) -> Result<Reply, OperationError> {
        self.resctrl.apply(&FileOperation::Rmdir { path: path.into() })
    }

    pub fn read(&mut self, path: &str) -> String {
        match self.resctrl.apply(&FileOperation::Read { path: path.into() }) {
            Ok(Reply::Bytes(bytes)) => String::from_utf8(bytes).unwrap(),
            other => panic!("{path}: {other:?}"),
        }
    }

    /// Every byte of every file, and what stat shows of it. Counters move by themselves, and `last_cmd_status` is a report
    /// about the last command: both are left out.
    pub fn everything(&mut self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        if self.resctrl.mounted().is_some() {
            self.walk("", &mut all);
        }
        for ((cpu, register), value) in &self.registers {
            all.insert(format!("register {register:x} of CPU {cpu}"), format!("{value:x}"));
        }
        all
    }

    fn walk(&mut self, path: &str, all: &mut BTreeMap<String, String>) {
        let stat = self.resctrl.apply(&FileOperation::Getattr { path: path.into() });
        let Ok(Reply::Attributes(attributes)) = stat else { panic!("{path}: {stat:?}") };
        let mut text = format!("{attributes:?}");
        if attributes.directory {
            for entry in self.resctrl.entries(path.as_bytes()).unwrap() {
                let name = String::from_utf8(entry.name).unwrap();
                let inner = if path.is_empty() { name } else { format!("{path}/{name}") };
                text += &format!(" {inner}");
                self.walk(&inner, all);
            }
        } else if !path.contains("mon_data/") && path != "info/last_cmd_status" {
            let read = self.resctrl.apply(&FileOperation::Read { path: path.into() });
            text += &match read {
                Ok(Reply::Bytes(bytes)) => String::from_utf8(bytes).unwrap(),
                Ok(other) => panic!("{path}: {other:?}"),
                Err(refusal) => refusal.errno.to_string(),
            };
        }
        all.insert(path.into(), text);
    }
}

/// The model to act on; a cut can end it at any effect.
pub struct Acting {
    pub model: Rc<RefCell<Model>>,
    tree: ModelTree,
    registers: ModelRegisters,
    system: ModelSystem,
}

impl Acting {
    pub fn on(model: Model, cut: &Cut) -> Self {
        let model = Rc::new(RefCell::new(model));
        Self {
            tree: ModelTree { model: model.clone(), cut: cut.clone() },
            registers: ModelRegisters { model: model.clone(), cut: cut.clone() },
            system: ModelSystem { model: model.clone() },
            model,
        }
    }

    pub fn machine(&mut self) -> MachineAccess<'_> {
        MachineAccess { tree: &mut self.tree, registers: &mut self.registers, system: &self.system }
    }
}

struct ModelTree {
    model: Rc<RefCell<Model>>,
    cut: Cut,
}

fn refused(action: &'static str, path: &str, refusal: OperationError) -> TreeError {
    let status = String::from_utf8_lossy(&refusal.status).trim().to_owned();
    TreeError {
        action,
        path: path.into(),
        errno: Some(refusal.errno.number()),
        reason: refusal.errno.to_string(),
        status: (status != "ok").then_some(status),
    }
}

impl ModelTree {
    fn change(&mut self, action: &'static str, path: &str, operation: FileOperation) -> Result<(), TreeError> {
        self.cut.effect();
        let reply = self.model.borrow_mut().resctrl.apply(&operation);
        reply.map(drop).map_err(|refusal| refused(action, path, refusal))
    }
}

impl ResctrlTree for ModelTree {
    fn unusable(&mut self) -> Option<String> {
        None
    }

    fn mounted(&mut self) -> Result<Option<MountSettings>, TreeError> {
        let options = self.model.borrow().resctrl.mounted();
        Ok(options.map(|it| MountSettings { cdp: it.cdp, cdp_l2: it.cdpl2, mbps: it.mba_mbps }))
    }

    fn mount(&mut self, settings: MountSettings) -> Result<(), TreeError> {
        self.cut.effect();
        let MountSettings { cdp, cdp_l2, mbps } = settings;
        let options = MountOptions { cdp, cdpl2: cdp_l2, mba_mbps: mbps, debug: false };
        self.model.borrow_mut().resctrl.mount(options).map_err(|errno| TreeError {
            action: "mount",
            path: "resctrl".into(),
            errno: Some(errno.number()),
            reason: errno.to_string(),
            status: None,
        })
    }

    fn unmount(&mut self) -> Result<(), TreeError> {
        self.cut.effect();
        self.model.borrow_mut().resctrl.unmount();
        Ok(())
    }

    fn mount_seen(&mut self) -> Option<MountSeen> {
        self.model.borrow().mount.clone()
    }

    fn read(&mut self, path: &str) -> Result<String, TreeError> {
        match self.model.borrow_mut().resctrl.apply(&FileOperation::Read { path: path.into() }) {
            Ok(Reply::Bytes(bytes)) => Ok(String::from_utf8(bytes).unwrap()),
            Ok(other) => panic!("{path}: {other:?}"),
            Err(refusal) => Err(refused("read", path, refusal)),
        }
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), TreeError> {
        self.model.borrow_mut().forks(path, text);
        self.change("write", path, FileOperation::Write { path: path.into(), data: text.into() })
    }

    fn mkdir(&mut self, path: &str) -> Result<(), TreeError> {
        self.change("mkdir", path, FileOperation::Mkdir { path: path.into(), mode: 0o755 })
    }

    fn rmdir(&mut self, path: &str) -> Result<(), TreeError> {
        self.change("rmdir", path, FileOperation::Rmdir { path: path.into() })
    }

    fn directories(&mut self, path: &str) -> Result<Vec<String>, TreeError> {
        let entries = self.model.borrow().resctrl.entries(path.as_bytes()).unwrap_or_default();
        let directories = entries.into_iter().filter(|entry| entry.directory);
        Ok(directories.map(|entry| String::from_utf8(entry.name).unwrap()).collect())
    }
}

/// Registers that round masks up to two bits, as some parts do: 0x400 reads 0x600.
struct ModelRegisters {
    model: Rc<RefCell<Model>>,
    cut: Cut,
}

/// A register that can be read and sets nothing.
pub const INERT: u32 = 0xc9f;
/// A mask register that needs two bits.
pub const COARSE: u32 = 0xc9e;

impl Registers for ModelRegisters {
    fn unusable(&mut self, _cpu: u32) -> Option<String> {
        None
    }

    fn read(&mut self, cpu: u32, register: u32) -> Result<u64, RegisterError> {
        let value = self.model.borrow().registers.get(&(cpu, register)).copied();
        value.ok_or_else(|| RegisterError { action: "read", cpu, register, reason: "EIO".into() })
    }

    fn write(&mut self, cpu: u32, register: u32, value: u64) -> Result<(), RegisterError> {
        self.cut.effect();
        // IA32_L3_QOS_MASK_n takes runs of ones only (Intel SDM vol. 3, 19.19.4.3): anything else faults.
        let run = value >> value.trailing_zeros().min(63);
        if (0xc90..0xd50).contains(&register) && (value == 0 || run & (run + 1) != 0) {
            return Err(RegisterError { action: "write", cpu, register, reason: "EIO".into() });
        }
        let value = if register == COARSE && value.count_ones() == 1 { value | value >> 1 } else { value };
        if register != INERT {
            self.model.borrow_mut().registers.insert((cpu, register), value);
        }
        Ok(())
    }
}

struct ModelSystem {
    model: Rc<RefCell<Model>>,
}

impl System for ModelSystem {
    fn boot_id(&self) -> Option<String> {
        Some(self.model.borrow().boot.clone())
    }

    fn online_cpus(&self) -> Vec<u32> {
        self.model.borrow().resctrl.machine().cpus.online.iter().collect()
    }

    fn task(&self, tid: i32) -> Option<TaskFacts> {
        let task = *self.model.borrow().tasks.get(&tid)?;
        Some(TaskFacts { began: task.began, process: task.process, parent: task.parent })
    }

    fn cgroup(&self, path: &str, others: &[&str]) -> Option<Vec<i32>> {
        let model = self.model.borrow();
        let within = |name: &str, outer: &str| name == outer || name.starts_with(&format!("{outer}/"));
        let apart =
            |name: &str| others.iter().any(|other| *other != path && within(other, path) && within(name, other));
        model.cgroups.get(path)?;
        let inside = model.cgroups.iter().filter(|(name, _)| within(name, path) && !apart(name));
        Some(inside.flat_map(|(_, tids)| tids).copied().filter(|tid| model.tasks.contains_key(tid)).collect())
    }

    fn refuses_pseudo_lock(&self) -> Option<String> {
        (!self.model.borrow().resctrl.machine().pseudo_lock).then(|| "this processor cannot pseudo-lock".into())
    }
}

/// The example server, mounted, with the root's bits to itself.
pub fn server(kernel: KernelRelease, options: MountOptions) -> Model {
    let mut machine = waykeeper_resctrl::example::server();
    machine.kernel = kernel;
    if let Some(l3) = &mut machine.l3 {
        l3.shareable = 0;
    }
    let mut model = Model::new(machine);
    model.resctrl.mount(options).expect("options of the server");
    model
}

/// A small machine as Apollo Lake: two L2 caches, each of two CPUs, 8 ways, pseudo-locking.
pub fn apollo_lake(kernel: KernelRelease) -> Model {
    let mut machine = waykeeper_resctrl::example::server();
    let mut l2 = machine.l3.take().expect("the server has one");
    l2.mask_bits = 8;
    l2.closids = 4;
    l2.cdp = false;
    l2.shareable = 0;
    l2.size_bytes = 1 << 20;
    machine.l2 = Some(l2);
    machine.mb = None;
    machine.monitoring = None;
    machine.pseudo_lock = true;
    machine.kernel = kernel;
    let mut model = Model::new(machine);
    model.resctrl.mount(MountOptions::default()).expect("plain options");
    model
}
