//! The space of neighbours: access patterns as numbers that can be drawn, changed, and written as workloads.

use fastrand::Rng;
use toml::{Table, Value};
use waykeeper_workload::{CacheShapes, Operation};

/// No pattern covers more than this: the memory of a small machine.
const MOST_BYTES: u64 = 256 << 20;

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
        }
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

    fn operation(&self, random: &mut Rng) -> Operation {
        self.operations[random.usize(..self.operations.len())]
    }

    /// A number of lines from half of the first cache to four times the last, even in its logarithm.
    fn lines(&self, random: &mut Rng) -> u64 {
        let (least, most) = ((self.first / 2).max(self.line * 4) as f64, (4 * self.last).min(MOST_BYTES) as f64);
        let bytes = least * (most / least).powf(random.f64());
        (bytes as u64 / self.line).max(4)
    }

    /// A distance between accesses: a line, a few lines, a page, a row or a way.
    fn stride(&self, random: &mut Rng) -> u64 {
        let mut strides: Vec<u64> = [1, 1, 1, 2, 4, 16].iter().map(|lines| lines * self.line).collect();
        strides.extend([4096, 8192, 16384, 65536]);
        for way in &self.ways {
            strides.extend([*way, way / 2, way + self.line]);
        }
        strides.retain(|stride| *stride >= self.line && stride.is_multiple_of(8));
        strides[random.usize(..strides.len())]
    }
}

/// The order in which a pattern makes its accesses.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessOrder {
    /// Two nested loops: counts and strides in bytes.
    Walk {
        /// The outer loop.
        outer: (u64, u64),
        /// The inner loop.
        inner: (u64, u64),
    },
    /// Loads that depend on each other, in random order or one after the other.
    Chase {
        /// Bytes covered.
        bytes: u64,
        /// Whether their order is random.
        random: bool,
    },
    /// Independent accesses at random places: how many of 16 change what they find.
    Random {
        /// Bytes covered.
        bytes: u64,
        /// Of 16 accesses, at most 15.
        modifies: u64,
    },
}

/// An access pattern of a neighbour.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourPattern {
    /// What each access of a walk does; reads for other orders.
    pub operation: Operation,
    /// Their order.
    pub order: AccessOrder,
}

impl NeighbourPattern {
    /// One line, again and again.
    pub fn smallest(operation: Operation) -> Self {
        Self { operation, order: AccessOrder::Walk { outer: (1, 64), inner: (1, 64) } }
    }

    /// Any pattern.
    pub fn draw(geometry: &Geometry, random: &mut Rng) -> Self {
        let operation = geometry.operation(random);
        let bytes = geometry.lines(random) * geometry.line;
        let order = match random.u32(..20) {
            0..12 => Self::walk(geometry, random),
            12..15 => AccessOrder::Chase { bytes, random: random.bool() },
            _ => AccessOrder::Random { bytes, modifies: random.u64(0..16) },
        };
        let is_walk = matches!(order, AccessOrder::Walk { .. });
        Self { operation: if is_walk { operation } else { Operation::Read }, order }
    }

    fn walk(geometry: &Geometry, random: &mut Rng) -> AccessOrder {
        let lines = geometry.lines(random);
        let inner = (2f64.powf(random.f64() * (lines as f64).log2()) as u64).clamp(1, lines);
        let stride = geometry.stride(random);
        let outer = (lines / inner).max(1);
        // Blocks one after the other, or the same places one line further.
        let outer_stride = if random.bool() { (inner * stride).min(MOST_BYTES) } else { geometry.line };
        AccessOrder::Walk { outer: (outer, outer_stride), inner: (inner, stride) }.fitting()
    }

    /// A neighbouring pattern: one or two of its numbers changed.
    #[must_use]
    pub fn changed(&self, geometry: &Geometry, random: &mut Rng) -> Self {
        let mut changed = self.clone();
        for _ in 0..=random.u32(..2) {
            changed = changed.changed_once(geometry, random);
        }
        changed
    }

