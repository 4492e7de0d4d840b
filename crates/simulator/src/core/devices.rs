//! Where the devices of an event lie in the address space: behind all memory, as on an SoC whose peripherals have addresses
//! of their own.

use waykeeper_platform::CoreKind;
use waykeeper_workload::Pattern;

use crate::core::front::tlb::Page;

/// The pages of an event's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Devices {
    /// One for each device. The descriptor of each is in a line of its own, which nothing else uses: peripherals lie far
    /// apart (assumed; on a Zynq-7000 those of the core at 0xf8f0_0000, others from 0xe000_0000 on).
    pub pages: Vec<Page>,
    /// The end of the address space.
    pub until: u64,
}

impl Devices {
    /// The devices of a pattern's event behind so many bytes of addresses; none where nothing is translated.
    pub fn of(pattern: &Pattern, kind: &CoreKind, page_bytes: u64, mapped: u64, line_bytes: u64) -> Self {
        let count = match pattern {
            Pattern::Random { event_device_pages, .. } => *event_device_pages,
            _ => 0,
        };
        let (Some(translation), 1..) = (&kind.translation, count) else {
            return Self { pages: Vec::new(), until: mapped };
        };
        let in_a_line = (line_bytes / translation.descriptor_bytes.value).max(1);
        let first = mapped.div_ceil(page_bytes).next_multiple_of(in_a_line);
        Self {
            pages: (0..count).map(|device| (first + device * in_a_line) as Page).collect(),
            until: (first + count * in_a_line) * page_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_platform::{Platform, find_bundled};

    use super::*;

    #[test]
    fn each_device_has_a_line_of_descriptors_of_its_own() {
        let bundled = find_bundled("zynq7000").unwrap();
        let platform = Platform::from_toml(bundled.text, bundled.name).unwrap();
        let event = |event_device_pages| Pattern::Random {
            data_bytes: 1 << 20,
            data_accesses: 1,
            data_modifies: 0,
            random_counts: false,
            code_bytes: 1 << 20,
            code_calls: 1,
            event_data_lines: 1,
            event_code_lines: 1,
            event_device_pages,
            event_stride_lines: 1,
            line_bytes: 32,
        };
        // Pages of 1 MiB, 8 descriptors of 4 bytes in a line: behind 513 pages the next whole line begins at page 520.
        let of = |count| Devices::of(&event(count), &platform.cores[0], 1 << 20, (512 << 20) + 1, 32);
        assert_eq!(of(2), Devices { pages: vec![520, 528], until: 536 << 20 });
        assert_eq!(of(0), Devices { pages: vec![], until: (512 << 20) + 1 });
    }
}
