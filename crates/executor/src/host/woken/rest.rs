//! How long a thread slept because it wanted to.

/// Sleeps of a thread's own will so far. Others (the process was stopped, a page came from a disk) are not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rest {
    /// How many.
    pub sleeps: u64,
    /// From each call to its programmed end, nanoseconds.
    pub asleep_ns: u64,
}

impl Rest {
    /// Adds a sleep from one time to another; none where the second has passed already at the first.
    pub fn add(&mut self, begins_ns: i64, ends_ns: i64) {
        let Some(asleep_ns @ 1..) = ends_ns.checked_sub(begins_ns) else { return };
        self.sleeps += 1;
        self.asleep_ns += asleep_ns.unsigned_abs();
    }
}
