//! Accesses to lines that the one before, or nearly before, went to: they hit the first level whatever happens, so a
//! simulation has no use for them one by one.

use crate::pattern::Operation;
use crate::stream::{Access, Region, WorkloadStep};

/// Lines that are remembered. A loop over a few arrays goes to as many lines in turn. A first level of 4 ways keeps the
/// last four lines in any case, if it replaces the oldest.
const REMEMBERED: usize = 4;

/// A line is shown again after this many accesses that were not. A line in constant use thus stays young in caches that
/// see hits, and is missed if something took it away from outside.
const MOST_MERGED: u32 = 64;

/// What an access does to its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineAccess {
    /// A load.
    Read,
    /// A load that what follows has to wait for.
    Follow,
    /// A store.
    Write,
    /// A load and a store.
    Modify,
    /// An instruction fetch.
    Fetch,
}

/// Leaves out accesses to lines that are still remembered, and counts them and the instructions in between.
#[derive(Debug, Clone)]
pub struct Lines {
    shift: u32,
    /// Instructions since the last access that was shown, one for each that was not.
    gap: u64,
    /// Fetches that were shown and took a core's time as instructions, which they are not: the next gaps are shorter by them.
    fetched: u64,
    /// Accesses so far.
    now: u64,
    seen: [u64; REMEMBERED],
    /// When each was last used.
    used: [u64; REMEMBERED],
    written: [bool; REMEMBERED],
    /// Accesses to each since it was last shown.
    merged: [u32; REMEMBERED],
    /// The line of the last load that was shown.
    loaded: u64,
    /// The last access was a load of that line.
    loads: bool,
}

impl Lines {
    /// Remembers nothing yet.
    pub fn new(line_bytes: u64) -> Self {
        Self {
            shift: line_bytes.max(1).ilog2(),
            gap: 0,
            fetched: 0,
            now: 0,
            seen: [u64::MAX; REMEMBERED],
            used: [0; REMEMBERED],
            written: [false; REMEMBERED],
            merged: [0; REMEMBERED],
            loaded: u64::MAX,
            loads: false,
        }
    }

    /// Instructions that touch no memory.
    #[inline]
    pub fn compute(&mut self, instructions: u64) {
        self.gap = self.gap.saturating_add(instructions);
    }

    /// A branch on the last load was mispredicted.
    #[inline]
    pub fn mispredicted(&mut self, out: &mut Vec<WorkloadStep>) {
        self.close_gap(out);
        out.push(WorkloadStep::Mispredicted { on_shown: self.loads });
    }

    /// A pass begins or ends here.
    pub fn mark(&mut self, mark: WorkloadStep, out: &mut Vec<WorkloadStep>) {
        self.close_gap(out);
        out.push(mark);
    }

    #[inline]
    fn close_gap(&mut self, out: &mut Vec<WorkloadStep>) {
        let fetched = self.gap.min(self.fetched);
        (self.gap, self.fetched) = (self.gap - fetched, self.fetched - fetched);
        if self.gap > 0 {
            out.push(WorkloadStep::Compute { instructions: std::mem::take(&mut self.gap), code_bytes: 0 });
        }
    }

    /// An access of any length: one to each line that it touches.
    #[inline]
    pub fn span(&mut self, what: LineAccess, offset: u64, bytes: u32, out: &mut Vec<WorkloadStep>) {
        self.access(what, offset, out);
        let last = (offset + u64::from(bytes.max(1)) - 1) >> self.shift;
        for line in (offset >> self.shift) + 1..=last {
            self.access(what, line << self.shift, out);
        }
    }

