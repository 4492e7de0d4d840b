//! A process that kills itself, with the signal that nobody can catch, before a certain action or amid it.

use std::cell::RefCell;
use std::fmt;
use std::io;

use waykeeper_control::{RegisterError, Registers, ResctrlTree, StateDirectory, Store, TreeError};
use waykeeper_policy::MountSettings;

/// Where a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// After so many actions.
    after: usize,
    /// With half of the next action done, where that is a write to the journal.
    torn: bool,
}

/// A sign for each action: can it be half done?
const WHOLE: char = 'm';
const DIVISIBLE: char = 'j';

impl Stroke {
    /// Before the first action, after each one, and amid each that can be half done.
    pub fn all(actions: &str) -> Vec<Stroke> {
        let before = (0..actions.len()).map(|after| Stroke { after, torn: false });
        let divisible = actions.char_indices().filter(|&(_, sign)| sign == DIVISIBLE);
        before.chain(divisible.map(|(after, _)| Stroke { after, torn: true })).collect()
    }
}

impl fmt::Display for Stroke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} action {}", if self.torn { "amid" } else { "before" }, self.after + 1)
    }
}

/// Counts actions, and kills when it is time.
#[derive(Debug)]
pub struct Knife {
    stroke: Option<Stroke>,
    actions: RefCell<String>,
}

impl Knife {
    pub fn new(stroke: Option<Stroke>) -> Self {
        Knife { stroke, actions: RefCell::default() }
    }

    /// A sign for each action.
    pub fn actions(&self) -> String {
        self.actions.borrow().clone()
    }

    /// Before an action. Returns whether half of it is to be done.
    fn touch(&self, divisible: bool) -> bool {
        let mut actions = self.actions.borrow_mut();
        let now = self.stroke.is_some_and(|stroke| stroke.after == actions.len());
        actions.push(if divisible { DIVISIBLE } else { WHOLE });
        let torn = self.stroke.is_some_and(|stroke| stroke.torn);
        if now && !(torn && divisible) {
            kill();
        }
        now
    }

    pub fn tree<'k>(&'k self, tree: &'k mut dyn ResctrlTree) -> CutTree<'k> {
        CutTree { tree, knife: self }
    }

    pub fn registers<'k>(&'k self, registers: &'k mut dyn Registers) -> CutRegisters<'k> {
        CutRegisters { registers, knife: self }
    }

    pub fn store(&self, store: StateDirectory) -> CutStore<'_> {
        CutStore { store, knife: self }
    }
}

fn kill() -> ! {
    // SAFETY: have no memory to read.
    unsafe {
        libc::kill(libc::getpid(), libc::SIGKILL);
        libc::_exit(1)
    }
}

/// resctrl, cut.
pub struct CutTree<'k> {
    tree: &'k mut dyn ResctrlTree,
    knife: &'k Knife,
}

impl ResctrlTree for CutTree<'_> {
    fn unusable(&mut self) -> Option<String> {
        self.tree.unusable()
    }

    fn mounted(&mut self) -> Result<Option<MountSettings>, TreeError> {
        self.tree.mounted()
    }

    fn mount(&mut self, settings: MountSettings) -> Result<(), TreeError> {
        self.knife.touch(false);
        self.tree.mount(settings)
    }

    fn unmount(&mut self) -> Result<(), TreeError> {
        self.knife.touch(false);
        self.tree.unmount()
    }

    fn read(&mut self, path: &str) -> Result<String, TreeError> {
        self.tree.read(path)
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), TreeError> {
        self.knife.touch(false);
        self.tree.write(path, text)
    }

    fn mkdir(&mut self, path: &str) -> Result<(), TreeError> {
        self.knife.touch(false);
        self.tree.mkdir(path)
    }

    fn rmdir(&mut self, path: &str) -> Result<(), TreeError> {
        self.knife.touch(false);
        self.tree.rmdir(path)
    }

    fn directories(&mut self, path: &str) -> Result<Vec<String>, TreeError> {
        self.tree.directories(path)
    }
}

/// Registers, cut.
pub struct CutRegisters<'k> {
    registers: &'k mut dyn Registers,
    knife: &'k Knife,
}

impl Registers for CutRegisters<'_> {
    fn unusable(&mut self, cpu: u32) -> Option<String> {
        self.registers.unusable(cpu)
    }

    fn read(&mut self, cpu: u32, register: u32) -> Result<u64, RegisterError> {
        self.registers.read(cpu, register)
    }

    fn write(&mut self, cpu: u32, register: u32, value: u64) -> Result<(), RegisterError> {
        self.knife.touch(false);
        self.registers.write(cpu, register, value)
    }
}

/// The journal, cut.
pub struct CutStore<'k> {
    store: StateDirectory,
    knife: &'k Knife,
}

impl Store for CutStore<'_> {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.store.read()
    }

    fn create(&mut self, bytes: &[u8], more: u64) -> io::Result<()> {
        if self.knife.touch(true) {
            // Not yet under the name that counts.
            let _ = std::fs::write(self.store.path().join("journal.new"), &bytes[..bytes.len() / 2]);
            kill();
        }
        self.store.create(bytes, more)
    }

    fn append(&mut self, end: u64, bytes: &[u8]) -> io::Result<()> {
        if self.knife.touch(true) {
            let _ = self.store.append(end, &bytes[..bytes.len() / 2]);
            kill();
        }
        self.store.append(end, bytes)
    }

    fn reserve(&mut self, end: u64, more: u64) -> io::Result<()> {
        self.store.reserve(end, more)
    }

    fn remove(&mut self) -> io::Result<()> {
        self.knife.touch(false);
        self.store.remove()
    }
}
