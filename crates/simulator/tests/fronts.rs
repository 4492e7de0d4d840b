//! What a core does before its caches: translation, the store buffer, runs of stores, prefetching. Times are worked out by
//! hand: a cycle of the in-order core (core 0, 1.25 GHz) is 800 ps, its second level answers in 14 of them, 11,200 ps.

use waykeeper_platform::{
    CoreKind, Event, Inclusion, Mitigation, Param, Platform, PrefetcherDescription, PrefetcherKind, Replacement,
    Settings, TlbDescription, TlbSide, TranslationDescription, WriteStreaming, find_bundled,
};
use waykeeper_simulator::{Counters, Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Order, Pattern};

const MILLISECOND: u64 = 1_000_000_000;

const CYCLE: u64 = 800;

/// Two descriptors that the second level holds.
const WALK: u64 = 2 * 11_200;

#[derive(Default)]
struct Log(Vec<u64>);

impl SampleReceiver for Log {
    fn record(&mut self, ticks: u64, count: u64, _at_ps: u64) {
        (0..count).for_each(|_| self.0.push(ticks));
    }
}

fn param<T>(value: T) -> Param<T> {
    Param::documented(value, "test")
}

/// The Agilex 5 with a counter of a picosecond, least recently used lines making room, and its in-order cores changed.
fn platform(change: impl Fn(&mut CoreKind)) -> Platform {
    let mut platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "platforms/agilex5.toml").unwrap();
    platform.counter.as_mut().unwrap().tick_ns.value = 0.001;
    for kind in &mut platform.cores {
        for cache in [&mut kind.l1d, &mut kind.l1i, &mut kind.l2].into_iter().flatten() {
            cache.replacement.as_mut().unwrap().value = Replacement::Lru;
        }
    }
    change(&mut platform.cores[0]);
    platform
}

fn tlb(side: TlbSide, entries: u64, hit_cycles: u64) -> TlbDescription {
    let lockable_entries = (side == TlbSide::Unified).then(|| param(2));
    TlbDescription {
        side,
        entries: param(entries),
        ways: param(entries),
        hit_cycles: param(hit_cycles),
        lockable_entries,
    }
}

/// Pages of 4 KiB, two descriptors a walk, which the second level holds.
fn translated(kind: &mut CoreKind, tlbs: Vec<TlbDescription>) {
    kind.tlbs = tlbs;
    kind.translation = Some(TranslationDescription {
        page_kib: param(4),
        walk_reads: param(2),
        descriptor_bytes: param(8),
        walks_from_level: param(2),
        walkers: None,
    });
}

fn walk(operation: Operation, outer: (u64, u64), inner: (u64, u64)) -> Pattern {
    let [outer, inner] = [outer, inner].map(|(count, stride)| Loop { count, stride });
    Pattern::Walk { operation, outer, inner }
}

/// One line on each of so many pages, in different sets of the first level.
fn pages(count: u64) -> Pattern {
    walk(Operation::Read, (1 << 20, 0), (count, 4096 + 64))
}

/// Samples in picoseconds of a program alone on a core, and what was counted meanwhile.
fn run(
    platform: &Platform,
    core: u32,
    pattern: Pattern,
    mitigations: &[&str],
    from: u64,
    until: u64,
) -> (Vec<u64>, Counters) {
    let program = Program { core, pattern, role: Role::Target };
    let mut engine = Engine::new(platform, &[program], mitigations, 1).unwrap();
    engine.advance(from, &mut Log::default());
    let mut log = Log::default();
    engine.advance(until, &mut log);
    assert!(log.0.len() > 20, "{} samples", log.0.len());
    (log.0, engine.counters())
}

fn samples(platform: &Platform, core: u32, pattern: Pattern) -> Vec<u64> {
    run(platform, core, pattern, &[], MILLISECOND, 2 * MILLISECOND).0
}

fn with_mitigation(mut platform: Platform, name: &str, set: Settings) -> Platform {
    platform.mitigations.insert(name.into(), Mitigation { title: name.into(), set });
    platform
}