    /// Accesses of `width` bytes, one after the other, from an offset on.
    #[inline]
    pub fn run(&mut self, what: LineAccess, offset: u64, bytes: u64, width: u64, out: &mut Vec<WorkloadStep>) {
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let next = ((at >> self.shift) + 1) << self.shift;
            self.access(what, at, out);
            // The others go to the same line.
            self.gap += (next.min(end) - at) / width - 1;
            at = next;
        }
    }

    /// An access that does not go across the end of a line.
    #[inline]
    pub fn access(&mut self, what: LineAccess, offset: u64, out: &mut Vec<WorkloadStep>) {
        let writes = matches!(what, LineAccess::Write | LineAccess::Modify);
        // Code and data have offsets of their own.
        let line = offset >> self.shift | u64::from(what == LineAccess::Fetch) << 63;
        self.now += 1;
        self.loads = !writes && line == self.loaded;
        for at in 0..REMEMBERED {
            if self.seen[at] == line {
                self.used[at] = self.now;
                let is_news = what == LineAccess::Follow || (writes && !self.written[at]);
                if !is_news && self.merged[at] < MOST_MERGED {
                    self.merged[at] += 1;
                    self.gap += u64::from(what != LineAccess::Fetch);
                } else {
                    self.written[at] |= writes;
                    self.merged[at] = 0;
                    self.show(what, offset, out);
                }
                return;
            }
        }
        let at = (1..REMEMBERED).fold(0, |oldest, at| if self.used[at] < self.used[oldest] { at } else { oldest });
        self.seen[at] = line;
        self.used[at] = self.now;
        self.written[at] = writes;
        self.merged[at] = 0;
        self.show(what, offset, out);
    }

    #[inline]
    fn show(&mut self, what: LineAccess, offset: u64, out: &mut Vec<WorkloadStep>) {
        self.close_gap(out);
        let operation = match what {
            LineAccess::Read | LineAccess::Follow | LineAccess::Fetch => Operation::Read,
            LineAccess::Write => Operation::Write,
            LineAccess::Modify => Operation::Modify,
        };
        if matches!(what, LineAccess::Read | LineAccess::Follow) {
            (self.loaded, self.loads) = (offset >> self.shift, true);
        }
        let region = if what == LineAccess::Fetch { Region::Code } else { Region::Data };
        self.fetched += u64::from(what == LineAccess::Fetch);
        out.push(WorkloadStep::Access(Access { region, offset, operation, dependent: what == LineAccess::Follow }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown: region, offset and operation, and the instructions before it.
    fn shown(accesses: &[(LineAccess, u64)]) -> Vec<(u64, Operation, u64)> {
        let (mut lines, mut out) = (Lines::new(64), Vec::new());
        accesses.iter().for_each(|(what, offset)| lines.access(*what, *offset, &mut out));
        told(&mut lines, out)
    }

    /// The end is reported as a read of offset 0.
    fn told(lines: &mut Lines, mut out: Vec<WorkloadStep>) -> Vec<(u64, Operation, u64)> {
        lines.mark(WorkloadStep::End, &mut out);
        let (mut told, mut gap) = (Vec::new(), 0);
        for step in out {
            match step {
                WorkloadStep::Compute { instructions, .. } => gap += instructions,
                WorkloadStep::Access(access) => told.push((access.offset, access.operation, std::mem::take(&mut gap))),
                _ => told.push((0, Operation::Read, gap)),
            }
        }
        told
    }

    #[test]
    fn a_line_is_shown_once_for_reads_and_once_more_for_the_first_write() {
        let told = shown(&[
            (LineAccess::Read, 0),
            (LineAccess::Read, 4),
            (LineAccess::Write, 8),
            (LineAccess::Write, 12),
            (LineAccess::Read, 63),
            (LineAccess::Read, 64),
        ]);
        let (read, write) = (Operation::Read, Operation::Write);
        let expected = [(0, read, 0), (8, write, 1), (64, read, 2), (0, read, 0)];
        assert_eq!(told, expected);
    }

    #[test]
    fn four_lines_are_remembered_and_the_oldest_goes_first() {
        let reads = |lines: &[u64]| {
            let reads: Vec<_> = lines.iter().map(|line| (LineAccess::Read, line * 64)).collect();
            shown(&reads).iter().map(|(offset, ..)| offset / 64).collect::<Vec<_>>()
        };
        // The last 0 is the end's.
        assert_eq!(reads(&[1, 2, 3, 4, 1, 2, 3, 4]), [1, 2, 3, 4, 0]);
        // 1 was used again before 5 came: 2 is the oldest.
        assert_eq!(reads(&[1, 2, 3, 4, 1, 5, 1, 2]), [1, 2, 3, 4, 5, 2, 0]);
        assert_eq!(reads(&[1, 2, 3, 4, 5, 1]), [1, 2, 3, 4, 5, 1, 0]);
    }

    #[test]
    fn a_load_that_others_wait_for_is_always_shown() {
        let told = shown(&[(LineAccess::Read, 0), (LineAccess::Follow, 8), (LineAccess::Follow, 16)]);
        assert_eq!(told.len(), 4);
    }

    #[test]
    fn a_line_in_constant_use_is_shown_again() {
        let told = shown(&[(LineAccess::Read, 0); 200]);
        // The 1st, then after 64 that were not shown the 66th, the 131st and the 196th; 4 more before the end.
        let gaps: Vec<u64> = told.iter().map(|(_, _, gap)| *gap).collect();
        assert_eq!(gaps, [0, 64, 64, 64, 4]);
    }

    #[test]
    fn code_and_data_are_told_apart() {
        assert_eq!(
            shown(&[(LineAccess::Read, 0), (LineAccess::Fetch, 0), (LineAccess::Read, 0), (LineAccess::Fetch, 4)])
                .len(),
            3
        );
    }

    #[test]
    fn a_fetch_is_no_instruction() {
        let (mut lines, mut out) = (Lines::new(64), Vec::new());
        // Two instructions without access, each fetched from a line of its own, then five, then a load.
        for offset in [0, 64] {
            lines.access(LineAccess::Fetch, offset, &mut out);
            lines.compute(1);
        }
        lines.compute(5);
        lines.access(LineAccess::Read, 0, &mut out);
        lines.access(LineAccess::Fetch, 68, &mut out);
        // A core takes each fetch that is shown for an instruction: seven before the load, with them.
        assert_eq!(told(&mut lines, out).iter().map(|(.., gap)| *gap).collect::<Vec<_>>(), [0, 0, 5, 0]);
    }

    #[test]
    fn a_branch_knows_whether_its_load_may_be_under_way() {
        let on_shown = |accesses: &[(LineAccess, u64)]| {
            let (mut lines, mut out) = (Lines::new(64), Vec::new());
            accesses.iter().for_each(|(what, offset)| lines.access(*what, *offset, &mut out));
            lines.mispredicted(&mut out);
            *out.last().unwrap() == WorkloadStep::Mispredicted { on_shown: true }
        };
        let (first, second) = ((LineAccess::Read, 0), (LineAccess::Read, 64));
        assert!(on_shown(&[first]));
        assert!(on_shown(&[first, second, (LineAccess::Read, 72)]), "not shown, of the line that was");
        assert!(!on_shown(&[first, second, (LineAccess::Read, 8)]), "of an earlier line");
        assert!(!on_shown(&[first, (LineAccess::Write, 128)]), "a store");
        assert!(
            on_shown(&[first, (LineAccess::Write, 128), (LineAccess::Read, 8)]),
            "the last load, whatever is stored"
        );
    }

    #[test]
    fn a_run_goes_to_each_of_its_lines_once() {
        let (mut lines, mut out) = (Lines::new(64), Vec::new());
        // 16 words from byte 24: ten on the first line, six on the second.
        lines.run(LineAccess::Write, 24, 64, 4, &mut out);
        let write = Operation::Write;
        assert_eq!(told(&mut lines, out), [(24, write, 0), (64, write, 9), (0, Operation::Read, 5)]);
    }
}
