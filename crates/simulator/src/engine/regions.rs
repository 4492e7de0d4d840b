//! Pseudo-locked regions: memory whose lines lie in ways that nobody fills any more.

use waykeeper_platform::CoreId;

use crate::core::placement;
use crate::core::world::World;
use crate::engine::programs::Program;
use crate::engine::{Engine, build};
use crate::observe::samples::Discard;
use crate::refused::Refused;

/// Names a pseudo-locked region of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RegionId(u32);

/// A pseudo-locked region.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    level: u8,
    core: usize,
    /// The ways that hold it, until it is unlocked.
    ways: u32,
    lines: u64,
    held: u64,
    memory: placement::MemoryRegion,
    /// What is given back when it is unlocked.
    given: Vec<u64>,
    /// The core whose program has it as its buffer.
    used_by: Option<CoreId>,
}

impl Engine {
    /// Takes way groups of a cache away from everybody, and loads as much new memory into them as they hold, at no cost in
    /// time. A program that is started in it with [`Engine::start_program_in`] finds its lines there. What other caches
    /// and filters take away (an inclusive cache further out, a full filter) is not held by this.
    ///
    /// # Errors
    /// A cache without way groups or one that moves lines that hit inwards (exclusive and victim caches), groups that hold
    /// another region, a class in use that would have no way left, and no memory that is left.
    pub fn lock_region(&mut self, level: u8, core: CoreId, groups: u64) -> Result<RegionId, Refused> {
        let refuse = |why: String| Err::<(), _>(Refused::new("region", why));
        let at = self.core("core", core)?;
        let ways = self.ways_of_mask("groups", level, core, groups)?;
        let Some(reserved) = self.world.hierarchy.reserved_ways(level, at) else {
            return Err(Refused::new("region", format!("core {core} has no cache of level {level}")));
        };
        if reserved & ways != 0 {
            return Err(Refused::new("region", format!("groups {groups:#x} hold another region")));
        }
        let before = (self.world.hierarchy.clone(), self.world.effects.clone());
        let sets = build::sets(&self.platform, at, level)?;
        let lines = sets * u64::from(ways.count_ones());
        let (memory, given) = self.starter.contiguous(lines * self.line_bytes)?;
        let mut held = 0;
        for number in 0..lines {
            let line = memory.line(number * self.line_bytes);
            let World { hierarchy, effects, .. } = &mut self.world;
            held += u64::from(hierarchy.lock(level, at, line, ways, self.now, effects).is_ok());
        }
        self.world.hierarchy.reserve_ways(level, at, ways);
        let refused = match held {
            0 => refuse(format!("the cache of level {level} keeps no line that is used; it cannot hold a region")),
            _ => self.everyone_has_ways("region", level),
        };
        if let Err(refused) = refused {
            (self.world.hierarchy, self.world.effects) = before;
            self.starter.take_back(given);
            return Err(refused);
        }
        // What made room may have been changed.
        self.settle(&mut Discard);
        self.regions.push(Region { level, core: at, ways, lines, held, memory, given, used_by: None });
        Ok(RegionId(self.regions.len() as u32 - 1))
    }

    /// Lines of a region, and how many of them its ways took: fewer where a hash spreads them unevenly over the sets.
    pub fn region_lines(&self, region: RegionId) -> (u64, u64) {
        let Region { lines, held, .. } = &self.regions[region.0 as usize];
        (*lines, *held)
    }

    /// Starts a program as [`Engine::start_program`] does, with a pseudo-locked region as its buffer.
    ///
    /// # Errors
    /// Those of [`Engine::start_program`], a region that was unlocked or is in use, and a buffer that does not fit into it.
    pub fn start_program_in(&mut self, program: Program, region: RegionId) -> Result<(), Refused> {
        let Region { ways, lines, memory, used_by, .. } = &self.regions[region.0 as usize];
        let (bytes, wanted) = (lines * self.line_bytes, program.pattern.data_bytes());
        if *ways == 0 {
            return Err(Refused::new("region", "it was unlocked"));
        }
        if let Some(core) = used_by {
            return Err(Refused::new("region", format!("the program of core {core} uses it")));
        }
        if wanted > bytes {
            let why = format!("a buffer of {wanted} bytes does not fit into the region's {bytes}");
            return Err(Refused::new("region", why));
        }
        let (core, memory) = (program.core, memory.clone());
        self.start_in(program, Some(memory))?;
        self.regions[region.0 as usize].used_by = Some(core);
        Ok(())
    }

    /// The program of a core has stopped.
    pub(crate) fn leave_region(&mut self, core: CoreId) {
        self.regions.iter_mut().filter(|region| region.used_by == Some(core)).for_each(|region| region.used_by = None);
    }

    /// Returns the ways of a region to the classes that had them. Its lines stay until others need their places; a
    /// program that runs in it runs on. A region that was unlocked stays so.
    pub fn unlock_region(&mut self, region: RegionId) {
        let Region { level, core, ways, given, used_by, .. } = &mut self.regions[region.0 as usize];
        if *ways == 0 {
            return;
        }
        self.world.hierarchy.release_ways(*level, *core, std::mem::take(ways));
        let given = std::mem::take(given);
        match self.programs.iter().position(|program| Some(program.core) == *used_by) {
            Some(user) => self.given[user].extend(given),
            None => self.starter.take_back(given),
        }
    }
}
