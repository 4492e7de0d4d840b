//! The lines of check bits that a controller with inline ECC holds.

use crate::line::Line;
use crate::memory::layout::BankRow;

#[derive(Debug, Clone, Copy)]
struct Held {
    line: Line,
    place: BankRow,
    changed: bool,
}

/// A small buffer of lines of check bits; the one that was used longest ago makes room.
#[derive(Debug, Clone)]
pub struct CheckLines {
    /// The one that was used last is the last.
    held: Vec<Held>,
    room: usize,
}

/// What a use of a line of check bits causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// It must be read.
    pub read: bool,
    /// Another one makes room and must be written.
    pub write: Option<(Line, BankRow)>,
}

impl CheckLines {
    /// An empty buffer for so many lines, at least one.
    pub fn new(room: usize) -> Self {
        Self { held: Vec::with_capacity(room + 1), room: room.max(1) }
    }

    /// Uses a line; `changes` if its data are written.
    pub fn take(&mut self, line: Line, place: BankRow, changes: bool) -> Use {
        if let Some(at) = self.held.iter().position(|held| held.line == line) {
            let held = self.held.remove(at);
            self.held.push(Held { changed: held.changed | changes, ..held });
            return Use { read: false, write: None };
        }
        let oldest = (self.held.len() == self.room).then(|| self.held.remove(0));
        self.held.push(Held { line, place, changed: changes });
        Use { read: true, write: oldest.filter(|held| held.changed).map(|held| (held.line, held.place)) }
    }
}