#[test]
fn each_missing_translation_costs_its_walk() {
    let platform = platform(|core| translated(core, vec![tlb(TlbSide::Data, 4, 0), tlb(TlbSide::Unified, 8, 5)]));
    // 16 pages in turn and 8 entries, the least recently used making room: every access asks both TLBs, walks, then hits.
    let seen = samples(&platform, 0, pages(16));
    assert!(seen.iter().all(|ps| *ps == 16 * (5 * CYCLE + WALK + CYCLE)), "{seen:?}");
    // 5 pages and 2 of the recorder fit into the second TLB, whose hits cost 5 cycles, and not into the first of 4.
    let seen = samples(&platform, 0, pages(5));
    assert!(seen.iter().all(|ps| *ps == 5 * (5 + 1) * CYCLE), "{seen:?}");
    // 2 pages and 2 of the recorder fit into the first.
    let seen = samples(&platform, 0, pages(2));
    assert!(seen.iter().all(|ps| *ps == 2 * CYCLE), "{seen:?}");
}

#[test]
fn larger_pages_need_fewer_walks() {
    let large = Settings { page_kib: Some(2048), ..Settings::default() };
    let platform = platform(|core| translated(core, vec![tlb(TlbSide::Unified, 4, 0)]));
    let platform = with_mitigation(platform, "large", large.clone());
    let (seen, counters) = run(&platform, 0, pages(16), &["large"], MILLISECOND, 2 * MILLISECOND);
    // 68 KiB are on one page of 2 MiB, or on two; the recorder is on another.
    assert!(seen.iter().all(|ps| *ps == 16 * CYCLE), "{seen:?}");
    assert!((2..=4).contains(&counters.front(0).unwrap().walks), "{counters:?}");
    let program = Program { core: 0, pattern: pages(16), role: Role::Target };
    let mut engine = Engine::new(&platform, &[program], &[], 1).unwrap();
    assert_eq!(engine.set_control(&large).unwrap_err().what, "page_kib");
}

/// An event of one code line and so many data lines after 4 reads of a page that is neither's.
fn event(event_data_lines: u64) -> Pattern {
    event_with_devices(event_data_lines, 0)
}

/// The same event, with so many devices.
fn event_with_devices(event_data_lines: u64, event_device_pages: u64) -> Pattern {
    Pattern::Random {
        data_bytes: 4096,
        data_accesses: 4,
        data_modifies: 0,
        random_counts: false,
        code_bytes: 4096,
        code_calls: 0,
        event_data_lines,
        event_code_lines: 1,
        event_device_pages,
        event_stride_lines: 1,
        line_bytes: 64,
    }
}

#[test]
fn locked_translations_are_never_walked_for() {
    let locked = Settings { tlb_lock: Some(true), ..Settings::default() };
    let platform = platform(|core| translated(core, vec![tlb(TlbSide::Unified, 1, 0)]));
    let platform = with_mitigation(platform, "tlb", locked);
    let run = |mitigations: &[&str]| run(&platform, 0, event(1), mitigations, MILLISECOND, 2 * MILLISECOND).0;
    // One entry: the code page and the data page are both missing, whatever came before.
    let seen = run(&[]);
    assert!(seen.iter().all(|ps| *ps == 2 * (WALK + CYCLE)), "{seen:?}");
    let seen = run(&["tlb"]);
    assert!(seen.iter().all(|ps| *ps == 2 * CYCLE), "{seen:?}");
    // Lines on a third page do not fit into two lockable entries.
    let three = event(65);
    let program = Program { core: 0, pattern: three, role: Role::Target };
    let refused = Engine::new(&platform, &[program], &["tlb"], 1).unwrap_err();
    assert!(refused.what == "tlb_lock" && refused.why.contains("3 pages"), "{refused}");
    let refused = Engine::new(&platform, &[Program { core: 0, pattern: pages(4), role: Role::Target }], &["tlb"], 1);
    assert_eq!(refused.unwrap_err().what, "tlb_lock");
}

