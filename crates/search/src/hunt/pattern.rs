//! The space of neighbours: access patterns as numbers that can be drawn, changed, and written as workloads.

use fastrand::Rng;
use toml::{Table, Value};
use waykeeper_experiment::describe::NeighbourBuffer;
use waykeeper_workload::{Operation, Order, Pattern, format_ns};

use super::geometry::{Geometry, MOST_BYTES};

/// Periods of bursts, ns.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;

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
        /// Bytes of code into which a call goes for every four accesses; 0 for none.
        code: u64,
    },
    /// A buffer once every period, and nothing between.
    Burst {
        /// Bytes covered.
        bytes: u64,
        /// Bytes between accesses.
        stride: u64,
        /// From the start of one pass to the start of the next, ns.
        period_ns: u64,
        /// From the common start of a repeat to the first pass, ns: the period is then the target's. Where absent, cores with different
        /// periods pass through all phases of each other and of the target.
        offset_ns: Option<u64>,
    },
}

/// An access pattern of a neighbour.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourPattern {
    /// What each access of a walk or a burst does; reads for other orders.
    pub operation: Operation,
    /// Their order.
    pub order: AccessOrder,
    /// Whose buffer is accessed.
    pub buffer: NeighbourBuffer,
}

impl NeighbourPattern {
    /// One line, again and again.
    pub fn smallest(operation: Operation) -> Self {
        Self::own(operation, AccessOrder::Walk { outer: (1, 64), inner: (1, 64) })
    }

    /// In a buffer of the neighbour's own.
    fn own(operation: Operation, order: AccessOrder) -> Self {
        Self { operation, order, buffer: NeighbourBuffer::Own }
    }

    /// One pass after another over the most that patterns cover, an access in a page: for each stride from a page to the
    /// largest way. Accesses are changes where cores have them: a read, and a line that must be written back.
    pub fn in_pages(geometry: &Geometry) -> Vec<Self> {
        let operation = geometry.operation_like(Operation::Modify);
        let pass = |stride: u64| {
            let order = AccessOrder::Walk { outer: (1, stride), inner: ((geometry.most() / stride).max(1), stride) };
            Self::own(operation, order.fitting())
        };
        geometry.page_strides().into_iter().map(pass).collect()
    }

    /// One pass after another through all lines of the target's buffer, for each operation; none where it is not shared.
    pub fn through_target(geometry: &Geometry) -> Vec<Self> {
        let Some(bytes) = geometry.target_buffer_bytes() else { return Vec::new() };
        let order = every_line(bytes, geometry.line());
        let pass = |operation: &Operation| Self {
            operation: *operation,
            order: order.clone(),
            buffer: NeighbourBuffer::Target,
        };
        geometry.operations().iter().map(pass).collect()
    }

    /// Any pattern.
    pub fn draw(geometry: &Geometry, random: &mut Rng) -> Self {
        let operation = geometry.operation(random);
        let bytes = geometry.lines(random) * geometry.line();
        if let Some(order) = AccessOrder::in_step(bytes, geometry, random) {
            return Self::new(operation, order);
        }
        let order = match random.u32(..20) {
            0..11 => Self::walk(geometry, random),
            11..13 => AccessOrder::Chase { bytes, random: random.bool() },
            13..18 => {
                let code = if random.u32(..4) == 0 { geometry.code(random) } else { 0 };
                AccessOrder::Random { bytes, modifies: random.u64(0..16), code }
            }
            _ => {
                let period_ns = PERIODS_NS.start() << random.u32(..10);
                AccessOrder::Burst { bytes, stride: geometry.stride(random), period_ns, offset_ns: None }.fitting()
            }
        };
        Self::new(operation, order)
    }

    /// Any pattern, its accesses moved into the target's buffer where that is shared.
    pub fn draw_sharing(geometry: &Geometry, random: &mut Rng) -> Self {
        match geometry.inside_target() {
            Some(inside) => Self { buffer: NeighbourBuffer::Target, ..Self::draw(&inside, random) }.inside(geometry),
            None => Self::draw(geometry, random),
        }
    }

    /// Whether it accesses the target's buffer.
    pub fn shares_lines(&self) -> bool {
        !self.buffer.is_own()
    }

