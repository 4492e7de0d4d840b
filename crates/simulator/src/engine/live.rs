//! What can change while an engine runs, as hardware is behind resctrl: which programs run, and what is set for classes.

use waykeeper_platform::{BandwidthControl, CoreId};

use crate::core::placement::MemoryRegion;
use crate::core::port::Port;
use crate::engine::programs::{Program, can_run};
use crate::engine::running::Running;
use crate::engine::{Engine, build};
use crate::line::Line;
use crate::observe::counters::{CoreCounters, FrontCounters};
use crate::observe::label::{Label, MOST_CLASSES, MOST_MONITORS};
use crate::observe::samples::Discard;
use crate::refused::Refused;
use crate::time::Ps;

impl Engine {
    /// Starts a program on an idle core, within a microsecond of the present time. Its core keeps its class; what
    /// [`Engine::set_control`] has set for all cores holds for it. Several targets may run: [`crate::SampleReceiver::record_of`]
    /// distinguishes them.
    ///
    /// # Errors
    /// A core that does not exist or has a program, a workload that cannot run or does not fit into the memory that is
    /// left, and an engine that skips.
    pub fn start_program(&mut self, program: Program) -> Result<(), Refused> {
        self.start_in(program, None)
    }

    pub(crate) fn start_in(&mut self, program: Program, buffer: Option<MemoryRegion>) -> Result<(), Refused> {
        self.never_skips()?;
        build::kind_of(&self.platform, program.core).map_err(|refused| Refused::new("core", refused.why))?;
        let core = self.core("core", program.core)?;
        if self.running.iter().any(|running| running.core() == core) {
            return Err(Refused::new("core", format!("core {} has a program already; stop it first", program.core)));
        }
        can_run(&self.platform, &program.pattern)?;
        let (mut running, memory) = self.starter.start(&program, core, buffer, self.now)?;
        if let Some(address) = self.starter.on_chip_from() {
            self.world.hierarchy.set_on_chip_from(Line::at_address(address, self.line_bytes.trailing_zeros()));
        }
        if let Some(before) = self.ports[core].take() {
            running.port().take_over(*before);
        }
        running.port().label = self.world.hierarchy.label(core);
        self.running.push(running);
        self.programs.push(program);
        self.given.push(memory);
        self.at_start.push(self.world.hierarchy.counts[core]);
        self.list_programs();
        self.fit(self.running.len() - 1)
    }

    /// Stops the program of a core at the present time. What it has asked of the memory comes still; its lines stay where
    /// they are until others need their places; stores that have not left its store buffer are lost with it.
    ///
    /// # Errors
    /// A core without a program, a target that [`Engine::explain`] explains, and an engine that skips.
    pub fn stop_program(&mut self, core: CoreId) -> Result<(), Refused> {
        self.never_skips()?;
        let at = self.core("core", core)?;
        let Some(index) = self.running.iter().position(|running| running.core() == at) else {
            return Err(Refused::new("core", format!("core {core} has no program")));
        };
        if self.running[index].port().explains {
            return Err(Refused::new("core", "its samples are being explained"));
        }
        let mut port = match self.running.remove(index) {
            Running::Stream(stream) => stream.port,
            Running::Tick(tick) => tick.port,
        };
        port.give_up(&mut self.world, self.now);
        self.ports[at] = Some(Box::new(port));
        self.programs.remove(index);
        self.at_start.remove(index);
        let memory = self.given.remove(index);
        self.starter.take_back(memory);
        self.leave_region(core);
        self.leave_memory(core);
        self.list_programs();
        // Others may have waited for it.
        self.settle(&mut Discard);
        Ok(())
    }

    /// What the core of a program has counted since the program started; none where no program runs.
    pub fn program_counters(&self, core: CoreId) -> Option<CoreCounters> {
        let index = self.programs.iter().position(|program| program.core == core)?;
        Some(self.core_counters(core)?.since(&self.at_start[index]))
    }

    /// What a core with a program has counted before its caches.
    pub fn front_counters(&self, core: CoreId) -> Option<FrontCounters> {
        let at = self.index_of(core)?;
        self.running.iter().find(|running| running.core() == at).map(Running::front_counters)
    }

    /// Whether a program runs on a core.
    pub fn is_busy(&self, core: CoreId) -> bool {
        self.programs.iter().any(|program| program.core == core)
    }

    /// What a core has counted since time 0, whichever programs ran on it.
    pub fn core_counters(&self, core: CoreId) -> Option<CoreCounters> {
        Some(self.world.hierarchy.counts[self.index_of(core)?])
    }

