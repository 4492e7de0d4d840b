//! Functional mode: what hits and what misses, without time.
//!
//! A hierarchy of caches of one core takes a stream of accesses and counts, level by level. It has nothing but the caches:
//! no queue, no memory, no second core. That makes it fast enough for whole programs.
//!
//! ```
//! use waykeeper_platform::Replacement;
//! use waykeeper_functional::{PackedAccess, CoreCaches, Level};
//!
//! let kib = |kib: u64, ways| Level::of_bytes(kib << 10, ways, 64, Replacement::Lru);
//! let mut caches = CoreCaches::new(64, &[kib(32, 4), kib(256, 8), kib(2048, 16)])?;
//! let addresses: Vec<u64> = (0..1024).map(|line| line * 64).collect();
//! caches.load(&addresses)?;
//! caches.load(&addresses)?;
//! caches.access(&[PackedAccess::load(0), PackedAccess::store(64)])?;
//! // 64 KiB do not fit into 32 KiB: all 1024 lines miss the first level twice, and the last two accesses miss it too.
//! assert_eq!(caches.counts()[0].misses, 2050);
//! assert_eq!(caches.counts()[1].hits, 1026);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is modelled:
//!
//! - Caches are write-back and write-allocate. A miss loads the line from the next level; a line that was stored to is
//!   stored to the next level when it makes room, after the load that it makes room for.
//! - No level includes another and none is exclusive: a level does not know what the others hold.
//! - A fill takes an allowed empty way if there is one, else the replacement policy's victim among the allowed ways. A hit
//!   ignores the mask of allowed ways.
//!
//! Because no level acts on an inner one, a block of accesses goes through the first level as a whole, what it passes on
//! through the second, and so on: each level sees the same sequence as it would one access at a time.

mod access;
mod addresses;
mod block;
mod by_way;
mod cache;
mod counts;
mod hierarchy;
mod level;
mod lru;
mod regions;
mod sample;

pub use access::PackedAccess;
pub use addresses::Addresses;
pub use counts::LevelCounts;
pub use hierarchy::CoreCaches;
pub use level::{Level, StoreHit};
