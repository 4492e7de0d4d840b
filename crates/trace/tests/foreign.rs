//! Traces of others, written out by hand from the descriptions of their formats.

use std::io::{Cursor, Write};

use waykeeper_trace::foreign::{self, Format};
use waykeeper_trace::{Reader, Record, RecordKind, TraceError, Writer};

fn convert(content: Vec<u8>, fetches: bool) -> Result<(Format, Vec<Record>), TraceError> {
    let (format, mut events) = foreign::events(foreign::decompressed(Cursor::new(content))?)?;
    let mut writer = Writer::new(Cursor::new(Vec::new()), "", fetches)?;
    foreign::convert(events.as_mut(), fetches, &mut writer, |_| true)?;
    let bytes = writer.finish()?.0.into_inner();
    Ok((format, Reader::new(Cursor::new(bytes))?.read_to_end()?))
}

fn record(kind: RecordKind, address: u64, bytes: u32, gap: u64) -> Record {
    Record { address, gap, bytes, kind, dependent: false }
}

const LACKEY: &str = "\
==12== Lackey, an example Valgrind tool
==12==
I  04001030,3
I  04001033,5
 S 1ffeffe7e0,8
I  04001ea0,1
 L 04222cac,4
 M 0421fd18,16
--12-- a remark
I  04001ea1,2
==12==
";

#[test]
fn lackeys_text() {
    let (format, records) = convert(LACKEY.into(), false).unwrap();
    assert_eq!(format, Format::Lackey);
    // The first instruction has no record; the second stores; the third loads and modifies; the fourth is after the last.
    let expected = [
        record(RecordKind::Store, 0x1f_feff_e7e0, 8, 1),
        record(RecordKind::Load, 0x0422_2cac, 4, 0),
        record(RecordKind::Modify, 0x0421_fd18, 16, 0),
    ];
    assert_eq!(records, expected);
}

#[test]
fn lackeys_text_with_fetches_has_one_for_each_block_of_code() {
    let (_, records) = convert(LACKEY.into(), true).unwrap();
    // 0x4001030 and 0x4001033 share a block of 32 bytes, as do 0x4001ea0 and 0x4001ea1. The first instruction touches no
    // memory and counts in the gap of the second one's store, with fetches as without.
    let expected = [
        record(RecordKind::Fetch, 0x0400_1030, 3, 0),
        record(RecordKind::Store, 0x1f_feff_e7e0, 8, 1),
        record(RecordKind::Fetch, 0x0400_1ea0, 1, 0),
        record(RecordKind::Load, 0x0422_2cac, 4, 0),
        record(RecordKind::Modify, 0x0421_fd18, 16, 0),
    ];
    assert_eq!(records, expected);
}

#[test]
fn a_last_line_that_was_cut_off_is_left_out() {
    let (_, records) = convert(b"I  0,1\n L 10,8\n S 2".into(), false).unwrap();
    assert_eq!(records, [record(RecordKind::Load, 0x10, 8, 0)]);
}

#[test]
fn dinero_text() {
    let text = "2 400\n0 7fff1000\n2 404\n2 408 ignored\n1 0x10 4\n\n4 0\nr 20\n";
    let (format, records) = convert(text.into(), false).unwrap();
    assert_eq!(format, Format::Din);
    let expected = [
        record(RecordKind::Load, 0x7fff_1000, 4, 0),
        record(RecordKind::Store, 0x10, 4, 1),
        record(RecordKind::Load, 0x20, 4, 0),
    ];
    assert_eq!(records, expected);
}

/// An `input_instr`.
fn instruction(ip: u64, stores: [u64; 2], loads: [u64; 4]) -> Vec<u8> {
    let mut bytes = ip.to_le_bytes().to_vec();
    bytes.extend([0, 0, 5, 0, 6, 7, 0, 0]);
    stores.iter().chain(&loads).for_each(|address| bytes.extend(address.to_le_bytes()));
    assert_eq!(bytes.len(), 64);
    bytes
}

fn champsim() -> Vec<u8> {
    let mut bytes = instruction(0x400, [0; 2], [0x1000, 0, 0x2000, 0]);
    bytes.extend(instruction(0x404, [0; 2], [0; 4]));
    bytes.extend(instruction(0x408, [0x3000, 0x4000], [0x3000, 0, 0, 0]));
    bytes
}