    fn changed_once(&self, geometry: &Geometry, random: &mut Rng) -> Self {
        let scale = |count: u64, random: &mut Rng| match random.u32(..4) {
            0 => (count / 2).max(1),
            1 => count.saturating_mul(2),
            2 => (count * 3 / 4).max(1),
            _ => (count * 3 / 2).max(count + 1),
        };
        if random.u32(..5) == 0 && matches!(self.order, AccessOrder::Walk { .. }) {
            return Self { operation: geometry.operation(random), ..self.clone() };
        }
        let bounded = |bytes: u64| bytes.clamp(geometry.line * 4, MOST_BYTES).next_multiple_of(geometry.line);
        let order = match self.order.clone() {
            AccessOrder::Walk { mut outer, mut inner } => {
                match random.u32(..5) {
                    0 => outer.0 = scale(outer.0, random),
                    1 => inner.0 = scale(inner.0, random),
                    2 => inner.1 = geometry.stride(random),
                    3 => outer.1 = geometry.stride(random),
                    _ => (outer, inner) = (inner, outer),
                }
                AccessOrder::Walk { outer, inner }.fitting()
            }
            AccessOrder::Chase { bytes, random: is_random } if random.bool() => {
                AccessOrder::Chase { bytes: bounded(scale(bytes, random)), random: is_random }
            }
            AccessOrder::Chase { bytes, random: is_random } => AccessOrder::Chase { bytes, random: !is_random },
            AccessOrder::Random { bytes, modifies } if random.bool() => {
                AccessOrder::Random { bytes: bounded(scale(bytes, random)), modifies }
            }
            AccessOrder::Random { bytes, modifies } => {
                let step = random.u64(1..=4);
                let changed = if random.bool() { modifies + step } else { modifies.saturating_sub(step) };
                AccessOrder::Random { bytes, modifies: changed.min(15) }
            }
        };
        Self { operation: self.operation, order }
    }

    /// The workload, as a file has it.
    pub fn workload(&self) -> Table {
        let number = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
        let size = |bytes: u64| Value::String(format!("{bytes} B"));
        let text = |value: &str| Value::String(value.into());
        let entries: Vec<(&str, Value)> = match &self.order {
            AccessOrder::Walk { outer, inner } => {
                let part = |(count, stride): &(u64, u64)| {
                    Value::Table(Table::from_iter([
                        ("count".to_owned(), number(*count)),
                        ("stride".to_owned(), size(*stride)),
                    ]))
                };
                vec![
                    ("kind", text("walk")),
                    ("operation", text(self.operation.name())),
                    ("outer", part(outer)),
                    ("inner", part(inner)),
                ]
            }
            AccessOrder::Chase { bytes, random } => vec![
                ("kind", text("chase")),
                ("size", size(*bytes)),
                ("order", text(if *random { "random" } else { "linear" })),
                ("batch", number(256)),
            ],
            AccessOrder::Random { bytes, modifies } => {
                let mut entries = vec![
                    ("kind", text("random")),
                    ("data", size(*bytes)),
                    ("data_accesses", number(64 * (16 - modifies))),
                    ("code", text("1 line")),
                    ("code_calls", number(1)),
                    ("event_code_lines", number(1)),
                    ("event_data_lines", number(1)),
                ];
                entries.extend((*modifies > 0).then(|| ("data_modifies", number(64 * modifies))));
                entries
            }
        };
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// What it does, in a few words.
    pub fn called(&self) -> String {
        let size = waykeeper_policy::size;
        let operation = self.operation.name();
        match &self.order {
            AccessOrder::Walk { outer, inner } => format!(
                "{operation} {} x {} every {}, {} every {}",
                outer.0 * inner.0,
                inner.0,
                size(inner.1),
                outer.0,
                size(outer.1)
            ),
            AccessOrder::Chase { bytes, random: true } => format!("dependent loads at random over {}", size(*bytes)),
            AccessOrder::Chase { bytes, random: false } => format!("dependent loads through {}", size(*bytes)),
            AccessOrder::Random { bytes, modifies } => {
                format!("random accesses over {}, {modifies} of 16 change what they find", size(*bytes))
            }
        }
    }
}

impl AccessOrder {
    /// The same with no more bytes than any pattern covers.
    fn fitting(self) -> Self {
        let Self::Walk { mut outer, mut inner } = self else { return self };
        inner.1 = inner.1.clamp(8, MOST_BYTES);
        outer.1 = outer.1.clamp(8, MOST_BYTES);
        inner.0 = inner.0.clamp(1, MOST_BYTES / inner.1);
        outer.0 = outer.0.clamp(1, (MOST_BYTES - (inner.0 - 1) * inner.1).div_ceil(outer.1).max(1));
        Self::Walk { outer, inner }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_workload::{CacheShape, Workload};

    #[test]
    fn every_pattern_is_a_workload_that_fits() {
        let shape = |level, size_bytes, ways| CacheShape { level, size_bytes, ways, line_bytes: 64 };
        let caches = CacheShapes(vec![shape(1, 32 << 10, 4), shape(2, 256 << 10, 8), shape(3, 2 << 20, 16)]);
        let geometry = Geometry::of(&caches).with(Operation::ALL.to_vec());
        let mut random = Rng::with_seed(7);
        let mut pattern = NeighbourPattern::draw(&geometry, &mut random);
        for round in 0..2000 {
            pattern = match round % 3 {
                0 => NeighbourPattern::draw(&geometry, &mut random),
                _ => pattern.changed(&geometry, &mut random),
            };
            let text = toml::to_string(&pattern.workload()).unwrap();
            let workload: Workload = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let resolved = workload.resolve(&caches).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert!(resolved.data_bytes() <= MOST_BYTES + 2 * 64, "{text}");
        }
    }
}
