//! Prints how many accesses a second the engine simulates on every bundled platform, in full.
//!
//! `cargo run --release -p waykeeper-simulator --example platform_rates [MICROSECONDS [FILTER]]`
//!
//! FILTER is part of the name of a case (`cd8180 hammer`). The digest is that of all samples and counters: two engines with
//! equal digests did the same. Platform files are read from the folder of the sources that is the current one. Under
//! `valgrind --tool=callgrind`, two runs of different lengths tell the instructions of an access without those of the start.

use std::fmt::Write;
use std::time::Instant;

use waykeeper_platform::{Platform, bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Pattern, TickBody};

/// FNV-1a of 64 bits.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    }
}

impl SampleReceiver for Digest {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        [ticks, count, at_ps].into_iter().for_each(|number| self.add(&number.to_le_bytes()));
    }
}

fn walk(operation: Operation, outer: (u64, u64), inner: (u64, u64)) -> Pattern {
    let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
    Pattern::Walk { operation, outer, inner }
}

/// All ways of a set of the outermost cache, then the next set, as the bundled `way_hammer`.
fn hammer(platform: &Platform) -> Pattern {
    let caches = platform.caches(platform.core_ids()[0]);
    let cache = caches.last().expect("a platform has caches");
    let line = platform.line_bytes.value;
    let sets = cache.size_bytes / line / cache.ways;
    walk(Operation::Read, (sets, line), (4 * cache.ways, sets * line))
}

/// Line after line through 32 MiB.
fn stream(platform: &Platform, operation: Operation) -> Pattern {
    let (line, lines_a_page) = (platform.line_bytes.value, 4096 / platform.line_bytes.value);
    walk(operation, ((32 << 20) / 4096, 4096), (lines_a_page, line))
}

/// The programs of a case: on all cores but the first, which is the target.
fn programs(platform: &Platform, load: &str) -> Vec<Program> {
    let pattern = match load {
        "hammer" => hammer(platform),
        "modify" => stream(platform, Operation::Modify),
        "write" => stream(platform, Operation::Write),
        _ => stream(platform, Operation::Read),
    };
    let target = match load {
        "hammer" => Pattern::Tick { body: TickBody::Nothing },
        _ => pattern.clone(),
    };
    let role = |at| if at == 0 { Role::Target } else { Role::Neighbour };
    let cores = platform.core_ids().into_iter().enumerate();
    let chosen = |at| if at == 0 { target.clone() } else { pattern.clone() };
    cores.map(|(at, core)| Program { core, pattern: chosen(at), role: role(at) }).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let microseconds: u64 = arguments.first().map_or(Ok(200), |text| text.parse())?;
    let filter = arguments.get(1).map_or("", String::as_str);
    println!("{:<28} {:>9} {:>8} {:>8} digest", "case", "accesses", "seconds", "M/s");
    for file in bundled() {
        let platform = Platform::from_toml(file.text, file.name)?;
        for load in ["hammer", "read", "modify", "write"] {
            let name = format!("{} {load}", file.name);
            if !name.contains(filter) {
                continue;
            }
            let mut engine = Engine::new(&platform, &programs(&platform, load), &[], 1)?;
            let mut digest = Digest(0xcbf2_9ce4_8422_2325);
            let begun = Instant::now();
            engine.advance(microseconds * 1_000_000, &mut digest);
            let seconds = begun.elapsed().as_secs_f64();
            let counters = engine.counters();
            let accesses: u64 = counters.cores.iter().map(|(_, counts)| counts.accesses).sum();
            let mut text = String::new();
            write!(text, "{counters:?}")?;
            digest.add(text.as_bytes());
            let rate = accesses as f64 / seconds / 1e6;
            println!("{name:<28} {accesses:>9} {seconds:>8.3} {rate:>8.3} {:016x}", digest.0);
        }
    }
    Ok(())
}