    /// Puts a core into a class and lets a monitor count what it brings in from now on, as IA32_PQR_ASSOC does. Lines that
    /// are in shared caches stay with who brought them; requests to memory in flight keep the class.
    ///
    /// # Errors
    /// A core that does not exist, a class or a monitor beyond those that can be distinguished, and an engine that skips.
    pub fn set_core_class(&mut self, core: CoreId, class: u8, monitor: u8) -> Result<(), Refused> {
        self.never_skips()?;
        let at = self.core("core", core)?;
        class_exists(class)?;
        if usize::from(monitor) >= MOST_MONITORS {
            let why = format!("there is no monitor {monitor}; the simulator has 0 to {}", MOST_MONITORS - 1);
            return Err(Refused::new("monitor", why));
        }
        let label = Label { class, monitor };
        self.world.hierarchy.set_label(at, label);
        if let Some(running) = self.running.iter_mut().find(|running| running.core() == at) {
            running.port().label = label;
        }
        Ok(())
    }

    /// The class and the monitor of a core.
    pub fn core_class(&self, core: CoreId) -> Option<(u8, u8)> {
        let Label { class, monitor } = self.world.hierarchy.label(self.index_of(core)?);
        Some((class, monitor))
    }

    /// Sets the way groups, one bit each, that a class fills with data and with code, in the private or shared cache of a
    /// level that a core uses. Hits ignore them, and lines stay where they are until others need their places.
    ///
    /// # Errors
    /// A core without such a cache, a cache without way groups, groups that do not exist, and none at all.
    pub fn set_class_ways(&mut self, level: u8, core: CoreId, class: u8, data: u64, code: u64) -> Result<(), Refused> {
        let at = self.core("core", core)?;
        class_exists(class)?;
        let ways = [self.ways_of_mask("data", level, core, data)?, self.ways_of_mask("code", level, core, code)?];
        self.world.hierarchy.set_ways(level, at, usize::from(class), ways);
        Ok(())
    }

    /// Sets a class's share of the bandwidth to memory, in the units of the outermost shared cache's `bandwidth_control`:
    /// percent of the delay scheme of Intel's MBA (100 is no delay), the stride, maximum, minimum or portions of MPAM.
    /// Classes that were not set are not bounded.
    ///
    /// # Errors
    /// A platform without such a control, a class that does not exist, and a share that the scheme does not have.
    pub fn set_class_bandwidth(&mut self, class: u8, share: u64) -> Result<(), Refused> {
        class_exists(class)?;
        let refuse = |why: String| Err(Refused::new("bandwidth", why));
        let mut controls = self.platform.shared_caches.iter().filter_map(|cache| cache.bandwidth_control.as_ref());
        let Some(shares) = controls.next().map(BandwidthControl::shares) else {
            return refuse("no shared cache of this platform has a `bandwidth_control`".into());
        };
        if !shares.contains(&share) {
            return refuse(format!("{share} is no share; {} to {} are", shares.start(), shares.end()));
        }
        self.world.memory.set_share(class, share, self.now);
        Ok(())
    }

    /// The ways of some way groups, one bit each.
    pub(crate) fn ways_of_mask(&self, key: &str, level: u8, core: CoreId, mask: u64) -> Result<u32, Refused> {
        let refuse = |why: String| Err(Refused::new(key, why));
        let Some((groups, ways)) = build::way_groups(&self.platform, self.core("core", core)?, level)? else {
            return refuse(format!("core {core} has no cache of level {level} with way groups"));
        };
        if mask == 0 || mask >> groups != 0 {
            return refuse(format!("{mask:#x} is no set of groups; the {groups} of level {level} are the lowest bits"));
        }
        let group = u32::MAX >> (32 - ways / groups);
        Ok(crate::bits::bits(mask).fold(0, |of, at| of | group << (at as u64 * (ways / groups))))
    }

    /// The index of a core.
    pub(crate) fn core(&self, key: &str, core: CoreId) -> Result<usize, Refused> {
        let why = || Refused::new(key, format!("core {core} does not exist; the cores are {:?}", self.cores));
        self.index_of(core).ok_or_else(why)
    }

    fn never_skips(&self) -> Result<(), Refused> {
        let leaves_out = self.running.iter().any(|running| running.skipped().is_some());
        match self.shortcuts.are_taken() || leaves_out {
            true => Err(Refused::new("skipping", "what runs cannot change on the fast path")),
            false => Ok(()),
        }
    }
}

pub(crate) fn class_exists(class: u8) -> Result<(), Refused> {
    if usize::from(class) < MOST_CLASSES {
        return Ok(());
    }
    Err(Refused::new("class", format!("there is no class {class}; the simulator has 0 to {}", MOST_CLASSES - 1)))
}

impl Port {
    /// The program of this port has stopped: it waits for no turn any more, only for what it has asked for.
    fn give_up(&mut self, world: &mut crate::core::world::World, now: Ps) {
        self.unblock();
        for cache in self.limits.clone() {
            world.misses[cache].leave(self.core);
            world.has_room |= world.misses[cache].has_news(now);
        }
    }
}
