//! Functional mode as one side of `cargo xtask bench-peers`.
//!
//! `make FOLDER` writes the addresses of each case into a file and lists the cases: name, accesses in a run, forms.
//! `serve` answers lines of standard input: `run CASE FORM` with the processor seconds of one run, `counts CASE FORM`
//! with the counts of all levels since the start. The form is `made` (addresses made beforehand) or `stream` (made on the
//! way by the pattern's own stream).

mod cases;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::Path;

use cases::{Case, cases};
use rustix::time::{ClockId, clock_gettime};
use waykeeper_functional::{Addresses, CoreCaches, Level, PackedAccess, StoreHit};
use waykeeper_platform::Replacement;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["make", folder] => make(Path::new(folder)),
        ["serve"] => serve(),
        _ => Err("`make FOLDER` or `serve` would do".into()),
    }
}

/// One file a case: 64-bit little-endian addresses, their highest bit set for stores; and how often a run repeats them.
fn make(folder: &Path) -> Result<(), Box<dyn Error>> {
    for case in cases() {
        let raw = |access: &PackedAccess| access.address() | u64::from(access.is_store()) << 63;
        let bytes: Vec<u8> = case.addresses().iter().flat_map(|access| raw(access).to_le_bytes()).collect();
        std::fs::write(folder.join(case.name), bytes)?;
        std::fs::write(folder.join(case.name).with_extension("repeats"), case.repeats.to_string())?;
        let forms = if case.pattern.is_some() { "made stream" } else { "made" };
        println!("{} {} {forms}", case.name, case.addresses().len() as u64 * case.repeats);
    }
    Ok(())
}

/// 32 KiB of 4 ways, 256 KiB of 8, 2 MiB of 16; stores mean what they do to the peer.
fn hierarchy() -> CoreCaches {
    let level =
        |kib: u64, ways| Level::of_bytes(kib << 10, ways, 64, Replacement::Lru).with_store_hit(StoreHit::MarkOnly);
    CoreCaches::new(64, &[level(32, 4), level(256, 8), level(2048, 16)]).expect("these are caches")
}

struct Side {
    case: Case,
    made: Vec<PackedAccess>,
    loads: Vec<u64>,
    caches: HashMap<String, CoreCaches>,
    from_the_start: Option<Addresses>,
}

impl Side {
    fn new(case: Case) -> Result<Self, Box<dyn Error>> {
        let made = case.addresses();
        let only_loads = made.iter().all(|access| !access.is_store());
        Ok(Self {
            loads: if only_loads { made.iter().map(|access| access.address()).collect() } else { Vec::new() },
            made,
            caches: HashMap::new(),
            from_the_start: case.pattern.as_ref().map(|pattern| Addresses::new(pattern, cases::SEED)).transpose()?,
            case,
        })
    }

    fn run(&mut self, form: &str) -> Result<f64, Box<dyn Error>> {
        let caches = self.caches.entry(form.to_owned()).or_insert_with(hierarchy);
        let mut addresses = self.from_the_start.clone();
        let begun = processor_seconds();
        match (form, &mut addresses) {
            ("stream", Some(addresses)) => caches.follow(addresses, self.made.len() as u64 * self.case.repeats)?,
            ("made", _) if self.loads.is_empty() => {
                (0..self.case.repeats).try_for_each(|_| caches.access(&self.made))?
            }
            ("made", _) => (0..self.case.repeats).try_for_each(|_| caches.load(&self.loads))?,
            _ => return Err(format!("{} has no form `{form}`", self.case.name).into()),
        }
        Ok(processor_seconds() - begun)
    }

    fn counts(&self, form: &str) -> String {
        let levels = self.caches.get(form).map(|caches| caches.counts()).unwrap_or_default();
        let numbers = levels.iter().flat_map(|level| {
            [level.loads, level.hits, level.misses, level.stores, level.evicts].map(|count| count.to_string())
        });
        numbers.collect::<Vec<_>>().join(" ")
    }
}

fn serve() -> Result<(), Box<dyn Error>> {
    let mut sides: HashMap<&str, Side> = HashMap::new();
    for line in stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [verb, case, form] = words[..] else { return Err(format!("`{line}` is not understood").into()) };
        let known = cases().into_iter().find(|known| known.name == case);
        let known = known.ok_or_else(|| format!("there is no case `{case}`"))?;
        let side = match sides.entry(known.name) {
            Entry::Occupied(side) => side.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(Side::new(known)?),
        };
        match verb {
            "run" => println!("{:e}", side.run(form)?),
            "counts" => println!("{}", side.counts(form)),
            _ => return Err(format!("`{line}` is not understood").into()),
        }
        stdout().flush()?;
    }
    Ok(())
}

/// Processor time of this thread: what other programs take meanwhile does not count.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
