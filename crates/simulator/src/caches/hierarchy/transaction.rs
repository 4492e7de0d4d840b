//! What an access or a fill has in common with all that it causes in other caches.

use crate::line::Line;
use crate::time::Ps;

/// The access or fill that is being worked on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transaction {
    /// The core that it is of.
    pub core: usize,
    /// Its time.
    pub now: Ps,
    /// A node whose cache is about to give a line to the core, and the line, which nobody inside has: filters may say
    /// otherwise already.
    pub gives: Option<(usize, Line)>,
}

impl Transaction {
    /// One of a core at this time.
    #[inline(always)]
    pub fn new(core: usize, now: Ps) -> Self {
        Self { core, now, gives: None }
    }
}
