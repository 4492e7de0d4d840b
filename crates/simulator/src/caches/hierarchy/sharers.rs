//! Which cores ever asked for lines of a region: where no filter tracks lines, only these caches are asked for them.

use crate::line::Line;

/// Lines of a region, as a power of two: 64 KiB of lines of 64 bytes. Programs that share nothing rarely share one.
const REGION_LOG2: u32 = 10;

/// Cores by region.
#[derive(Debug, Clone, Default)]
pub struct Sharers {
    cores: Vec<u32>,
}

impl Sharers {
    /// The cores that may hold a line.
    #[inline]
    pub fn cores(&self, line: Line) -> u32 {
        self.cores.get(line.block(REGION_LOG2) as usize).copied().unwrap_or(0)
    }

    /// A core asks for a line.
    #[inline]
    pub fn add(&mut self, line: Line, core: usize) {
        let region = line.block(REGION_LOG2) as usize;
        if region >= self.cores.len() {
            self.cores.resize(region + 1, 0);
        }
        self.cores[region] |= 1 << core;
    }

    /// Bytes of memory that this takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.cores)
    }
}
