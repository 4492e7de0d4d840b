//! Numbers of lines.

/// The number of a line: its physical address divided by the line size.
pub type Line = u32;

/// What stands in an empty way. No memory reaches so far: lines are checked against it when memory is laid out.
pub const EMPTY: Line = Line::MAX;