    /// The same with no more bytes than the target's buffer, where it accesses that.
    fn inside(self, geometry: &Geometry) -> Self {
        match geometry.target_buffer_bytes().filter(|_| self.shares_lines()) {
            Some(bytes) => Self { order: self.order.inside(bytes, geometry.line()), ..self },
            None => self,
        }
    }

    fn new(operation: Operation, order: AccessOrder) -> Self {
        let has_operation = matches!(order, AccessOrder::Walk { .. } | AccessOrder::Burst { .. });
        Self::own(if has_operation { operation } else { Operation::Read }, order)
    }

    /// The pattern of a workload on a core, where it is one of this space.
    pub fn of(pattern: &Pattern) -> Option<Self> {
        Some(match pattern {
            Pattern::Walk { operation, outer, inner } => {
                let [outer, inner] = [outer, inner].map(|part| (part.count, part.stride));
                Self::own(*operation, AccessOrder::Walk { outer, inner }.fitting())
            }
            Pattern::Chase { elements, stride, order, .. } => {
                let bytes = (elements * stride).min(MOST_BYTES);
                Self::new(Operation::Read, AccessOrder::Chase { bytes, random: *order == Order::Random })
            }
            Pattern::Random { data_bytes, data_accesses, data_modifies, .. } => {
                let modifies = (16 * data_modifies / (data_accesses + data_modifies).max(1)).min(15);
                let order = AccessOrder::Random { bytes: (*data_bytes).min(MOST_BYTES), modifies, code: 0 };
                Self::new(Operation::Read, order)
            }
            _ => return None,
        })
    }

    /// One of two patterns' numbers each where both are loops, else either.
    #[must_use]
    pub fn crossed(&self, other: &Self, geometry: &Geometry, random: &mut Rng) -> Self {
        let (AccessOrder::Walk { outer, .. }, AccessOrder::Walk { inner, .. }) = (&self.order, &other.order) else {
            return if random.bool() { self.clone() } else { other.clone() };
        };
        let operation = if random.bool() { self.operation } else { other.operation };
        let order = AccessOrder::Walk { outer: *outer, inner: *inner }.fitting();
        Self { operation, order, buffer: self.buffer }.inside(geometry)
    }

    fn walk(geometry: &Geometry, random: &mut Rng) -> AccessOrder {
        let stride = geometry.stride(random);
        // As many lines as caches hold, or as many bytes from the first to the last.
        let lines = geometry.lines(random);
        let lines = if random.bool() { lines } else { (lines * geometry.line() / stride).max(4) };
        let inner = (2f64.powf(random.f64() * (lines as f64).log2()) as u64).clamp(1, lines);
        let outer = (lines / inner).max(1);
        // Blocks one after the other, or the same places one line further.
        let outer_stride = if random.bool() { (inner * stride).min(MOST_BYTES) } else { geometry.line() };
        AccessOrder::Walk { outer: (outer, outer_stride), inner: (inner, stride) }.fitting()
    }