#[test]
fn devices_of_an_event_are_translated_and_take_no_time_of_their_own() {
    let platform = platform(|core| translated(core, vec![tlb(TlbSide::Unified, 1, 0)]));
    let locked = with_mitigation(platform.clone(), "tlb", Settings { tlb_lock: Some(true), ..Settings::default() });
    // One entry: a walk for each of two devices, for the code page and for the data page; two lines are touched.
    let seen = run(&platform, 0, event_with_devices(1, 2), &[], MILLISECOND, 2 * MILLISECOND).0;
    assert!(seen.iter().all(|ps| *ps == 4 * WALK + 2 * CYCLE), "{seen:?}");
    // They are locked with the others: four pages do not fit into two lockable entries.
    let program = Program { core: 0, pattern: event_with_devices(1, 2), role: Role::Target };
    let refused = Engine::new(&locked, &[program], &["tlb"], 1).unwrap_err();
    assert!(refused.what == "tlb_lock" && refused.why.contains("4 pages"), "{refused}");
    // Where nothing is translated they make no difference.
    let plain = crate::platform(|_| ());
    let [with, without] = [2, 0].map(|devices| samples(&plain, 0, event_with_devices(1, devices)));
    assert_eq!(with, without);
}

#[test]
fn an_event_has_a_base_cost() {
    let with = platform(|core| core.event = Some(Event { base_cycles: param(100) }));
    let without = platform(|_| ());
    let [with, without] = [with, without].map(|platform| samples(&platform, 0, event(1)));
    assert!(with.iter().all(|ps| *ps == 102 * CYCLE) && without.iter().all(|ps| *ps == 2 * CYCLE), "{with:?}");
}

#[test]
fn an_out_of_order_core_goes_on_during_a_walk() {
    // Core 2: a cycle is 714 ps, the second level's 12 are 8571 ps, a walk two of them.
    let platform = |walkers: u64| {
        let mut platform = platform(|_| ());
        let core = &mut platform.cores[1];
        translated(core, vec![tlb(TlbSide::Unified, 8, 0)]);
        core.translation.as_mut().unwrap().walkers = Some(param(walkers));
        platform
    };
    let walk = 2 * 8571;
    for (walkers, turns) in [(1, 16), (2, 8), (4, 4)] {
        for ps in samples(&platform(walkers), 2, pages(16)) {
            // As many walks as there are walkers share their time; a little more than their own pace comes on top.
            let (least, most) = (turns * walk, turns * walk + 16 * 2 * 714);
            assert!((least..=most).contains(&ps), "{walkers} walkers: {ps} is not in {least} to {most}");
        }
    }
    // A window of one instruction leaves nothing to go on with.
    let mut narrow = platform(4);
    narrow.cores[1].window_instructions = Some(param(1));
    let seen = samples(&narrow, 2, pages(16));
    assert!(seen.iter().all(|ps| *ps >= 16 * walk), "{seen:?}");
}

/// 1 MiB of stores, one a line, in turn: each misses the 160 KiB of the core and hits the shared cache, in 28 ns.
fn stores() -> Pattern {
    walk(Operation::Write, (256, 4096), (64, 64))
}

#[test]
fn stores_wait_in_the_store_buffer_until_it_is_full() {
    let run = |entries: u64, misses: u64| {
        let platform = platform(|core| {
            core.store_buffer_entries = Some(param(entries));
            core.outstanding_misses = Some(param(misses));
        });
        let (seen, _) = run(&platform, 0, stores(), &[], 3 * MILLISECOND, 4 * MILLISECOND);
        seen
    };
    // 4 entries and slots to spare: 4 stores begin and are there after 28 ns; so 64 of them take 16 times that and what
    // the last ones begin after the first.
    for ps in run(4, 8) {
        assert_eq!(ps, 16 * 28_000 + 3 * CYCLE);
    }
    for ps in run(1, 8) {
        assert!((64 * 28_000..64 * 28_000 + 64 * CYCLE).contains(&ps), "{ps}");
    }
    // More entries than slots: the slots bound how many are under way, the others wait without stopping the core.
    for ps in run(8, 2) {
        assert!((32 * 28_000..32 * 28_000 + 32 * CYCLE).contains(&ps), "{ps}");
    }
}

