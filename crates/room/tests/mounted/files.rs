//! What clients rely on beyond the operations themselves.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

use waykeeper_resctrl::{KernelRelease, MountOptions};

use crate::ground::Ground;

const EINVAL: i32 = 22;
const E2BIG: i32 = 7;
const ENODEV: i32 = 19;
const EBUSY: i32 = 16;

fn xeon() -> Ground {
    Ground::of_platform("xeon-d-2752ter", KernelRelease::V6_12)
}

#[test]
fn the_error_comes_from_write_itself_and_truncation_is_taken() {
    let ground = xeon();
    // As fopen("w") opens it.
    let mut file = File::create(ground.path("schemata")).unwrap();
    assert_eq!(file.write(b"L3:0=f0f\n").unwrap_err().raw_os_error(), Some(EINVAL));
    assert_eq!(file.write(b"L3:0=ff\n").unwrap(), 8);
    // The same file again, wherever its offset is now.
    assert_eq!(file.write(b"L3:0=f\n").unwrap(), 7);
    assert_eq!(ground.read("schemata").trim(), "L3:0=0000f");
    assert_eq!(ground.read("size").trim().rsplit_once(':').unwrap().1, "0=4194304");
}

#[test]
fn more_than_a_page_is_too_big_and_changes_nothing() {
    let ground = xeon();
    let mut file = OpenOptions::new().write(true).open(ground.path("schemata")).unwrap();
    for length in [4097, 8192, 200_000] {
        let mut data = b"L3:0=1\n".to_vec();
        data.resize(length, b'\n');
        assert_eq!(file.write(&data).unwrap_err().raw_os_error(), Some(E2BIG), "{length}");
    }
    assert_eq!(ground.read("schemata").trim(), "L3:0=fffff");
}

#[test]
fn numbers_of_files_stay_and_sizes_are_zero() {
    let ground = xeon();
    let path = ground.path("schemata");
    let (seen, opened) = (std::fs::symlink_metadata(&path).unwrap(), File::open(&path).unwrap().metadata().unwrap());
    assert_eq!((seen.ino(), seen.dev(), seen.mode()), (opened.ino(), opened.dev(), opened.mode()));
    assert_eq!((seen.size(), seen.mode() & 0o7777), (0, 0o644));
}

