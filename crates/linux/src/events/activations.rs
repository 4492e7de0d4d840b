//! Activations of a thread, by the scheduler's tracepoints: from a wake-up to the next sleep.

use std::io;

use perf_event::events::Tracepoint as PerfTracepoint;

use super::Event;
use super::stream::Stream;
use super::tracefs::{Tracefs, number};

type Field = (usize, usize);

/// Open tracepoints.
pub struct Activations {
    stream: Stream,
    /// Events of `sched_switch` come from these sources on, those of `sched_wakeup` before.
    first_switch: usize,
    woken: Field,
    left: Field,
    left_state: Field,
    thread: Option<u32>,
}

impl Activations {
    /// Opens `sched_wakeup` on all of these cores, because whoever wakes a thread may run anywhere, and `sched_switch` on the
    /// thread's own.
    ///
    /// # Errors
    /// What the kernel refuses: no tracepoints, no permission.
    pub fn open(core: u32, all_cores: &[u32]) -> io::Result<Self> {
        let tracefs = Tracefs::open()?;
        let (wakeup, switch) = (tracefs.tracepoint("sched/sched_wakeup")?, tracefs.tracepoint("sched/sched_switch")?);
        let missing = || io::Error::new(io::ErrorKind::Unsupported, "the kernel's tracepoints have other fields");
        let mut stream = Stream::new();
        for one in all_cores {
            stream.open(PerfTracepoint::with_id(wakeup.id), *one)?;
        }
        stream.open(PerfTracepoint::with_id(switch.id), core)?;
        Ok(Self {
            stream,
            first_switch: all_cores.len(),
            woken: wakeup.field("pid").ok_or_else(missing)?,
            left: switch.field("prev_pid").ok_or_else(missing)?,
            left_state: switch.field("prev_state").ok_or_else(missing)?,
            thread: None,
        })
    }

    /// From now on the activations of this thread, the first of its process, are events; none before.
    pub fn follow(&mut self, thread: u32) {
        self.thread = Some(thread);
    }

    /// Takes what has happened so far, in the order of time.
    pub fn drain(&mut self, mut each: impl FnMut(Event)) {
        let Self { stream, first_switch, woken, left, left_state, thread } = self;
        stream.drain(|sample| {
            let begins = sample.source < *first_switch;
            let whose = number(&sample.raw, if begins { *woken } else { *left });
            let Some(thread) = thread.filter(|thread| whose == Some(u64::from(*thread))) else { return };
            // State 0 is running: it was preempted, and its pass goes on. The bits of preemption lie above the states.
            let sleeps = begins || number(&sample.raw, *left_state).is_some_and(|state| state & 0xff != 0);
            if sleeps {
                each(Event { thread, process: thread, begins, at_ns: sample.at_ns });
            }
        });
    }

    /// Events that found a buffer full.
    pub fn lost(&self) -> u64 {
        self.stream.lost()
    }
}
