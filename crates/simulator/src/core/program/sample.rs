//! A sample of a stream: the counter is read where it begins and where it ends, and the difference is recorded.

use waykeeper_workload::recorder;

use crate::core::placement::MemoryRegion;
use crate::core::program::detour::MeasuredSample;
use crate::core::program::{Op, Program, Touch};
use crate::core::world::World;
use crate::observe::explain::LineRole;
use crate::observe::samples::SampleReceiver;
use crate::time::Ps;

/// What a target does besides its stream: it reads the counter and records.
#[derive(Debug, Clone)]
pub struct SampleRecorder {
    /// Where it records.
    pub region: MemoryRegion,
    /// The time between two values of the counter.
    pub counter_tick: Ps,
    /// The time of a sample besides its accesses.
    pub base: Ps,
}

impl Program {
    #[inline(never)]
    pub(super) fn start_sample(&mut self, world: &mut World) -> bool {
        self.sample_start = self.now;
        if self.port.explains
            && let Some(explainer) = &mut world.explainer
        {
            explainer.begins();
        }
        self.reads_at_start = self.port.demand_reads(world);
        self.now += self.recorder.as_ref().map_or(Ps::ZERO, |recorder| recorder.base);
        if self.front.is_some() {
            self.next.extend(self.devices.iter().map(|page| Op::Touch(Touch::device(*page))));
        }
        if let Some(detour) = &mut self.detour {
            let leaves = detour.begin(self.now, self.port.demand_reads(world));
            self.next.extend(leaves.map(Op::Leave));
        }
        true
    }

    #[inline(never)]
    pub(super) fn end_sample(&mut self, world: &mut World, samples: &mut dyn SampleReceiver) -> bool {
        let reads = self.port.demand_reads(world);
        let measured =
            MeasuredSample { length: self.now - self.sample_start, memory_reads: reads - self.reads_at_start };
        let measured = match &mut self.detour {
            None => Some(measured),
            Some(detour) => detour.end(self.now, reads, measured),
        };
        let Some(MeasuredSample { length, memory_reads }) = measured else { return true };
        let Some(SampleRecorder { region, counter_tick, .. }) = &self.recorder else { return true };
        // An estimate is read from the counter as if the pass had taken so long.
        let ticks = (self.sample_start + length) / *counter_tick - self.sample_start / *counter_tick;
        samples.record(ticks, 1, self.now.get());
        if self.port.explains
            && let Some(explainer) = &mut world.explainer
        {
            explainer.ended(ticks, self.sample_start, self.now, |_| LineRole::Data);
        }
        self.port.counts.samples += 1;
        self.port.counts.sample_memory_reads += memory_reads;
        let count = recorder::count_offset(ticks.min(recorder::OVERFLOW_FROM - 1));
        for offset in [0, count] {
            let blocking = !self.port.out_of_order;
            let line = region.line(offset);
            let touch = Touch::store(line, blocking);
            self.next.push_back(Op::Touch(match &self.front {
                Some(front) => front.complete(touch, region, offset),
                None => touch,
            }));
        }
        let leaves = self.detour.as_mut().and_then(|detour| detour.recorded());
        self.next.extend(leaves.map(Op::Leave));
        true
    }
}
