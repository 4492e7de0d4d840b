//! What patterns are drawn from: the caches, the memory and the cores of a neighbour.

use fastrand::Rng;
use waykeeper_run::Parameters;
use waykeeper_workload::{CacheShapes, Operation};

/// No pattern covers more than this: the memory of a small machine.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// No pattern has more code than this.
const MOST_CODE: u64 = 4 << 20;

/// The smallest page of the machines that are hunted on.
const PAGE: u64 = 4096;

/// Different patterns on the cores of one mixture at most.
const MOST_KINDS: usize = 3;

/// How a memory's addresses go over its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryMap {
    /// Bytes of a row in one channel.
    pub row_bytes: u64,
    /// Channels.
    pub channels: u64,
    /// Banks of a channel, over all ranks.
    pub banks: u64,
}

impl MemoryMap {
    /// That of a simulated platform.
    pub fn of(parameters: &Parameters) -> Option<Self> {
        let number = |key: &str| {
            let key = format!("memory.{key}");
            parameters.list.iter().find(|parameter| parameter.key == key)?.value.parse::<u64>().ok()
        };
        let (channels, ranks) = (number("channels").unwrap_or(1), number("ranks").unwrap_or(1));
        Some(Self { row_bytes: number("row_bytes")?, channels, banks: number("banks")? * ranks })
    }
}

/// The caches of a neighbour, as far as patterns are drawn from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    line: u64,
    /// Bytes of a way of each cache.
    ways: Vec<u64>,
    /// Bytes of the largest cache.
    last: u64,
    /// Bytes of the smallest cache.
    first: u64,
    /// What accesses may do.
    operations: Vec<Operation>,
    /// Bytes from a row of the memory to the next bank's, and to others of the same bank, where they are known.
    rows: Vec<u64>,
    /// Cores of the neighbour.
    cores: usize,
    /// The target's period, ns, where its passes are at times that a neighbour's can be chosen against.
    target_period_ns: Option<u64>,
    /// Bytes of the target's buffer, where neighbours that access it are asked for.
    target_buffer_bytes: Option<u64>,
    /// Bytes of the buffer that all patterns lie in, where it is not one of their own.
    within: Option<u64>,
}

impl Geometry {
    /// Of a core's caches; a usual machine's where nothing is known.
    pub fn of(caches: &CacheShapes) -> Self {
        let line = caches.line_bytes().max(8);
        let ways = caches.0.iter().map(|shape| shape.size_bytes / shape.ways.max(1)).filter(|way| *way >= line);
        let sizes: Vec<u64> = caches.0.iter().map(|shape| shape.size_bytes).collect();
        Self {
            line,
            ways: ways.collect(),
            last: sizes.iter().copied().max().unwrap_or(8 << 20),
            first: sizes.iter().copied().min().unwrap_or(32 << 10),
            operations: Operation::ALL.into_iter().filter(|operation| operation.is_simulated()).collect(),
            rows: Vec::new(),
            cores: 1,
            target_period_ns: None,
            target_buffer_bytes: None,
            within: None,
        }
    }

    /// The same with so many cores of the neighbour.
    #[must_use]
    pub fn on_cores(self, cores: usize) -> Self {
        Self { cores, ..self }
    }

    /// The same with the rows and banks of a memory.
    #[must_use]
    pub fn beside_memory(self, memory: &MemoryMap) -> Self {
        let row = memory.row_bytes * memory.channels;
        // A plain map has the same bank again after all banks; one that changes the bank by the row, one row later.
        let rows = [row, row * memory.banks, row * (memory.banks + 1)];
        Self { rows: rows.into_iter().filter(|stride| *stride > 0 && *stride <= MOST_BYTES).collect(), ..self }
    }

    /// The same beside a target with this period, ns, whose passes are at known times.
    #[must_use]
    pub fn beside_period(self, target_period_ns: Option<u64>) -> Self {
        Self { target_period_ns, ..self }
    }

    /// The same beside a target with a buffer of so many bytes, which neighbours may access in the place of their own.
    #[must_use]
    pub fn sharing(self, target_buffer_bytes: Option<u64>) -> Self {
        Self { target_buffer_bytes, ..self }
    }

    /// Bytes of the target's buffer, where neighbours may access it.
    pub fn target_buffer_bytes(&self) -> Option<u64> {
        self.target_buffer_bytes
    }

    /// The same for patterns in the target's buffer, where neighbours may access it.
    pub(super) fn inside_target(&self) -> Option<Self> {
        self.target_buffer_bytes.map(|bytes| Self { within: Some(bytes), ..self.clone() })
    }

    /// What accesses may do.
    pub(super) fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The target's period, ns, where offsets to it can be chosen.
    pub(super) fn target_period_ns(&self) -> Option<u64> {
        self.target_period_ns
    }

    /// Bytes of a line.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Different patterns that a mixture may have: one a core, and no more than a person would tell apart.
    pub(super) fn kinds(&self) -> usize {
        self.cores.clamp(1, MOST_KINDS)
    }

    /// Bytes of code that some cache does not hold.
    pub(super) fn code(&self, random: &mut Rng) -> u64 {
        (self.lines(random) * self.line).min(MOST_CODE)
    }

