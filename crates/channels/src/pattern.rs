//! Which channels a workload exercises on a core.
//!
//! By its pattern, its size and the caches of the core alone: it *can* exercise them there. What it did, counters and slowdowns
//! of a run show.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};
use waykeeper_platform::CoreId;
use waykeeper_platform::explain::read;
use waykeeper_workload::{Operation, Order, Pattern, Workload, find_bundled};

use crate::list::list;
use crate::reach::CoreReach;
use crate::runs::OwnWorkloads;

/// A workload as a run names it: its keys that have other values, and the workloads that the experiment defines itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedWorkload<'r> {
    pub name: &'r str,
    pub with: &'r BTreeMap<String, String>,
    pub own: &'r OwnWorkloads,
}

impl NamedWorkload<'_> {
    /// The channels that it exercises on a core, beside a target on another one or any; why that is not known otherwise, as half a
    /// sentence.
    pub fn channels(&self, reach: &CoreReach, target: Option<CoreId>) -> Result<BTreeSet<String>, String> {
        of_pattern(&self.pattern(reach)?, reach, target)
    }

    /// Whether it can stall the cores of others; not so where it does not read.
    pub fn is_unfair(&self, reach: &CoreReach) -> bool {
        self.pattern(reach).ok().and_then(|pattern| pattern.operation()).is_some_and(Operation::is_unfair)
    }

    fn pattern(&self, reach: &CoreReach) -> Result<Pattern, String> {
        let mut table = match (self.own.get(self.name), find_bundled(self.name)) {
            (Some(own), _) => unflattened(Table::new(), own),
            (None, Some(found)) => found.text.parse::<Table>().unwrap_or_default(),
            (None, None) => return Err("no workload of this name is known".into()),
        };
        table = unflattened(table, self.with);
        let workload: Workload = read(&Value::Table(table)).map_err(|_| "its definition does not read".to_owned())?;
        workload.resolve(&reach.shapes()).map_err(|refused| refused.why)
    }
}

/// Dotted keys and texts as tables and values.
fn unflattened(mut table: Table, flat: &BTreeMap<String, String>) -> Table {
    for (key, text) in flat {
        put(&mut table, &key.split('.').collect::<Vec<_>>(), text);
    }
    table
}

fn put(table: &mut Table, path: &[&str], text: &str) {
    match path {
        [] => {}
        [last] => {
            table.insert((*last).to_owned(), value(last, text));
        }
        [first, below @ ..] => {
            let mut inner = match table.remove(*first) {
                Some(Value::Table(inner)) => inner,
                _ => Table::new(),
            };
            put(&mut inner, below, text);
            table.insert((*first).to_owned(), Value::Table(inner));
        }
    }
}

/// The value that was written as a text: a list of words for a program, else a number, a truth value or a text.
fn value(key: &str, text: &str) -> Value {
    if key == "argv" {
        return Value::Array(text.split(' ').map(|word| Value::String(word.into())).collect());
    }
    let number = text.parse::<i64>().ok().map(Value::Integer);
    number.or_else(|| text.parse::<bool>().ok().map(Value::Boolean)).unwrap_or_else(|| Value::String(text.into()))
}

fn of_pattern(pattern: &Pattern, reach: &CoreReach, target: Option<CoreId>) -> Result<BTreeSet<String>, String> {
    if let Pattern::Command { argv, .. } = pattern {
        return of_program(argv);
    }
    let bytes = pattern.data_bytes().saturating_add(pattern.code_bytes());
    let levels = reach.shared_levels(bytes, target);
    let mut channels: BTreeSet<String> = levels.iter().map(|level| format!("l{level}_ways")).collect();
    let mut add = |ids: &[&str]| channels.extend(ids.iter().map(|id| (*id).to_owned()));
    if !levels.is_empty() {
        add(&["mshrs"]);
    }
    // A filter beyond the caches tracks the lines of all cores.
    if reach.leaves_own_caches(bytes) {
        add(&["snoop_filters"]);
    }
    if reach.reaches_memory(bytes) {
        add(&["memory_side_cache", "interconnect", "dram_banks", "dram_bus"]);
    }
    if leaves_its_page(pattern) && reach.misses_tlb(bytes) {
        add(&["tlb_walks"]);
    }
    match pattern.operation() {
        Some(Operation::SplitLock) => add(&["bus_locks"]),
        Some(Operation::Flush) => add(&["cache_maintenance"]),
        _ => {}
    }
    Ok(channels)
}

