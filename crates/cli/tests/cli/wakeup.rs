//! Threads that sleep and are woken: as targets, as neighbours, where they cannot run, and beside cyclictest.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use hdrhistogram::Histogram;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use crate::host::read_log;
use crate::program::{Desk, case, list, this_machine};

const EXPERIMENT: &str = "title = 'x'\nsentinel = false\nduration = '200 ms'\nrepeats = 2\n";

/// Runs an experiment of these lines.
fn run(desk: &Desk, lines: &str) -> Value {
    desk.file("mine.toml", &format!("{EXPERIMENT}{lines}"));
    desk.run(&["run", "mine.toml", "--json"]).with(0).json()
}

fn figure(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("no `{key}` in {case}"))
}

#[test]
fn each_period_is_a_sample_or_a_missed_one_and_the_response_has_the_body() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = run(
        &desk,
        "targets = [{ workload = 'wakeup_1ms' }, { workload = 'task' }]\n\
         [workloads.task]\nkind = 'wakeup'\nperiod = '2 ms'\nbody = { kind = 'tick', body.loop = 1_000_000 }\n",
    );
    for (name, periods) in [("wakeup_1ms: idle", 400.0), ("task: idle", 200.0)] {
        let case = case(&run, name);
        assert!(list(case, "repeats").iter().all(|repeat| repeat.get("not_counted").is_none()), "{case}");
        assert!(list(case, "repeats").iter().all(|repeat| repeat["backwards"] == 0), "it woke before its time: {case}");
        let missed = case.get("missed_periods").and_then(Value::as_f64).unwrap_or(0.0);
        let seen = figure(case, "samples") + missed;
        // Two repeats, each a period longer or shorter than its length; a late last sample makes it longer.
        assert!(seen >= periods - 4.0 && figure(case, "samples") > 0.0, "{seen} of {periods}: {case}");
    }
    // A million increments take at least 0.1 ms on any core.
    assert!(figure(case(&run, "task: idle"), "min_ns") > 1e5);
    assert!(figure(case(&run, "wakeup_1ms: idle"), "min_ns") > 0.0);
}

#[test]
fn a_neighbour_that_sleeps_counts_its_wake_ups() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = run(
        &desk,
        "targets = [{ workload = 'latency_loop', core = 0 }]\nneighbours = [{ workload = 'wakeup_task', cores = [1] }]\n",
    );
    for repeat in list(case(&run, "none"), "repeats") {
        let rate = figure(&repeat["neighbours"][0], "accesses_per_s");
        // 1000 a second, and what the two ends of 200 ms add.
        assert!((1.0..=1020.0).contains(&rate), "{rate}");
    }
}

#[test]
fn a_neighbour_may_have_the_core_of_a_sleeping_target() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = run(
        &desk,
        "targets = [{ workload = 'wakeup_1ms', core = 0 }]\n\
         neighbours = [{ workload = 'latency_loop', cores = [0] }]\n",
    );
    let none = case(&run, "none");
    assert!(figure(none, "samples") > 0.0 && figure(&none["neighbours"][0], "accesses_per_s") > 0.0, "{none}");
}

#[test]
fn nothing_wakes_on_a_simulated_platform() {
    let desk = Desk::new();
    let keys = "title = 'x'\nplatform = 'zynq7000'\n";
    for (lines, key) in [
        ("targets = [{ workload = 'wakeup_1ms', core = 0 }]\n", "targets.0.workload"),
        ("targets = [{ workload = 'interrupt_1ms', core = 0 }]\n", "targets.0.workload"),
        (
            "targets = [{ workload = 'latency_loop', core = 0 }]\nneighbours = [{ workload = 'wakeup_task', cores = [1] }]\n",
            "neighbours.0.workload",
        ),
    ] {
        desk.file("mine.toml", &format!("{keys}{lines}"));
        let ended = desk.run(&["run", "mine.toml"]).with(2);
        assert!(ended.stderr.contains(key) && ended.stderr.contains("nothing sleeps or wakes"), "{}", ended.stderr);
    }
}

#[test]
fn every_source_of_interrupts_is_measured_and_its_repeats_count() {
    let _alone = this_machine();
    let desk = Desk::new();
    let arguments = ["run", "interrupt-latency", "--duration=200ms", "--repeats=1", "--set=mitigations=[]", "--json"];
    let run = desk.run(&arguments).with(0).json();
    for source in ["timer_signal", "timerfd", "timerfd_epoll", "eventfd", "loopback"] {
        for beside in ["idle", "none"] {
            let case = case(&run, &format!("{source}: {beside}"));
            let repeat = &list(case, "repeats")[0];
            assert!(repeat.get("not_counted").is_none() && repeat["backwards"] == 0, "{case}");
            // From an event to a thread takes more than nothing, and in the middle less than a period.
            assert!(figure(case, "min_ns") > 0.0 && figure(case, "p50_ns") < 1e6, "{case}");
            let missed = repeat.get("missed_periods").and_then(Value::as_f64).unwrap_or(0.0);
            assert!(figure(repeat, "samples") + missed >= 150.0, "{case}");
        }
    }
}

#[test]
fn an_event_with_devices_is_no_interrupt_of_this_machine() {
    let _alone = this_machine();
    let desk = Desk::new();
    let ended = desk.run(&["run", "zynq-interrupt-latency", "--on=host"]).with(3);
    assert!(ended.stderr.contains("no interrupt") && ended.stderr.contains("interrupt-latency"), "{}", ended.stderr);
    // As a neighbour it is what it does to the caches that counts.
    run(
        &desk,
        "targets = [{ workload = 'latency_loop', core = 0 }]\n\
         neighbours = [{ workload = 'interrupt_handler', cores = [1] }]\n",
    );
}

