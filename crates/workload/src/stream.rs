//! The address stream of a pattern: what the C kernel does, access by access.

mod accesses;

use crate::pattern::{Operation, Order, Pattern, TickBody};
use crate::random::Xorshift;
use crate::trace::{Replay, ReplayedPasses};

/// Which memory an access goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Region {
    /// The workload's buffer.
    Data,
    /// The code arena of `random`: an instruction fetch.
    Code,
}

/// One access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Which memory.
    pub region: Region,
    /// Bytes from the start of that memory.
    pub offset: u64,
    /// What it does (a fetch is a `Read`).
    pub operation: Operation,
    /// Its address comes from the previous access, so it cannot start earlier.
    pub dependent: bool,
}

/// One step of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkloadStep {
    /// Wait until this many nanoseconds after the previous `Wait` ended (a period; an overrun does not wait).
    Wait(f64),
    /// Wait until the next release: a time so long after the common start of all workloads plus a whole number of periods that
    /// is neither past nor that of the previous release.
    Release {
        /// Nanoseconds from the common start to the first release.
        offset_ns: f64,
        /// Nanoseconds from one release to the next.
        period_ns: f64,
    },
    /// A sample begins: the counter is read.
    Start,
    /// Memory is accessed.
    Access(Access),
    /// This many instructions run that touch no memory; `code_bytes` of code hold them. Those of a `tick` depend on each
    /// other, one cycle each. In a trace they are the instructions between two accesses, those included that went to a line
    /// that was just used; how fast they run is the core's.
    Compute {
        /// Instructions.
        instructions: u64,
        /// Bytes of straight-line code that they occupy.
        code_bytes: u64,
    },
    /// A mispredicted branch that decides on a load: the core begins again there.
    Mispredicted {
        /// The load went to the line of the last load among the steps; otherwise to another one that was just used.
        on_shown: bool,
    },
    /// The sample ends: the counter is read and the duration recorded in the recorder.
    End,
}

/// An endless stream of the steps of a pattern.
#[derive(Debug, Clone)]
pub struct Stream {
    state: State,
}

/// A stream without steps.
impl Default for Stream {
    fn default() -> Self {
        Self { state: State::Nothing }
    }
}

#[derive(Debug, Clone)]
enum State {
    Walk {
        operation: Operation,
        outer: (u64, u64),
        inner: (u64, u64),
        i: u64,
        j: u64,
        phase: Phase,
    },
    /// `order` has the places in the order in which they are visited, `at` is a place in it.
    Chase {
        order: Vec<u32>,
        stride: u64,
        batch: u64,
        at: usize,
        done: u64,
        phase: Phase,
    },
    Buffer {
        bytes: u64,
        stride: u64,
        operation: Operation,
        period_ns: f64,
        offset_ns: Option<f64>,
        offset: u64,
        phase: Phase,
    },
    /// `of` has the numbers of the background in progress, `mean` those of the pattern.
    Random {
        of: RandomShape,
        mean: RandomShape,
        generator: Xorshift,
        done: u64,
        phase: Phase,
    },
    Tick {
        body: TickBody,
        phase: Phase,
    },
    Trace(Box<Replay>),
    Nothing,
}

#[derive(Debug, Clone, Copy)]
struct RandomShape {
    data_lines: u64,
    data_accesses: u64,
    data_modifies: u64,
    random_counts: bool,
    code_lines: u64,
    code_calls: u64,
    event_data_lines: u64,
    event_code_lines: u64,
    event_stride_lines: u64,
    line_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Before,
    Started,
    Within,
}

