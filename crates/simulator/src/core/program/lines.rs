//! The lines that a stream uses: of its buffer, its code and its event.

use waykeeper_workload::Pattern;

use crate::caches::allocation::code::Code;
use crate::core::front::translation::Side;
use crate::core::placement::MemoryRegion;
use crate::core::program::Program;
use crate::line::Line;

/// A line that an event touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLine {
    /// How.
    pub side: Side,
    /// Which.
    pub line: Line,
    /// Where it is in the program's address space.
    pub address: u64,
}

impl Program {
    /// What the event of this pattern touches, code first; nothing for a pattern without events.
    pub fn event(&self, pattern: &Pattern) -> Vec<EventLine> {
        let Pattern::Random { data_bytes, code_bytes, event_stride_lines, line_bytes, .. } = pattern else {
            return Vec::new();
        };
        let lines = |side, region: &MemoryRegion, from: u64, until: u64| -> Vec<EventLine> {
            let offsets = (from..until).step_by((event_stride_lines * line_bytes) as usize);
            offsets.map(|at| EventLine { side, line: region.line(at), address: region.address(at) }).collect()
        };
        let mut event = lines(Side::Instructions, &self.code, *code_bytes, pattern.code_bytes());
        event.extend(lines(Side::Data, &self.data, *data_bytes, pattern.data_bytes()));
        event
    }

    /// Lines of the first so many bytes of its code, one of each block of [`Code`] at least.
    pub fn code(&self, bytes: u64, line_bytes: u64) -> Vec<Line> {
        let offsets = (0..bytes).step_by((Code::STEP * line_bytes) as usize).chain(bytes.checked_sub(1));
        offsets.map(|at| self.code.line(at)).collect()
    }

    /// Where its data lie.
    pub fn data(&self) -> &MemoryRegion {
        &self.data
    }

    /// The lines of the first so many bytes of its buffer.
    pub fn buffer_lines(&self, bytes: u64, line_bytes: u64) -> Vec<Line> {
        let mut lines: Vec<_> = (0..bytes).step_by(line_bytes as usize).map(|at| self.data.line(at)).collect();
        lines.push(self.data.line(bytes - 1));
        lines.dedup();
        lines
    }
}
