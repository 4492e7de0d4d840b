//! Shortcuts in time: the engine offers its present state, and may get a later one back. It knows no more of them than this.

use std::fmt::Debug;

use waykeeper_platform::CoreId;

use crate::core::tick::RunningTick;
use crate::engine::Engine;
use crate::engine::running::Running;
use crate::observe::samples::SampleReceiver;
use crate::time::Ps;

/// Skips time that need not be simulated.
pub trait Shortcut: Debug + Send + Sync {
    /// The engine's time from which on it is worth a look.
    fn look_at(&self) -> Ps;

    /// Skips ahead from the engine's present time, up to `until` of its time, and returns the time that was
    /// skipped; 0 if it cannot now. The samples of that time go to `samples`.
    fn take(&mut self, engine: &mut Engine, until: Ps, samples: &mut dyn SampleReceiver) -> Ps;

    /// Accesses that a program has skipped, by the number of the program.
    fn skipped_accesses(&self, program: usize) -> u64;

    /// A copy.
    fn boxed(&self) -> Box<dyn Shortcut>;
}

/// Shortcuts of an engine: none at first.
#[derive(Debug, Clone)]
pub struct Shortcuts {
    shortcut: Option<Box<dyn Shortcut>>,
    /// When it is worth a look.
    look_at: Ps,
    /// The time that was skipped.
    skipped: Ps,
}

impl Clone for Box<dyn Shortcut> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

impl Shortcuts {
    /// None.
    pub fn none() -> Self {
        Self { shortcut: None, look_at: Ps::NEVER, skipped: Ps::ZERO }
    }

    /// Whether it is time to look.
    #[inline(always)]
    pub fn are_due(&self, now: Ps) -> bool {
        now >= self.look_at
    }

    /// Whether there are any.
    pub fn are_taken(&self) -> bool {
        self.shortcut.is_some()
    }
}

impl Engine {
    /// Takes a shortcut wherever it can from now on.
    pub(crate) fn take_shortcuts(&mut self, shortcut: Box<dyn Shortcut>) {
        self.shortcuts.look_at = shortcut.look_at();
        self.shortcuts.shortcut = Some(shortcut);
    }

    /// Whether it takes any.
    pub(crate) fn takes_shortcuts(&self) -> bool {
        self.shortcuts.are_taken()
    }

    /// Whether the target, if there is one, makes passes without a miss: only then is it worth a look.
    #[inline]
    pub(super) fn is_target_quiet(&self) -> bool {
        self.running.iter().filter_map(Running::tick).all(RunningTick::is_quiet)
    }

    /// Takes the shortcut if it leads anywhere, up to `until` of simulated time; returns how much.
    #[inline(never)]
    pub(super) fn jump_ahead(&mut self, until: Ps, samples: &mut dyn SampleReceiver) -> Ps {
        let Some(mut shortcut) = self.shortcuts.shortcut.take() else { return Ps::ZERO };
        let skipped = shortcut.take(self, until, samples);
        self.take_shortcuts(shortcut);
        self.shortcuts.skipped += skipped;
        if let Some(explainer) = &mut self.world.explainer
            && skipped > Ps::ZERO
        {
            explainer.skipped(self.now, self.shortcuts.skipped);
        }
        skipped
    }

    /// Picoseconds that were skipped.
    pub fn skipped_ps(&self) -> u64 {
        self.skipped().get()
    }

    /// The time that was skipped.
    pub(super) fn skipped(&self) -> Ps {
        self.shortcuts.skipped
    }

    /// Accesses that a core's program skipped.
    pub(super) fn skipped_accesses(&self, core: CoreId) -> u64 {
        let of_core = || self.running.iter().enumerate().filter(|(_, program)| self.cores[program.core()] == core);
        let forward: u64 = of_core().filter_map(|(_, program)| program.skipped()).sum();
        let shortcut = self.shortcuts.shortcut.as_ref();
        forward + shortcut.map_or(0, |shortcut| of_core().map(|(at, _)| shortcut.skipped_accesses(at)).sum())
    }
}

/// Samples as they come, later by what was skipped.
pub struct Later<'s> {
    /// Who gets them.
    pub samples: &'s mut dyn SampleReceiver,
    /// How much later.
    pub by: Ps,
}

impl SampleReceiver for Later<'_> {
    #[inline]
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        self.samples.record(ticks, count, at_ps + self.by.get());
    }

    #[inline]
    fn record_of(&mut self, core: CoreId, ticks: u64, count: u64, at_ps: u64) {
        self.samples.record_of(core, ticks, count, at_ps + self.by.get());
    }
}
