//! What the figure of a simulated neighbour rests on: the mechanisms that its accesses reach, and the standing of their parameters.

use std::collections::BTreeMap;

use waykeeper_run::Parameters;
use waykeeper_workload::CacheShapes;

use super::record::ReachedMechanism;

/// A part of a platform file.
struct Part {
    name: &'static str,
    is_of: fn(&str) -> bool,
    /// Whether accesses reach it, from a core with these caches.
    is_reached: fn(Accesses, &CacheShapes) -> bool,
}

/// What decides how far accesses go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accesses {
    /// Bytes covered.
    pub bytes: u64,
    /// Whether they are to the target's lines, which go from one core's caches to the other's.
    pub shares_lines: bool,
}

const PARTS: [Part; 5] = [
    Part { name: "cores and their own caches", is_of: |key| key.starts_with("cores."), is_reached: |_, _| true },
    Part {
        name: "shared caches",
        is_of: |key| key.starts_with("shared_caches.") && !key.contains("snoop_filter"),
        is_reached: leaves_the_first,
    },
    Part { name: "snoop filters", is_of: |key| key.contains("snoop_filter"), is_reached: leaves_the_first },
    Part {
        name: "interconnect and memory-side cache",
        is_of: |key| key.starts_with("interconnect.") && !key.contains("snoop_filter"),
        is_reached: leaves_the_first,
    },
    Part { name: "memory", is_of: |key| key.starts_with("memory."), is_reached: leaves_the_last },
];

fn leaves_the_first(accesses: Accesses, caches: &CacheShapes) -> bool {
    let first = caches.0.iter().map(|shape| shape.size_bytes).min();
    accesses.shares_lines || first.is_none_or(|first| accesses.bytes > first)
}

/// More than the last cache, or than the share of it that others leave: half.
fn leaves_the_last(accesses: Accesses, caches: &CacheShapes) -> bool {
    caches.0.iter().map(|shape| shape.size_bytes).max().is_none_or(|last| accesses.bytes > last / 2)
}

/// What a neighbour with such accesses from a core with these caches rests on, part by part of the platform.
pub(super) fn rests_on(accesses: Accesses, caches: &CacheShapes, parameters: &Parameters) -> Vec<ReachedMechanism> {
    let reached = PARTS.iter().filter(|part| (part.is_reached)(accesses, caches));
    let of = |part: &Part| {
        let own = || parameters.list.iter().filter(|parameter| (part.is_of)(&parameter.key));
        let mut standing = BTreeMap::new();
        for parameter in own() {
            *standing.entry(parameter.is.clone()).or_insert(0) += 1;
        }
        let is_known = |is: &str| is == "documented" || is == "measured";
        let open = own().filter(|parameter| !is_known(&parameter.is)).map(|parameter| parameter.key.clone()).collect();
        ReachedMechanism { name: part.name.into(), standing, open }
    };
    reached.map(of).filter(|mechanism| !mechanism.standing.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use waykeeper_run::ParameterRecord;
    use waykeeper_workload::CacheShape;

    use super::*;

    #[test]
    fn a_neighbour_rests_on_what_its_accesses_reach() {
        let shape = |level, size_bytes| CacheShape { level, size_bytes, ways: 8, line_bytes: 64 };
        let caches = CacheShapes(vec![shape(1, 32 << 10), shape(2, 1 << 20)]);
        let parameter = |key: &str, is: &str| ParameterRecord {
            key: key.into(),
            value: "1".into(),
            is: is.into(),
            note: String::new(),
        };
        let list = vec![
            parameter("cores.0.l1d.ways", "documented"),
            parameter("shared_caches.0.ways", "measured"),
            parameter("shared_caches.0.snoop_filter.ways", "assumed"),
            parameter("memory.scheduler.write_age_ns", "fitted"),
            parameter("memory.size_mib", "documented"),
            parameter("alternative_memories.x.size_mib", "assumed"),
        ];
        let parameters = Parameters { counts: BTreeMap::new(), list };
        let names = |bytes, shares_lines| -> Vec<String> {
            let reached = rests_on(Accesses { bytes, shares_lines }, &caches, &parameters);
            reached.into_iter().map(|mechanism| mechanism.name).collect()
        };
        assert_eq!(names(16 << 10, false), ["cores and their own caches"]);
        assert_eq!(names(64 << 10, false), ["cores and their own caches", "shared caches", "snoop filters"]);
        // Lines of the target leave its caches however few they are.
        assert_eq!(names(64, true), names(64 << 10, false));
        let all = rests_on(Accesses { bytes: 4 << 20, shares_lines: false }, &caches, &parameters);
        let memory = all.last().unwrap();
        assert_eq!(
            (memory.name.as_str(), memory.open.as_slice()),
            ("memory", ["memory.scheduler.write_age_ns".to_owned()].as_slice())
        );
        assert_eq!(memory.standing, BTreeMap::from([("documented".to_owned(), 1), ("fitted".to_owned(), 1)]));
        assert_eq!(all[2].open, ["shared_caches.0.snoop_filter.ways"]);
    }
}
