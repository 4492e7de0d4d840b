//! Writing a trace.

use std::io::{Seek, SeekFrom, Write};

use zstd::bulk::Compressor;

use crate::block::{Encoder, MOST_RECORDS};
use crate::error::TraceError;
use crate::foreign::MOST_ACCESS_BYTES;
use crate::header::{MOST_SOURCE, TraceHeader, VERSION};
use crate::marked::RecordedPasses;
use crate::pages::{MOST_PAGES, PageSet};
use crate::record::{Record, RecordKind};
use crate::varint::put;

/// zstd's own default: higher levels take much longer for a few per cent.
const LEVEL: i32 = 3;

/// Writes records to a file, block by block; what it holds in memory does not grow with their number.
pub struct Writer<W: Write + Seek> {
    out: W,
    header: TraceHeader,
    block: Encoder,
    compressor: Compressor<'static>,
    compressed: Vec<u8>,
    data: PageSet,
    code: PageSet,
    passes: RecordedPasses,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a trace. `source` says what is recorded: a command line, or a program and its input.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(mut out: W, source: &str, has_fetches: bool) -> Result<Self, TraceError> {
        let mut source = source.to_owned();
        while source.len() > MOST_SOURCE {
            source.pop();
        }
        let header = TraceHeader { version: VERSION, source, has_fetches, ..TraceHeader::default() };
        header.write(&mut out, false)?;
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        Ok(Self {
            out,
            header,
            block: Encoder::default(),
            compressor,
            compressed: Vec::new(),
            data: PageSet::default(),
            code: PageSet::default(),
            passes: RecordedPasses::default(),
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// What the system refuses; more pages than a trace may touch.
    #[inline]
    pub fn push(&mut self, record: &Record) -> Result<(), TraceError> {
        debug_assert!((1..=MOST_ACCESS_BYTES).contains(&record.bytes), "{record:?}");
        let pages = if record.kind == RecordKind::Fetch { &mut self.code } else { &mut self.data };
        pages.add(record.address, record.bytes);
        self.header.records[record.kind.number()] += 1;
        let own = u64::from(record.kind != RecordKind::Fetch);
        self.header.instructions = self.header.instructions.saturating_add(record.gap).saturating_add(own);
        self.block.push(record);
        if self.block.records == MOST_RECORDS { self.flush_block() } else { Ok(()) }
    }

    /// What is recorded goes on after the last record.
    pub fn set_part(&mut self) {
        self.header.is_part = true;
    }

    /// So many instructions ran, as the source counts them: records count one with a load and a store twice, and know none
    /// after the last record.
    pub fn set_instructions(&mut self, instructions: u64) {
        self.header.instructions = instructions;
    }

    /// Passes begin and end at these records; none of them may lie beyond the last one.
    pub fn set_passes(&mut self, passes: RecordedPasses) {
        self.header.has_passes = !passes.is_empty();
        self.passes = passes;
    }

    /// Passes begin so far apart; `None` where the program does not pause between them.
    pub fn set_period(&mut self, period_ns: Option<f64>) {
        self.passes.period_ns = period_ns;
    }

    /// The passes that were set.
    pub fn recorded_passes(&self) -> &RecordedPasses {
        &self.passes
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.header.total()
    }

    /// Data accesses so far.
    pub fn accesses(&self) -> u64 {
        self.header.total() - self.header.count(RecordKind::Fetch)
    }

    /// Ends the trace: until then nobody reads it. Returns where it was written to, and what is in it.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn finish(mut self) -> Result<(W, TraceHeader), TraceError> {
        if self.block.records > 0 {
            self.flush_block()?;
        }
        self.out.write_all(&[0; 12])?;
        self.header.pages_at = self.out.stream_position()?;
        let (data, code) = (self.data.runs(), self.code.runs());
        let mut pages = Vec::new();
        put(&mut pages, data.len() as u64);
        put(&mut pages, code.len() as u64);
        for runs in [&data, &code] {
            let mut end = 0;
            for (first, length) in runs {
                put(&mut pages, first - end);
                put(&mut pages, *length);
                end = first + length;
            }
        }
        self.write_list(&pages)?;
        if self.header.has_passes {
            let passes = self.passes.encode();
            self.write_list(&passes)?;
        }
        self.out.seek(SeekFrom::Start(0))?;
        self.header.write(&mut self.out, true)?;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()?;
        Ok((self.out, self.header))
    }

    /// A list after the blocks: length compressed, length, content.
    fn write_list(&mut self, list: &[u8]) -> Result<(), TraceError> {
        self.compress(list)?;
        self.out.write_all(&(self.compressed.len() as u64).to_le_bytes())?;
        self.out.write_all(&(list.len() as u64).to_le_bytes())?;
        self.out.write_all(&self.compressed)?;
        Ok(())
    }

    fn flush_block(&mut self) -> Result<(), TraceError> {
        if self.data.count().max(self.code.count()) > MOST_PAGES {
            return Err(TraceError::TooManyPages);
        }
        let raw = std::mem::take(&mut self.block.bytes);
        self.compress(&raw)?;
        for length in [self.compressed.len(), raw.len(), self.block.records] {
            self.out.write_all(&(length as u32).to_le_bytes())?;
        }
        self.out.write_all(&self.compressed)?;
        self.block.bytes = raw;
        self.block.clear();
        Ok(())
    }

    fn compress(&mut self, raw: &[u8]) -> Result<(), TraceError> {
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        self.compressor.compress_to_buffer(raw, &mut self.compressed)?;
        Ok(())
    }
}
