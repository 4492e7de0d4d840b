//! The rows of the guide's table, from the runs of a session.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_run::{BudgetRecord, CaseRecord, PacketRecord, RepeatRecord, Run};
use waykeeper_statistics::JudgementKind;

use crate::guide::{self, GuideRow};
use crate::record::BootRecord;
use crate::settings::{KpiSettings, Measurand};

/// So many of the largest blocks are listed.
const LISTED: usize = 5;

/// So many late cycles of packets are listed.
const LATE_LISTED: usize = 10;

/// A measurement under one setting.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KpiRow {
    /// The boot, from 1.
    pub boot: u32,
    /// What the user says of that boot.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// `none`, or the policy.
    pub setting: String,
    /// What was measured.
    pub measured: String,
    /// The core of the target.
    pub core: u32,
    /// The path of packets and where their time stamps come from, in words.
    pub path: Option<String>,
    /// Mean.
    pub average_ns: Option<f64>,
    /// Smallest.
    pub minimum_ns: Option<f64>,
    /// Largest; it belongs to the run length and bounds nothing.
    pub maximum_ns: Option<f64>,
    /// Largest minus smallest.
    pub jitter_ns: Option<f64>,
    /// Samples.
    pub iterations: u64,
    /// Wake-ups that did not take place in their period, or packets that were not answered in time: lost or late. Absent where nobody
    /// counted them.
    pub missed_cycles: Option<u64>,
    /// What became of the packets, all blocks together.
    pub packets: Option<PacketTotals>,
    /// Separate excursions above `outlier_above_ns`.
    pub outliers: u64,
    /// What is an outlier here.
    pub outlier_above_ns: Option<f64>,
    /// The largest sample of each of the blocks with the largest ones, the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub largest: Vec<Outlier>,
    /// Time over which the target was observed, seconds.
    pub run_length_s: f64,
    /// Blocks that were measured.
    pub blocks: u32,
    /// Blocks that were asked for.
    pub blocks_asked: u32,
    /// Blocks that do not count, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_counted: Vec<String>,
    /// How each budget ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<KpiVerdict>,
    /// What the guide prints for this processor, or for the nearest one.
    pub guide: Option<GuideRow>,
}

/// How a budget ended for a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KpiVerdict {
    /// The budget as written.
    pub budget: String,
    /// How it ended.
    pub kind: JudgementKind,
    /// The figures behind it, in words.
    pub text: String,
}

/// The largest sample of a block, and other events on its core during that block.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// The block, from 1.
    pub block: u32,
    /// When it ended, RFC 3339.
    pub at: Option<String>,
    /// Its length.
    pub ns: f64,
    /// What the counters of the core saw during the whole block, by name. They do not say that it happened in this sample.
    pub in_block: BTreeMap<String, f64>,
}

/// What became of the packets of a row.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketTotals {
    /// Packets that were received.
    pub received: u64,
    /// Cycles between the first and the last one of a block that did not come.
    pub missing: u64,
    /// Packets that came twice.
    pub doubled: u64,
    /// Packets that came after a later one.
    pub reordered: u64,
    /// Frames that the kernel dropped; absent where that cannot be read.
    pub dropped: Option<u64>,
    /// Packets that the generator sent; absent, as all below, where none said what it saw.
    pub sent: Option<u64>,
    /// Cycles without an answer.
    pub lost: Option<u64>,
    /// Cycles that were answered after their deadline.
    pub late: Option<u64>,
    /// Releases that the generator itself came too late for.
    pub missed_periods: Option<u64>,
    /// Smallest round trip.
    pub round_trip_min_ns: Option<f64>,
    /// Mean round trip.
    pub round_trip_mean_ns: Option<f64>,
    /// Largest round trip.
    pub round_trip_max_ns: Option<f64>,
    /// The core of this machine that the generator shared with the load or with the target. It waits for them: its round trips are
    /// no property of the network.
    pub generator_shares_core: Option<u32>,
    /// Late cycles: block, number, and round trip in nanoseconds; the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_cycles: Vec<LateInBlock>,
}

/// A cycle whose answer came after its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateInBlock {
    /// The block, from 1.
    pub block: u32,
    /// The cycle's number in it.
    pub cycle: u64,
    /// Its round trip.
    pub round_trip_ns: u64,
}

/// The rows of a run: one for each case.
pub fn rows(
    settings: &KpiSettings,
    number: u32,
    boot: &BootRecord,
    measurand: &Measurand<'_>,
    run: &Run,
) -> Vec<KpiRow> {
    let of = |case: &CaseRecord| row(settings, number, boot, measurand, run, case);
    run.cases.iter().map(of).collect()
}

