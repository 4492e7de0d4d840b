//! Who held how much of the last shared cache, over time.

use serde::Serialize;

use super::Numbered;

/// More points than this are not seen on any screen.
const MOST_POINTS: usize = 600;

/// The lines that the target and the others hold in the last shared cache, during the first repeat.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OccupancyOverTime {
    /// The case.
    pub case: usize,
    /// The cache's level.
    pub level: u8,
    /// Lines that it has room for.
    pub lines: u64,
    /// Its ways.
    pub ways: u32,
    /// Ways that the target's core may fill.
    pub target_ways: u32,
    /// Ways that the others may fill.
    pub others_ways: u32,
    /// When it was looked at, from the start of the repeat.
    pub at_s: Vec<f64>,
    /// Lines of the target.
    pub target_lines: Vec<u64>,
    /// Lines of the others.
    pub others_lines: Vec<u64>,
}

pub(crate) fn occupancy(case: &Numbered<'_>) -> Option<OccupancyOverTime> {
    let held = case.case.occupancy.as_ref()?;
    let every = held.at_s.len().div_ceil(MOST_POINTS).max(1);
    (held.lines > 0 && !held.at_s.is_empty()).then(|| OccupancyOverTime {
        case: case.number,
        level: held.level,
        lines: held.lines,
        ways: held.ways,
        target_ways: held.target_ways,
        others_ways: held.others_ways,
        at_s: held.at_s.iter().step_by(every).copied().collect(),
        target_lines: held.target_lines.iter().step_by(every).copied().collect(),
        others_lines: held.others_lines.iter().step_by(every).copied().collect(),
    })
}
