//! From a platform's core to what it does before its caches.

use waykeeper_platform::{CoreKind, Platform, TlbSide};

use crate::core::front::Front;
use crate::core::front::prefetch::{Prefetcher, Prefetchers};
use crate::core::front::stores::StoreBuffer;
use crate::core::front::streaming::StreamDetector;
use crate::core::front::tlb::Tlb;
use crate::core::front::translation::{PageTables, TableShape, Translation};
use crate::core::placement::MemoryRegion;
use crate::engine::build::kind_of;
use crate::refused::Refused;

/// The shape of a program's page tables on a core, if its accesses are translated: they cover `bytes` of addresses.
pub fn tables(kind: &CoreKind, page_bytes: u64, bytes: u64) -> Option<TableShape> {
    let translation = kind.translation.as_ref().filter(|_| !kind.tlbs.is_empty())?;
    Some(TableShape {
        pages: bytes.div_ceil(page_bytes),
        reads: translation.walk_reads.value as u32,
        descriptor_bytes: translation.descriptor_bytes.value,
    })
}

/// A core's front; `tables` lie in their memory.
pub fn front(
    platform: &Platform,
    core: usize,
    page_bytes: u64,
    tables: Option<(TableShape, MemoryRegion)>,
) -> Result<Option<Box<Front>>, Refused> {
    let (at, kind) = kind_of(platform, platform.core_ids()[core])?;
    let line_bytes = platform.line_bytes.value;
    let translation = tables.map(|(shape, memory)| {
        let tlbs = kind.tlbs.iter().map(|tlb| {
            let serves = [tlb.side != TlbSide::Instructions, tlb.side != TlbSide::Data];
            let lockable = tlb.lockable_entries.as_ref().map_or(0, |entries| entries.value as usize);
            let (entries, ways) = (tlb.entries.value as usize, tlb.ways.value as usize);
            (Tlb::new(entries, ways, lockable, tlb.hit_cycles.value), serves)
        });
        Translation::new(tlbs.collect(), PageTables::new(shape, memory), page_bytes)
    });
    let walkers = kind.translation.as_ref().and_then(|of| of.walkers.as_ref()).map_or(1, |walkers| walkers.value);
    let streaming = match &kind.write_streaming {
        Some(_) if line_bytes > 512 => {
            let why = format!("lines of {line_bytes} bytes are too long for it; 512 would do");
            return Err(Refused::new(format!("cores.{at}.write_streaming"), why));
        }
        Some(streaming) => Some(StreamDetector::new(streaming.after_lines.value, (line_bytes / 8) as u32)),
        None => None,
    };
    let prefetchers = kind.prefetchers.iter().map(|prefetcher| {
        let level = prefetcher.fills_level.value as u8;
        let (distance, degree) = (prefetcher.distance.value, prefetcher.degree.value);
        Prefetcher::new(prefetcher.kind.value, level, prefetcher.after_accesses.value, distance, degree)
    });
    let stores = kind.store_buffer_entries.as_ref().map(|entries| StoreBuffer::new(entries.value as usize));
    let prefetchers = Prefetchers::new(prefetchers.collect(), line_bytes);
    Ok(Front::new(translation, walkers as usize, stores, streaming, prefetchers, line_bytes))
}
