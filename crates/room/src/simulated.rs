//! The simulator behind the files.

use std::collections::BTreeMap;

use waykeeper_platform::{CoreId, Platform};
use waykeeper_simulator::{Engine, MemoryId, Program, Refused, RegionId, Role, SampleReceiver};

use crate::backing::{Backing, BufferMemory, ControlChange, CoreCounts, MonitorCounts, SampleSink, Work};

/// Where buffers lie and what is drawn at random. A room lives in real time and never repeats exactly: any seed does.
const SEED: u64 = 1;
/// What the simulator distinguishes (its labels have seven bits for a monitor).
const MONITORS: u8 = 128;

/// The engine of a platform, with nothing running.
///
/// # Errors
/// What the platform lacks for a simulation.
pub fn simulated(platform: &Platform) -> Result<Box<dyn Backing>, String> {
    let engine = Engine::idle(platform, SEED).map_err(|refused| {
        format!("platform {} cannot be simulated, and a room needs that: {refused}", platform.name)
    })?;
    Ok(Box::new(Simulated { engine, regions: BTreeMap::new(), memories: BTreeMap::new(), next: 1 }))
}

struct Simulated {
    engine: Engine,
    regions: BTreeMap<u64, RegionId>,
    memories: BTreeMap<u64, MemoryId>,
    next: u64,
}

impl Simulated {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

fn why(refused: Refused) -> String {
    refused.to_string()
}

fn class(class: u32) -> Result<u8, String> {
    u8::try_from(class).map_err(|_| format!("class {class} is beyond what the simulator distinguishes"))
}

impl Backing for Simulated {
    fn advance(&mut self, until_ps: u64, sink: &mut dyn SampleSink) {
        self.engine.advance(until_ps, &mut Forward(sink));
    }

    fn now_ps(&self) -> u64 {
        self.engine.now_ps()
    }

    fn tick_ns(&self) -> f64 {
        self.engine.tick_ns()
    }

    fn start(&mut self, work: &Work) -> Result<(), String> {
        let role = if work.watched { Role::Target } else { Role::Neighbour };
        let program = Program { core: work.core, pattern: work.pattern.clone(), role };
        let started = match work.buffer {
            BufferMemory::Own => self.engine.start_program(program),
            BufferMemory::Region(number) => {
                let region = self.regions.get(&number).ok_or_else(|| format!("there is no region {number}"))?;
                self.engine.start_program_in(program, *region)
            }
            BufferMemory::Memory(number) => {
                let memory = self.memories.get(&number).ok_or_else(|| format!("there is no memory {number}"))?;
                self.engine.start_program_with(program, *memory)
            }
        };
        started.map_err(why)
    }

    fn stop(&mut self, core: CoreId) -> Result<(), String> {
        self.engine.stop_program(core).map_err(why)
    }

    fn set(&mut self, control: ControlChange) -> Result<(), String> {
        let set = match control {
            ControlChange::Assign { core, class: of, monitor } => self.engine.set_core_class(core, class(of)?, monitor),
            ControlChange::Ways { level, core, class: of, data, code } => {
                self.engine.set_class_ways(level, core, class(of)?, data.into(), code.into())
            }
            ControlChange::Bandwidth { class: of, percent, .. } => {
                self.engine.set_class_bandwidth(class(of)?, percent.into())
            }
        };
        set.map_err(why)
    }

    fn lock(&mut self, level: u8, core: CoreId, ways: u32) -> Result<u64, String> {
        let region = self.engine.lock_region(level, core, ways.into()).map_err(why)?;
        let number = self.number();
        self.regions.insert(number, region);
        Ok(number)
    }

    fn unlock(&mut self, region: u64) -> Result<(), String> {
        let region = self.regions.remove(&region).ok_or_else(|| format!("there is no region {region}"))?;
        self.engine.unlock_region(region);
        Ok(())
    }

    fn give(&mut self, core: CoreId, bytes: u64) -> Result<u64, String> {
        let memory = self.engine.give_memory(core, bytes).map_err(why)?;
        let number = self.number();
        self.memories.insert(number, memory);
        Ok(number)
    }

    fn take_back(&mut self, memory: u64) -> Result<(), String> {
        let memory = self.memories.remove(&memory).ok_or_else(|| format!("there is no memory {memory}"))?;
        self.engine.take_memory_back(memory);
        Ok(())
    }

    fn monitored(&self, level: u8, core: CoreId, monitor: u8) -> MonitorCounts {
        let counted = self.engine.monitored(level, core, monitor);
        counted.map_or_else(MonitorCounts::default, |counted| MonitorCounts {
            occupancy_bytes: counted.occupancy_bytes,
            total_bytes: counted.total_bytes,
            local_bytes: counted.local_bytes,
        })
    }

    fn counts(&self, core: CoreId) -> CoreCounts {
        let counters = self.engine.core_counters(core);
        counters.map_or_else(CoreCounts::default, |counters| CoreCounts {
            accesses: counters.accesses,
            memory_reads: counters.memory_reads,
            sample_reads: self.engine.front_counters(core).map_or(0, |front| front.sample_memory_reads),
        })
    }

    fn monitors(&self) -> u8 {
        MONITORS
    }
}

struct Forward<'s>(&'s mut dyn SampleSink);

impl SampleReceiver for Forward<'_> {
    fn record(&mut self, _ticks: u64, _count: u64, _at_ps: u64) {}

    fn record_of(&mut self, core: CoreId, ticks: u64, count: u64, _at_ps: u64) {
        self.0.record(core, ticks, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_platform::find_bundled;

    #[test]
    fn the_last_monitor_is_the_simulators_last() {
        let platform = Platform::from_toml(find_bundled("xeon-d-2752ter").unwrap().text, "x").unwrap();
        let mut backing = simulated(&platform).unwrap();
        let mut assign = |monitor| backing.set(ControlChange::Assign { core: 0, class: 1, monitor });
        assign(MONITORS - 1).unwrap();
        assign(MONITORS).unwrap_err();
    }
}