#[test]
fn a_folder_can_be_locked_by_one_at_a_time() {
    let ground = xeon();
    let open = || OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(ground.root()).unwrap();
    let (first, second) = (open(), open());
    rustix::fs::flock(&first, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let busy = rustix::fs::flock(&second, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    assert_eq!(busy, Err(rustix::io::Errno::WOULDBLOCK));
    drop(first);
    rustix::fs::flock(&second, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[test]
fn a_file_is_read_in_pieces_and_anew_from_its_beginning() {
    let ground = xeon();
    let mut file = File::open(ground.path("schemata")).unwrap();
    let mut pieces = Vec::new();
    let mut byte = [0];
    while file.read(&mut byte).unwrap() == 1 {
        pieces.push(byte[0]);
    }
    assert_eq!(pieces, ground.read("schemata").into_bytes());
    std::fs::write(ground.path("schemata"), "L3:0=1\n").unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut again = String::new();
    file.read_to_string(&mut again).unwrap();
    assert_eq!(again.trim(), "L3:0=00001");
    let mut end = [0; 4];
    assert_eq!(file.read_at(&mut end, 6).unwrap(), 4);
    assert_eq!(&end, &again.as_bytes()[6..10]);
}

#[test]
fn an_open_file_of_a_deleted_group_answers_no_such_device() {
    let ground = xeon();
    std::fs::create_dir(ground.path("a")).unwrap();
    let mut file = OpenOptions::new().read(true).write(true).open(ground.path("a/schemata")).unwrap();
    std::fs::remove_dir(ground.path("a")).unwrap();
    assert_eq!(file.write(b"L3:0=f\n").unwrap_err().raw_os_error(), Some(ENODEV));
    // Another group of that name is another group.
    std::fs::create_dir(ground.path("a")).unwrap();
    assert_eq!(file.read(&mut [0; 8]).unwrap_err().raw_os_error(), Some(ENODEV));
}

#[test]
fn no_name_leads_out_of_the_tree() {
    let ground = xeon();
    // `..` and links are the kernel's business: it never asks the file system for them. What it does ask for is looked up in
    // the model's tree, so that a name with dots in it is a name like any other.
    let above = ground.path("..").canonicalize().unwrap();
    assert_eq!(above, ground.root().parent().unwrap().canonicalize().unwrap());
    for name in ["...", "..\u{0}".trim_end_matches('\u{0}').trim_start_matches('x'), ".hidden"] {
        let path = ground.path(name);
        if name != ".." {
            assert!(std::fs::symlink_metadata(&path).is_err());
            std::fs::create_dir(&path).unwrap();
            assert!(path.join("schemata").is_file());
            std::fs::remove_dir(&path).unwrap();
        }
    }
    assert!(std::os::unix::fs::symlink("/etc/passwd", ground.path("link")).is_err());
    assert!(std::fs::hard_link("/etc/passwd", ground.path("link")).is_err());
    assert!(std::fs::write(ground.path("new"), b"x").is_err());
}

#[test]
fn unmounting_leaves_the_folder_as_it_was() {
    let ground = xeon();
    let root = ground.root();
    assert!(root.join("schemata").exists());
    let Ground { .. } = &ground;
    let parent = root.parent().unwrap().to_owned();
    drop(ground);
    assert!(!parent.exists(), "the temporary folder could be removed, so nothing was mounted in it");
}

#[test]
fn what_a_write_changes_beside_its_file_is_seen_at_once() {
    let ground = Ground::of_platform("apollo-lake-e3950", KernelRelease::V6_12);
    std::fs::create_dir(ground.path("a")).unwrap();
    let modes = || {
        let mode = |name: &str| std::fs::metadata(ground.path("a").join(name)).unwrap().mode() & 0o7777;
        [mode("tasks"), mode("cpus"), mode("schemata")]
    };
    // Asked twice: the second answer may be remembered.
    assert_eq!((modes(), modes()), ([0o644; 3], [0o644; 3]));
    std::fs::write(ground.path("a/mode"), "pseudo-locksetup\n").unwrap();
    assert_eq!(modes(), [0, 0, 0o644]);
    std::fs::write(ground.path("schemata"), "L2:1=fe\n").unwrap();
    std::fs::write(ground.path("a/schemata"), "L2:1=1\n").unwrap();
    // Locked: the cores can be read again (rdtgroup_locksetup_user_restore with 0444).
    assert_eq!(modes(), [0, 0o444, 0o644]);
    assert_eq!(std::fs::metadata(ground.path("schemata")).unwrap().len(), 0);
}

#[test]
fn a_name_that_was_known_is_gone_with_its_group() {
    let ground = xeon();
    std::fs::create_dir(ground.path("a")).unwrap();
    let folder = File::open(ground.path("a")).unwrap();
    let open = || rustix::fs::openat(&folder, "schemata", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
    let held = open().unwrap();
    std::fs::remove_dir(ground.path("a")).unwrap();
    assert_eq!(open().err(), Some(rustix::io::Errno::NOENT));
    drop(held);
    let links = || std::fs::metadata(ground.root()).unwrap().nlink();
    let before = links();
    std::fs::create_dir(ground.path("b")).unwrap();
    assert_eq!(links(), before + 1);
}

#[test]
fn whoever_unmounts_it_the_model_follows() {
    let mut ground = xeon();
    std::fs::write(ground.path("schemata"), "L3:0=f\n").unwrap();
    assert_eq!(ground.mount(MountOptions::default()), Err(EBUSY));
    rustix::mount::unmount(ground.root(), rustix::mount::UnmountFlags::empty()).unwrap();
    ground.unmount();
    ground.mount(MountOptions { cdp: true, ..MountOptions::default() }).unwrap();
    assert!(ground.read("schemata").contains("L3CODE:0=fffff"));
}
