//! Where the samples of one program go.

use waykeeper_platform::CoreId;

use crate::engine::programs::Program;
use crate::observe::samples::SampleReceiver;

/// The samples of one program: dropped if it is no target.
pub struct Sink<'s> {
    samples: Option<&'s mut dyn SampleReceiver>,
    core: CoreId,
}

impl<'s> Sink<'s> {
    /// Where the samples of a program go.
    #[inline]
    pub fn of(program: &Program, samples: &'s mut dyn SampleReceiver) -> Self {
        Self { samples: program.role.takes_samples().then_some(samples), core: program.core }
    }
}

impl SampleReceiver for Sink<'_> {
    #[inline]
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        if let Some(samples) = &mut self.samples {
            samples.record_of(self.core, ticks, count, at_ps);
        }
    }
}