#[test]
fn a_modification_is_a_load_and_stops_an_in_order_core() {
    let platform = platform(|core| core.store_buffer_entries = Some(param(4)));
    let modified = walk(Operation::Modify, (256, 4096), (64, 64));
    let (seen, _) = run(&platform, 0, modified, &[], 5 * MILLISECOND, 6 * MILLISECOND);
    assert!(seen.iter().all(|ps| *ps == 64 * 28_000), "{seen:?}");
}

#[test]
fn an_atomic_add_is_a_modification_that_nothing_overlaps() {
    // An in-order core stops for each modification anyway.
    let buffered = platform(|core| core.store_buffer_entries = Some(param(4)));
    let pass = |operation| walk(operation, (256, 4096), (64, 64));
    let (seen, _) = run(&buffered, 0, pass(Operation::Atomic), &[], 5 * MILLISECOND, 6 * MILLISECOND);
    assert!(seen.iter().all(|ps| *ps == 64 * 28_000), "{seen:?}");
    // An out-of-order core (core 2) has many modifications in flight, and one atomic add: line after line of 4 MiB, twice what the
    // caches hold, each is read once and written back, whichever it is.
    let mean = |pattern: Pattern| {
        let (seen, counters) = run(&platform(|_| {}), 2, pattern, &[], 10 * MILLISECOND, 14 * MILLISECOND);
        let core = counters.core(2).unwrap();
        assert!(core.memory_reads > core.accesses * 9 / 10, "{core:?}");
        assert!(counters.memory.writes > core.memory_reads / 2, "{:?}", counters.memory);
        seen.iter().sum::<u64>() / seen.len() as u64
    };
    let large = |operation| walk(operation, (1024, 4096), (64, 64));
    let (atomic, modify) = (mean(large(Operation::Atomic)), mean(large(Operation::Modify)));
    assert!(atomic > 3 * modify, "{atomic} ps of atomic adds, {modify} of modifications");
    // No shorter than reads of which each needs the value of the last one.
    let chased = Pattern::Chase { elements: 1 << 16, stride: 64, order: Order::Linear, batch: 64 };
    let log = run(&platform(|_| {}), 2, chased, &[], 10 * MILLISECOND, 14 * MILLISECOND).0;
    let dependent = log.iter().sum::<u64>() / log.len() as u64;
    assert!(atomic > dependent * 9 / 10, "{atomic} ps of atomic adds, {dependent} of dependent reads");
    // In the first level, each waits for the last one: as long as a hit takes, and not at the pace of the core.
    let small = |operation| walk(operation, (1 << 20, 0), (64, 64));
    let least = |operation| samples(&platform(|_| {}), 2, small(operation)).into_iter().min().unwrap();
    assert!(least(Operation::Atomic) > 2 * least(Operation::Modify));
}

fn streaming(after: u64, to_level: u64) -> Option<WriteStreaming> {
    Some(WriteStreaming { after_lines: param(after), to_level: param(to_level) })
}