fn row(
    settings: &KpiSettings,
    number: u32,
    boot: &BootRecord,
    measurand: &Measurand<'_>,
    run: &Run,
    case: &CaseRecord,
) -> KpiRow {
    let packets = totals(case);
    let mut reasons: Vec<String> = case
        .repeats
        .iter()
        .filter_map(|repeat| Some(format!("block {}: {}", repeat.repeat, repeat.not_counted.as_ref()?)))
        .collect();
    reasons.truncate(LISTED);
    let path = case.repeats.iter().find_map(|repeat| repeat.packets.as_ref()).map(path);
    KpiRow {
        boot: number,
        labels: boot.labels.clone(),
        setting: case.mitigation.clone(),
        measured: measurand.title(settings),
        core: case.core,
        path,
        average_ns: case.mean_ns,
        minimum_ns: case.min_ns,
        maximum_ns: case.max_ns,
        jitter_ns: case.jitter_ns,
        iterations: case.samples,
        missed_cycles: missed(measurand, case, packets.as_ref()),
        outliers: case.excursion_events,
        outlier_above_ns: case.excursion_above_ns,
        largest: largest(&case.repeats),
        run_length_s: case.run_length_s,
        blocks: case.repeats.len() as u32,
        blocks_asked: run.repeats,
        not_counted: reasons,
        budgets: run.budgets.iter().filter(|judged| judged.case == case.name).map(verdict).collect(),
        guide: guide::nearest(measurand, boot, run, settings.wakeup_period_ns),
        packets,
    }
}

fn verdict(judged: &BudgetRecord) -> KpiVerdict {
    KpiVerdict { budget: judged.budget.clone(), kind: judged.kind, text: judged.text.clone() }
}

fn path(packets: &PacketRecord) -> String {
    format!("{}; receive to transmit, software time stamps", packets.path)
}

fn missed(measurand: &Measurand<'_>, case: &CaseRecord, packets: Option<&PacketTotals>) -> Option<u64> {
    match measurand {
        Measurand::Wakeups => Some(case.missed_periods),
        // It does not say.
        Measurand::Cyclictest => None,
        Measurand::Packets(..) => {
            let packets = packets?;
            Some(packets.lost? + packets.late?)
        }
    }
}

/// Sums over the blocks; none where no block has packets.
fn totals(case: &CaseRecord) -> Option<PacketTotals> {
    let of_blocks: Vec<_> =
        case.repeats.iter().filter_map(|repeat| Some((repeat.repeat, repeat.packets.as_ref()?))).collect();
    if of_blocks.is_empty() {
        return None;
    }
    let sum = |of: &dyn Fn(&PacketRecord) -> u64| of_blocks.iter().map(|(_, packets)| of(packets)).sum();
    let generators: Vec<_> = of_blocks.iter().filter_map(|(_, packets)| packets.generator.as_ref()).collect();
    // A block without the generator's word would make its sums too small.
    let all = generators.len() == of_blocks.len();
    let said =
        |of: &dyn Fn(&waykeeper_run::GeneratorAccount) -> u64| all.then(|| generators.iter().map(|it| of(it)).sum());
    let answered: f64 = generators.iter().map(|it| it.answered as f64).sum();
    let times = generators.iter().filter_map(|it| Some(it.round_trip_mean_ns? * it.answered as f64));
    let late = of_blocks.iter().flat_map(|(block, packets)| {
        packets.generator.iter().flat_map(|it| &it.late_cycles).map(move |late| LateInBlock {
            block: *block,
            cycle: late.cycle,
            round_trip_ns: late.round_trip_ns,
        })
    });
    let is_taken =
        |core: &u32| case.core == *core || case.neighbours.iter().any(|neighbour| neighbour.cores.contains(core));
    Some(PacketTotals {
        generator_shares_core: generators.iter().filter_map(|it| it.core).find(is_taken),
        received: sum(&|packets| packets.received),
        missing: sum(&|packets| packets.missing),
        doubled: sum(&|packets| packets.doubled),
        reordered: sum(&|packets| packets.reordered),
        dropped: of_blocks.iter().map(|(_, packets)| packets.dropped).sum(),
        sent: said(&|it| it.sent),
        lost: said(&|it| it.lost),
        late: said(&|it| it.late),
        missed_periods: said(&|it| it.missed_periods),
        round_trip_min_ns: generators.iter().filter_map(|it| it.round_trip_min_ns).reduce(f64::min),
        round_trip_mean_ns: (answered > 0.0).then(|| times.sum::<f64>() / answered),
        round_trip_max_ns: generators.iter().filter_map(|it| it.round_trip_max_ns).reduce(f64::max),
        late_cycles: late.take(LATE_LISTED).collect(),
    })
}

