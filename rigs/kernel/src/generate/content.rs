//! What is written: nearly right for the file, or noise.

use waykeeper_resctrl::{FileOperation, ResctrlMachine};

use super::Generator;
use crate::modelled::Modelled;

const MODES: [&str; 6] = ["shareable", "exclusive", "pseudo-locksetup", "pseudo-locked", "unknown", "Exclusive"];

const SCHEMATA_NAMES: [&str; 12] =
    ["L3", "L2", "MB", "SMBA", "L3CODE", "L3DATA", "L2CODE", "L2DATA", "l3", " L3 ", "L4", ""];

const CPU_LISTS: [&str; 24] = [
    "0",
    "1",
    "2-3",
    "0-3",
    "1,3",
    "",
    "all",
    "N",
    "0-N",
    "0-3:1/2",
    "4",
    "5-6",
    "3-1",
    "7",
    "99999999999",
    "4294967295",
    "0,",
    ",,1",
    "1 2",
    "x",
    "0-",
    "0-3:2/1",
    "0-3:1/2x",
    "-1",
];

const CPU_MASKS: [&str; 20] = [
    "1",
    "3",
    "c",
    "f",
    "0",
    "",
    "00000000,0000000f",
    "0f,",
    "10",
    "40",
    "ffffffff",
    "1,0",
    "123456789",
    "x",
    "xf",
    "zz00000003",
    "z00000003",
    "f f",
    "0x1",
    "F",
];

const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "65536",
    "131072",
    "0x20000",
    "0200000",
    "16777216",
    "16777217",
    "4294967295",
    "4294967296",
    "-1",
    "",
    "x",
    " 1",
    "1 ",
    "99999999999999999999",
];

const EVENTS: [&str; 4] = ["mbm_local_bytes", "mbm_total_bytes", "llc_occupancy", ""];

impl Generator {
    /// A write to a file that takes some.
    pub(super) fn write(&mut self, state: &Modelled) -> FileOperation {
        let path = self.writable(state);
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_vec();
        let mut data = self.content(state, &name);
        match self.rng.u32(..40) {
            0 => {
                data.pop();
            }
            1 => data.push(b'\n'),
            2 => self.spoil(&mut data),
            _ => (),
        }
        // A locking group takes one line at a time (see `astray`): half of all writes could be such.
        if name == b"schemata"
            && self.rng.bool()
            && let Some(end) = data.iter().position(|&byte| byte == b'\n')
        {
            data.truncate(end + 1);
        }
        FileOperation::Write { path, data }
    }

    fn content(&mut self, state: &Modelled, name: &[u8]) -> Vec<u8> {
        let line = match name {
            b"schemata" => return self.schemata(state.resctrl.machine()),
            b"mode" => self.word(&MODES),
            b"tasks" => self.tasks(state),
            b"cpus" => self.word(&CPU_MASKS),
            b"cpus_list" => self.word(&CPU_LISTS),
            b"max_threshold_occupancy" => self.word(&NUMBERS),
            b"mba_MBps_event" => self.word(&EVENTS),
            b"mbm_assign_mode" => self.word(&["default", "mbm_event", "", "x"]),
            b"mbm_total_bytes_config" | b"mbm_local_bytes_config" => self.event_config(),
            _ => return self.noise(),
        };
        format!("{line}\n").into_bytes()
    }

    fn word(&mut self, words: &[&str]) -> String {
        words[self.rng.usize(..words.len())].into()
    }

    fn tasks(&mut self, state: &Modelled) -> String {
        match self.rng.u32(..20) {
            0 => self.word(&["-1", "x", "", " ", ",", "1,", "1,,2", "99999999999", "0x1", "01", "1 2", "+1", " 1 "]),
            1..4 => {
                let count = self.rng.usize(1..4);
                (0..count).map(|_| self.tid(state).to_string()).collect::<Vec<_>>().join(",")
            }
            _ => self.tid(state).to_string(),
        }
    }

    fn schemata(&mut self, machine: &ResctrlMachine) -> Vec<u8> {
        let lines = [1, 1, 1, 1, 1, 2, 2, 3][self.rng.usize(..8)];
        let mut text = Vec::new();
        for _ in 0..lines {
            let name = match self.rng.u32(..4) {
                // A name that this machine is likely to have.
                0..3 => *self.known_name(machine),
                _ => SCHEMATA_NAMES[self.rng.usize(..SCHEMATA_NAMES.len())],
            };
            let pairs = [1, 1, 1, 2, 2, 3, 0][self.rng.usize(..7)];
            let pairs: Vec<String> = (0..pairs).map(|_| self.pair(machine, name)).collect();
            let colon = if self.rng.u32(..40) == 0 { " " } else { ":" };
            let end = if self.rng.u32(..20) == 0 { ";" } else { "" };
            text.extend(format!("{name}{colon}{}{end}\n", pairs.join(";")).bytes());
        }
        text
    }

