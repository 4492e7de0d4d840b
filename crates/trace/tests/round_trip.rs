//! What is written is read back, and nothing that was cut off or changed passes for a trace.

use std::io::Cursor;

use proptest::prelude::*;
use waykeeper_trace::{PAGE, Reader, Record, RecordKind, StoredTrace, TraceError, TraceHeader, Writer};

fn written(records: &[Record], source: &str) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), source, true).unwrap();
    for record in records {
        writer.push(record).unwrap();
    }
    writer.finish().unwrap().0.into_inner()
}

fn read(bytes: &[u8]) -> Result<(TraceHeader, Vec<Record>), TraceError> {
    let mut reader = Reader::new(Cursor::new(bytes))?;
    let records = reader.read_to_end()?;
    Ok((reader.header().clone(), records))
}

fn load(address: u64) -> Record {
    Record { address, gap: 0, bytes: 4, kind: RecordKind::Load, dependent: false }
}

fn any_record() -> impl Strategy<Value = Record> {
    let address = prop_oneof![any::<u64>(), 0u64..1 << 20];
    let gap = prop_oneof![0u64..4, any::<u64>()];
    let bytes = prop_oneof![(0u32..7).prop_map(|power| 1 << power), 1u32..=4096];
    (address, gap, bytes, 0usize..4, any::<bool>()).prop_map(|(address, gap, bytes, kind, dependent)| Record {
        address,
        gap,
        bytes,
        kind: RecordKind::ALL[kind],
        dependent,
    })
}

proptest! {
    #[test]
    fn records_come_back(records in prop::collection::vec(any_record(), 0..400), source in ".{0,40}") {
        let (header, read) = read(&written(&records, &source)).unwrap();
        prop_assert_eq!(&header.source, &source);
        for kind in RecordKind::ALL {
            prop_assert_eq!(header.count(kind), records.iter().filter(|record| record.kind == kind).count() as u64);
        }
        prop_assert_eq!(read, records);
    }

    #[test]
    fn a_trace_that_was_cut_off_is_refused(records in prop::collection::vec(any_record(), 1..50), cut in any::<prop::sample::Index>()) {
        let bytes = written(&records, "source");
        let kept = &bytes[..cut.index(bytes.len())];
        prop_assert!(read(kept).is_err());
    }

    #[test]
    fn a_record_that_was_changed_does_not_pass(records in prop::collection::vec(any_record(), 1..50), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let bytes = written(&records, "source");
        let blocks = 64 + "source".len()..bytes.len();
        let mut changed = bytes.clone();
        changed[blocks.start + at.index(blocks.len())] ^= 1 << bit;
        // The frames' checksums see it; the list of pages may stay readable.
        if let Ok((_, read)) = read(&changed) {
            prop_assert_eq!(read, records);
        }
    }

    #[test]
    fn neighbouring_addresses_stay_neighbours_without_the_gaps(records in prop::collection::vec(any_record(), 1..60)) {
        let bytes = written(&records, "");
        let reader = Reader::new(Cursor::new(&bytes)).unwrap();
        for record in records.iter().filter(|record| record.kind != RecordKind::Fetch) {
            let pages = reader.data_pages();
            let (first, last) = (record.address, record.address.saturating_add(u64::from(record.bytes) - 1));
            prop_assert_eq!(pages.offset(last) - pages.offset(first), last - first);
            prop_assert_eq!(pages.offset(first) % PAGE, first % PAGE);
            prop_assert!(pages.offset(last) < pages.pages() * PAGE);
        }
    }
}

#[test]
fn many_blocks_come_back_in_order_and_again() {
    let records: Vec<Record> = (0..200_000u64).map(|i| load(i * 2_380 % 1_000_003)).collect();
    let trace = StoredTrace::from_bytes(written(&records, "strides")).unwrap();
    let mut passes = trace.passes();
    let mut block = Vec::new();
    for _ in 0..2 {
        let mut pass = Vec::new();
        loop {
            passes.next_block(&mut block);
            if block.is_empty() {
                break;
            }
            pass.append(&mut block);
        }
        assert!(pass == records);
    }
    // A copy goes on where the original stands.
    passes.next_block(&mut block);
    let mut copy = passes.clone();
    let (mut from_original, mut from_copy) = (Vec::new(), Vec::new());
    passes.next_block(&mut from_original);
    copy.next_block(&mut from_copy);
    assert!(!from_original.is_empty() && from_original == from_copy && from_original != block);
}

#[test]
fn a_single_block_comes_back_again_and_again() {
    let records = [load(64), load(4096)];
    let trace = StoredTrace::from_bytes(written(&records, "two")).unwrap();
    let (mut passes, mut block) = (trace.passes(), Vec::new());
    for _ in 0..3 {
        passes.next_block(&mut block);
        assert_eq!(block, records);
        // A copy that is made within the pass comes to its end, too.
        let (mut copy, mut from_copy) = (passes.clone(), vec![load(0)]);
        copy.next_block(&mut from_copy);
        passes.next_block(&mut block);
        assert!(block.is_empty() && from_copy.is_empty());
        copy.next_block(&mut from_copy);
        assert_eq!(from_copy, records);
    }
}

#[test]
fn pages_without_gaps_are_what_one_counts_by_hand() {
    // Pages 1, 2 and 10: three pages, the third at 8192.
    let bytes = written(&[load(10 * PAGE), load(PAGE + 8), load(2 * PAGE)], "");
    let reader = Reader::new(Cursor::new(&bytes)).unwrap();
    let pages = reader.data_pages();
    assert_eq!((pages.pages(), pages.offset(10 * PAGE), pages.offset(PAGE + 8)), (3, 8192, 8));
}

#[test]
fn each_refusal_says_what_is_wrong() {
    let whole = written(&[load(4096)], "x");
    let refusal = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    let with = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        refusal(&bytes)
    };
    assert!(refusal(b"").contains("not finished"), "{}", refusal(b""));
    assert!(with(0, b'x').contains("no trace"));
    assert!(with(8, 9).contains("version 9"));
    assert!(with(10, 0).contains("not finished"));
    assert!(with(16, 7).contains("number of its records"));
    assert!(refusal(&whole[..whole.len() - 1]).contains("not finished"));
    assert!(with(65 + 8, 0xff).contains("impossible lengths"));
    let last_of_block = 65 + 12 + u32::from_le_bytes(whole[65..69].try_into().unwrap()) as usize - 1;
    assert!(with(last_of_block, whole[last_of_block] ^ 1).contains("cannot be decompressed"));
    let nothing = StoredTrace::from_bytes(written(&[], "")).unwrap_err().to_string();
    assert!(nothing.contains("no memory access"), "{nothing}");
}