/// Rounds of either tool, in turns, and the length of each.
const ROUNDS: usize = 5;
const SECONDS: u64 = 3;

/// Both tools measure the same on a machine that does not stand still. The rounds of one tool show how far the machine moves it;
/// the two agree where these ranges, each wider by this factor at both ends, have something in common. Five rounds show less
/// than the whole range, hence the factor; 50 us of timer slack, or a latency without the interrupt's own, differ by more.
const WIDER: f64 = 1.25;

/// The spread of a figure over the rounds.
fn spread(rounds: &[f64]) -> (f64, f64) {
    (rounds.iter().copied().fold(f64::MAX, f64::min), rounds.iter().copied().fold(0.0, f64::max))
}

/// A round of cyclictest: what it counted, nanoseconds.
fn cyclictest(desk: &Desk, core: usize, fifo: bool) -> Histogram<u64> {
    let file = desk.path().join("cyclictest.json");
    let mut command = Command::new("cyclictest");
    let arguments = format!("--quiet --nsecs --threads=1 --affinity={core} --interval=1000 --duration={SECONDS}");
    command
        .args(arguments.split(' '))
        .args(["--mlockall", "--histogram=999999"])
        .arg(format!("--json={}", file.display()));
    command.args(if fifo { ["--policy=fifo", "--priority=80"] } else { ["--policy=other", "--priority=0"] });
    let output = command.output().expect("cyclictest is missing: install rt-tests");
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let thread = &found["thread"]["0"];
    let mut histogram = Histogram::new(3).unwrap();
    let buckets = thread["histogram"].as_object().unwrap();
    for (ns, count) in buckets {
        histogram.record_n(ns.parse().unwrap(), count.as_u64().unwrap()).unwrap();
    }
    // Beyond a millisecond it knows how many there were, and the longest.
    let beyond = thread["cycles"].as_u64().unwrap().saturating_sub(histogram.len());
    histogram.record_n(thread["max"].as_u64().unwrap(), beyond).unwrap();
    histogram
}

/// The same of Waykeeper.
fn waykeeper(desk: &Desk, core: usize) -> (Histogram<u64>, bool) {
    let keys = format!("title = 'x'\nsentinel = false\nrepeats = 1\nduration = '{SECONDS} s'\n");
    desk.file("mine.toml", &format!("{keys}targets = [{{ workload = 'wakeup_1ms', core = {core} }}]\n"));
    let _ = std::fs::remove_dir_all(desk.path().join("kept"));
    let run = desk.run(&["run", "mine.toml", "--out=kept", "--json"]).with(0).json();
    let tick_ns = run["clock"]["tick_ns"].as_f64().unwrap();
    let idle = case(&run, "idle");
    let line = &read_log(Path::new(&desk.path().join("kept/samples.hlog")))[0];
    let mut histogram = Histogram::new(3).unwrap();
    for value in line.histogram.iter_recorded() {
        let ns = value.value_iterated_to() as f64 * tick_ns;
        histogram.record_n(ns as u64, value.count_at_value()).unwrap();
    }
    let scheduling = &list(idle, "repeats")[0]["placement"]["target, scheduling"]["got"];
    (histogram, scheduling == "SCHED_FIFO")
}

/// Writes through 32 MiB on a core until it is stopped.
fn load(core: usize, stop: &AtomicBool) {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).unwrap();
    let mut memory = vec![0_u8; 32 << 20];
    while !stop.load(Ordering::Relaxed) {
        memory.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        std::hint::black_box(&mut memory);
    }
}

#[test]
fn wake_up_latency_agrees_with_cyclictest() {
    let _alone = this_machine();
    let desk = Desk::new();
    let allowed = sched_getaffinity(None).unwrap();
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect::<Vec<_>>().into_iter();
    let (core, other) = (cores.next_back().unwrap(), cores.next().expect("a core for the load"));
    let stop = AtomicBool::new(false);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| load(other, &stop));
        let rounds = std::panic::catch_unwind(|| {
            let round = |_| {
                let (ours, fifo) = waykeeper(&desk, core);
                (ours, cyclictest(&desk, core, fifo))
            };
            (0..ROUNDS).map(round).collect::<Vec<_>>()
        });
        stop.store(true, Ordering::Relaxed);
        (ours, theirs) = rounds.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).into_iter().unzip();
    });
    for (name, rounds) in [("waykeeper", &ours), ("cyclictest", &theirs)] {
        for histogram in rounds {
            let at = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1e3;
            println!(
                "{name}: n {} p50 {:.1} p90 {:.1} p99 {:.1} max {:.1} us",
                histogram.len(),
                at(0.5),
                at(0.9),
                at(0.99),
                histogram.max() as f64 / 1e3
            );
        }
    }
    for quantile in [0.5, 0.9] {
        let figures = |rounds: &[Histogram<u64>]| {
            spread(&rounds.iter().map(|histogram| histogram.value_at_quantile(quantile) as f64).collect::<Vec<_>>())
        };
        let (ours, theirs) = (figures(&ours), figures(&theirs));
        let agree = ours.0 / WIDER <= theirs.1 * WIDER && theirs.0 / WIDER <= ours.1 * WIDER;
        assert!(agree, "quantile {quantile}: {ours:?} ns here, {theirs:?} ns of cyclictest");
    }
}