    /// A neighbouring pattern: one or two of its numbers changed.
    #[must_use]
    pub fn changed(&self, geometry: &Geometry, random: &mut Rng) -> Self {
        let inside = geometry.inside_target().filter(|_| self.shares_lines());
        let geometry = inside.as_ref().unwrap_or(geometry);
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
        let has_operation = matches!(self.order, AccessOrder::Walk { .. } | AccessOrder::Burst { .. });
        if has_operation && random.u32(..5) == 0 {
            return Self { operation: geometry.operation(random), ..self.clone() };
        }
        let bounded = |bytes: u64| bytes.clamp(geometry.line() * 4, MOST_BYTES).next_multiple_of(geometry.line());
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
            AccessOrder::Random { mut bytes, mut modifies, mut code } => {
                let step = random.u64(1..=4);
                match random.u32(..5) {
                    0 | 1 => bytes = bounded(scale(bytes, random)),
                    2 => modifies = (modifies + step).min(15),
                    3 => modifies = modifies.saturating_sub(step),
                    _ => code = if code == 0 { geometry.code(random) } else { 0 },
                }
                AccessOrder::Random { bytes, modifies, code }
            }
            AccessOrder::Burst { mut bytes, mut stride, mut period_ns, mut offset_ns } => {
                match random.u32(..3) {
                    0 => bytes = bounded(scale(bytes, random)),
                    1 => stride = geometry.stride(random),
                    _ => match &mut offset_ns {
                        Some(offset_ns) => *offset_ns = moved(*offset_ns, period_ns, random),
                        None => period_ns = scale(period_ns, random),
                    },
                }
                AccessOrder::Burst { bytes, stride, period_ns, offset_ns }.fitting()
            }
        };
        Self { operation: self.operation, order, buffer: self.buffer }.inside(geometry)
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
            AccessOrder::Burst { bytes, stride, period_ns, offset_ns } => {
                let mut entries = vec![
                    ("kind", text("buffer")),
                    ("operation", text(self.operation.name())),
                    ("size", size(*bytes)),
                    ("stride", size(*stride)),
                    ("period", text(&format!("{period_ns} ns"))),
                ];
                entries.extend(offset_ns.map(|offset_ns| ("offset", text(&format!("{offset_ns} ns")))));
                entries
            }
            AccessOrder::Random { bytes, modifies, code } => {
                let mut entries = vec![
                    ("kind", text("random")),
                    ("data", size(*bytes)),
                    ("data_accesses", number(64 * (16 - modifies))),
                    ("code", if *code == 0 { text("1 line") } else { size(*code) }),
                    ("code_calls", number(if *code == 0 { 1 } else { 256 })),
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
        let place = if self.shares_lines() { ", in the target's buffer" } else { "" };
        format!("{}{place}", self.accesses())
    }

    fn accesses(&self) -> String {
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
            AccessOrder::Random { bytes, modifies, code } => {
                let calls =
                    if *code == 0 { String::new() } else { format!(", and calls into {} of code", size(*code)) };
                format!("random accesses over {}, {modifies} of 16 change what they find{calls}", size(*bytes))
            }
            AccessOrder::Burst { bytes, stride, period_ns, offset_ns } => {
                let period = format_ns(*period_ns as f64);
                let at = offset_ns.map_or(String::new(), |ns| format!(", at an offset of {}", format_ns(ns as f64)));
                format!("{operation} {} every {} once every {period}{at}", size(*bytes), size(*stride))
            }
        }
    }
}

/// One pass after another through all lines of a buffer.
fn every_line(bytes: u64, line: u64) -> AccessOrder {
    AccessOrder::Walk { outer: (1, line), inner: (bytes.saturating_sub(8) / line + 1, line) }
}

/// Of so many offsets in a period the first one is drawn.
const OFFSETS: u64 = 16;

/// Another offset in the same period: a step of a 16th to a 256th of it earlier or later, or any.
fn moved(offset_ns: u64, period_ns: u64, random: &mut Rng) -> u64 {
    let step = (period_ns / (OFFSETS << random.u32(..5))).max(1);
    match random.u32(..5) {
        0 => random.u64(..period_ns),
        1 | 2 => (offset_ns + step) % period_ns,
        _ => (offset_ns + period_ns - step % period_ns) % period_ns,
    }
}

impl AccessOrder {
    /// In a third of all draws beside a periodic target: a burst with its period, at any of 16 offsets. Draws beside others do not
    /// depend on it.
    fn in_step(bytes: u64, geometry: &Geometry, random: &mut Rng) -> Option<Self> {
        let period_ns = geometry.target_period_ns()?;
        if random.u32(..3) > 0 {
            return None;
        }
        let offset_ns = Some(random.u64(..OFFSETS) * period_ns / OFFSETS);
        Some(Self::Burst { bytes, stride: geometry.stride(random), period_ns, offset_ns }.fitting())
    }

