//! Ends everything at one effect, as a crash would: nothing that comes after it is done.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use waykeeper_control::Store;

/// Counts effects, and ends before one of them.
#[derive(Debug, Clone, Default)]
pub struct Cut {
    seen: Rc<Cell<usize>>,
    at: Rc<Cell<Option<usize>>>,
}

struct CutOff;

impl Cut {
    /// Before the effect of that number, from 0.
    pub fn at(effect: usize) -> Self {
        let cut = Self::default();
        cut.at.set(Some(effect));
        cut
    }

    /// Ends before another effect, counted on from those that were seen.
    pub fn again(&self, effects: usize) {
        self.at.set(Some(self.seen.get() + effects));
    }

    /// From now on nothing is cut.
    pub fn heal(&self) {
        self.at.set(None);
    }

    /// How many effects there were.
    pub fn seen(&self) -> usize {
        self.seen.get()
    }

    fn is_due(&self) -> bool {
        let seen = self.seen.get();
        self.seen.set(seen + 1);
        self.at.get() == Some(seen)
    }

    /// Something is about to be changed.
    pub fn effect(&self) {
        if self.is_due() {
            resume_unwind(Box::new(CutOff));
        }
    }

    /// What a piece of work comes to; `None` where it was cut off.
    pub fn survive<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(result) => Some(result),
            Err(payload) if payload.is::<CutOff>() => None,
            Err(payload) => resume_unwind(payload),
        }
    }
}

/// A journal in memory. A cut leaves half of what was being added.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    bytes: Rc<std::cell::RefCell<Option<Vec<u8>>>>,
    cut: Cut,
}

impl Memory {
    pub fn with(cut: &Cut) -> Self {
        Self { bytes: Rc::default(), cut: cut.clone() }
    }

    /// One that holds this already.
    pub fn holding(bytes: &[u8]) -> Self {
        Self { bytes: Rc::new(Some(bytes.to_vec()).into()), cut: Cut::default() }
    }

    /// What it holds.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.bytes.borrow().clone()
    }

    pub fn length(&self) -> usize {
        self.bytes.borrow().as_ref().map_or(0, Vec::len)
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.borrow().is_none()
    }
}

impl Store for Memory {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.bytes.borrow().clone())
    }

    fn create(&mut self, bytes: &[u8], _: u64) -> io::Result<()> {
        self.cut.effect();
        *self.bytes.borrow_mut() = Some(bytes.to_vec());
        Ok(())
    }

    fn append(&mut self, end: u64, bytes: &[u8]) -> io::Result<()> {
        let due = self.cut.is_due();
        let written = &bytes[..if due { bytes.len() / 2 } else { bytes.len() }];
        let mut all = self.bytes.borrow_mut();
        let all = all.as_mut().expect("a journal that was begun");
        // What stands behind it stays, as in a file.
        let to = (end as usize + written.len()).max(all.len());
        all.resize(to, 0);
        all[end as usize..end as usize + written.len()].copy_from_slice(written);
        if due {
            resume_unwind(Box::new(CutOff));
        }
        Ok(())
    }

    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self) -> io::Result<()> {
        self.cut.effect();
        *self.bytes.borrow_mut() = None;
        Ok(())
    }
}