fn champsims_records() -> [Record; 4] {
    [
        record(RecordKind::Load, 0x1000, 1, 0),
        record(RecordKind::Load, 0x2000, 1, 0),
        record(RecordKind::Modify, 0x3000, 1, 1),
        record(RecordKind::Store, 0x4000, 1, 0),
    ]
}

#[test]
fn champsims_records_raw_and_compressed() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&champsim()).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(&champsim()).unwrap();
    for content in [champsim(), gz.finish().unwrap(), xz.finish().unwrap()] {
        let (format, records) = convert(content, false).unwrap();
        assert_eq!(format, Format::ChampSim);
        assert_eq!(records, champsims_records());
    }
}

/// A `cloudsuite_instr` of 96 bytes.
fn cloudsuite(ip: u64, stores: [u64; 4], loads: [u64; 4]) -> Vec<u8> {
    let mut bytes = ip.to_le_bytes().to_vec();
    bytes.extend([1, 0, 1, 2, 0, 0, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0]);
    stores.iter().chain(&loads).for_each(|address| bytes.extend(address.to_le_bytes()));
    bytes.extend([7, 7, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes.len(), 96);
    bytes
}

#[test]
fn cloudsuites_records_are_of_96_bytes() {
    let mut bytes = cloudsuite(0x400, [0; 4], [0x1000, 0, 0, 0x2000]);
    bytes.extend(cloudsuite(0x404, [0; 4], [0; 4]));
    bytes.extend(cloudsuite(0x408, [0x3000, 0, 0, 0x4000], [0x3000, 0, 0, 0]));
    let (format, records) = convert(bytes, false).unwrap();
    assert_eq!(format, Format::ChampSim);
    assert_eq!(records, champsims_records());
}

#[test]
fn instructions_are_those_of_the_source_however_many_accesses_they_make() {
    let counted = |content: Vec<u8>| {
        let (_, mut events) = foreign::events(foreign::decompressed(Cursor::new(content)).unwrap()).unwrap();
        let mut writer = Writer::new(Cursor::new(Vec::new()), "", true).unwrap();
        foreign::convert(events.as_mut(), true, &mut writer, |_| true).unwrap();
        writer.finish().unwrap().1.instructions
    };
    // One with a load and a store, and one after the last access.
    let two = [([0x3000, 0, 0, 0], [0x1000, 0, 0, 0]), ([0; 4], [0; 4])];
    let records = two.iter().zip([0x400, 0x404]).flat_map(|((stores, loads), at)| cloudsuite(at, *stores, *loads));
    assert_eq!(counted(records.collect()), 2);
    // Four lines `I` of lackey.
    assert_eq!(counted(LACKEY.into()), 4);
    // Data alone: an access is all that is known of an instruction.
    assert_eq!(counted(b"0 10\n1 20\n".to_vec()), 2);
}

#[test]
fn no_instruction_lies_at_address_0() {
    let told = convert(instruction(0, [0; 2], [0x1000, 0, 0, 0]), false).unwrap_err().to_string();
    assert!(told.contains("no known format"), "{told}");
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let refusal = |content: &[u8]| convert(content.to_vec(), false).unwrap_err().to_string();
    let told = refusal(b"I  0,1\n X 10,8\n");
    assert!(told.contains("line 2") && told.contains("X 10,8"), "{told}");
    let told = refusal(b" L 10,5000\nI  0,1\n L 10,0\n");
    assert!(told.contains("neither lackey's nor Dinero's") || told.contains("line 1"), "{told}");
    let told = refusal(b"0 10\n7 10\n");
    assert!(told.contains("line 2") && told.contains("0 read"), "{told}");
    let told = refusal(b"Hello, world.\n");
    assert!(told.contains("neither"), "{told}");
    let told = refusal(&champsim()[..100]);
    assert!(told.contains("36 bytes in place of 64"), "{told}");
    let told = refusal(&[0xff; 64]);
    assert!(told.contains("no known format"), "{told}");
    assert!(refusal(b"").contains("empty"));
}