/// The blocks with the largest samples.
fn largest(repeats: &[RepeatRecord]) -> Vec<Outlier> {
    let counted = repeats.iter().filter(|repeat| repeat.not_counted.is_none());
    let mut all: Vec<(&RepeatRecord, f64)> = counted.filter_map(|repeat| Some((repeat, repeat.max_ns?))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let of = |(repeat, ns): (&RepeatRecord, f64)| Outlier {
        block: repeat.repeat,
        at: at(repeat),
        ns,
        in_block: repeat.disturbances.iter().filter(|(name, value)| is_event(name, **value)).map(owned).collect(),
    };
    all.into_iter().take(LISTED).map(of).collect()
}

fn owned((name, value): (&String, &f64)) -> (String, f64) {
    (name.clone(), *value)
}

/// States of the machine are no events.
fn is_event(name: &str, value: f64) -> bool {
    value != 0.0 && !matches!(name, "frequency_mhz" | "clock_against_system_ppm" | "voluntary_switches")
}

fn at(repeat: &RepeatRecord) -> Option<String> {
    let started: Timestamp = repeat.started.as_ref()?.parse().ok()?;
    let milliseconds = (repeat.max_at_s? * 1e3).clamp(0.0, 1e12) as i64;
    let at = started.checked_add(jiff::SignedDuration::from_millis(milliseconds)).ok()?;
    Some(at.round(jiff::Unit::Second).unwrap_or(at).to_string())
}

#[cfg(test)]
mod tests {
    use waykeeper_run::{GeneratorAccount, NeighbourRecord};

    use super::*;

    fn block(repeat: u32, max_ns: f64, generator: Option<(u64, u64, f64)>) -> RepeatRecord {
        let generator = generator.map(|(sent, lost, mean)| GeneratorAccount {
            sent,
            lost,
            answered: sent - lost,
            late: 1,
            round_trip_mean_ns: Some(mean),
            ..GeneratorAccount::default()
        });
        let packets = PacketRecord { received: 100, dropped: Some(2), generator, ..PacketRecord::default() };
        RepeatRecord {
            repeat,
            max_ns: Some(max_ns),
            max_at_s: Some(1.5),
            started: Some("2026-11-26T10:00:00Z".into()),
            packets: Some(packets),
            disturbances: BTreeMap::from([
                ("interrupts".into(), 3.0),
                ("smis".into(), 0.0),
                ("frequency_mhz".into(), 9.0),
            ]),
            ..RepeatRecord::default()
        }
    }

    fn case(blocks: &[RepeatRecord]) -> CaseRecord {
        CaseRecord { core: 1, repeats: blocks.to_vec(), ..CaseRecord::default() }
    }

    #[test]
    fn a_generator_on_a_core_of_the_load_is_marked() {
        let mut blocks = [block(1, 1.0, Some((100, 0, 10.0)))];
        let mut case = case(&blocks);
        let load = NeighbourRecord { cores: vec![0, 2], ..NeighbourRecord::default() };
        case.neighbours = vec![load];
        let of = |case: &CaseRecord| totals(case).unwrap().generator_shares_core;
        // On another machine its core is nobody's here.
        assert_eq!(of(&case), None);
        for (core, shared) in [(0, Some(0)), (1, Some(1)), (2, Some(2)), (3, None)] {
            blocks[0].packets.as_mut().unwrap().generator.as_mut().unwrap().core = Some(core);
            case.repeats = blocks.to_vec();
            assert_eq!(of(&case), shared, "{core}");
        }
    }

    #[test]
    fn packets_are_summed_and_round_trips_weighted_by_their_answers() {
        let blocks = [block(1, 1.0, Some((100, 0, 10.0))), block(2, 1.0, Some((310, 10, 20.0)))];
        let totals = totals(&case(&blocks)).unwrap();
        assert_eq!((totals.sent, totals.lost, totals.late, totals.received), (Some(410), Some(10), Some(2), 200));
        assert_eq!((totals.dropped, totals.round_trip_mean_ns), (Some(4), Some((100.0 * 10.0 + 300.0 * 20.0) / 400.0)));
    }

    #[test]
    fn what_one_generator_did_not_say_is_no_sum() {
        let blocks = [block(1, 1.0, Some((100, 0, 10.0))), block(2, 1.0, None)];
        let totals = totals(&case(&blocks)).unwrap();
        assert_eq!((totals.sent, totals.lost, totals.late), (None, None, None));
        assert_eq!(totals.received, 200);
    }

    #[test]
    fn the_largest_blocks_come_first_with_their_time_and_what_happened_in_them() {
        let mut blocks: Vec<_> = (1..=9).map(|n| block(n, f64::from(n), None)).collect();
        blocks[8].not_counted = Some("it was stopped".into());
        let found = largest(&blocks);
        assert_eq!(found.iter().map(|it| it.block).collect::<Vec<_>>(), [8, 7, 6, 5, 4]);
        assert_eq!(found[0].at.as_deref(), Some("2026-11-26T10:00:02Z"));
        assert_eq!(found[0].in_block, BTreeMap::from([("interrupts".to_owned(), 3.0)]));
    }
}
