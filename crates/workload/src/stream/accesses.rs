//! Many accesses of a stream at once.

use super::{Access, Phase, Region, State, Stream, WorkloadStep};
use crate::pattern::Operation;

impl Stream {
    /// Visits the next `count` accesses; what lies between them is passed over. It returns the same accesses as the steps do,
    /// faster: a loop for each pattern, in which the visitor can be inlined.
    ///
    /// A stream without accesses returns none: `tick`, an external program, and events that touch nothing.
    pub fn accesses(&mut self, count: u64, mut visit: impl FnMut(Access)) {
        let data = |offset, operation| Access { region: Region::Data, offset, operation, dependent: false };
        let mut left = count;
        match &mut self.state {
            State::Walk { operation, outer, inner, i, j, phase } => {
                while left > 0 {
                    if *j == inner.0 {
                        (*j, *i) = (0, if *i + 1 == outer.0 { 0 } else { *i + 1 });
                    }
                    let now = left.min(inner.0 - *j);
                    let start = *i * outer.1;
                    for j in *j..*j + now {
                        visit(data(start + j * inner.1, *operation));
                    }
                    *j += now;
                    *phase = Phase::Within;
                    left -= now;
                }
            }
            State::Chase { order, stride, batch, at, done, phase } => {
                while left > 0 {
                    let now = left.min((order.len() - *at) as u64);
                    for place in &order[*at..*at + now as usize] {
                        visit(Access { dependent: true, ..data(u64::from(*place) * *stride, Operation::Read) });
                    }
                    *at = (*at + now as usize) % order.len();
                    // A batch that is complete is followed by the next access's.
                    *done = (*done % *batch + now - 1) % *batch + 1;
                    *phase = Phase::Within;
                    left -= now;
                }
            }
            State::Buffer { bytes, stride, operation, offset, phase, .. } if *bytes >= 8 => {
                while left > 0 {
                    if *offset + 8 > *bytes {
                        *offset = 0;
                    }
                    let now = left.min((*bytes - 8 - *offset) / *stride + 1);
                    for _ in 0..now {
                        visit(data(*offset, *operation));
                        *offset += *stride;
                    }
                    *phase = Phase::Within;
                    left -= now;
                }
            }
            State::Random { .. } => self.random_accesses(count, visit),
            // A trace holds an access at least.
            State::Trace(_) => {
                while left > 0 {
                    if let Some(WorkloadStep::Access(access)) = self.next() {
                        visit(access);
                        left -= 1;
                    }
                }
            }
            _ => {}
        }
    }

    fn random_accesses(&mut self, count: u64, mut visit: impl FnMut(Access)) {
        let mut left = count;
        while left > 0 {
            match &mut self.state {
                State::Random { mean, .. } if mean.is_nothing() => return,
                State::Random { of, generator, done, phase: Phase::Before, .. } if *done < of.data_accesses => {
                    let now = left.min(of.data_accesses - *done);
                    for _ in 0..now {
                        visit(of.background(generator));
                    }
                    *done += now;
                    left -= now;
                }
                _ => {
                    if let Some(WorkloadStep::Access(access)) = self.next() {
                        visit(access);
                        left -= 1;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pattern::{Loop, Order, Pattern};

    fn patterns() -> impl Strategy<Value = Pattern> {
        use Operation::{Modify, Prefetch, Read, Write};
        let operation = || prop::sample::select(vec![Read, Write, Modify, Prefetch]);
        let a_loop = || (1..9u64, 1..9u64).prop_map(|(count, eights)| Loop { count, stride: 8 * eights });
        let walk = (operation(), a_loop(), a_loop()).prop_map(|(operation, outer, inner)| Pattern::Walk {
            operation,
            outer,
            inner,
        });
        let order = prop::sample::select(vec![Order::Random, Order::Linear]);
        let chase = (2..40u64, 1..9u64, order, 1..50u64).prop_map(|(elements, eights, order, batch)| Pattern::Chase {
            elements,
            stride: 8 * eights,
            order,
            batch,
        });
        let buffer = (8..200u64, 1..9u64, operation()).prop_map(|(bytes, eights, operation)| Pattern::Buffer {
            bytes,
            stride: 8 * eights,
            operation,
            period_ns: 1e6,
            offset_ns: None,
        });
        let random = ([0..5u64, 0..5, 0..5, 0..5, 1..5], any::<bool>()).prop_map(
            |([data_accesses, data_modifies, code_calls, event_data, event_code], random_counts)| Pattern::Random {
                data_bytes: 1024,
                data_accesses,
                data_modifies,
                random_counts,
                code_bytes: 512,
                code_calls,
                event_data_lines: event_data,
                event_code_lines: event_code,
                event_device_pages: 0,
                event_stride_lines: 1,
                line_bytes: 64,
            },
        );
        prop_oneof![walk, chase, buffer, random]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// In pieces of any length, with steps taken one by one between them.
        #[test]
        fn accesses_are_those_of_the_steps(pattern in patterns(), seed: u64, pieces in prop::collection::vec((0..70u64, 0..9usize), 1..9)) {
            let (mut fast, mut slow) = (pattern.stream(seed), pattern.stream(seed));
            let mut expected = |count: u64| -> Vec<Access> {
                let accesses = slow.by_ref().filter_map(|step| match step {
                    WorkloadStep::Access(access) => Some(access),
                    _ => None,
                });
                accesses.take(count as usize).collect()
            };
            for (count, steps) in pieces {
                let mut seen = Vec::new();
                fast.accesses(count, |access| seen.push(access));
                prop_assert_eq!(seen, expected(count));
                for _ in 0..steps {
                    if let Some(WorkloadStep::Access(access)) = fast.next() {
                        prop_assert_eq!(vec![access], expected(1));
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_without_accesses_ends() {
        let tick = Pattern::Tick { body: crate::pattern::TickBody::Nothing };
        let nothing = Pattern::Random {
            data_bytes: 64,
            data_accesses: 0,
            data_modifies: 0,
            random_counts: false,
            code_bytes: 64,
            code_calls: 0,
            event_data_lines: 0,
            event_code_lines: 0,
            event_device_pages: 0,
            event_stride_lines: 1,
            line_bytes: 64,
        };
        for pattern in [tick, nothing, Pattern::Command { argv: vec![], passes: crate::Passes::Process }] {
            pattern.stream(1).accesses(5, |access| panic!("{access:?}"));
        }
    }
}
