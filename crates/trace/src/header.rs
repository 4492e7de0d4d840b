//! The beginning of a trace file: what is in it, before anything is decompressed.

use std::io::{Read, Write};

use crate::error::TraceError;
use crate::record::RecordKind;

/// The first bytes of every trace. As in PNG (RFC 2083, 12.12), a transfer as text or in 7 bits spoils them.
pub const MAGIC: [u8; 8] = *b"\x89WKT\r\n\x1a\n";
/// The version that this program writes and reads.
pub const VERSION: u16 = 1;
/// Bytes before the text of the source.
pub const FIXED_BYTES: u64 = 64;
/// The text of the source is cut to this many bytes.
pub const MOST_SOURCE: usize = 64 << 10;

const FINISHED: u16 = 1;
const FETCHES: u16 = 2;
const PART: u16 = 4;
const PASSES: u16 = 8;

/// What a trace holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceHeader {
    /// Version of the format.
    pub version: u16,
    /// The command or program that was recorded, and how.
    pub source: String,
    /// Instruction fetches were recorded too.
    pub has_fetches: bool,
    /// The recording was ended before what was recorded had ended.
    pub is_part: bool,
    /// Where passes begin and end was recorded too.
    pub has_passes: bool,
    /// Records of each kind, in the order of [`RecordKind::ALL`].
    pub records: [u64; 4],
    /// Instructions, as the source counts them; where it does not, all gaps and one for each record but fetches.
    pub instructions: u64,
    /// Where the list of pages begins; 0 while the trace is being written.
    pub(crate) pages_at: u64,
}

impl TraceHeader {
    /// Records of one kind.
    pub fn count(&self, kind: RecordKind) -> u64 {
        self.records[kind.number()]
    }

    /// Records of all kinds.
    pub fn total(&self) -> u64 {
        self.records.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub(crate) fn write(&self, out: &mut impl Write, finished: bool) -> std::io::Result<()> {
        let source = self.source.as_bytes();
        let flag = |is_set: bool, flag| u16::from(is_set) * flag;
        let flags = flag(finished, FINISHED)
            | flag(self.has_fetches, FETCHES)
            | flag(self.is_part, PART)
            | flag(self.has_passes, PASSES);
        let mut bytes = Vec::with_capacity(FIXED_BYTES as usize + source.len());
        bytes.extend(MAGIC);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend((source.len() as u32).to_le_bytes());
        for number in self.records.iter().chain([&self.instructions, &self.pages_at]) {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(source);
        out.write_all(&bytes)
    }

    pub(crate) fn read(input: &mut impl Read) -> Result<Self, TraceError> {
        let mut fixed = [0; FIXED_BYTES as usize];
        read_all(input, &mut fixed)?;
        let short = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| fixed[at + byte]));
        if fixed[..8] != MAGIC {
            return Err(TraceError::Unknown("it does not begin as one of Waykeeper's".into()));
        }
        if short(8) != VERSION {
            return Err(TraceError::Version { found: short(8), known: VERSION });
        }
        if short(10) & FINISHED == 0 {
            return Err(TraceError::Unfinished);
        }
        let source_bytes = u32::from_le_bytes(std::array::from_fn(|byte| fixed[12 + byte])) as usize;
        if source_bytes > MOST_SOURCE {
            return Err(TraceError::damaged(12, format!("its source is a text of {source_bytes} bytes")));
        }
        let mut source = vec![0; source_bytes];
        read_all(input, &mut source)?;
        Ok(Self {
            version: VERSION,
            source: String::from_utf8(source).map_err(|_| TraceError::damaged(FIXED_BYTES, "its source is no text"))?,
            has_fetches: short(10) & FETCHES != 0,
            is_part: short(10) & PART != 0,
            has_passes: short(10) & PASSES != 0,
            records: std::array::from_fn(|kind| long(16 + 8 * kind)),
            instructions: long(48),
            pages_at: long(56),
        })
    }
}

/// Fills a buffer; an early end is an unfinished trace.
pub(crate) fn read_all(input: &mut impl Read, buffer: &mut [u8]) -> Result<(), TraceError> {
    input.read_exact(buffer).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => TraceError::Unfinished,
        _ => error.into(),
    })
}
