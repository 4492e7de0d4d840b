//! Why the target's longest samples took so long: what its core waited for in each of them, part by part, and why it had
//! lost the lines.
//!
//! Nothing here has an effect on time. While nobody asks, one test on each miss is all that it costs.

use crate::line::Line;
use crate::observe::losses::{Cause, Losses, Lost};
use crate::observe::read_path::ReadPath;
use crate::observe::skipped::Skipped;
use crate::time::Ps;

/// What a line is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRole {
    /// Its instructions.
    Code,
    /// What it works on.
    Data,
    /// The stack of a `tick` loop.
    Stack,
    /// Where it records its samples.
    Recorder,
    /// A descriptor that a page walk reads.
    PageTable,
}

/// Where a line came from, or what it waited for first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The core's own second level.
    SecondLevel,
    /// The shared cache of this level.
    Shared(u8),
    /// The on-chip RAM.
    OnChip,
    /// Another core's caches.
    OtherCore,
    /// An entry of a filter: of a shared cache (0) or of the interconnect (1). All attempts are one part.
    Filter(u8),
    /// A line that was in flight already.
    InFlight,
    /// Memory.
    Memory,
}

/// One thing that the core waited for in a sample. Parts overlap where the core does other things meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// When it was asked for, in picoseconds from time 0.
    pub asked_ps: u64,
    /// When it came.
    pub came_ps: u64,
    /// The line.
    pub line: Line,
    /// What the line is.
    pub what: LineRole,
    /// Where it came from.
    pub from: From,
    /// How it got through the memory's channel, where it did.
    pub memory: Option<ReadPath>,
    /// Why it was not nearer: cold if it was never here.
    pub cause: Cause,
    /// The losses since it was last here, the earliest first, as far as they are remembered: from the core's own caches
    /// (level 0), then from shared ones.
    pub lost: Vec<Lost>,
}

impl Part {
    /// Whether another part is the next attempt after this one.
    fn is_tried_again_by(&self, next: &Self) -> bool {
        matches!(self.from, From::Filter(_))
            && (self.from, self.line, self.came_ps) == (next.from, next.line, next.asked_ps)
    }

    /// From the engine's own time to one that counts what was skipped.
    fn count_skipped(&mut self, skipped: &Skipped) {
        let Self { asked_ps, came_ps, memory, lost, .. } = self;
        let of_memory = memory.iter_mut().flat_map(|read_path| {
            let ReadPath { admitted_ps, held_until_ps, issued_ps, .. } = read_path;
            [Some(admitted_ps), held_until_ps.as_mut(), Some(issued_ps)].into_iter().flatten()
        });
        let times = [asked_ps, came_ps].into_iter().chain(of_memory).chain(lost.iter_mut().map(|lost| &mut lost.at));
        times.for_each(|at| *at = skipped.with(Ps::new(*at)).get());
    }
}

/// A sample and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The sample, in ticks of the counter.
    pub ticks: u64,
    /// When it began, in picoseconds from time 0.
    pub began_ps: u64,
    /// When it ended.
    pub ended_ps: u64,
    /// Its parts, in the order in which they were asked for.
    pub parts: Vec<Part>,
    /// How many came after those that are kept.
    pub further: u64,
}

/// More parts of one sample than anyone reads.
const MOST_PARTS: usize = 256;

/// What an open part waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Mshr(usize),
    Entry,
}

/// Collects the longest samples of one core.
#[derive(Debug, Clone)]
pub struct Explainer {
    most: usize,
    from: Ps,
    open: Vec<(Awaits, Part)>,
    parts: Vec<Part>,
    further: u64,
    longest: Vec<Explained>,
    /// Explanations count it: times in them are those of samples.
    skipped: Skipped,
}

impl Explainer {
    /// Keeps the `most` longest samples that begin at this time or later.
    pub fn new(most: usize, from: Ps) -> Self {
        Self {
            most,
            from,
            open: Vec::new(),
            parts: Vec::new(),
            further: 0,
            longest: Vec::new(),
            skipped: Skipped::default(),
        }
    }

    /// The core waits for something that comes at a time.
    pub fn waits_until(&mut self, at: Ps, part: Part) {
        self.add(Part { came_ps: at.get(), ..part });
    }

