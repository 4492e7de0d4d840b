//! What an access or a fill has in common with all that it causes in other caches.

use crate::caches::hierarchy::Effects;
use crate::line::Line;
use crate::time::Ps;

/// The access or fill that is being worked on.
#[derive(Debug)]
pub(super) struct Transaction<'a> {
    /// The core that it is of.
    pub core: usize,
    /// Its time.
    pub now: Ps,
    /// A node whose cache is about to give a line to the core, and the line, which nobody inside has: filters may say
    /// otherwise already.
    pub gives: Option<(usize, Line)>,
    /// Where it adds what it causes outside of the caches.
    pub effects: &'a mut Effects,
}

impl<'a> Transaction<'a> {
    /// One of a core at this time.
    #[inline(always)]
    pub fn new(core: usize, now: Ps, effects: &'a mut Effects) -> Self {
        Self { core, now, gives: None, effects }
    }

    /// The same while a node's cache is about to give the core a line.
    pub fn giving(&mut self, node: usize, line: Line) -> Transaction<'_> {
        Transaction { core: self.core, now: self.now, gives: Some((node, line)), effects: self.effects }
    }
}
