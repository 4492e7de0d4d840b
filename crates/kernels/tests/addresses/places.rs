//! Where things lie in a process that was observed, as it printed them.

/// Where things lie in the process, and the recorder's histogram: `(value, count)`.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub marker: Range,
    pub data: Range,
    pub code: Range,
    pub recorder: Range,
    pub counts: Vec<(u64, u64)>,
}

/// A piece of memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Range {
    start: u64,
    bytes: u64,
}

impl Range {
    /// The offset of an address that lies within.
    pub fn offset(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.start).filter(|offset| *offset < self.bytes)
    }
}

impl Places {
    /// Reads the lines `NAME HEX HEX`.
    pub fn parse(text: &str) -> Self {
        let mut places = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [name, start, bytes] = words[..] else { panic!("`{line}` is not three words") };
            let [start, bytes] = [start, bytes].map(|word| u64::from_str_radix(word, 16).expect(line));
            match name {
                "marker" => places.marker = Range { start, bytes },
                "data" => places.data = Range { start, bytes },
                "code" => places.code = Range { start, bytes },
                "recorder" => places.recorder = Range { start, bytes },
                "count" => places.counts.push((start, bytes)),
                _ => {}
            }
        }
        places
    }
}