    fn add(&mut self, part: Part) {
        match self.parts.len() < MOST_PARTS {
            true => self.parts.push(part),
            false => self.further += 1,
        }
    }

    /// The core waits for the line of an MSHR.
    pub fn waits_for_mshr(&mut self, mshr: usize, part: Part) {
        self.open.push((Awaits::Mshr(mshr), part));
    }

    /// The core waits for another attempt.
    pub fn waits_for_entry(&mut self, part: Part) {
        self.open.push((Awaits::Entry, part));
    }

    /// The line of an MSHR has come from memory.
    pub fn mshr_came(&mut self, mshr: usize, read_path: Option<ReadPath>, now: Ps) {
        self.came(Awaits::Mshr(mshr), read_path, now);
    }

    /// The next attempt is at a time.
    pub fn entry_came(&mut self, at: Ps) {
        self.came(Awaits::Entry, None, at);
    }

    fn came(&mut self, awaited: Awaits, read_path: Option<ReadPath>, now: Ps) {
        let came: Vec<_> = self.open.extract_if(.., |(awaits, _)| *awaits == awaited).collect();
        for (_, part) in came {
            if let Some(last) = self.parts.last_mut().filter(|last| last.is_tried_again_by(&part)) {
                last.came_ps = now.get();
            } else {
                let memory = read_path.filter(|_| part.from == From::Memory);
                self.add(Part { came_ps: now.get(), memory, ..part });
            }
        }
    }

    /// At `now` time was skipped; it is now so much in all.
    pub fn skipped(&mut self, now: Ps, total: Ps) {
        self.skipped.add(now, total);
    }

    /// A sample begins: what came before is not part of it.
    pub fn begins(&mut self) {
        self.parts.clear();
        self.further = 0;
    }

    /// A sample has ended, by the engine's own time. `names` returns what a line of data is, if it is anything else.
    pub fn ended(&mut self, ticks: u64, began: Ps, ended: Ps, names: impl Fn(Line) -> LineRole) {
        let shortest = self.longest.last().map_or(0, |longest| longest.ticks);
        let full = self.longest.len() == self.most;
        let (began, ended) = (self.skipped.with(began), self.skipped.with(ended));
        if began < self.from || (full && ticks <= shortest) {
            return self.begins();
        }
        let (mut parts, further) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.further));
        parts.sort_by_key(|part| part.asked_ps);
        for part in parts.iter_mut().filter(|part| part.what == LineRole::Data) {
            part.what = names(part.line);
        }
        parts.iter_mut().for_each(|part| part.count_skipped(&self.skipped));
        self.longest.push(Explained { ticks, began_ps: began.get(), ended_ps: ended.get(), parts, further });
        self.longest.sort_by_key(|explained| std::cmp::Reverse(explained.ticks));
        self.longest.truncate(self.most);
    }

    /// The longest samples, the longest first; of equal ones the earlier.
    pub fn longest(&self) -> &[Explained] {
        &self.longest
    }
}

/// The remembered losses of a line before `now`, since it was last in its core: the earliest first.
pub fn losses_of(losses: &Losses, line: Line, now: Ps) -> Vec<Lost> {
    let mut of_line: Vec<_> = losses.last().filter(|lost| lost.line == line && lost.at < now.get()).copied().collect();
    let from_core = of_line.iter().rposition(|lost| lost.level == 0).unwrap_or(0);
    of_line.drain(..from_core);
    of_line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_not_kept_are_counted() {
        let mut explainer = Explainer::new(2, Ps::ZERO);
        let part = Part {
            asked_ps: 0,
            came_ps: 0,
            line: Line::new(7),
            what: LineRole::Data,
            from: From::SecondLevel,
            memory: None,
            cause: Cause::Cold,
            lost: Vec::new(),
        };
        for (parts, ticks) in [(MOST_PARTS as u64 + 44, 9), (3, 8)] {
            explainer.begins();
            (0..parts).for_each(|at| explainer.waits_until(Ps::new(at + 1), Part { asked_ps: at, ..part.clone() }));
            explainer.ended(ticks, Ps::ZERO, Ps::new(parts), |_| LineRole::Stack);
        }
        let kept: Vec<_> = explainer.longest().iter().map(|sample| (sample.parts.len(), sample.further)).collect();
        assert_eq!(kept, [(MOST_PARTS, 44), (3, 0)]);
    }
}
