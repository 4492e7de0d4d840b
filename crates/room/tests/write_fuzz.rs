//! Every write handler under any bytes: files of resctrl, registers, lines of the socket. None panics, and resctrl's tree
//! can still be read afterwards.
//!
//! Random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000` gives them 30 s.

use std::sync::OnceLock;

use bolero::{TypeGenerator, check};
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_resctrl::{Caller, FileOperation, KernelRelease, Reply};
use waykeeper_room::socket::protocol::RoomOutcome;
use waykeeper_room::{Room, RoomSpec, Still};

const FILES: [&str; 8] = [
    "schemata",
    "tasks",
    "cpus",
    "cpus_list",
    "mode",
    "info/L3_MON/max_threshold_occupancy",
    "info/L3_MON/mbm_assign_mode",
    "info/last_cmd_status",
];
const GROUPS: [&str; 4] = ["", "a/", "b/", "a/mon_groups/m/"];

/// Rooms that share nothing with this machine's tasks: their /proc is a folder without any.
fn rooms() -> &'static [Room] {
    static ROOMS: OnceLock<Vec<Room>> = OnceLock::new();
    ROOMS.get_or_init(|| {
        let named = [
            ("xeon-d-2752ter", KernelRelease::V6_1),
            ("xeon-d-2752ter", KernelRelease::V7_3),
            ("apollo-lake-e3950", KernelRelease::V6_12),
            ("cd8180", KernelRelease::V7_3),
        ];
        let room = |(name, kernel)| {
            let platform = Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap();
            let mut plan = RoomSpec::new(platform, kernel);
            plan.proc = "/nowhere".into();
            Room::open(plan, Box::new(Still::default())).unwrap()
        };
        named.into_iter().map(room).collect()
    })
}

/// Something that a client does.
#[derive(Debug, Clone, TypeGenerator)]
enum Act {
    Write {
        group: u8,
        file: u8,
        data: Vec<u8>,
    },
    /// Nearly a line of `schemata`.
    Masks {
        group: u8,
        level: u8,
        domain: u8,
        mask: u32,
    },
    Mode {
        group: u8,
        which: u8,
    },
    Make {
        group: u8,
    },
    Remove {
        group: u8,
    },
    Rename {
        from: Vec<u8>,
        to: Vec<u8>,
    },
    Register {
        core: u8,
        number: u16,
        value: u64,
    },
}

fn write(room: &Room, group: u8, file: &str, data: Vec<u8>) {
    let group = GROUPS[usize::from(group) % GROUPS.len()];
    let path = format!("{group}{file}").into_bytes();
    let _ = room.apply(&Caller::default(), &FileOperation::Write { path, data });
}

fn act(room: &Room, act: &Act) {
    let group = |at: u8| GROUPS[1 + usize::from(at) % (GROUPS.len() - 1)].trim_end_matches('/').as_bytes().to_vec();
    match act {
        Act::Write { group, file, data } => {
            write(room, *group, FILES[usize::from(*file) % FILES.len()], data.clone());
        }
        Act::Masks { group, level, domain, mask } => {
            let line = format!("L{}:{}={mask:x}\n", 2 + level % 2, domain % 3);
            write(room, *group, "schemata", line.into_bytes());
        }
        Act::Mode { group, which } => {
            let modes = ["shareable\n", "exclusive\n", "pseudo-locksetup\n"];
            write(room, *group, "mode", modes[usize::from(*which) % modes.len()].into());
        }
        Act::Make { group: at } => {
            let _ = room.apply(&Caller::default(), &FileOperation::Mkdir { path: group(*at), mode: 0o755 });
        }
        Act::Remove { group: at } => {
            let _ = room.apply(&Caller::default(), &FileOperation::Rmdir { path: group(*at) });
        }
        Act::Rename { from, to } => {
            let _ = room.apply(&Caller::default(), &FileOperation::Rename { from: from.clone(), to: to.clone() });
        }
        Act::Register { core, number, value } => {
            // Most numbers are none; those of cache allocation are what matters.
            let number = 0xc80 + u32::from(*number) % 0x120;
            let written = room.write_msr((*core % 5).into(), number, *value);
            let read = room.read_msr((*core % 5).into(), number);
            assert!(
                written.is_none() || read.is_some() || number == 0xc8e,
                "{number:#x} was written and cannot be read"
            );
        }
    }
}

fn is_whole(room: &Room) {
    let listed = room.apply(&Caller::default(), &FileOperation::Readdir { path: Vec::new() }).unwrap();
    let Reply::Entries(entries) = listed else { panic!("{listed:?}") };
    assert!(entries.iter().any(|entry| entry.name == b"schemata"));
    let schemata = room.apply(&Caller::default(), &FileOperation::Read { path: b"schemata".to_vec() }).unwrap();
    assert!(matches!(schemata, Reply::Bytes(text) if text.ends_with(b"\n")));
}

#[test]
fn writes_of_any_bytes() {
    check!().with_type::<Vec<Act>>().for_each(|acts| {
        for room in rooms() {
            acts.iter().for_each(|it| act(room, it));
            is_whole(room);
        }
    });
}

#[test]
fn lines_of_any_bytes() {
    check!().for_each(|line: &[u8]| {
        let answer = rooms()[0].answer(line);
        let RoomOutcome::Refused { why } = answer.outcome else { panic!("random bytes are no request: {line:?}") };
        assert!(!why.is_empty());
    });
}
