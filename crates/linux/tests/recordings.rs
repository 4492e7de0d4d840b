//! Recorded trees: written and read back in each form, taken from a folder, and refused where they are none.

use std::fs;
use std::path::Path;

use waykeeper_linux::recording::{MANIFEST, record};
use waykeeper_linux::{Recording, Root, discover, fixtures, registers};

fn some() -> Recording {
    let mut recording = fixtures::arm().recording();
    recording.set("/msr/cpu1", "0x34 0x7\n0x774 0xf0000000002e2e2e\n");
    recording
}

#[test]
fn every_form_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["tree.tar.zst", "tree.tar.gz", "tree.tgz", "tree.tar"] {
        let path = folder.path().join(name);
        some().write(&path).unwrap();
        assert_eq!(Recording::read(&path).unwrap(), some(), "{name}");
        let root = Root::open(&path).unwrap();
        assert_eq!(root.text("/sys/devices/system/cpu/online").as_deref(), Some("0-11"));
        assert!(!root.is_running());
    }
}

#[test]
fn equal_recordings_give_equal_archives() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str| {
        some().write(&folder.path().join(name)).unwrap();
        fs::read(folder.path().join(name)).unwrap()
    };
    assert_eq!(written("a.tar.zst"), written("b.tar.zst"));
}

#[test]
fn a_folder_and_its_recording_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree");
    some().write(&path).unwrap();
    let (on_disk, in_memory) = (Root::open(&path).unwrap(), Root::from(some()));
    for path in ["/", "/sys/fs/resctrl/info", "/sys/devices/system/cpu", "/nothing"] {
        assert_eq!(on_disk.names(path), in_memory.names(path), "{path}");
    }
    for (path, _) in some().files() {
        assert_eq!(on_disk.text(path), in_memory.text(path), "{path}");
    }
    let again = some().write(&path).unwrap_err().to_string();
    assert!(again.contains("the folder is not empty"), "{again}");
}

#[test]
fn what_is_no_recorded_tree_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        Root::open(&path).unwrap_err().to_string()
    };
    assert!(refused("notes.txt", b"x").contains("expected a folder, .tar.zst, .tar.gz or .tar"));
    assert!(refused("x.tar.gz", b"no gzip").contains("not a recorded tree"));
    assert!(refused("empty.tar", &[0; 1024]).contains("no readable manifest.toml"));
    let mut newer = Recording::default();
    newer.set(MANIFEST, "format = 2\nmade_by = 'x'\narchitecture = 'x'\n");
    newer.write(&folder.path().join("newer.tar")).unwrap();
    let text = Root::open(&folder.path().join("newer.tar")).unwrap_err().to_string();
    assert!(text.contains("format 2; this version reads format 1"), "{text}");
    let text = Root::open(Path::new("/nonexistent.tar")).unwrap_err().to_string();
    assert!(text.starts_with("/nonexistent.tar: No such file"), "{text}");
}

#[test]
fn paths_that_lead_out_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("evil.tar");
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..8].copy_from_slice(b"../x/y/z");
    header.set_size(1);
    header.set_cksum();
    builder.append(&header, &b"x"[..]).unwrap();
    fs::write(&path, builder.into_inner().unwrap()).unwrap();
    let text = Root::open(&path).unwrap_err().to_string();
    assert!(text.contains("leads out of it"), "{text}");
}

#[test]
fn a_machine_in_a_folder_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let (machine, path) = (some(), folder.path().join("machine"));
    let mut full = machine.clone();
    for (file, text) in [
        ("/sys/class/dmi/id/sys_vendor", "A Vendor\n"),
        ("/sys/class/dmi/id/product_serial", "SN12345\n"),
        ("/sys/firmware/acpi/tables/RTCT", "binary\n"),
        ("/sys/fs/resctrl/rt/schemata", "L3:0=3\n"),
        ("/sys/fs/resctrl/rt/tasks", "4711\n"),
        ("/sys/fs/resctrl/rt/mode", "exclusive\n"),
        ("/proc/4711/stat", "4711 (editor) S 1 0\n"),
        ("/proc/4711/comm", "editor\n"),
    ] {
        full.set(file, text);
    }
    full.write(&path).unwrap();
    let taken = record(&path);
    assert_eq!(taken.text("/sys/class/dmi/id/sys_vendor"), Some("A Vendor\n"));
    assert_eq!(taken.text("/sys/fs/resctrl/rt/mode"), Some("exclusive\n"));
    assert_eq!(taken.names("/sys/firmware/acpi/tables"), ["RTCT"]);
    for gone in ["/sys/class/dmi/id/product_serial", "/sys/fs/resctrl/rt/tasks", "/proc/4711/comm", "/proc/4711/stat"] {
        assert_eq!(taken.text(gone), None, "{gone}");
    }
    // Everything that a made-up machine has is among the patterns, but for what only a processor can tell.
    for (path, text) in machine.files().filter(|(path, _)| *path != MANIFEST && !path.starts_with("msr/")) {
        assert_eq!(taken.text(path).map(str::trim), Some(text.trim()), "{path}");
    }
    let manifest = taken.manifest().unwrap();
    assert_eq!((manifest.format, manifest.unreadable), (1, Vec::<String>::new()));
    assert!(manifest.left_out.iter().any(|what| what.contains("serial numbers")));
}

#[test]
fn a_recording_of_this_machine_finds_the_same_machine() {
    let recorded = record(Path::new("/"));
    let (live, again) = (discover(&Root::default()).unwrap(), discover(&Root::from(recorded.clone())).unwrap());
    assert_eq!(live.platform, again.platform);
    for (path, _) in recorded.files() {
        assert!(!path.contains("serial") && !path.contains("uuid") && !path.ends_with("tasks"), "{path}");
    }
}

#[test]
fn registers_are_read_from_a_recording() {
    let root = Root::from(some());
    assert_eq!(registers::register(&root, 1, 0x774), Some(0xf000_0000_002e_2e2e));
    assert_eq!(registers::register(&root, 1, 0x775), None);
    assert_eq!(registers::register(&root, 0, 0x34), None);
}