    /// The same in a buffer of so many bytes. Chases and random accesses need some lines: in a buffer of fewer, all of them are accessed in turn.
    fn inside(self, most: u64, line: u64) -> Self {
        let whole_lines = most / line * line;
        match self {
            Self::Walk { outer, inner } => {
                let fitting = |(count, stride): (u64, u64), bytes: u64| {
                    let stride = stride.min(bytes.max(8) / 8 * 8);
                    (count.min(bytes / stride + 1), stride)
                };
                // Each loop ends with an access of 8 bytes.
                let bytes = most.saturating_sub(8);
                let inner = fitting(inner, bytes);
                Self::Walk { outer: fitting(outer, bytes - (inner.0 - 1) * inner.1), inner }
            }
            Self::Burst { bytes, stride, period_ns, offset_ns } => {
                Self::Burst { bytes: bytes.min(most), stride, period_ns, offset_ns }.fitting()
            }
            _ if whole_lines < 4 * line => every_line(most, line),
            Self::Chase { bytes, random } => Self::Chase { bytes: bytes.clamp(2 * line, whole_lines), random },
            // Behind its data lies the line of its event.
            Self::Random { bytes, modifies, code } => {
                Self::Random { bytes: bytes.min(whole_lines - line), modifies, code }
            }
        }
    }

    /// The same with no more bytes than any pattern covers.
    fn fitting(self) -> Self {
        if let Self::Burst { bytes, stride, period_ns, offset_ns } = self {
            let stride = stride.min(bytes / 4).max(8) / 8 * 8;
            let drawn = || period_ns.clamp(*PERIODS_NS.start(), *PERIODS_NS.end());
            let period_ns = if offset_ns.is_some() { period_ns } else { drawn() };
            return Self::Burst { bytes, stride, period_ns, offset_ns };
        }
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
    use waykeeper_workload::{CacheShape, CacheShapes, Workload};

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

    #[test]
    fn bursts_with_an_offset_keep_the_period_of_the_target() {
        let shape = CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 };
        let caches = CacheShapes(vec![shape]);
        for target_ns in [100, 125_000, 10_000_000] {
            let geometry = Geometry::of(&caches).beside_period(Some(target_ns));
            let mut random = Rng::with_seed(7);
            let mut offsets = Vec::new();
            let mut pattern = NeighbourPattern::draw(&geometry, &mut random);
            for round in 0..600 {
                pattern = match round % 4 {
                    0 => NeighbourPattern::draw(&geometry, &mut random),
                    _ => pattern.changed(&geometry, &mut random),
                };
                let text = toml::to_string(&pattern.workload()).unwrap();
                let resolved = toml::from_str::<Workload>(&text).unwrap().resolve(&caches);
                let resolved = resolved.unwrap_or_else(|error| panic!("{error}: {text}"));
                if let Some(offset_ns) = resolved.offset_ns() {
                    assert_eq!(resolved.period_ns(), Some(target_ns as f64), "{text}");
                    offsets.push(offset_ns as u64);
                }
            }
            offsets.sort_unstable();
            offsets.dedup();
            assert!(offsets.len() > OFFSETS as usize, "{target_ns} ns: {offsets:?}");
        }
        let mut random = Rng::with_seed(7);
        let apart = Geometry::of(&caches);
        let drawn = (0..600).map(|_| NeighbourPattern::draw(&apart, &mut random).workload());
        assert!(drawn.into_iter().all(|workload| !workload.contains_key("offset")));
    }

