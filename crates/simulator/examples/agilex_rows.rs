//! Prints the rows of the Agilex 5 table: simulated beside published.
//!
//! `cargo run --release -p waykeeper-simulator --example agilex_rows [SECONDS [SEEDS [TARGET [CORE [NEIGHBOUR [FIRST_SEED]]]]]]`
//!
//! SECONDS are simulated for each seed; `FAST=1` skips what cannot touch the target.
//! `PLATFORM=FILE` takes another platform file, `ROW=NAME` one row, `COUNTERS=1` prints the counters.

use std::time::Instant;

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Pattern, TickBody};

#[derive(Default)]
struct Histogram {
    count: u64,
    ticks: u64,
    min: u64,
    max: u64,
    over_100ns: u64,
    over_1us: u64,
}

impl SampleReceiver for Histogram {
    fn record(&mut self, ticks: u64, count: u64, _at_ps: u64) {
        self.min = if self.count == 0 { ticks } else { self.min.min(ticks) };
        self.max = self.max.max(ticks);
        self.count += count;
        self.ticks += ticks * count;
        self.over_100ns += if ticks > 40 { count } else { 0 };
        self.over_1us += if ticks > 400 { count } else { 0 };
    }
}

const ROWS: [(&str, &[&str], f64); 6] = [
    ("idle", &[], 75.0),
    ("none", &[], 10780.0),
    ("nl3a", &["nl3a"], 9475.0),
    ("nl3a+cp", &["nl3a", "cp"], 6687.0),
    ("nl3a+cp+qos", &["nl3a", "cp", "qos"], 4237.0),
    ("colouring", &["colouring"], 75.0),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize, default: &str| arguments.get(at).cloned().unwrap_or_else(|| default.into());
    let seconds: f64 = argument(0, "0.1").parse()?;
    let seeds: u64 = argument(1, "2").parse()?;
    let core: u32 = argument(3, "1").parse()?;
    let file = std::env::var("PLATFORM").ok().map(std::fs::read_to_string).transpose()?;
    let text = file.as_deref().unwrap_or(find_bundled("agilex5").ok_or("no such platform")?.text);
    let platform = Platform::from_toml(text, "agilex5")?;
    let target = pattern(&platform, &argument(2, "latency_loop"))?;
    let hammer = pattern(&platform, &argument(4, "way_hammer"))?;
    let neighbours = if core == 3 { [1, 2] } else { [2, 3] };
    println!(
        "row             min ns   mean ns    max ns published ratio  >100ns  >1us   Macc/s  sim s wall s  s/s skipped"
    );
    let first_seed: u64 = argument(5, "1").parse()?;
    let only = std::env::var("ROW").ok();
    let rows = || ROWS.into_iter().filter(|(name, ..)| only.as_deref().is_none_or(|only| only == *name));
    rows().next().ok_or("no such row")?;
    for (name, mitigations, published) in rows() {
        let mut all = Histogram::default();
        let (mut accesses, mut skipped, mut maxima) = (0, 0, Vec::new());
        let begun = Instant::now();
        for seed in first_seed..first_seed + seeds {
            let mut programs = vec![Program { core, pattern: target.clone(), role: Role::Target }];
            if name != "idle" {
                programs.extend(neighbours.map(|core| Program {
                    core,
                    pattern: hammer.clone(),
                    role: Role::Neighbour,
                }));
            }
            let mut engine = Engine::new(&platform, &programs, mitigations, seed)?;
            if std::env::var("FAST").is_ok() && !engine.set_skipping() && name != "idle" {
                println!("{name}: nothing can be skipped");
            }
            let before = std::mem::replace(&mut all.max, 0);
            engine.advance((seconds * 1e12) as u64, &mut all);
            maxima.push((all.max as f64 * 2.5) as u64);
            all.max = all.max.max(before);
            let counters = engine.counters();
            accesses += counters.cores.iter().filter(|(id, _)| *id != core).map(|(_, c)| c.accesses).sum::<u64>();
            skipped += counters.cores.iter().map(|(_, c)| c.skipped_accesses).sum::<u64>();
            if std::env::var("COUNTERS").is_ok() && seed == first_seed {
                println!("{counters:#?}");
            }
        }
        let wall = begun.elapsed().as_secs_f64();
        let ns = |ticks: u64| ticks as f64 * 2.5;
        println!(
            "{name:<14} {:>7} {:>9.3} {:>9} {published:>9} {:>5.2} {:>7} {:>5} {:>8.2} {:>6.2} {wall:>6.2} {:>5.2} {:>6.1}% {maxima:?}",
            ns(all.min),
            ns(all.ticks) / all.count as f64,
            ns(all.max),
            ns(all.max) / published,
            all.over_100ns,
            all.over_1us,
            accesses as f64 / wall / 1e6,
            seconds * seeds as f64,
            seconds * seeds as f64 / wall,
            100.0 * skipped as f64 / (skipped + accesses).max(1) as f64,
        );
    }
    Ok(())
}

fn pattern(platform: &Platform, name: &str) -> Result<Pattern, Box<dyn std::error::Error>> {
    let (sets, ways) =
        (platform.caches(1)[2].size_bytes / (64 * platform.caches(1)[2].ways), platform.caches(1)[2].ways);
    let walk = |outer: (u64, u64), inner: (u64, u64)| Pattern::Walk {
        operation: waykeeper_workload::Operation::Read,
        outer: waykeeper_workload::Loop { count: outer.0, stride: outer.1 },
        inner: waykeeper_workload::Loop { count: inner.0, stride: inner.1 },
    };
    Ok(match name {
        "latency_loop" => Pattern::Tick { body: TickBody::Nothing },
        "latency_loop_2ki" => Pattern::Tick { body: TickBody::Adds(2048) },
        "latency_loop_2kl" => Pattern::Tick { body: TickBody::Loop(2048) },
        "way_hammer" => walk((sets, 64), (4 * ways, sets * 64)),
        "set_crawler" => walk((4 * ways, sets * 64), (sets, 64)),
        other => return Err(format!("no workload {other}").into()),
    })
}