#[test]
fn runs_of_full_lines_are_written_without_being_read() {
    // 1 MiB, again and again; 64 lines a sample, then two words of the recorder, which end the run.
    let full_lines = walk(Operation::Write, (256, 4096), (512, 8));
    let one_word = walk(Operation::Write, (256, 4096), (64, 64));
    for to_level in [4, 3] {
        let platform = platform(|core| core.write_streaming = streaming(4, to_level));
        let run = |pattern: &Pattern, set: Settings| {
            let platform = with_mitigation(platform.clone(), "set", set);
            run(&platform, 0, pattern.clone(), &["set"], 0, 4 * MILLISECOND).1
        };
        let counters = run(&full_lines, Settings::default());
        let front = counters.front(0).unwrap();
        // 4 lines of each sample are allocated, 60 stream.
        assert!((60 * front.samples..60 * (front.samples + 1)).contains(&front.streamed_lines), "{front:?}");
        // Only what is allocated is ever read: 4 of 64 lines, once, as the shared cache holds them; and the recorder.
        let reads = counters.core(0).unwrap().memory_reads;
        assert!((1024..1024 + 64).contains(&reads), "{reads}");
        // Memory gets the rest, or the shared cache keeps it.
        let writes = counters.memory.writes;
        assert_eq!(writes > 50 * front.samples, to_level == 4, "level {to_level}: {writes} of {front:?}");
        let off = Settings { write_streaming: Some(false), ..Settings::default() };
        for counters in [run(&one_word, Settings::default()), run(&full_lines, off)] {
            let (front, reads) = (counters.front(0).unwrap(), counters.core(0).unwrap().memory_reads);
            assert!(front.streamed_lines == 0 && reads > 16_384, "{front:?}, {reads} reads");
        }
    }
}

#[test]
fn streamed_lines_leave_no_faster_than_the_memory_takes_them() {
    // A line of 8 words leaves the core every 8 cycles, 6.4 ns, if nothing holds it up; the memory takes 40 ns at best.
    let full_lines = walk(Operation::Write, (1024, 4096), (512, 8));
    for write_entries in [None, Some(param(64))] {
        let mut platform = platform(|core| core.write_streaming = streaming(4, 4));
        let memory = platform.memory.as_mut().unwrap();
        memory.line_transfer_ns.value = 40.0;
        memory.scheduler.write_entries = write_entries;
        let until = 4 * MILLISECOND;
        let (_, counters) = run(&platform, 0, full_lines.clone(), &[], 0, until);
        let (streamed, written) = (counters.front(0).unwrap().streamed_lines, counters.memory.writes);
        assert!(written <= until / 40_000 && written > until / 80_000, "{written} writes");
        // The controller holds some, and the core waits for a few more.
        assert!(streamed < written + 500, "{streamed} sent, {written} written");
    }
}

#[test]
fn stores_that_go_on_to_the_memory_are_no_faster_than_that() {
    // All lines are in the first level, which is written through, and nobody else keeps them: each store is a write to memory.
    let mut platform = platform(|core| {
        core.l1d.as_mut().unwrap().write_back = Some(param(false));
        core.l2 = None;
    });
    platform.memory.as_mut().unwrap().line_transfer_ns.value = 40.0;
    let until = 4 * MILLISECOND;
    let (_, counters) = run(&platform, 0, walk(Operation::Write, (1 << 20, 0), (64, 64)), &[], 0, until);
    let (stored, written) = (counters.core(0).unwrap().accesses, counters.memory.writes);
    assert!(written <= until / 40_000 && written > until / 80_000, "{written} writes");
    assert!(stored < written + 2000, "{stored} stored, {written} written");
}

#[test]
fn stores_that_hit_further_out_and_go_on_to_the_memory_are_no_faster_than_that() {
    // 20 KiB do not fit into a first level of 8 KiB, and into a second that has what the first lost; each store goes to memory.
    let mut platform = platform(|core| {
        let l1d = core.l1d.as_mut().unwrap();
        (l1d.size_kib, l1d.ways, l1d.write_back) = (param(8), param(4), Some(param(false)));
        core.l2.as_mut().unwrap().inclusion = Some(param(Inclusion::ExclusiveOfL1d));
    });
    platform.memory.as_mut().unwrap().line_transfer_ns.value = 40.0;
    let until = 4 * MILLISECOND;
    let (_, counters) = run(&platform, 0, walk(Operation::Write, (1 << 20, 0), (320, 64)), &[], 0, until);
    let (stored, written) = (counters.core(0).unwrap().accesses, counters.memory.writes);
    assert!(counters.core(0).unwrap().l2_hits > stored / 2, "{counters:?}");
    assert!(written <= until / 40_000 && written > until / 80_000, "{written} writes");
    assert!(stored < written + 4000, "{stored} stored, {written} written");
}

