//! The fast path beside the full one.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Pattern, TickBody};

const MILLISECOND: u64 = 1_000_000_000;

#[derive(Debug, Default)]
struct Seen {
    samples: u64,
    ticks: u64,
    over_100ns: u64,
    over_500ns: u64,
    over_1us: u64,
    last: u64,
}

impl SampleReceiver for Seen {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        assert!(at_ps >= self.last, "samples come in the order of time");
        self.last = at_ps;
        self.samples += count;
        self.ticks += ticks * count;
        self.over_100ns += if ticks > 40 { count } else { 0 };
        self.over_500ns += if ticks > 200 { count } else { 0 };
        self.over_1us += if ticks > 400 { count } else { 0 };
    }
}

fn agilex() -> Platform {
    Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap()
}

fn way_hammer(operation: Operation) -> Pattern {
    Pattern::Walk { operation, outer: Loop { count: 2048, stride: 64 }, inner: Loop { count: 64, stride: 131_072 } }
}

fn programs(neighbour: &Pattern) -> Vec<Program> {
    let target = Program { core: 1, pattern: Pattern::Tick { body: TickBody::Nothing }, role: Role::Target };
    let neighbours = [2, 3].map(|core| Program { core, pattern: neighbour.clone(), role: Role::Neighbour });
    std::iter::once(target).chain(neighbours).collect()
}

/// Samples of some seeds, and the share of the neighbours' accesses that was skipped.
fn run(mitigations: &[&str], fast: bool, milliseconds: u64) -> (Seen, f64) {
    let mut all = Seen::default();
    let (mut simulated, mut skipped) = (0, 0);
    for seed in 1..=4 {
        let mut engine = Engine::new(&agilex(), &programs(&way_hammer(Operation::Read)), mitigations, seed).unwrap();
        assert!(!fast || engine.set_skipping());
        all.last = 0;
        // In pieces, as an executor asks for it.
        for piece in 1..=4 {
            engine.advance(piece * milliseconds * MILLISECOND / 4, &mut all);
            assert_eq!(engine.now_ps(), piece * milliseconds * MILLISECOND / 4);
        }
        let counters = engine.counters();
        simulated += [2, 3].map(|core| counters.core(core).unwrap().accesses).iter().sum::<u64>();
        skipped += [2, 3].map(|core| counters.core(core).unwrap().skipped_accesses).iter().sum::<u64>();
    }
    (all, skipped as f64 / (simulated + skipped) as f64)
}

#[test]
fn rates_of_excursions_and_the_mean_are_those_of_the_full_path() {
    for mitigations in [&[][..], &["nl3a"], &["nl3a", "cp"]] {
        let (full, nothing) = run(mitigations, false, 40);
        let (fast, skipped) = run(mitigations, true, 40);
        assert_eq!(nothing, 0.0);
        assert!(skipped > 0.8, "{mitigations:?}: {skipped}");
        // Excursions come in groups: a visit of a neighbour makes several. Four times the deviation of counts that come
        // in groups of four, of a difference of two.
        for (name, full, fast) in [("100 ns", full.over_100ns, fast.over_100ns), ("1 us", full.over_1us, fast.over_1us)]
        {
            let tolerance = 4.0 * ((full + fast) as f64 * 4.0).sqrt();
            assert!(
                full.abs_diff(fast) as f64 <= tolerance,
                "{mitigations:?} over {name}: {full} in full, {fast} fast"
            );
        }
        let mean = |seen: &Seen| seen.ticks as f64 * 2.5 / seen.samples as f64;
        // The inflation of the mean, beyond 57.6 ns, within a fifth.
        let (full_by, fast_by) = (mean(&full) - 57.6, mean(&fast) - 57.6);
        assert!((fast_by - full_by).abs() < 0.2 * full_by, "{mitigations:?}: {full_by} in full, {fast_by} fast");
    }
}

/// Where the target's lines lie decides how often a partition lets the filters take them: a mean over seeds could hide that
/// some are too many and others too few.
#[test]
fn each_placement_has_the_excursions_of_the_full_path() {
    for seed in [1, 2] {
        let [full, fast] = [(false, 100), (true, 800)].map(|(fast, milliseconds)| {
            let programs = programs(&way_hammer(Operation::Read));
            let mut engine = Engine::new(&agilex(), &programs, &["nl3a", "cp"], seed).unwrap();
            assert!(!fast || engine.set_skipping());
            let mut seen = Seen::default();
            engine.advance(milliseconds * MILLISECOND, &mut seen);
            let short = seen.over_100ns - seen.over_500ns;
            [short, seen.over_500ns].map(|count| count as f64 * 100.0 / milliseconds as f64)
        });
        for (name, full, fast) in [("100 to 500 ns", full[0], fast[0]), ("500 ns", full[1], fast[1])] {
            // As above; the fast run is eight times as long.
            let tolerance = 4.0 * (full * 4.0 * 1.125).sqrt();
            assert!((full - fast).abs() <= tolerance, "seed {seed}, over {name}: {full} in full, {fast} fast");
        }
    }
}

#[test]
fn all_time_is_accounted_for() {
    let (seen, _) = run(&[], true, 8);
    // A sample is cut to whole ticks, half a tick in the mean; the pass that is under way at the end is missing.
    let total = seen.ticks as f64 * 2.5 / 4.0 / 8e6;
    assert!((0.985..1.001).contains(&total), "{total}");
}

#[test]
fn coloured_neighbours_are_never_in_the_way() {
    let (seen, skipped) = run(&["colouring"], true, 100);
    assert!(skipped > 0.95 && seen.over_100ns == 0, "{skipped}, {seen:?}");
}

#[test]
fn what_cannot_skip_is_simulated_in_full() {
    let crawler = Pattern::Walk {
        operation: Operation::Read,
        outer: Loop { count: 64, stride: 131_072 },
        inner: Loop { count: 2048, stride: 64 },
    };
    for neighbour in [crawler, way_hammer(Operation::Write)] {
        let mut engine = Engine::new(&agilex(), &programs(&neighbour), &[], 1).unwrap();
        assert!(!engine.set_skipping());
        engine.advance(MILLISECOND, &mut Seen::default());
        assert_eq!((engine.skipped_ps(), engine.counters().core(2).unwrap().skipped_accesses), (0, 0));
    }
}