/// Whether the next access is on another page as a rule: accesses in line walk once in 64 lines.
fn leaves_its_page(pattern: &Pattern) -> bool {
    const PAGE: u64 = 4096;
    match pattern {
        Pattern::Walk { inner, outer, .. } => (if inner.count > 1 { inner.stride } else { outer.stride }) >= PAGE,
        Pattern::Chase { stride, order, .. } => *order == Order::Random || *stride >= PAGE,
        Pattern::Buffer { stride, .. } => *stride >= PAGE,
        Pattern::Random { .. } => true,
        _ => false,
    }
}

/// A program by its arguments, as far as the list has it.
fn of_program(argv: &[String]) -> Result<BTreeSet<String>, String> {
    let name = argv.first().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let has = |word: &String| argv.iter().skip(1).any(|own| own == word || own.starts_with(&format!("{word}=")));
    let fits = list().program.iter().filter(|it| it.name == name && it.arguments.iter().all(has));
    let channels: BTreeSet<String> = fits.flat_map(|it| it.exercises.iter().cloned()).collect();
    match channels.is_empty() {
        true => Err(format!("what the program {name} exercises is not known")),
        false => Ok(channels),
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_platform::{Platform, find_bundled};

    use super::*;

    /// What a workload exercises on a core of a bundled platform.
    fn on(platform: &str, core: u32, name: &str, with: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let with: BTreeMap<String, String> = with.iter().map(text).collect();
        let mine = [("kind", "stream"), ("operation", "read"), ("size", "64 MiB")];
        let program = [("kind", "command"), ("argv", "/usr/bin/stress-ng --cpu 1 --lockbus=1")];
        let editor = [("kind", "command"), ("argv", "vi")];
        let own = BTreeMap::from([
            ("mine".to_owned(), mine.iter().map(text).collect()),
            ("locker".to_owned(), program.iter().map(text).collect()),
            ("editor".to_owned(), editor.iter().map(text).collect()),
        ]);
        let platform = Platform::from_toml(find_bundled(platform).unwrap().text, platform).unwrap();
        let reach = CoreReach::of_platform(&platform).into_iter().find(|reach| reach.core == core).unwrap();
        Ok(NamedWorkload { name, with: &with, own: &own }.channels(&reach, None)?.into_iter().collect())
    }

    const BEYOND: [&str; 7] =
        ["dram_banks", "dram_bus", "interconnect", "l3_ways", "memory_side_cache", "mshrs", "snoop_filters"];

    /// The Cortex-A76 of the Agilex 5 has 256 KiB of L2, and the cluster 2 MiB of L3.
    #[test]
    fn how_far_a_buffer_reaches_decides() {
        assert_eq!(on("agilex5", 2, "latency_loop", &[]).unwrap(), [""; 0]);
        assert_eq!(on("agilex5", 2, "stream_read", &[("size", "256 KiB")]).unwrap(), [""; 0]);
        let shared = ["l3_ways", "mshrs", "snoop_filters"];
        assert_eq!(on("agilex5", 2, "stream_read", &[("size", "257 KiB")]).unwrap(), shared);
        assert_eq!(on("agilex5", 2, "stream_read", &[("size", "2047 KiB")]).unwrap(), shared);
        assert_eq!(on("agilex5", 2, "stream_read", &[("size", "2 MiB")]).unwrap(), BEYOND);
        assert_eq!(on("agilex5", 2, "mine", &[]).unwrap(), BEYOND);
        // All lines of the L3 once.
        assert_eq!(on("agilex5", 2, "way_hammer_16", &[]).unwrap(), BEYOND);
        // The Cortex-A55 has 128 KiB of L2.
        assert_eq!(on("agilex5", 0, "stream_read", &[("size", "129 KiB")]).unwrap(), shared);
    }

    /// The Cortex-A9's TLB has 128 entries of 1 MiB; its L2 is the shared and the last cache.
    #[test]
    fn walks_take_more_pages_than_the_tlb_holds_and_no_order() {
        let walks =
            |name: &str, with: &[(&str, &str)]| on("zynq7000", 0, name, with).unwrap().contains(&"tlb_walks".into());
        assert!(walks("interrupt_handler", &[]), "192 MiB at random");
        assert!(!walks("interrupt_handler", &[("data", "64 MiB")]));
        assert!(
            walks("chase_llc", &[("size", "129 MiB")])
                && !walks("chase_llc", &[("size", "129 MiB"), ("order", "linear")])
        );
        assert!(!walks("stream_read", &[("size", "256 MiB")]), "one walk in 128 accesses");
        assert!(on("zynq7000", 0, "stream_read", &[]).unwrap().contains(&"l2_ways".into()));
        // Translation takes no time on this platform.
        assert!(!on("agilex5", 2, "way_hammer", &[]).unwrap().contains(&"tlb_walks".into()));
    }

    /// Two L2s, of cores 0-1 and 2-3: a neighbour on core 1 fills no way of the other pair's.
    #[test]
    fn ways_count_where_the_target_shares_them() {
        let platform = Platform::from_toml(find_bundled("apollo-lake-e3950").unwrap().text, "x").unwrap();
        let reach = CoreReach::of_platform(&platform).into_iter().find(|reach| reach.core == 1).unwrap();
        let none = (BTreeMap::new(), BTreeMap::new());
        let named = NamedWorkload { name: "stream_read", with: &none.0, own: &none.1 };
        let beside = |target| named.channels(&reach, Some(target)).unwrap();
        for (target, shares) in [(0, true), (2, false), (3, false)] {
            assert_eq!(beside(target).contains("l2_ways"), shares, "{target}");
            assert!(beside(target).contains("dram_bus"));
        }
    }

    #[test]
    fn locks_and_flushes_exercise_channels_of_their_own() {
        let has = |name: &str, channel: &str| on("agilex5", 2, name, &[]).unwrap().contains(&channel.to_owned());
        assert!(has("split_lock", "bus_locks") && has("clflush", "cache_maintenance"));
        assert!(!has("stream_write", "bus_locks") && !has("split_lock", "cache_maintenance"));
        // What can stall a whole machine is no neighbour that `--measure` takes by itself.
        let platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap();
        let reach = &CoreReach::of_platform(&platform)[0];
        let unfair = |name| NamedWorkload { name, with: &BTreeMap::new(), own: &BTreeMap::new() }.is_unfair(reach);
        assert_eq!(["split_lock", "clflush", "stream_write"].map(unfair), [true, true, false]);
    }

    #[test]
    fn programs_are_known_by_their_arguments_or_not_at_all() {
        assert_eq!(on("agilex5", 2, "locker", &[]).unwrap(), ["bus_locks"]);
        assert!(on("agilex5", 2, "stress_ng_cache", &[]).unwrap().contains(&"l3_ways".into()));
        for (name, why) in
            [("editor", "what the program vi exercises is not known"), ("nobody", "no workload of this name")]
        {
            assert!(on("agilex5", 2, name, &[]).unwrap_err().contains(why));
        }
        assert!(on("agilex5", 2, "stream_read", &[("size", "much")]).is_err());
    }
}
