//! Records as bytes. A block stands for itself: nothing in it depends on the block before.
//!
//! A record is one byte and what that byte announces:
//!
//! | bits | meaning |
//! |---|---|
//! | 0, 1 | kind: load, store, modify, fetch |
//! | 2 | dependent |
//! | 3, 4, 5 | bytes: 1, 2, 4, 8, 16, 32, 64, or a number that follows |
//! | 6, 7 | gap: 0, 1, 2, or a number that follows |
//!
//! Then come the number of bytes and the gap, if they are announced, and the difference of the address to that of the
//! last record of the same sort (data or fetch). Numbers are LEB128, differences zigzag.

use crate::foreign::MOST_ACCESS_BYTES;
use crate::record::{Record, RecordKind};
use crate::varint::{from_difference, put, take, to_difference};

/// Records in a block, at most.
pub const MOST_RECORDS: usize = 1 << 16;
/// A record has at least this many bytes: the byte and a difference.
pub const LEAST_BYTES: usize = 2;
/// A record has at most this many bytes: the byte, 5 of a size, 10 of a gap, 10 of a difference.
const MOST_BYTES: usize = 26;
/// Bytes of a block before compression, at most.
pub const MOST_RAW: usize = MOST_RECORDS * MOST_BYTES;

const EXPLICIT_SIZE: u8 = 7;
const EXPLICIT_GAP: u64 = 3;

/// Puts records into a block.
#[derive(Debug, Clone, Default)]
pub struct Encoder {
    /// The bytes so far.
    pub bytes: Vec<u8>,
    /// Records in them.
    pub records: usize,
    last: [u64; 2],
}

impl Encoder {
    /// Adds a record.
    #[inline]
    pub fn push(&mut self, record: &Record) {
        let size = match record.bytes {
            bytes if bytes.is_power_of_two() && bytes <= 64 => bytes.trailing_zeros() as u8,
            _ => EXPLICIT_SIZE,
        };
        let gap = record.gap.min(EXPLICIT_GAP);
        self.bytes.push(
            record.kind.number() as u8 | u8::from(record.dependent) << 2 | size << 3 | (gap as u8) << 6, //
        );
        if size == EXPLICIT_SIZE {
            put(&mut self.bytes, record.bytes.into());
        }
        if gap == EXPLICIT_GAP {
            put(&mut self.bytes, record.gap);
        }
        let last = &mut self.last[usize::from(record.kind == RecordKind::Fetch)];
        put(&mut self.bytes, from_difference(record.address.wrapping_sub(*last)));
        *last = record.address;
        self.records += 1;
    }

    /// Begins the next block.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records = 0;
        self.last = [0; 2];
    }
}

/// Appends the records of a block. None where the bytes are not exactly `count` records.
pub fn decode(mut bytes: &[u8], count: usize, records: &mut Vec<Record>) -> Option<()> {
    records.reserve(count);
    let mut last = [0; 2];
    for _ in 0..count {
        let record = decode_one(&mut bytes, &mut last)?;
        records.push(record);
    }
    bytes.is_empty().then_some(())
}

#[inline]
fn decode_one(bytes: &mut &[u8], last: &mut [u64; 2]) -> Option<Record> {
    let (head, rest) = bytes.split_first()?;
    *bytes = rest;
    let kind = RecordKind::ALL[usize::from(head & 3)];
    let size = match head >> 3 & 7 {
        EXPLICIT_SIZE => u32::try_from(take(bytes)?).ok().filter(|size| (1..=MOST_ACCESS_BYTES).contains(size))?,
        power => 1 << power,
    };
    let gap = match u64::from(head >> 6) {
        EXPLICIT_GAP => take(bytes)?,
        gap => gap,
    };
    let last = &mut last[usize::from(kind == RecordKind::Fetch)];
    *last = last.wrapping_add(to_difference(take(bytes)?));
    Some(Record { address: *last, gap, bytes: size, kind, dependent: head & 4 != 0 })
}