impl Pattern {
    /// The endless stream of steps. `seed` decides the permutation of a chase and the accesses of `random`; a trace has the
    /// seed of its image in it, and is the same every time.
    pub fn stream(&self, seed: u64) -> Stream {
        let state = match self {
            Self::Walk { operation, outer, inner } => State::Walk {
                operation: *operation,
                outer: (outer.count, outer.stride),
                inner: (inner.count, inner.stride),
                i: 0,
                j: 0,
                phase: Phase::Before,
            },
            Self::Chase { elements, stride, order, batch } => State::Chase {
                order: visits(&permutation(*elements, *order, seed)),
                stride: *stride,
                batch: *batch,
                at: 0,
                done: 0,
                phase: Phase::Before,
            },
            Self::Buffer { bytes, stride, operation, period_ns, offset_ns } => State::Buffer {
                bytes: *bytes,
                stride: *stride,
                operation: *operation,
                period_ns: *period_ns,
                offset_ns: *offset_ns,
                offset: 0,
                phase: Phase::Before,
            },
            Self::Random { .. } => {
                let (mean, mut generator) = (RandomShape::of(self), Xorshift::new(seed));
                State::Random { of: mean.drawn(&mut generator), mean, generator, done: 0, phase: Phase::Before }
            }
            Self::Tick { body } => State::Tick { body: *body, phase: Phase::Before },
            Self::Trace { source, line_bytes, phase, period_ns, .. } => {
                let passes = ReplayedPasses { phase: *phase, period_ns: *period_ns };
                State::Trace(Box::new(Replay::new(source, *line_bytes, passes)))
            }
            Self::Command { .. } | Self::Wakeup { .. } | Self::Interrupt { .. } | Self::Packets { .. } => {
                State::Nothing
            }
        };
        Stream { state }
    }
}

/// The successor of every place in a chase: one cycle through all of them (Sattolo's algorithm for the random order).
pub(crate) fn permutation(elements: u64, order: Order, seed: u64) -> Vec<u32> {
    let n = elements as u32;
    let mut next: Vec<u32> = (0..n).collect();
    match order {
        Order::Linear => next.rotate_left(1),
        Order::Random => {
            let mut generator = Xorshift::new(seed);
            for i in (1..n as usize).rev() {
                next.swap(i, generator.below(i as u64) as usize);
            }
        }
    }
    next
}

/// The places of one cycle from place 0 on. To follow the successors at every access would cost the host a cache miss each.
fn visits(next: &[u32]) -> Vec<u32> {
    let cycle = std::iter::successors(Some(0u32), |at| Some(next[*at as usize]));
    cycle.take(next.len()).collect()
}

impl Pattern {
    /// For a chase: the successor of every place, by place number. Empty for other patterns.
    pub fn permutation(&self, seed: u64) -> Vec<u32> {
        match self {
            Self::Chase { elements, order, .. } => permutation(*elements, *order, seed),
            _ => Vec::new(),
        }
    }
}

impl RandomShape {
    fn of(pattern: &Pattern) -> Self {
        let Pattern::Random {
            data_bytes,
            data_accesses,
            data_modifies,
            random_counts,
            code_bytes,
            code_calls,
            event_data_lines,
            event_code_lines,
            event_device_pages: _,
            event_stride_lines,
            line_bytes,
        } = *pattern
        else {
            unreachable!("only called for a random pattern")
        };
        Self {
            data_lines: data_bytes / line_bytes,
            data_accesses,
            data_modifies,
            random_counts,
            code_lines: code_bytes / line_bytes,
            code_calls,
            event_data_lines,
            event_code_lines,
            event_stride_lines,
            line_bytes,
        }
    }

    /// The numbers of one background.
    fn drawn(self, generator: &mut Xorshift) -> Self {
        if !self.random_counts {
            return self;
        }
        let mut draw = |mean: u64| generator.below(2 * mean + 1);
        let [data_accesses, data_modifies, code_calls] =
            [self.data_accesses, self.data_modifies, self.code_calls].map(&mut draw);
        Self { data_accesses, data_modifies, code_calls, ..self }
    }

    /// A read of the background.
    fn background(&self, generator: &mut Xorshift) -> Access {
        let offset = generator.below(self.data_lines) * self.line_bytes;
        Access { region: Region::Data, offset, operation: Operation::Read, dependent: false }
    }

    fn is_nothing(&self) -> bool {
        self.data_accesses + self.data_modifies + self.code_calls + self.event_data_lines + self.event_code_lines == 0
    }
}

