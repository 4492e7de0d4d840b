//! What valgrind's lackey saw.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use waykeeper_workload::{Pattern, Region};

use crate::expected::{Kind, Touch};
use crate::places::Places;
use crate::touch;

/// As what the kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Target,
    Neighbour,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Neighbour => "neighbour",
        }
    }
}

/// The accesses of the slices in which the kernel ran, in their order, and where things lay.
pub struct Observed {
    pub places: Places,
    slices: Vec<Vec<(Kind, u64, u64)>>,
}

/// One data access of a tick loop.
#[derive(Debug)]
pub struct TickAccess {
    pub kind: Kind,
    /// The offset in the recorder; none where the access is somewhere else.
    pub in_recorder: Option<u64>,
}

impl Observed {
    /// Runs the release build of `touch` under lackey.
    pub fn by_lackey(pattern: &Pattern, seed: u64, accesses: u64, role: Role) -> Self {
        static TRACES: AtomicU32 = AtomicU32::new(0);
        let number = TRACES.fetch_add(1, Ordering::Relaxed);
        let trace = format!("{}/lackey-{}-{number}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
        let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../rigs/addresses/observe"))
            .env("WAYKEEPER_TOUCH", touch::binary())
            .args([&trace, &serde_json::to_string(pattern).unwrap(), &seed.to_string(), &accesses.to_string()])
            .arg(role.name())
            .output()
            .expect("rigs/addresses/observe can be started");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the observation failed ({}): {complaint}", output.status);
        let places = Places::parse(&String::from_utf8(output.stdout).unwrap());
        let slices = slices(&trace, &places);
        std::fs::remove_file(&trace).unwrap();
        Self { places, slices }
    }

    /// Accesses to the workload's buffer and code.
    pub fn touches(&self) -> Vec<Touch> {
        let accesses = self.slices.iter().flatten();
        accesses
            .filter_map(|(kind, address, bytes)| {
                let (region, offset) = match kind {
                    Kind::Fetch => (Region::Code, self.places.code.offset(*address)?),
                    _ => (Region::Data, self.places.data.offset(*address)?),
                };
                assert!(region == Region::Code || *bytes == 8, "an access of {bytes} bytes at {address:#x}");
                Some(Touch { kind: *kind, region, offset })
            })
            .collect()
    }

    /// For a tick, in each slice: the data accesses of each pass, from after the counting of one sample to the counting
    /// of the next. The first pass holds the way into the loop, the second the first look at the stop flag.
    pub fn passes_of_tick(&self) -> Vec<Vec<Vec<TickAccess>>> {
        self.slices.iter().map(|slice| self.passes(slice)).collect()
    }

    fn passes(&self, slice: &[(Kind, u64, u64)]) -> Vec<Vec<TickAccess>> {
        let mut passes = Vec::new();
        let mut pass = Vec::new();
        for (kind, address, _) in slice.iter().filter(|(kind, ..)| *kind != Kind::Fetch) {
            let in_recorder = self.places.recorder.offset(*address);
            pass.push(TickAccess { kind: *kind, in_recorder });
            if *kind == Kind::Store && crate::is_count(in_recorder) {
                passes.push(std::mem::take(&mut pass));
            }
        }
        passes
    }
}

/// The accesses between a store of 1 and a store of 0 to the marker: every second stretch between two stores.
fn slices(trace: &str, places: &Places) -> Vec<Vec<(Kind, u64, u64)>> {
    let mut slices = Vec::new();
    let mut current = None;
    for line in BufReader::new(File::open(trace).unwrap()).lines() {
        let line = line.unwrap();
        // `I  04001030,3`, ` L 1ffeffe7e8,8`, ` S ...`, ` M ...` (a load and a store).
        let Some((kinds, place)) = line.split_at_checked(3) else { continue };
        let kinds: &[Kind] = match kinds.trim() {
            "I" => &[Kind::Fetch],
            "L" => &[Kind::Load],
            "S" => &[Kind::Store],
            "M" => &[Kind::Load, Kind::Store],
            _ => continue,
        };
        let (address, bytes) = place.split_once(',').expect("ADDRESS,BYTES");
        let address = u64::from_str_radix(address, 16).expect("a hexadecimal address");
        if places.marker.offset(address).is_some() {
            // The marker is changed by an exchange, which is a load and a store.
            if kinds.contains(&Kind::Store) {
                match current.take() {
                    None => current = Some(Vec::new()),
                    Some(slice) => slices.push(slice),
                }
            }
        } else if let Some(slice) = &mut current {
            slice.extend(kinds.iter().map(|kind| (*kind, address, bytes.parse().expect("a number of bytes"))));
        }
    }
    slices
}