    /// The same with these operations, of which there is one at least, in the place of those that simulated cores have.
    #[must_use]
    pub fn with(self, operations: Vec<Operation>) -> Self {
        if operations.is_empty() { self } else { Self { operations, ..self } }
    }

    /// Bytes of the largest cache.
    pub fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn operation(&self, random: &mut Rng) -> Operation {
        self.operations[random.usize(..self.operations.len())]
    }

    /// This operation, or else the first one that accesses may do.
    pub(super) fn operation_like(&self, operation: Operation) -> Operation {
        if self.operations.contains(&operation) { operation } else { self.operations[0] }
    }

    /// A number of lines from half of the first cache to four times the last, or from one to those of the buffer; even in its logarithm.
    pub(super) fn lines(&self, random: &mut Rng) -> u64 {
        let (least, most) = match self.within {
            Some(bytes) => (self.line, bytes.max(self.line)),
            None => ((self.first / 2).max(self.line * 4), self.most()),
        };
        let bytes = least as f64 * (most as f64 / least as f64).powf(random.f64());
        (bytes as u64 / self.line).max(if self.within.is_some() { 1 } else { 4 })
    }

    /// Bytes of the largest pattern that is drawn.
    pub(super) fn most(&self) -> u64 {
        (4 * self.last).min(MOST_BYTES)
    }

    /// Every power of two from a page, where each access is in a page of its own, to the largest way of a cache, where all of them are
    /// in the same sets of it.
    pub(super) fn page_strides(&self) -> Vec<u64> {
        let largest = self.ways.iter().copied().max().unwrap_or(PAGE).max(PAGE);
        std::iter::successors(Some(PAGE), |stride| Some(stride * 2)).take_while(|stride| *stride <= largest).collect()
    }

    /// A distance between accesses: a line, a few lines, pages, a row or a way.
    pub(super) fn stride(&self, random: &mut Rng) -> u64 {
        let mut strides: Vec<u64> = [1, 1, 1, 2, 4, 16].iter().map(|lines| lines * self.line).collect();
        // Pages: a TLB entry an access, in the same sets of the caches or in other ones.
        strides.extend(self.page_strides());
        strides.extend([PAGE + self.line, (64 << 10) + self.line]);
        strides.extend(&self.rows);
        for way in &self.ways {
            strides.extend([*way, way / 2, way + self.line]);
        }
        // In a buffer that a stride does not fit into, it would be one access.
        let fits = |stride: u64| self.within.is_none_or(|bytes| stride < bytes || stride == self.line);
        strides.retain(|stride| *stride >= self.line && stride.is_multiple_of(8) && fits(*stride));
        strides[random.usize(..strides.len())]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use waykeeper_run::ParameterRecord;
    use waykeeper_workload::CacheShape;

    use super::*;

    #[test]
    fn strides_reach_from_pages_to_the_sets_of_the_largest_way() {
        let shape = |level, size_bytes, ways| CacheShape { level, size_bytes, ways, line_bytes: 64 };
        // Ways of 8 KiB and 128 KiB.
        let geometry = Geometry::of(&CacheShapes(vec![shape(1, 32 << 10, 4), shape(2, 2 << 20, 16)]));
        assert_eq!(geometry.page_strides(), [4, 8, 16, 32, 64, 128].map(|kib| kib << 10));
        assert_eq!(geometry.most(), 8 << 20);
        // A way of 192 KiB is no power of two; without caches there are pages alone, and a large cache has a bound.
        let large = Geometry::of(&CacheShapes(vec![shape(3, 96 << 20, 512)]));
        assert_eq!(large.page_strides().last(), Some(&(128 << 10)));
        assert_eq!(large.most(), MOST_BYTES);
        assert_eq!(Geometry::of(&CacheShapes(Vec::new())).page_strides(), [4096]);
    }

    #[test]
    fn strides_of_a_memory_reach_the_same_bank() {
        let parameter = |key: &str, value: &str| ParameterRecord {
            key: key.into(),
            value: value.into(),
            is: "documented".into(),
            note: String::new(),
        };
        let list =
            [("memory.row_bytes", "2048"), ("memory.banks", "8"), ("memory.channels", "4"), ("memory.ranks", "2")];
        let list = list.map(|(key, value)| parameter(key, value)).to_vec();
        let map = MemoryMap::of(&Parameters { counts: BTreeMap::new(), list }).unwrap();
        assert_eq!(map, MemoryMap { row_bytes: 2048, channels: 4, banks: 16 });
        let shape = CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 };
        let geometry = Geometry::of(&CacheShapes(vec![shape])).beside_memory(&map);
        let mut random = Rng::with_seed(1);
        let drawn: Vec<u64> = (0..2000).map(|_| geometry.stride(&mut random)).collect();
        // A row in each of four channels, 8 KiB; 16 banks later the same bank, 128 KiB; one row later where a hash moves it.
        for stride in [8 << 10, 128 << 10, 136 << 10] {
            assert!(drawn.contains(&stride), "{stride}");
        }
        assert!(MemoryMap::of(&Parameters { counts: BTreeMap::new(), list: Vec::new() }).is_none());
    }
}
