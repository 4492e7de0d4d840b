//! Changes of platforms for tests.

use waykeeper_platform::{CoreKind, Param, TlbDescription, TlbSide, TranslationDescription};

/// A documented value.
pub fn param<T>(value: T) -> Param<T> {
    Param::documented(value, "test")
}

/// TLBs that the pages do not fit into.
pub fn translated(kind: &mut CoreKind) {
    let tlb = |side, entries, hit_cycles| TlbDescription {
        side,
        entries: param(entries),
        ways: param(4),
        hit_cycles: param(hit_cycles),
        lockable_entries: None,
    };
    kind.tlbs = vec![tlb(TlbSide::Data, 16, 0), tlb(TlbSide::Unified, 256, 5)];
    kind.translation = Some(TranslationDescription {
        page_kib: param(4),
        walk_reads: param(2),
        descriptor_bytes: param(8),
        walks_from_level: param(2),
        walkers: None,
    });
    kind.prefetchers.clear();
}