    #[test]
    fn patterns_in_the_targets_buffer_fit_into_it() {
        let shape = |level, size_bytes, ways| CacheShape { level, size_bytes, ways, line_bytes: 64 };
        let caches = CacheShapes(vec![shape(1, 32 << 10, 4), shape(2, 256 << 10, 8)]);
        for bytes in [8, 64, 100, 256, 1000, 40_000, 1 << 20, 64 << 20] {
            let geometry = Geometry::of(&caches).beside_period(Some(125_000)).sharing(Some(bytes));
            let passes = NeighbourPattern::through_target(&geometry);
            assert_eq!(passes.len(), geometry.operations().len());
            let mut random = Rng::with_seed(7);
            let mut drawn = passes;
            for round in 0..600 {
                let last = &drawn[drawn.len() - 1];
                drawn.push(match round % 3 {
                    0 => NeighbourPattern::draw_sharing(&geometry, &mut random),
                    1 => last.changed(&geometry, &mut random),
                    _ => last.crossed(&drawn[random.usize(..drawn.len())], &geometry, &mut random),
                });
            }
            let mut covered = Vec::new();
            for pattern in &drawn {
                let text = toml::to_string(&pattern.workload()).unwrap();
                let resolved = toml::from_str::<Workload>(&text).unwrap().resolve(&caches);
                let resolved = resolved.unwrap_or_else(|error| panic!("{error}: {text}"));
                assert!(resolved.data_bytes() <= bytes, "{} of {bytes}: {text}", resolved.data_bytes());
                assert!(pattern.shares_lines() && pattern.called().ends_with("in the target's buffer"), "{pattern:?}");
                covered.push(resolved.data_bytes());
            }
            // From one line to all, in all orders where there are some lines.
            let (least, most) = (covered.iter().min().unwrap(), covered.iter().max().unwrap());
            assert!(*least <= 64 && *most + 64 > bytes, "{least} to {most} of {bytes}");
            let is_seen = |is: fn(&AccessOrder) -> bool| drawn.iter().any(|pattern| is(&pattern.order));
            let others = is_seen(|order| matches!(order, AccessOrder::Chase { .. }))
                && is_seen(|order| matches!(order, AccessOrder::Random { .. }))
                && is_seen(|order| matches!(order, AccessOrder::Burst { offset_ns: Some(_), .. }));
            assert!(others || bytes < 256, "{bytes}");
        }
        let apart = Geometry::of(&caches);
        assert!(NeighbourPattern::through_target(&apart).is_empty());
        assert!(!NeighbourPattern::draw_sharing(&apart, &mut Rng::with_seed(7)).shares_lines());
    }

    #[test]
    fn passes_in_pages_cover_four_times_the_last_cache() {
        let shape = |level, size_bytes, ways| CacheShape { level, size_bytes, ways, line_bytes: 64 };
        let geometry = Geometry::of(&CacheShapes(vec![shape(1, 32 << 10, 4), shape(2, 2 << 20, 16)]));
        let passes = NeighbourPattern::in_pages(&geometry);
        // 8 MiB in steps of 4 KiB to 128 KiB.
        let expected = [(2048, 4), (1024, 8), (512, 16), (256, 32), (128, 64), (64, 128)];
        for (pass, (count, kib)) in passes.iter().zip(expected) {
            let AccessOrder::Walk { outer: (1, _), inner } = pass.order else { panic!("{pass:?}") };
            assert_eq!((inner, pass.operation), ((count, kib << 10), Operation::Modify));
        }
        assert_eq!(passes.len(), expected.len());
        let reads = NeighbourPattern::in_pages(&geometry.with(vec![Operation::Read]));
        assert!(reads.iter().all(|pass| pass.operation == Operation::Read));
    }

    #[test]
    fn bundled_neighbours_are_patterns_of_the_space() {
        let shape = |level, size_bytes, ways| CacheShape { level, size_bytes, ways, line_bytes: 64 };
        let caches = CacheShapes(vec![shape(1, 32 << 10, 4), shape(2, 256 << 10, 8), shape(3, 2 << 20, 16)]);
        for name in ["way_hammer", "set_crawler", "stream_modify", "stream_prefetch", "chase_llc", "random_write"] {
            let text = waykeeper_workload::find_bundled(name).unwrap().text;
            let resolved = toml::from_str::<Workload>(text).unwrap().resolve(&caches).unwrap();
            let pattern = NeighbourPattern::of(&resolved).unwrap();
            let again = Value::Table(pattern.workload()).try_into::<Workload>().unwrap().resolve(&caches).unwrap();
            // A random pattern's counts are of 16 accesses: 1023 changes of 1024 are 15 of 16.
            match (&resolved, &again) {
                (Pattern::Random { data_bytes, .. }, Pattern::Random { data_bytes: again, .. }) => {
                    assert_eq!(data_bytes, again);
                    assert!(matches!(pattern.order, AccessOrder::Random { modifies: 15, .. }), "{pattern:?}");
                }
                (Pattern::Chase { elements, stride, .. }, Pattern::Chase { elements: others, stride: other, .. }) => {
                    assert_eq!((elements, stride), (others, other), "{name}");
                }
                _ => assert_eq!(resolved, again, "{name}"),
            }
        }
    }
}
