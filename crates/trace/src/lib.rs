//! Memory accesses of a program as a file.
//!
//! A trace is a stream of [`Record`]s: loads, stores, modifies and (if wanted) instruction fetches, with address, size and
//! the number of instructions in between. [`Writer`] and [`Reader`] write and read it block by block; [`StoredTrace`] holds a
//! whole one in memory, compressed. [`foreign`] reads the traces of others.
//!
//! # The file
//!
//! All numbers are little-endian.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | `89 57 4b 54 0d 0a 1a 0a` |
//! | 8..10 | version, 1 |
//! | 10..12 | flags: 1 finished, 2 with instruction fetches, 4 ended before what was recorded, 8 with passes |
//! | 12..16 | length of the source, at most 64 KiB |
//! | 16..48 | numbers of loads, stores, modifies, fetches |
//! | 48..56 | instructions: as counted by the source; without one, all gaps, and one for each record but fetches |
//! | 56..64 | where the pages begin |
//! | 64.. | the source, UTF-8 |
//! | then | blocks: length compressed, length, number of records (32 bits each), a zstd frame with checksum; three zeros end them |
//! | then | the pages: length compressed, length (64 bits each), a zstd frame |
//! | then | with flag 8, the passes, in the same way |
//!
//! Within a block (65536 records at most) a record is one byte and what that byte announces; `block.rs` has the table.
//! The pages are two numbers of runs (data, code), then for each run the gap to the end of the run before and the number
//! of its pages of 4096 bytes. The passes are a period in picoseconds (0 for none), the number of names, each with its
//! phase and length, the number of passes, and for each its phase, the distance of its first record to that of the pass
//! before, and the number of its records.

mod block;
mod error;
pub mod foreign;
mod header;
mod marked;
mod pages;
mod read;
mod record;
pub mod recording;
mod stored;
mod varint;
mod write;

pub use error::TraceError;
pub use foreign::CODE_BLOCK;
pub use header::TraceHeader;
pub use marked::{MOST_PASSES, RecordedPass, RecordedPasses};
pub use pages::{PAGE, PageMap, PageSet};
pub use read::Reader;
pub use record::{Record, RecordKind};
pub use stored::{StoredTrace, TracePasses};
pub use write::Writer;
