//! The readers under any bytes: they never panic, always end, take no more memory than their input warrants, and each
//! refusal is one paragraph.
//!
//! As with the experiments' parser, random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000`
//! gives them 30 s. The corpus in `__fuzz__` is always tried.

use std::io::Cursor;
use std::path::Path;

use bolero::{TypeGenerator, check};
use waykeeper_trace::{PAGE, Reader, Record, RecordKind, TraceError, Writer, foreign};

/// Accesses read, of a content of any format.
fn read(bytes: &[u8]) -> Result<u64, TraceError> {
    let mut reader = match Reader::new(Cursor::new(bytes)) {
        Ok(reader) => reader,
        Err(TraceError::Unknown(_) | TraceError::Unfinished) => return read_foreign(bytes),
        Err(error) => return Err(error),
    };
    let (mut block, mut accesses) = (Vec::new(), 0);
    while reader.next_block(&mut block)? {
        for record in &block {
            let pages = if record.kind == RecordKind::Fetch { reader.code_pages() } else { reader.data_pages() };
            assert!(pages.offset(record.address) < PAGE * pages.pages().max(1));
        }
        accesses += block.len() as u64;
    }
    assert_eq!(accesses, reader.header().total());
    Ok(accesses)
}

fn read_foreign(bytes: &[u8]) -> Result<u64, TraceError> {
    let (_, mut events) = foreign::events(foreign::decompressed(Cursor::new(bytes.to_vec()))?)?;
    let mut writer = Writer::new(Cursor::new(Vec::new()), "any", true)?;
    foreign::convert(events.as_mut(), true, &mut writer, |accesses| accesses < 10_000)?;
    let (written, header) = writer.finish()?;
    assert_eq!(Reader::new(written)?.read_to_end()?.len() as u64, header.total());
    Ok(header.total())
}

fn check_bytes(bytes: &[u8]) {
    if let Err(error) = read(bytes) {
        let told = error.to_string();
        assert!(!told.is_empty() && !told.contains(char::is_control), "{told:?}");
    }
}

#[test]
fn any_bytes() {
    check!().for_each(|bytes: &[u8]| check_bytes(bytes));
}

/// One change to a file.
#[derive(Debug, Clone, TypeGenerator)]
enum Edit {
    /// Sets a byte.
    Byte { at: u16, value: u8 },
    /// Writes a number over four bytes.
    Number { at: u16, value: u32 },
    /// Takes bytes out.
    Cut { at: u16, bytes: u8 },
    /// Puts bytes in.
    Insert { at: u16, bytes: Vec<u8> },
    /// Ends the file here.
    End { at: u16 },
}

fn apply(bytes: &mut Vec<u8>, edit: &Edit) {
    let place = |at: &u16| usize::from(*at) % (bytes.len() + 1);
    match edit {
        Edit::Byte { at, value } => {
            let at = place(at);
            bytes.get_mut(at).into_iter().for_each(|byte| *byte = *value);
        }
        Edit::Number { at, value } => {
            let at = place(at);
            bytes.iter_mut().skip(at).zip(value.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
        Edit::Cut { at, bytes: count } => {
            let from = place(at);
            let to = (from + usize::from(*count)).min(bytes.len());
            bytes.drain(from..to);
        }
        Edit::Insert { at, bytes: new } => {
            let at = place(at);
            bytes.splice(at..at, new.iter().take(64).copied());
        }
        Edit::End { at } => bytes.truncate(place(at)),
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/__fuzz__/any_bytes/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn edited_files() {
    let starts = corpus();
    check!().with_type::<(u16, Vec<Edit>)>().for_each(|(start, edits)| {
        let mut bytes = starts[usize::from(*start) % starts.len()].clone();
        edits.iter().take(6).for_each(|edit| apply(&mut bytes, edit));
        check_bytes(&bytes);
    });
}

/// Blocks whose frames are whole and whose content is anything.
#[test]
fn any_records_in_whole_frames() {
    check!().with_type::<(u32, Vec<u8>)>().for_each(|(count, raw)| {
        let writer = Writer::new(Cursor::new(Vec::new()), "", false).unwrap();
        let whole = writer.finish().unwrap().0.into_inner();
        let frame = zstd::bulk::compress(raw, 1).unwrap();
        let mut bytes = whole[..64].to_vec();
        for length in [frame.len() as u32, raw.len() as u32, *count % 64] {
            bytes.extend(length.to_le_bytes());
        }
        bytes.extend(&frame);
        let pages_at = bytes.len() as u64 + 12;
        bytes[56..64].copy_from_slice(&pages_at.to_le_bytes());
        bytes.extend(&whole[64..]);
        check_bytes(&bytes);
    });
}

#[test]
fn the_corpus_reaches_both_ends() {
    let (whole, refused): (Vec<_>, Vec<_>) = corpus().into_iter().partition(|bytes| read(bytes).is_ok());
    assert!(whole.len() >= 5 && refused.len() >= 5, "{} whole, {} refused", whole.len(), refused.len());
}

/// Writes the files of the corpus that are Waykeeper's own, after a change of the format.
#[test]
#[ignore = "writes into the source tree"]
fn write_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/__fuzz__/any_bytes/corpus");
    let record = |kind, address, bytes, gap| Record { address, gap, bytes, kind, dependent: kind == RecordKind::Load };
    let of = |records: &[Record]| {
        let mut writer = Writer::new(Cursor::new(Vec::new()), "a program", true).unwrap();
        records.iter().for_each(|record| writer.push(record).unwrap());
        writer.finish().unwrap().0.into_inner()
    };
    let all = of(&[
        record(RecordKind::Fetch, 0x40_0000, 4, 3),
        record(RecordKind::Load, 0x7fff_ffff_f000, 8, 0),
        record(RecordKind::Store, 4, 3, 1000),
        record(RecordKind::Modify, u64::MAX - 7, 8, u64::MAX),
        record(RecordKind::Load, 4090, 4096, 2),
    ]);
    let strides: Vec<Record> = (0..70_000).map(|i| record(RecordKind::Load, i % 7 * 2380 + i * 4, 4, 1)).collect();
    let mut later = all.clone();
    later[8] = 2;
    let mut unfinished = all.clone();
    unfinished[10] = 0;
    let mut miscounted = all.clone();
    miscounted[16] += 1;
    for (name, bytes) in [
        ("all-kinds.wkt", &all[..]),
        ("two-blocks.wkt", &of(&strides)),
        ("empty.wkt", &of(&[])),
        ("later-version.wkt", &later),
        ("unfinished.wkt", &unfinished),
        ("miscounted.wkt", &miscounted),
        ("cut-in-a-block.wkt", &all[..90]),
        ("cut-in-the-pages.wkt", &all[..all.len() - 3]),
    ] {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
