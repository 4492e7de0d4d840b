//! What is compared.

use waykeeper_functional::PackedAccess;
use waykeeper_workload::{Loop, Operation, Order, Pattern, Xorshift};

/// The seed of everything random.
pub const SEED: u64 = 1;

/// One comparison.
pub struct Case {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// The pattern whose accesses it makes, if one does.
    pub pattern: Option<Pattern>,
    /// Accesses after which they repeat.
    pub length: u64,
    /// How often a run repeats them.
    pub repeats: u64,
}

/// All cases; a run of each has about a million accesses.
pub fn cases() -> Vec<Case> {
    let walk = |outer: (u64, u64), inner: (u64, u64)| {
        let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
        Pattern::Walk { operation: Operation::Read, outer, inner }
    };
    let random = Pattern::Random {
        data_bytes: 64 << 20,
        data_modifies: 0,
        random_counts: false,
        data_accesses: 1 << 40,
        code_bytes: 64,
        code_calls: 0,
        event_data_lines: 1,
        event_code_lines: 0,
        event_device_pages: 0,
        event_stride_lines: 1,
        line_bytes: 64,
    };
    let chase = Pattern::Chase { elements: 1 << 20, stride: 64, order: Order::Random, batch: 64 };
    vec![
        Case { name: "walk-32KiB", pattern: Some(walk((1, 64), (512, 64))), length: 512, repeats: 2048 },
        Case { name: "random-64MiB", pattern: Some(random), length: 1 << 20, repeats: 1 },
        Case { name: "way_hammer", pattern: Some(walk((2048, 64), (64, 131_072))), length: 1 << 17, repeats: 8 },
        Case { name: "chase-64MiB", pattern: Some(chase), length: 1 << 20, repeats: 1 },
        Case { name: "stores-4MiB", pattern: None, length: 1 << 20, repeats: 1 },
    ]
}

impl Case {
    /// The accesses of one repeat.
    pub fn addresses(&self) -> Vec<PackedAccess> {
        let Some(pattern) = &self.pattern else { return quarter_stores(self.length) };
        let mut made = Vec::with_capacity(self.length as usize);
        pattern.stream(SEED).accesses(self.length, |access| made.push(PackedAccess::load(access.offset)));
        made
    }
}

/// Random lines of 4 MiB: 768 loads, 256 stores, and so on. The peer takes loads and stores in separate calls.
fn quarter_stores(length: u64) -> Vec<PackedAccess> {
    let mut random = Xorshift::new(SEED);
    let access = |at: u64| {
        let address = random.below(1 << 16) * 64;
        if at % 1024 < 768 { PackedAccess::load(address) } else { PackedAccess::store(address) }
    };
    (0..length).map(access).collect()
}