#[test]
fn stores_that_are_gathered_are_accesses() {
    let platform = platform(|core| core.write_streaming = streaming(4, 4));
    // Lines in full, and lines of which the last word is left out; each sample is 64 lines and two words of the recorder.
    for (words, lines) in [((512, 8), 64), ((7, 8), 1)] {
        let (_, counters) = run(&platform, 0, walk(Operation::Write, (4096, 64 * lines), words), &[], 0, MILLISECOND);
        let (front, core) = (counters.front(0).unwrap(), counters.core(0).unwrap());
        let expected = (words.0 + 2) * front.samples;
        assert!((expected - 2..expected + words.0).contains(&core.accesses), "{core:?} of {expected}");
    }
}

#[test]
fn prefetchers_hide_the_latency_of_what_they_recognise() {
    let with = |kind: PrefetcherKind, fills_level: u64| {
        platform(|core| {
            core.outstanding_misses = Some(param(8));
            core.prefetchers = vec![PrefetcherDescription {
                kind: param(kind),
                fills_level: param(fills_level),
                after_accesses: param(2),
                distance: param(4),
                degree: param(4),
            }];
        })
    };
    let plain = platform(|core| core.outstanding_misses = Some(param(8)));
    let mean = |platform: &Platform, pattern: &Pattern, mitigations: &[&str]| {
        let (seen, counters) = run(platform, 0, pattern.clone(), mitigations, MILLISECOND, 4 * MILLISECOND);
        (seen.iter().sum::<u64>() / seen.len() as u64, counters.front(0).unwrap().prefetches)
    };
    // Line after line, and every eighth line, through 64 MiB.
    let [lines, eighths] = [64, 512].map(|stride| walk(Operation::Read, (16_384, 4096), (4096 / stride, stride)));
    for level in [1, 2] {
        let (next, stride) = (with(PrefetcherKind::NextLine, level), with(PrefetcherKind::Stride, level));
        for (platform, pattern, hides) in
            [(&next, &lines, true), (&next, &eighths, false), (&stride, &lines, true), (&stride, &eighths, true)]
        {
            let (alone, none) = mean(&plain, pattern, &[]);
            let (helped, asked) = mean(platform, pattern, &[]);
            assert!(none == 0 && asked > 100, "level {level}: {none} and {asked}");
            assert_eq!(helped * 4 < alone * 3, hides, "level {level}: {helped} and {alone}");
            let off = Settings { prefetchers: Some(false), ..Settings::default() };
            let off = with_mitigation(platform.clone(), "off", off);
            assert_eq!(mean(&off, pattern, &["off"]), (alone, 0));
        }
    }
}

#[test]
fn a_prefetcher_goes_on_however_often_samples_end() {
    // What caches have answered keeps its slot until somebody needs one: stores of samples come in between.
    let platform = platform(|core| {
        core.outstanding_misses = Some(param(12));
        core.prefetchers = vec![PrefetcherDescription {
            kind: param(PrefetcherKind::NextLine),
            fills_level: param(1),
            after_accesses: param(1),
            distance: param(1),
            degree: param(1),
        }];
    });
    for batch in [16, 32, 64, 127, 128, 129, 256, 1024] {
        let chase = Pattern::Chase { elements: 1 << 20, stride: 64, order: Order::Linear, batch };
        let (seen, counters) = run(&platform, 0, chase, &[], MILLISECOND, 4 * MILLISECOND);
        let (loads, asked) = (seen.len() as u64 * batch, counters.front(0).unwrap().prefetches);
        assert!(asked > loads / 2, "batches of {batch}: {asked} for {loads} loads");
    }
}
