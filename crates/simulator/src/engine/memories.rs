//! Memory that outlives the programs that use it, so that one can find in caches what an earlier one left there.

use waykeeper_platform::CoreId;

use crate::core::placement::MemoryRegion;
use crate::engine::programs::Program;
use crate::engine::{Engine, build};
use crate::refused::Refused;

/// Names memory that was given out for no program in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryId(u32);

/// Such memory; none once it was taken back.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    region: MemoryRegion,
    bytes: u64,
    given: Vec<u64>,
    /// The core whose program has it as its buffer.
    used_by: Option<CoreId>,
}

impl Engine {
    /// Allocates memory, laid out as a program of that core would get it.
    ///
    /// # Errors
    /// A core that does not exist, and memory that is not left.
    pub fn give_memory(&mut self, core: CoreId, bytes: u64) -> Result<MemoryId, Refused> {
        let (_, kind) = build::kind_of(&self.platform, core).map_err(|refused| Refused::new("core", refused.why))?;
        let (region, given) = self.starter.buffer(kind, bytes)?;
        self.memories.push(Some(Memory { region, bytes, given, used_by: None }));
        Ok(MemoryId(self.memories.len() as u32 - 1))
    }

    /// Starts a program as [`Engine::start_program`] does, with such memory as its buffer.
    ///
    /// # Errors
    /// Those of [`Engine::start_program`], memory that was taken back or is in use, and a buffer that does not fit into it.
    pub fn start_program_with(&mut self, program: Program, memory: MemoryId) -> Result<(), Refused> {
        let refuse = |why: String| Err(Refused::new("memory", why));
        let wanted = program.pattern.data_bytes();
        let region = match &self.memories[memory.0 as usize] {
            None => return refuse("it was taken back".into()),
            Some(Memory { used_by: Some(core), .. }) => return refuse(format!("the program of core {core} uses it")),
            Some(Memory { bytes, .. }) if wanted > *bytes => {
                return refuse(format!("a buffer of {wanted} bytes does not fit into {bytes}"));
            }
            Some(Memory { region, .. }) => region.clone(),
        };
        let core = program.core;
        self.start_in(program, Some(region))?;
        if let Some(memory) = &mut self.memories[memory.0 as usize] {
            memory.used_by = Some(core);
        }
        Ok(())
    }

    /// The program of a core has stopped.
    pub(crate) fn leave_memory(&mut self, core: CoreId) {
        let used = self.memories.iter_mut().flatten().filter(|memory| memory.used_by == Some(core));
        used.for_each(|memory| memory.used_by = None);
    }

    /// Frees memory; what caches hold of it stays there. A program that uses it goes on, and frees it at its end.
    pub fn take_memory_back(&mut self, memory: MemoryId) {
        let Some(Memory { given, used_by, .. }) = self.memories[memory.0 as usize].take() else { return };
        match self.programs.iter().position(|program| Some(program.core) == used_by) {
            Some(user) => self.given[user].extend(given),
            None => self.starter.take_back(given),
        }
    }
}
