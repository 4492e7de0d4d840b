//! What qemu-aarch64 logged.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use waykeeper_workload::{Operation, Pattern, Region, TickBody, Xorshift};

use crate::decode::{Registers, accesses};
use crate::expected::{Kind, Touch};
use crate::places::Places;

const RIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rigs/aarch64");

/// The accesses of the kernels' instructions, in their order, and where things lay.
pub struct Observed {
    pub places: Places,
    recorded: HashMap<String, u64>,
    accesses: Vec<(Kind, u64)>,
}

impl Observed {
    pub fn run(pattern: &Pattern, seed: u64, accesses: u64, role: &str) -> Self {
        static LOGS: AtomicU32 = AtomicU32::new(0);
        let directory = built();
        let log = format!("{directory}/log-{}", LOGS.fetch_add(1, Ordering::Relaxed));
        let output = Command::new(format!("{RIG}/observe"))
            .args([directory, &log, role, &accesses.to_string()])
            .args(arguments(pattern, seed))
            .output()
            .expect("rigs/aarch64/observe can be started");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the observation failed ({}): {complaint}", output.status);
        let printed = String::from_utf8(output.stdout).unwrap();
        let (mut words, mut recorded, mut places) = (HashMap::new(), HashMap::new(), String::new());
        for line in printed.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["word", address, word] => _ = words.insert(hexadecimal(address), hexadecimal(word) as u32),
                ["recorded", name, value] => _ = recorded.insert(name.to_owned(), hexadecimal(value)),
                _ => places.push_str(&format!("{line}\n")),
            }
        }
        let places = Places::parse(&places);
        let accesses = follow(&log, &words, &places);
        std::fs::remove_file(&log).unwrap();
        Self { places, recorded, accesses }
    }

    /// Accesses to the workload's buffer and code.
    pub fn touches(&self) -> Vec<Touch> {
        let touch = |(kind, address): &(Kind, u64)| {
            let (region, offset) = match kind {
                Kind::Fetch => (Region::Code, self.places.code.offset(*address)?),
                _ => (Region::Data, self.places.data.offset(*address)?),
            };
            Some(Touch { kind: *kind, region, offset })
        };
        self.accesses.iter().filter_map(touch).collect()
    }

    /// All loads, stores and prefetches.
    pub fn data_accesses(&self) -> impl Iterator<Item = (Kind, u64)> {
        self.accesses.iter().copied().filter(|(kind, _)| *kind != Kind::Fetch)
    }

    /// `min`, `max` or `sum` of the recorder.
    pub fn recorded(&self, name: &str) -> u64 {
        self.recorded[name]
    }
}

/// The directory of the cross-compiled program.
fn built() -> &'static str {
    static BUILT: OnceLock<String> = OnceLock::new();
    BUILT.get_or_init(|| {
        let directory = format!("{}/aarch64", env!("CARGO_TARGET_TMPDIR"));
        let output = Command::new(format!("{RIG}/build")).arg(&directory).output().expect("rigs/aarch64/build starts");
        assert!(output.status.success(), "rigs/aarch64/build: {}", String::from_utf8_lossy(&output.stderr));
        directory
    })
}

/// The pattern as arguments of `rigs/aarch64/main.c`.
fn arguments(pattern: &Pattern, seed: u64) -> Vec<String> {
    let number = |operation: &Operation| match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Modify => 2,
        Operation::Prefetch => 3,
        Operation::Atomic => 4,
        Operation::NonTemporal => 5,
        Operation::Flush | Operation::SplitLock => panic!("unfair operations are not run by tests"),
    };
    let (kind, numbers) = match pattern {
        Pattern::Walk { operation, outer, inner } => {
            ("walk", vec![number(operation), outer.count, outer.stride, inner.count, inner.stride])
        }
        Pattern::Chase { stride, batch, .. } => {
            let next = pattern.permutation(seed).into_iter().map(u64::from);
            ("chase", [*batch, *stride].into_iter().chain(next).collect())
        }
        Pattern::Buffer { bytes, stride, operation, .. } => ("buffer", vec![number(operation), *bytes, *stride]),
        Pattern::Random {
            data_bytes,
            data_accesses,
            data_modifies,
            random_counts,
            code_bytes,
            code_calls,
            event_data_lines,
            event_code_lines,
            event_device_pages: _,
            event_stride_lines,
            line_bytes: line,
        } => {
            let state = Xorshift::new(seed).state();
            let background = [state, *line, data_bytes / line, *data_accesses, code_bytes / line, *code_calls];
            (
                "random",
                [
                    &background[..],
                    &[
                        *event_data_lines,
                        *event_code_lines,
                        *data_modifies,
                        u64::from(*random_counts),
                        *event_stride_lines,
                    ],
                ]
                .concat(),
            )
        }
        Pattern::Tick { body } => match body {
            TickBody::Nothing => ("tick", vec![0, 0]),
            TickBody::Adds(adds) => ("tick", vec![1, *adds]),
            TickBody::Loop(increments) => ("tick", vec![2, *increments]),
        },
        Pattern::Trace { .. }
        | Pattern::Command { .. }
        | Pattern::Wakeup { .. }
        | Pattern::Interrupt { .. }
        | Pattern::Packets { .. } => {
            panic!("there is no kernel for it")
        }
    };
    [kind.to_owned()].into_iter().chain(numbers.iter().map(u64::to_string)).collect()
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("`{text}` is not a hexadecimal number"))
}

/// Reads the log: a block of `NAME=HEX` pairs that begins with ` PC=` is the state before one instruction.
fn follow(log: &str, words: &HashMap<u64, u32>, places: &Places) -> Vec<(Kind, u64)> {
    let mut seen = Vec::new();
    let mut state: Option<(u64, Registers)> = None;
    let mut finish = |state: &mut Option<(u64, Registers)>| {
        let Some((pc, registers)) = state.take() else { return };
        if places.code.offset(pc).is_some() {
            seen.push((Kind::Fetch, pc));
        } else {
            let word = *words.get(&pc).unwrap_or_else(|| panic!("no instruction is known at {pc:#x}"));
            seen.extend(accesses(word, &registers));
        }
    };
    for line in BufReader::new(File::open(log).unwrap()).lines() {
        for pair in line.unwrap().split_whitespace() {
            match pair.split_once('=') {
                Some(("PC", value)) => {
                    finish(&mut state);
                    state = Some((hexadecimal(value), [0; 32]));
                }
                Some(("SP", value)) => state.as_mut().unwrap().1[31] = hexadecimal(value),
                Some((name, value)) => {
                    if let Some(Ok(register)) = name.strip_prefix('X').map(str::parse::<usize>) {
                        state.as_mut().unwrap().1[register] = hexadecimal(value);
                    }
                }
                None => {}
            }
        }
    }
    finish(&mut state);
    seen
}
