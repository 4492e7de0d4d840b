//! The target's longest samples in the words of a run.

use waykeeper_run::{LongSample, MemoryPart, SamplePart};
use waykeeper_simulator::Engine;
use waykeeper_simulator::observe::explain::{Explained, From, LineRole, Part};
use waykeeper_simulator::observe::losses::{Cause, Lost};

/// The longest samples of an engine that was set to explain them, with times from the end of the warm-up at `warm_ps`.
pub fn longest(engine: &Engine, warm_ps: u64) -> Vec<LongSample> {
    let of = |sample: &Explained| LongSample {
        repeat: 1,
        at_s: sample.ended_ps.saturating_sub(warm_ps) as f64 / 1e12,
        ns: sample.ticks as f64 * engine.tick_ns(),
        parts: sample.parts.iter().map(|part| of_part(part, sample.began_ps, engine)).collect(),
        further_parts: sample.further,
    };
    engine.longest().iter().map(of).collect()
}

fn of_part(part: &Part, began_ps: u64, engine: &Engine) -> SamplePart {
    let last = part.lost.last();
    SamplePart {
        from_ns: part.asked_ps as f64 / 1e3 - began_ps as f64 / 1e3,
        ns: ns(part.asked_ps, part.came_ps),
        line: what(part.what).into(),
        from: from(part.from),
        lost: why(part, engine),
        lost_before_ns: last.map(|lost| ns(lost.at, part.asked_ps)),
        memory: of_memory(part),
    }
}

fn ns(from_ps: u64, until_ps: u64) -> f64 {
    until_ps.saturating_sub(from_ps) as f64 / 1e3
}

fn what(what: LineRole) -> &'static str {
    match what {
        LineRole::Code => "code",
        LineRole::Data => "data",
        LineRole::Stack => "the stack",
        LineRole::Recorder => "the recorder",
        LineRole::PageTable => "a page table",
    }
}

fn from(from: From) -> String {
    match from {
        From::SecondLevel => "L2".into(),
        From::Shared(level) => format!("L{level}"),
        From::OnChip => "the on-chip RAM".into(),
        From::OtherCore => "another core".into(),
        From::Filter(0) => "an entry of the cluster's snoop filter".into(),
        From::Filter(_) => "an entry of the interconnect's snoop filter".into(),
        From::InFlight => "a line under way".into(),
        From::Memory => "memory".into(),
    }
}

/// What made the line go, one loss after the other; nothing where it was never here.
fn why(part: &Part, engine: &Engine) -> Option<String> {
    if part.lost.is_empty() {
        // Only the last reason is remembered: not who was it, nor where.
        return loss(part.cause, "another core", None);
    }
    let of = |lost: &Lost| loss(lost.cause, &format!("core {}", engine.core_id(lost.by)), Some(lost.level));
    let losses: Vec<_> = part.lost.iter().filter_map(of).collect();
    Some(losses.join(", then "))
}

fn loss(cause: Cause, core: &str, level: Option<u8>) -> Option<String> {
    let place = match level {
        None => "a cache".into(),
        Some(0) => "its core".into(),
        Some(level) => format!("L{level}"),
    };
    let place_in = level.map_or(String::new(), |_| format!(" in {place}"));
    Some(match cause {
        Cause::Cold => return None,
        Cause::Own => format!("another line of this core took its place{place_in}"),
        Cause::Neighbour => format!("a line of {core} took its place{place_in}"),
        Cause::ClusterFilter => format!("a line of {core} took its entry in the cluster's snoop filter"),
        Cause::InterconnectFilter => format!("a line of {core} took its entry in the interconnect's snoop filter"),
        Cause::Inclusion => format!("an inclusive cache further out gave it up for {core}"),
        Cause::Write => format!("{core} wrote it"),
        Cause::NotAllocated => format!("{place} did not take it in its no-allocate mode"),
        Cause::Refused => format!("{place} had no way for it that is not locked"),
    })
}

fn of_memory(part: &Part) -> Option<MemoryPart> {
    let story = part.memory?;
    let queued_ps = story.held_until_ps.unwrap_or(story.admitted_ps);
    Some(MemoryPart {
        in_front_ns: ns(part.asked_ps, story.admitted_ps),
        for_write_ns: ns(story.admitted_ps, queued_ps),
        in_bank_ns: ns(queued_ps, story.issued_ps),
        reads_ahead: story.reads_ahead,
        passed_by: story.passed_by,
        refreshes: story.refreshes,
        to_read_ns: ns(story.issued_ps, part.came_ps),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_is_all_that_is_remembered_names_no_place() {
        let told = |level| loss(Cause::Neighbour, "core 2", level).unwrap();
        assert_eq!(
            [Some(3), Some(0), None].map(told),
            [
                "a line of core 2 took its place in L3",
                "a line of core 2 took its place in its core",
                "a line of core 2 took its place"
            ]
        );
        assert_eq!(loss(Cause::Refused, "core 2", None).unwrap(), "a cache had no way for it that is not locked");
        assert_eq!(loss(Cause::Cold, "core 2", Some(3)), None);
    }
}
