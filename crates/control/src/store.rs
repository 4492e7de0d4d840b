//! What keeps a journal.

use std::io;

/// Keeps a journal. Whatever a call has returned from is on disk.
pub trait Store {
    /// All of it; `None` where there is none.
    ///
    /// # Errors
    /// What the system answered.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;
    /// Begins one: all of `bytes` is there afterwards, with space for `more` bytes behind it, or nothing.
    ///
    /// # Errors
    /// What the system answered.
    fn create(&mut self, bytes: &[u8], more: u64) -> io::Result<()>;
    /// Writes `bytes` at `end`, which is where the whole lines end. After a crash a part of them may be there; what stood
    /// behind `end` may still stand behind them.
    ///
    /// # Errors
    /// What the system answered.
    fn append(&mut self, end: u64, bytes: &[u8]) -> io::Result<()>;
    /// Has space for `more` bytes behind `end`.
    ///
    /// # Errors
    /// What the system answered.
    fn reserve(&mut self, end: u64, more: u64) -> io::Result<()>;
    /// Ends it.
    ///
    /// # Errors
    /// What the system answered.
    fn remove(&mut self) -> io::Result<()>;
}
