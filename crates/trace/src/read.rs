//! Reading a trace.

use std::io::{BufReader, Read, Seek, SeekFrom};

use zstd::bulk::Decompressor;

use crate::block::{self, LEAST_BYTES, MOST_RAW, MOST_RECORDS};
use crate::error::TraceError;
use crate::header::{FIXED_BYTES, TraceHeader, read_all};
use crate::marked::{MOST_MARKED_RAW, RecordedPasses};
use crate::pages::{MOST_PAGES, PageMap};
use crate::record::{Record, RecordKind};
use crate::varint::take;

/// A list of pages has at most this many bytes before compression: two numbers of 10 bytes for each run.
const MOST_PAGES_RAW: u64 = 20 * MOST_PAGES + 20;

/// Reads a trace block by block, from its beginning to its end; what it holds in memory does not grow with its length.
pub struct Reader<R> {
    input: BufReader<R>,
    header: TraceHeader,
    data: PageMap,
    code: PageMap,
    passes: RecordedPasses,
    /// Where the next block begins.
    at: u64,
    seen: [u64; 4],
    compressed: Vec<u8>,
    raw: Vec<u8>,
    decompressor: Decompressor<'static>,
}

impl<R: Read + Seek> Reader<R> {
    /// Opens the trace that begins at the input's first byte, and reads all but its records.
    ///
    /// # Errors
    /// A file that is no finished trace of a known version.
    pub fn new(input: R) -> Result<Self, TraceError> {
        let mut input = BufReader::with_capacity(1 << 18, input);
        input.rewind()?;
        let header = TraceHeader::read(&mut input)?;
        let at = FIXED_BYTES + header.source.len() as u64;
        let end = input.seek(SeekFrom::End(0))?;
        if header.pages_at < at || header.pages_at > end {
            return Err(TraceError::Unfinished);
        }
        input.seek(SeekFrom::Start(header.pages_at))?;
        let lists = Lists { end, at: header.pages_at };
        let (lists, pages) = lists.next(&mut input, MOST_PAGES_RAW, "list of pages", page_maps_of)?;
        let [data, code] = pages;
        let (lists, passes) = match header.has_passes {
            true => lists.next(&mut input, MOST_MARKED_RAW, "list of passes", |bytes| {
                RecordedPasses::decode(bytes, header.total())
            })?,
            false => (lists, RecordedPasses::default()),
        };
        lists.are_all()?;
        input.seek(SeekFrom::Start(at))?;
        let decompressor = Decompressor::new()?;
        let (compressed, raw) = (Vec::new(), Vec::new());
        Ok(Self { input, header, data, code, passes, at, seen: [0; 4], compressed, raw, decompressor })
    }

    /// What the trace holds.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// The pages of its data.
    pub fn data_pages(&self) -> &PageMap {
        &self.data
    }

    /// The pages of its instruction fetches.
    pub fn code_pages(&self) -> &PageMap {
        &self.code
    }

    /// Where its passes begin and end.
    pub fn recorded_passes(&self) -> &RecordedPasses {
        &self.passes
    }

    /// Puts the records of the next block in place of what `records` holds. False, and no records, at the end.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn next_block(&mut self, records: &mut Vec<Record>) -> Result<bool, TraceError> {
        records.clear();
        let mut lengths = [0; 12];
        read_all(&mut self.input, &mut lengths)?;
        let length = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| lengths[at + byte])) as usize;
        let (compressed, raw, count) = (length(0), length(4), length(8));
        let damaged = |what: &str| TraceError::damaged(self.at, what);
        if (compressed, raw, count) == (0, 0, 0) {
            return match self.seen == self.header.records {
                true => Ok(false),
                false => Err(damaged("the number of its records is not that of its header")),
            };
        }
        if count == 0
            || count > MOST_RECORDS
            || raw > MOST_RAW
            || raw < count * LEAST_BYTES
            || compressed > 2 * MOST_RAW
        {
            return Err(damaged("a block has impossible lengths"));
        }
        self.compressed.resize(compressed, 0);
        read_all(&mut self.input, &mut self.compressed)?;
        self.raw.clear();
        self.raw.reserve(raw);
        let decompressed = self.decompressor.decompress_to_buffer(&self.compressed, &mut self.raw);
        decompressed.map_err(|error| damaged(&format!("a block cannot be decompressed ({error})")))?;
        if self.raw.len() != raw {
            return Err(damaged("a block has another length than it says"));
        }
        block::decode(&self.raw, count, records).ok_or_else(|| damaged("a block holds no whole records"))?;
        self.at += 12 + compressed as u64;
        for record in records {
            self.seen[record.kind.number()] += 1;
        }
        Ok(true)
    }

    /// Goes back to the first record.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn rewind(&mut self) -> Result<(), TraceError> {
        self.at = FIXED_BYTES + self.header.source.len() as u64;
        self.seen = [0; 4];
        self.input.seek(SeekFrom::Start(self.at))?;
        Ok(())
    }

    /// All records from here on, into memory.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn read_to_end(&mut self) -> Result<Vec<Record>, TraceError> {
        let (mut all, mut block) = (Vec::new(), Vec::new());
        while self.next_block(&mut block)? {
            all.append(&mut block);
        }
        Ok(all)
    }
}