fn read(region: Region, offset: u64) -> WorkloadStep {
    WorkloadStep::Access(Access { region, offset, operation: Operation::Read, dependent: false })
}

impl Stream {
    /// For a walk: takes every `part`-th phase of the outer loop as the starting point, so that several neighbours do
    /// not run in lock step. Does nothing to other patterns.
    pub fn start_at_outer(&mut self, iteration: u64) {
        if let State::Walk { outer, i, .. } = &mut self.state {
            *i = iteration % outer.0;
        }
    }

    /// For a walk: the present iteration of the outer loop.
    pub fn outer_iteration(&self) -> Option<u64> {
        match &self.state {
            State::Walk { i, .. } => Some(*i),
            _ => None,
        }
    }

    /// Whether all that it does to memory is to read data, or prefetch them, at addresses that depend on nothing.
    pub fn only_reads(&self) -> bool {
        matches!(&self.state, State::Walk { operation: Operation::Read | Operation::Prefetch, .. })
    }

    /// The offset of the next access, where there are [only reads](Stream::only_reads); what lies before it is passed over.
    #[inline(always)]
    pub fn next_read(&mut self) -> u64 {
        match &mut self.state {
            State::Walk { outer, inner, i, j, phase, .. } => {
                if *j == inner.0 {
                    (*j, *i) = (0, if *i + 1 == outer.0 { 0 } else { *i + 1 });
                }
                *phase = Phase::Within;
                *j += 1;
                *i * outer.1 + (*j - 1) * inner.1
            }
            _ => {
                let mut offset = 0;
                self.accesses(1, |access| offset = access.offset);
                offset
            }
        }
    }

    /// For `random`: the accesses to data, and then the calls, that are left before the next event; none in an event.
    pub fn before_event(&self) -> Option<[u64; 2]> {
        match &self.state {
            State::Random { of, done, phase: Phase::Before, .. } => {
                let data = of.data_accesses + of.data_modifies;
                Some([data.saturating_sub(*done), of.code_calls - done.saturating_sub(data)])
            }
            State::Random { .. } => Some([0; 2]),
            _ => None,
        }
    }
}

impl Iterator for Stream {
    type Item = WorkloadStep;

