//! What may take over a stream between two of its steps. The program knows no more of it than this.

use std::any::Any;
use std::fmt::Debug;

use waykeeper_workload::WorkloadStep;

use crate::core::program::{Op, Program};
use crate::core::world::World;
use crate::time::Ps;

/// What a sample is said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredSample {
    /// What it took.
    pub length: Ps,
    /// Lines that its accesses read from memory.
    pub memory_reads: u64,
}

/// Takes over a stream between two of its steps. Where a method returns a number, the detour leaves before the next step,
/// and gets that number back in [`Detour::leave`].
pub trait Detour: Debug + Send + Sync {
    /// Whether [`Detour::turn`] is to be called before the stream goes on.
    fn is_due(&self, now: Ps) -> bool {
        let _ = now;
        false
    }

    /// The stream has returned a step.
    fn count(&mut self, step: &WorkloadStep) {
        let _ = step;
    }

    /// A sample has begun, when the core's accesses had read so many lines from memory.
    fn begin(&mut self, now: Ps, memory_reads: u64) -> Option<u64> {
        let _ = (now, memory_reads);
        None
    }

    /// Does what is due, when the core's accesses have read so many lines from memory.
    fn turn(&mut self, now: Ps, memory_reads: u64) -> Option<u64> {
        let _ = (now, memory_reads);
        None
    }

    /// A sample has ended that was measured like this: what is recorded of it, if anything.
    fn end(&mut self, now: Ps, memory_reads: u64, measured: MeasuredSample) -> Option<MeasuredSample> {
        let _ = (now, memory_reads);
        Some(measured)
    }

    /// The same, once it is recorded.
    fn recorded(&mut self) -> Option<u64> {
        None
    }

    /// Takes over, at the program's present time. Nothing that the program has caused is left to be passed on.
    fn leave(&mut self, program: &mut Program, number: u64, world: &mut World);

    /// Whether samples are measured in full.
    fn measures_all(&self) -> bool;

    /// Accesses that it left out; none if it never leaves any out.
    fn skipped(&self) -> Option<u64>;

    /// A copy.
    fn boxed(&self) -> Box<dyn Detour>;

    /// Itself, for who has set it.
    fn as_any(&self) -> &dyn Any;

    /// The same, to be changed.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl Clone for Box<dyn Detour> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

impl Program {
    /// Does what is due of its detour.
    pub(super) fn turn(&mut self, world: &World) -> bool {
        let (now, reads) = (self.now, self.port.demand_reads(world));
        let leaves = self.detour.as_mut().and_then(|detour| detour.turn(now, reads));
        self.next.extend(leaves.map(Op::Leave));
        true
    }

    /// Lets the detour take over. Others hear of what that did before anything else happens.
    #[inline(never)]
    pub(super) fn leave(&mut self, number: u64, world: &mut World) -> bool {
        self.core_at = self.now;
        if !world.is_settled() {
            // What the last accesses in time have caused goes on in time.
            self.again = Some(Op::Leave(number));
            return false;
        }
        if let Some(mut detour) = self.detour.take() {
            detour.leave(self, number, world);
            self.detour = Some(detour);
        }
        false
    }
}
