//! Set-associative arrays of line numbers: the part that caches and filters have in common.

/// The number of a line: its physical address divided by the line size.
pub type Line = u32;

/// What stands in an empty way. No memory reaches so far: lines are checked against it when memory is laid out.
pub const EMPTY: Line = Line::MAX;

/// Line numbers by set and way. The set is chosen by the lowest bits of the line number.
#[derive(Debug, Clone)]
pub struct Tags {
    lines: Vec<Line>,
    ways: usize,
    set_mask: Line,
}

impl Tags {
    /// An empty array; `sets` is a power of two.
    pub fn new(sets: usize, ways: usize) -> Self {
        assert!(sets.is_power_of_two() && ways > 0, "{sets} sets of {ways} ways");
        Self { lines: vec![EMPTY; sets * ways], ways, set_mask: sets as Line - 1 }
    }

    /// Number of places.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Associativity.
    pub fn ways(&self) -> usize {
        self.ways
    }

    /// The set of a line.
    #[inline]
    pub fn set_of(&self, line: Line) -> usize {
        (line & self.set_mask) as usize
    }

    /// The first place of a line's set.
    #[inline]
    pub fn start_of(&self, line: Line) -> usize {
        self.set_of(line) * self.ways
    }

    /// The lines of the set that a line belongs to.
    #[inline]
    pub fn set(&self, line: Line) -> &[Line] {
        let start = self.start_of(line);
        &self.lines[start..start + self.ways]
    }

    /// The place of a line.
    #[inline]
    pub fn find(&self, line: Line) -> Option<usize> {
        self.set(line).iter().position(|held| *held == line).map(|way| self.start_of(line) + way)
    }

    /// The first empty way, among those of `mask`, in the set of a line.
    #[inline]
    pub fn empty_way(&self, line: Line, mask: u32) -> Option<usize> {
        self.set(line).iter().enumerate().position(|(way, held)| *held == EMPTY && mask >> way & 1 == 1)
    }

    /// The line at a place, or [`EMPTY`].
    #[inline]
    pub fn line_at(&self, place: usize) -> Line {
        self.lines[place]
    }

    /// Writes a place.
    #[inline]
    pub fn put(&mut self, place: usize, line: Line) {
        self.lines[place] = line;
    }

    /// All lines that are held.
    pub fn held(&self) -> impl Iterator<Item = Line> + '_ {
        self.lines.iter().copied().filter(|line| *line != EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_in_its_own_set_only() {
        let mut tags = Tags::new(4, 2);
        // Line 6 is 0b110: set 2, whose places are 4 and 5.
        tags.put(5, 6);
        assert_eq!(tags.find(6), Some(5));
        assert_eq!(tags.find(10), None);
        assert_eq!(tags.set(10), [EMPTY, 6]);
        assert_eq!((tags.empty_way(10, 0b11), tags.empty_way(10, 0b10)), (Some(0), None));
    }
}