    fn known_name(&mut self, machine: &ResctrlMachine) -> &'static &'static str {
        let cache = |present, cdp, names: [&'static &'static str; 3]| match (present, cdp) {
            (true, true) => names.to_vec(),
            (true, false) => names[..1].to_vec(),
            _ => Vec::new(),
        };
        let l3 = machine.l3.as_ref();
        let l2 = machine.l2.as_ref();
        let mut names = cache(l3.is_some(), l3.is_some_and(|it| it.cdp), [&"L3", &"L3CODE", &"L3DATA"]);
        names.extend(cache(l2.is_some(), l2.is_some_and(|it| it.cdp), [&"L2", &"L2CODE", &"L2DATA"]));
        names.extend(machine.mb.as_ref().map(|_| &"MB"));
        names.extend(machine.smba.as_ref().map(|_| &"SMBA"));
        names.get(self.rng.usize(..names.len().max(1))).copied().unwrap_or(&"L3")
    }

    fn pair(&mut self, machine: &ResctrlMachine, name: &str) -> String {
        let id = match self.rng.u32(..40) {
            0 => self.word(&["", "x", " 0", "+0", "0x0", "-1", "99999999999999999999", "*"]),
            1 => self.rng.u32(2..10).to_string(),
            _ => self.rng.u32(..2).to_string(),
        };
        let value = match name.contains("MB") {
            true => self.bandwidth(),
            false => self.mask(machine, name),
        };
        match self.rng.u32(..40) {
            0 => id,
            1 => format!("{id} = {value} "),
            _ => format!("{id}={value}"),
        }
    }

    fn bandwidth(&mut self) -> String {
        match self.rng.u32(..10) {
            0 => self.word(&["", "x", "-1", "0x10", "4294967296", " 50", "+50", "5.5"]),
            1 => self.rng.u32(..5000).to_string(),
            2 => u32::MAX.to_string(),
            _ => self.rng.u32(..110).to_string(),
        }
    }

    fn mask(&mut self, machine: &ResctrlMachine, name: &str) -> String {
        let cache = if name.contains("L2") { &machine.l2 } else { &machine.l3 };
        let bits = cache.as_ref().map_or(8, |cache| cache.mask_bits);
        let run = |start: u32, length: u32| ((1_u64 << length) - 1) << start;
        match self.rng.u32(..12) {
            0 => self.word(&["0", "", "x", "-1", "0x", "fffffffffffffffff", "g", "1 1", "+1", "0xF"]),
            1 => format!("{:x}", self.rng.u64(..1 << (bits + 1))),
            2 => format!("0x{:X}", run(0, bits)),
            // Short runs fit beside each other, which exclusive groups need.
            3..7 => {
                let length = self.rng.u32(1..3);
                format!("{:x}", run(self.rng.u32(..bits), length))
            }
            _ => {
                let start = self.rng.u32(..bits);
                let length = self.rng.u32(1..=bits - start);
                format!("{:x}", run(start, length))
            }
        }
    }

    fn event_config(&mut self) -> String {
        let mut pair = || {
            let id = self.rng.u32(..3);
            match self.rng.u32(..8) {
                0 => format!("{id}"),
                1 => format!("{id}=x"),
                2 => format!("x={id}"),
                3 => format!("{id}={:x}", 0x80),
                4 => format!(" {id}={:#x} ", 0x15),
                _ => format!("{id}={:x}", self.rng.u32(..0x80)),
            }
        };
        let (first, second) = (pair(), pair());
        if self.rng.bool() { first } else { format!("{first};{second}") }
    }

    /// Anything at all.
    pub(super) fn noise(&mut self) -> Vec<u8> {
        let length = match self.rng.u32(..20) {
            0 => 4097,
            1 => 4096,
            _ => self.rng.usize(..30),
        };
        let mut bytes: Vec<u8> = (0..length).map(|_| self.rng.u8(1..)).collect();
        if self.rng.bool() && length > 0 && length < 4096 {
            bytes[length - 1] = b'\n';
        }
        bytes
    }

    /// Changes one byte.
    fn spoil(&mut self, data: &mut [u8]) {
        if !data.is_empty() {
            let at = self.rng.usize(..data.len());
            data[at] = self.rng.u8(..);
        }
    }
}