    #[expect(
        clippy::too_many_lines,
        reason = "a state machine, one arm a kind of workload; it is called for every simulated access"
    )]
    fn next(&mut self) -> Option<WorkloadStep> {
        Some(match &mut self.state {
            State::Nothing => return None,
            State::Trace(replay) => return replay.next_step(),
            State::Walk { operation, outer, inner, i, j, phase } => match phase {
                Phase::Before => {
                    *phase = Phase::Within;
                    WorkloadStep::Start
                }
                _ if *j == inner.0 => {
                    *j = 0;
                    *i = if *i + 1 == outer.0 { 0 } else { *i + 1 };
                    *phase = Phase::Before;
                    WorkloadStep::End
                }
                _ => {
                    let offset = *i * outer.1 + *j * inner.1;
                    *j += 1;
                    WorkloadStep::Access(Access {
                        region: Region::Data,
                        offset,
                        operation: *operation,
                        dependent: false,
                    })
                }
            },
            State::Chase { order, stride, batch, at, done, phase } => match phase {
                Phase::Before => {
                    *phase = Phase::Within;
                    WorkloadStep::Start
                }
                _ if *done == *batch => {
                    *done = 0;
                    *phase = Phase::Before;
                    WorkloadStep::End
                }
                _ => {
                    let offset = u64::from(order[*at]) * *stride;
                    *at = if *at + 1 == order.len() { 0 } else { *at + 1 };
                    *done += 1;
                    WorkloadStep::Access(Access {
                        region: Region::Data,
                        offset,
                        operation: Operation::Read,
                        dependent: true,
                    })
                }
            },
            State::Buffer { bytes, stride, operation, period_ns, offset_ns, offset, phase } => match phase {
                Phase::Before => {
                    *phase = Phase::Started;
                    match *offset_ns {
                        None => WorkloadStep::Wait(*period_ns),
                        Some(offset_ns) => WorkloadStep::Release { offset_ns, period_ns: *period_ns },
                    }
                }
                Phase::Started => {
                    *phase = Phase::Within;
                    WorkloadStep::Start
                }
                Phase::Within if *offset + 8 > *bytes => {
                    *offset = 0;
                    *phase = Phase::Before;
                    WorkloadStep::End
                }
                Phase::Within => {
                    let at = *offset;
                    *offset += *stride;
                    WorkloadStep::Access(Access {
                        region: Region::Data,
                        offset: at,
                        operation: *operation,
                        dependent: false,
                    })
                }
            },
            State::Random { of, mean, generator, done, phase } => match phase {
                // Background: all data reads, all changes, then all calls; then the event, which is the sample.
                Phase::Before if *done < of.data_accesses => {
                    *done += 1;
                    WorkloadStep::Access(of.background(generator))
                }
                Phase::Before if *done < of.data_accesses + of.data_modifies => {
                    *done += 1;
                    let offset = generator.below(of.data_lines) * of.line_bytes;
                    let operation = Operation::Modify;
                    WorkloadStep::Access(Access { region: Region::Data, offset, operation, dependent: false })
                }
                Phase::Before if *done < of.data_accesses + of.data_modifies + of.code_calls => {
                    *done += 1;
                    read(Region::Code, generator.below(of.code_lines) * of.line_bytes)
                }
                Phase::Before => {
                    *done = 0;
                    *phase = Phase::Within;
                    WorkloadStep::Start
                }
                _ if *done < of.event_code_lines => {
                    let line = of.code_lines + *done * of.event_stride_lines;
                    *done += 1;
                    read(Region::Code, line * of.line_bytes)
                }
                _ if *done < of.event_code_lines + of.event_data_lines => {
                    let line = of.data_lines + (*done - of.event_code_lines) * of.event_stride_lines;
                    *done += 1;
                    read(Region::Data, line * of.line_bytes)
                }
                _ => {
                    *done = 0;
                    *phase = Phase::Before;
                    *of = mean.drawn(generator);
                    WorkloadStep::End
                }
            },
            State::Tick { body, phase } => match phase {
                Phase::Before => {
                    *phase = Phase::Started;
                    WorkloadStep::Start
                }
                Phase::Started => {
                    *phase = Phase::Within;
                    match *body {
                        TickBody::Nothing => WorkloadStep::Compute { instructions: 0, code_bytes: 0 },
                        TickBody::Adds(n) => WorkloadStep::Compute { instructions: n, code_bytes: 4 * n },
                        TickBody::Loop(n) => WorkloadStep::Compute { instructions: n, code_bytes: 8 },
                    }
                }
                Phase::Within => {
                    *phase = Phase::Before;
                    WorkloadStep::End
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Loop;

    fn offsets(pattern: &Pattern, n: usize) -> Vec<u64> {
        let accesses = pattern.stream(1).filter_map(|step| match step {
            WorkloadStep::Access(access) => Some(access.offset),
            _ => None,
        });
        accesses.take(n).collect()
    }

    #[test]
    fn a_walk_runs_the_inner_loop_for_each_outer_step() {
        let walk = Pattern::Walk {
            operation: Operation::Read,
            outer: Loop { count: 2, stride: 64 },
            inner: Loop { count: 3, stride: 4096 },
        };
        assert_eq!(offsets(&walk, 8), [0, 4096, 8192, 64, 4160, 8256, 0, 4096]);
        let steps: Vec<_> = walk.stream(0).take(6).collect();
        assert!(matches!(
            (steps[0], steps[4], steps[5]),
            (WorkloadStep::Start, WorkloadStep::End, WorkloadStep::Start)
        ));
    }

    #[test]
    fn a_chase_visits_every_place_once_before_it_returns() {
        for order in [Order::Random, Order::Linear] {
            let chase = Pattern::Chase { elements: 100, stride: 64, order, batch: 7 };
            let mut seen = offsets(&chase, 100);
            assert_eq!(offsets(&chase, 101)[100], seen[0]);
            seen.sort_unstable();
            assert_eq!(seen, (0..100).map(|i| i * 64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_buffer_pass_covers_the_buffer_and_no_more() {
        let at =
            Pattern::Buffer { bytes: 8, stride: 8, operation: Operation::Read, period_ns: 1e5, offset_ns: Some(25e3) };
        let steps: Vec<WorkloadStep> = at.stream(1).take(5).collect();
        let release = WorkloadStep::Release { offset_ns: 25e3, period_ns: 1e5 };
        assert_eq!((steps[0], steps[4]), (release, release));
        let buffer =
            Pattern::Buffer { bytes: 128, stride: 32, operation: Operation::Read, period_ns: 1e7, offset_ns: None };
        let steps: Vec<_> = buffer.stream(0).take(8).collect();
        assert_eq!(steps[0], WorkloadStep::Wait(1e7));
        assert_eq!(offsets(&buffer, 5), [0, 32, 64, 96, 0]);
        assert_eq!((steps[6], steps[7]), (WorkloadStep::End, WorkloadStep::Wait(1e7)));
    }

    #[test]
    fn random_counts_are_anything_up_to_twice_those_given() {
        let random = Pattern::Random {
            data_bytes: 1 << 20,
            data_accesses: 10,
            data_modifies: 3,
            random_counts: true,
            code_bytes: 1 << 20,
            code_calls: 5,
            event_data_lines: 2,
            event_code_lines: 3,
            event_device_pages: 0,
            event_stride_lines: 7,
            line_bytes: 64,
        };
        // The last line of each kind is two or one strides behind the first: 15 and 8 lines.
        assert_eq!((random.code_bytes(), random.data_bytes()), ((1 << 20) + 15 * 64, (1 << 20) + 8 * 64));
        let (mut seen, mut counts, mut events) = ([[0u32; 21]; 3], [0; 3], 0);
        for step in random.stream(1).take(300_000) {
            match step {
                WorkloadStep::Access(Access { region, operation, .. }) => {
                    counts[match (region, operation) {
                        (Region::Data, Operation::Read) => 0,
                        (Region::Data, _) => 1,
                        (Region::Code, _) => 2,
                    }] += 1;
                }
                WorkloadStep::Start => {
                    counts.iter().zip(&mut seen).for_each(|(count, seen)| seen[*count] += 1);
                    events += 1;
                }
                // What follows a start is the event's.
                _ => counts = [0; 3],
            }
        }
        // 21, 7 and 11 numbers, each as likely as the others: about 12,500 events, so 595 of each or more.
        for (seen, numbers) in seen.iter().zip([21, 7, 11]) {
            let expected = events / numbers as u32;
            assert!(seen[..numbers].iter().all(|times| times.abs_diff(expected) < expected / 4), "{seen:?}");
            assert_eq!(seen[..numbers].iter().sum::<u32>(), events);
        }
    }

    #[test]
    fn an_event_touches_its_own_lines_only() {
        let random = Pattern::Random {
            data_bytes: 1024,
            data_accesses: 5,
            data_modifies: 2,
            random_counts: false,
            code_bytes: 512,
            code_calls: 3,
            event_data_lines: 2,
            event_code_lines: 1,
            event_device_pages: 0,
            event_stride_lines: 1,
            line_bytes: 64,
        };
        let steps: Vec<_> = random.stream(3).take(15).collect();
        let start = steps.iter().position(|s| *s == WorkloadStep::Start).unwrap();
        assert_eq!(start, 10);
        assert_eq!(steps[11], read(Region::Code, 512));
        assert_eq!(steps[12], read(Region::Data, 1024));
        assert_eq!(steps[13], read(Region::Data, 1088));
        assert_eq!(steps[14], WorkloadStep::End);
        for (at, step) in steps[..10].iter().enumerate() {
            let WorkloadStep::Access(access) = step else { panic!("{step:?}") };
            // Five reads, two changes, three calls.
            assert_eq!(access.operation == Operation::Modify, (5..7).contains(&at));
            let bound = if access.region == Region::Data { 1024 } else { 512 };
            assert!(access.offset < bound);
        }
    }
}
