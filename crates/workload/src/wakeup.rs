//! A thread that sleeps until a programmed time, once every period. Linux wakes it, so only the host runs it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::duration::Nanoseconds;
use crate::pattern::Pattern;
use crate::quantity::CacheShapes;
use crate::workload::{Workload, WorkloadError, refused};

/// The shortest period, nanoseconds: less is shorter than a wake-up takes anywhere.
const SHORTEST_PERIOD_NS: f64 = 1e3;

/// What is timed of a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WakeupFigure {
    /// From the programmed time to the time at which the thread runs.
    WakeupLatency,
    /// From the programmed time to the end of the body.
    ResponseTime,
}

/// Sleep until a programmed time, once every period, then run the body. One sample is one wake-up. Host only.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wakeup {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// Time from one programmed wake-up to the next.
    pub period: Nanoseconds,
    /// A workload of which one pass runs after each wake-up: a `walk`, `stream`, `chase`, `random`, `tick` or program; none
    /// where absent.
    pub body: Option<Box<Workload>>,
    /// What is timed: `wakeup_latency`, or `response_time`, to the end of the body; the response time where absent and there is
    /// a body.
    pub figure: Option<WakeupFigure>,
}

impl Wakeup {
    pub(crate) fn resolve(&self, caches: &CacheShapes) -> Result<Pattern, WorkloadError> {
        let body = self.body.as_ref().map(|body| resolve_body(body, caches).map(Box::new)).transpose()?;
        let figure = match (self.figure, &body) {
            (None | Some(WakeupFigure::WakeupLatency), None) | (Some(WakeupFigure::WakeupLatency), _) => {
                WakeupFigure::WakeupLatency
            }
            (None | Some(WakeupFigure::ResponseTime), Some(_)) => WakeupFigure::ResponseTime,
            (Some(WakeupFigure::ResponseTime), None) => {
                return Err(refused("figure", "without a `body` there is no response; `wakeup_latency` would do"));
            }
        };
        Ok(Pattern::Wakeup { period_ns: period_ns(self.period)?, figure, body })
    }
}

/// A period that a timer can have, nanoseconds.
pub(crate) fn period_ns(period: Nanoseconds) -> Result<f64, WorkloadError> {
    if period.0 < SHORTEST_PERIOD_NS {
        let why = format!("a period of {period} is shorter than a wake-up takes; 1 us or more would do");
        return Err(refused("period", &why));
    }
    Ok(period.0.round())
}

pub(crate) fn resolve_body(body: &Workload, caches: &CacheShapes) -> Result<Pattern, WorkloadError> {
    let no = |why: &str| Err(refused("body.kind", why));
    match body {
        Workload::Buffer(_) => return no("a `buffer` has a period of its own; `stream` or `walk` would do"),
        Workload::Wakeup(_) | Workload::Interrupt(_) => {
            return no("a body does not sleep; `stream` or `walk` would do");
        }
        Workload::Packets(_) => return no("a body waits for no packets; `stream` or `walk` would do"),
        Workload::Command(_) => return no("an external program is no body; `stream`, `walk` or `trace` would do"),
        Workload::Trace(trace) if trace.file.is_some() => {
            return no("a recorded trace cannot run on a machine; `program` in place of `file` would do");
        }
        _ => {}
    }
    body.resolve(caches).map_err(|refused| WorkloadError { key: format!("body.{}", refused.key), ..refused })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Loop, Operation};
    use crate::quantity::CacheShape;

    fn pattern(keys: &str) -> Result<Pattern, WorkloadError> {
        let caches = CacheShapes(vec![CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 }]);
        toml::from_str::<Workload>(&format!("kind = 'wakeup'\n{keys}\n")).unwrap().resolve(&caches)
    }

    #[test]
    fn the_figure_is_the_response_time_where_there_is_a_body() {
        let figure = |keys: &str| match pattern(keys).unwrap() {
            Pattern::Wakeup { figure, .. } => figure,
            other => panic!("{other:?}"),
        };
        let body = "body = { kind = 'tick' }";
        assert_eq!(figure("period = '1 ms'"), WakeupFigure::WakeupLatency);
        assert_eq!(figure(&format!("period = '1 ms'\n{body}")), WakeupFigure::ResponseTime);
        assert_eq!(figure(&format!("period = '1 ms'\n{body}\nfigure = 'wakeup_latency'")), WakeupFigure::WakeupLatency);
    }

    #[test]
    fn a_body_is_resolved_with_the_caches_and_its_memory_is_the_wakeups() {
        let pattern =
            pattern("period = '1 ms'\nbody = { kind = 'stream', operation = 'read', size = '2 x L1' }").unwrap();
        // 64 KiB are 16 samples of 64 lines.
        let (outer, inner) = (Loop { count: 16, stride: 4096 }, Loop { count: 64, stride: 64 });
        let walk = Pattern::Walk { operation: Operation::Read, outer, inner };
        assert_eq!(pattern.data_bytes(), walk.data_bytes());
        let Pattern::Wakeup { body: Some(body), period_ns, .. } = pattern else { panic!() };
        assert_eq!((*body, period_ns), (walk, 1e6));
    }

    #[test]
    fn what_no_thread_can_do_names_its_key() {
        for (keys, key, word) in [
            ("period = '0 ms'", "period", "1 us"),
            ("period = '1 ms'\nfigure = 'response_time'", "figure", "without a `body`"),
            ("period = '1 ms'\nbody = { kind = 'wakeup', period = '1 ms' }", "body.kind", "does not sleep"),
            ("period = '1 ms'\nbody = { kind = 'command', argv = ['x'] }", "body.kind", "external program"),
            ("period = '1 ms'\nbody = { kind = 'trace', file = 'x.wkt' }", "body.kind", "`program`"),
            (
                "period = '1 ms'\nbody = { kind = 'stream', operation = 'read', size = '4 B' }",
                "body.size",
                "less than one stride",
            ),
        ] {
            let refused = pattern(keys).unwrap_err();
            assert!(refused.key == key && refused.why.contains(word), "{keys}: {refused:?}");
        }
    }
}
