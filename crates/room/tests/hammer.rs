//! 64 client processes at once on one mounted tree: nobody waits for ever, no write is lost or mixed with another, nothing
//! panics. Five seconds; `--minute` (or `WAYKEEPER_HAMMER_SECONDS`) makes it longer. Needs root and /dev/fuse.
//!
//! Seven clients own a control group each: what they write there they read again. All write the root's masks, always
//! the same for both caches, and whoever reads sees both the same.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_resctrl::{KernelRelease, example};
use waykeeper_room::{Room, RoomSpec, Still};

const CLIENTS: usize = 64;
/// The example machine has 8 classes for bandwidth, one of them the root's.
const OWNERS: usize = 7;
/// How long after its time a client may take: it finishes one operation.
const GRACE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("client") => {
            let number = |at: usize| arguments[at].parse().expect("a number");
            client(Path::new(&arguments[1]), number(2), Duration::from_secs(number(3) as u64));
            ExitCode::SUCCESS
        }
        // Asked by `cargo test -- --list`.
        Some("--list") => ExitCode::SUCCESS,
        first => {
            let given = std::env::var("WAYKEEPER_HAMMER_SECONDS").ok().and_then(|text| text.parse().ok());
            hammer(if first == Some("--minute") { 60 } else { given.unwrap_or(5) })
        }
    }
}

fn hammer(seconds: u64) -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let text = find_bundled("xeon-d-2752ter").expect("a platform").text;
    let mut plan = RoomSpec::new(Platform::from_toml(text, "xeon-d-2752ter").expect("whole"), KernelRelease::V6_12);
    let mut machine = example::server();
    machine.kernel = KernelRelease::V6_12;
    plan.machine = Ok(machine);
    let room = Room::open(plan, Box::new(Still::default())).expect("a room");
    let mounted = room.mount_resctrl(folder.path()).expect("this test needs root and /dev/fuse");
    let own = std::env::current_exe().expect("a program");
    let start = |number: usize| {
        Command::new(&own)
            .arg("client")
            .arg(folder.path())
            .args([number.to_string(), seconds.to_string()])
            .stdout(Stdio::null())
            .spawn()
            .expect("a process")
    };
    let mut clients: Vec<Child> = (0..CLIENTS).map(start).collect();
    let end = Instant::now() + Duration::from_secs(seconds) + GRACE;
    let mut failed = BTreeMap::new();
    for (number, client) in clients.iter_mut().enumerate() {
        loop {
            match client.try_wait().expect("a child") {
                Some(status) if status.success() => break,
                Some(status) => {
                    failed.insert(number, status.to_string());
                    break;
                }
                None if Instant::now() > end => {
                    let _ = client.kill();
                    let _ = client.wait();
                    failed.insert(number, "did not end".into());
                    break;
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
    // Still in order, and not gone.
    let schemata = std::fs::read_to_string(folder.path().join("schemata"));
    let whole = schemata.as_ref().is_ok_and(|text| pair(text).is_some()) && !mounted.is_gone();
    println!("hammer: {CLIENTS} clients, {seconds} s, {} failed", failed.len());
    if failed.is_empty() && whole {
        return ExitCode::SUCCESS;
    }
    eprintln!("failed: {failed:?}; schemata: {schemata:?}");
    ExitCode::FAILURE
}

/// A generator of numbers that is good enough to mix calls (xorshift64*).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }

    /// A run of ones among the lower 18 bits.
    fn mask(&mut self) -> u32 {
        let length = 1 + self.below(8) as u32;
        ((1_u32 << length) - 1) << self.below(u64::from(18 - length))
    }
}

/// The masks of both L3 caches in a text of `schemata`, if it is whole.
fn pair(text: &str) -> Option<(u32, u32)> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("L3:0="))?;
    let (first, second) = line.split_once(";1=")?;
    Some((u32::from_str_radix(first, 16).ok()?, u32::from_str_radix(second.trim(), 16).ok()?))
}

/// An error that other clients are a good reason for.
fn may_be(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    // Groups come and go, and there are not enough RMIDs for all.
    [libc::EEXIST, libc::ENOSPC, libc::EBUSY, libc::ENOENT, libc::ENODEV].map(Some).contains(&number)
}

fn client(root: &Path, number: usize, time: Duration) {
    let end = Instant::now() + time;
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1).wrapping_mul(0x1234_5678_9abc_def1));
    let own = root.join(format!("c{number}"));
    if number < OWNERS {
        // Monitoring groups of others may hold all RMIDs for a moment.
        while let Err(error) = std::fs::create_dir(&own) {
            assert!(may_be(&error) && Instant::now() < end, "{error}");
        }
    }
    let monitoring = root.join(format!("mon_groups/m{number}"));
    while Instant::now() < end {
        let mask = dice.mask();
        match dice.below(8) {
            0 | 1 => {
                // The same for both: a mixture would show.
                std::fs::write(root.join("schemata"), format!("L3:0={mask:x};1={mask:x}\n")).expect("a valid write");
            }
            2 => {
                let text = std::fs::read_to_string(root.join("schemata")).expect("the root's");
                let (first, second) = pair(&text).unwrap_or_else(|| panic!("{text:?} is not whole"));
                assert_eq!(first, second, "two writes were mixed");
            }
            3 | 4 if number < OWNERS => {
                let file = own.join("schemata");
                std::fs::write(&file, format!("L3:0={mask:x};1={mask:x}\n")).expect("a valid write");
                let text = std::fs::read_to_string(&file).expect("its own");
                assert_eq!(pair(&text), Some((mask, mask)), "a write was lost");
            }
            3 | 4 => {
                let refused = std::fs::write(root.join("schemata"), "L3:0=0f0f\n").expect_err("not a run of ones");
                assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
            }
            5 => match std::fs::create_dir(&monitoring) {
                Ok(()) => std::fs::remove_dir(&monitoring).expect("its own"),
                Err(error) => assert!(may_be(&error), "{error}"),
            },
            6 => {
                for entry in std::fs::read_dir(root).expect("the root").flatten() {
                    let _ = std::fs::read_to_string(entry.path().join("mon_data/mon_L3_00/llc_occupancy"));
                }
            }
            _ => {
                let place = if number < OWNERS { &own } else { root };
                std::fs::write(place.join("tasks"), "0\n").expect("a task may move itself");
                let tasks = std::fs::read_to_string(place.join("tasks")).expect("a file");
                let pid = std::process::id().to_string();
                assert!(tasks.lines().any(|task| task == pid), "it moved and is not there");
            }
        }
    }
}