/// The lists after the blocks: the next one begins at `at`, and the last one ends with the file.
struct Lists {
    end: u64,
    at: u64,
}

impl Lists {
    /// Reads the next list, of at most so many bytes, and makes of it what it stands for.
    fn next<T>(
        self,
        input: &mut impl Read,
        most: u64,
        called: &str,
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(Self, T), TraceError> {
        let Self { end, at } = self;
        let damaged = |what: &str| TraceError::damaged(at, format!("its {called} {what}"));
        let mut lengths = [0; 16];
        read_all(input, &mut lengths)?;
        let length = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| lengths[at + byte]));
        let (compressed, raw) = (length(0), length(8));
        let next = at.checked_add(16).and_then(|begin| begin.checked_add(compressed));
        let next = next.filter(|next| *next <= end).ok_or(TraceError::Unfinished)?;
        if raw > most {
            return Err(damaged("is longer than any"));
        }
        let mut bytes = Vec::new();
        // Not the length that the file says: a damaged one must not take the memory for it.
        let mut content = input.take(compressed);
        let stream = zstd::stream::Decoder::new(&mut content)?;
        let read = stream.take(raw + 1).read_to_end(&mut bytes);
        read.map_err(|error| damaged(&format!("cannot be decompressed ({error})")))?;
        std::io::copy(&mut content, &mut std::io::sink())?;
        let list = (bytes.len() as u64 == raw).then(|| decode(&bytes)).flatten();
        Ok((Self { end, at: next }, list.ok_or_else(|| damaged("makes no sense"))?))
    }

    /// Nothing may follow.
    fn are_all(&self) -> Result<(), TraceError> {
        if self.at == self.end { Ok(()) } else { Err(TraceError::Unfinished) }
    }
}

fn page_maps_of(mut bytes: &[u8]) -> Option<[PageMap; 2]> {
    page_maps(&mut bytes).filter(|_| bytes.is_empty())
}

fn page_maps(bytes: &mut &[u8]) -> Option<[PageMap; 2]> {
    let counts = [take(bytes)?, take(bytes)?];
    let mut maps = [PageMap::default(), PageMap::default()];
    for (count, map) in counts.into_iter().zip(&mut maps) {
        let (mut runs, mut end, mut pages) = (Vec::new(), 0u64, 0u64);
        for run in 0..count {
            let (gap, length) = (take(bytes)?, take(bytes)?);
            // Runs without a gap between them would be one.
            if length == 0 || (run > 0 && gap == 0) {
                return None;
            }
            let first = end.checked_add(gap)?;
            end = first.checked_add(length).filter(|end| *end <= 1 << 52)?;
            pages += length;
            // The last block may go a little beyond.
            if pages > MOST_PAGES + 2 * MOST_RECORDS as u64 {
                return None;
            }
            runs.push((first, length));
        }
        *map = PageMap::new(&runs);
    }
    Some(maps)
}

/// Data accesses, and whether there are any, as a workload needs them.
pub(crate) fn has_accesses(header: &TraceHeader) -> bool {
    header.total() > header.count(RecordKind::Fetch)
}
