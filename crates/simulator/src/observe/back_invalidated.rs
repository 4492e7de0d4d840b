//! Lines of a class that cores lost because a snoop filter needed their entries.

use crate::line::Line;

/// Lines of a class that were back-invalidated, by the filters of shared caches and by others.
#[derive(Debug, Clone, Default)]
pub struct BackInvalidated {
    /// The class.
    pub class: usize,
    /// The lines.
    pub lines: [Vec<Line>; 2],
}
