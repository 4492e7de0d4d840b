//! Runs of full-line stores, whose lines the core stops allocating.

use crate::line::Line;

/// What becomes of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// It goes to its line as usual.
    AsUsual,
    /// It waits for the rest of its line.
    Gathered,
    /// Its line is full and goes on without being read.
    Full,
    /// Another line was left incomplete and goes as usual first; the store is to be tried again.
    After(Line),
}

/// Counts lines that are written in full, one after the other, and gathers the stores of a line once there were enough.
/// A line that is left before it is full ends the run.
#[derive(Debug, Clone)]
pub struct StreamDetector {
    after: u64,
    all_words: u64,
    /// Lines in the run.
    run: u64,
    line: Option<Line>,
    words: u64,
    gathering: bool,
    /// Whether the core does it at all.
    pub enabled: bool,
}

impl StreamDetector {
    /// Lines go on from the `after`-th in a row; a line holds so many words, 64 at most.
    pub fn new(after: u64, words: u32) -> Self {
        let all_words = u64::MAX >> (64 - words);
        Self { after, all_words, run: 0, line: None, words: 0, gathering: false, enabled: true }
    }

    /// A store to some words of a line, one bit each.
    pub fn store(&mut self, line: Line, words: u64) -> Stored {
        if !self.enabled {
            return Stored::AsUsual;
        }
        if self.line != Some(line) || self.words == self.all_words {
            if let Some(incomplete) = self.leave() {
                return Stored::After(incomplete);
            }
            (self.line, self.words, self.gathering) = (Some(line), 0, self.run >= self.after);
        }
        self.words |= words;
        let full = self.words == self.all_words;
        self.run += u64::from(full);
        match (self.gathering, full) {
            (false, _) => Stored::AsUsual,
            (true, false) => Stored::Gathered,
            (true, true) => Stored::Full,
        }
    }

    /// The present line is left; returns it if its stores wait and are to go as usual.
    pub fn leave(&mut self) -> Option<Line> {
        let line = self.line.take()?;
        if self.words == self.all_words {
            return None;
        }
        self.run = 0;
        self.gathering.then_some(line)
    }

    /// Whether stores to a line wait.
    pub fn gathers(&self, line: Line) -> bool {
        self.gathering && self.line == Some(line) && self.words != self.all_words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Stored::{After, AsUsual, Full, Gathered};

    fn stores(streaming: &mut StreamDetector, of: &[(u32, u64)]) -> Vec<Stored> {
        of.iter().map(|(line, words)| streaming.store(Line::new(*line), *words)).collect()
    }

    #[test]
    fn lines_go_on_once_enough_were_written_in_full() {
        // Lines of two words, after two lines.
        let mut streaming = StreamDetector::new(2, 2);
        let seen = stores(&mut streaming, &[(1, 1), (1, 2), (2, 1), (2, 2), (9, 1), (9, 2), (3, 3)]);
        assert_eq!(seen, [AsUsual, AsUsual, AsUsual, AsUsual, Gathered, Full, Full]);
    }

    #[test]
    fn an_incomplete_line_ends_the_run() {
        let mut streaming = StreamDetector::new(1, 2);
        let seen = stores(&mut streaming, &[(1, 3), (2, 1), (3, 3), (3, 3), (4, 2)]);
        // Line 2 goes as usual, then the store to line 3 is tried again: it is the first of a new run.
        assert_eq!(seen, [AsUsual, Gathered, After(Line::new(2)), AsUsual, Gathered]);
        let line = Line::new(4);
        assert_eq!((streaming.gathers(line), streaming.leave(), streaming.gathers(line)), (true, Some(line), false));
        assert_eq!(stores(&mut streaming, &[(5, 1), (6, 1), (7, 3)]), [AsUsual, AsUsual, AsUsual]);
    }

    #[test]
    fn it_can_be_off() {
        let mut streaming = StreamDetector { enabled: false, ..StreamDetector::new(1, 2) };
        assert_eq!(stores(&mut streaming, &[(1, 3), (2, 3), (3, 3)]), [AsUsual; 3]);
    }
}
