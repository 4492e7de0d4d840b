//! After a change, an engine comes to where one is that began with it.

use waykeeper_platform::Platform;
use waykeeper_simulator::Engine;
use waykeeper_workload::{Operation, Pattern};

use crate::common::{Log, MILLISECOND, chase, neighbour, platform, run, stream, target};

const WINDOWS: usize = 12;

/// Groups that the target's class and its neighbour's fill.
type Masks = (u64, u64);

struct Setup {
    platform: Platform,
    level: u8,
    cores: [u32; 2],
    victim: Pattern,
    hog: Pattern,
    window: u64,
}

impl Setup {
    fn start(&self, masks: Masks) -> Engine {
        let mut engine = Engine::idle(&self.platform, 11).unwrap();
        for (at, core) in (0u8..).zip(self.cores) {
            engine.set_core_class(core, at + 1, at + 1).unwrap();
        }
        self.set(&mut engine, masks);
        engine.start_program(target(self.cores[0], self.victim.clone())).unwrap();
        engine.start_program(neighbour(self.cores[1], self.hog.clone())).unwrap();
        engine
    }

    fn set(&self, engine: &mut Engine, (of_target, of_other): Masks) {
        for (core, (class, mask)) in self.cores.iter().zip([(1, of_target), (2, of_other)]) {
            engine.set_class_ways(self.level, *core, class, mask, mask).unwrap();
        }
    }

    /// Windows of the target: bytes that it holds, bytes that it moves, its mean latency in ticks.
    fn watch(&self, engine: &mut Engine) -> Vec<[f64; 3]> {
        let core = self.cores[0];
        let mut windows = Vec::new();
        for _ in 0..WINDOWS {
            let before = engine.monitored(self.level, core, 1).unwrap().total_bytes;
            let log: Log = run(engine, self.window);
            let after = engine.monitored(self.level, core, 1).unwrap();
            windows.push([after.occupancy_bytes as f64, (after.total_bytes - before) as f64, log.mean(core)]);
        }
        windows
    }
}

/// Mean and squared standard error of one figure.
fn mean(windows: &[[f64; 3]], figure: usize) -> (f64, f64) {
    let count = windows.len() as f64;
    let mean = windows.iter().map(|window| window[figure]).sum::<f64>() / count;
    let squares: f64 = windows.iter().map(|window| (window[figure] - mean).powi(2)).sum();
    (mean, squares / (count - 1.0) / count)
}

/// The tolerance, stated before any run: five standard errors of the difference of two means over 12 windows (neighbouring
/// windows are nearly independent, for in each the neighbour reads the whole cache several times over), which chance
/// exceeds less than once in 10,000 figures even with so few windows; and half a percent for what is of the memory's
/// state rather than of the caches', as the phase of refreshes and rows.
fn agree(changed: &[[f64; 3]], from_start: &[[f64; 3]], what: &str) {
    for (figure, name) in ["occupancy", "bandwidth", "latency"].into_iter().enumerate() {
        let ((one, error), (other, other_error)) = (mean(changed, figure), mean(from_start, figure));
        let tolerance = 5.0 * (error + other_error).sqrt() + 0.005 * other;
        assert!((one - other).abs() <= tolerance, "{what}, {name}: {one} and {other}, {tolerance} apart at most");
    }
}

/// Changes from one pair of masks to another after a while, and compares with a run that began with the latter.
fn converges(setup: &Setup, before: Masks, after: Masks, settle: u64) {
    let mut from_start = setup.start(after);
    run(&mut from_start, 2 * settle);
    let expected = setup.watch(&mut from_start);
    let mut engine = setup.start(before);
    run(&mut engine, settle);
    let old = setup.watch(&mut engine);
    let apart = mean(&old, 2).0 / mean(&expected, 2).0;
    assert!(!(0.9..1.1).contains(&apart), "the change must change something: {apart}");
    setup.set(&mut engine, after);
    let at_once = engine.monitored(setup.level, setup.cores[0], 1).unwrap().occupancy_bytes as f64;
    assert_eq!(at_once, old.last().unwrap()[0], "nothing moves when a mask is written");
    run(&mut engine, settle);
    agree(&setup.watch(&mut engine), &expected, &format!("{before:?} to {after:?}"));
}

#[test]
fn a_second_level_of_two_cores_converges_in_both_directions() {
    let setup = Setup {
        platform: platform("apollo-lake-e3950"),
        level: 2,
        cores: [0, 1],
        victim: chase(384 << 10),
        hog: stream(Operation::Read, 8 << 20),
        window: 2 * MILLISECOND,
    };
    let (little, much) = ((0b0000_0001, 0b1111_1110), (0b0000_1111, 0b1111_0000));
    converges(&setup, much, little, 16 * MILLISECOND);
    converges(&setup, little, much, 16 * MILLISECOND);
}

#[test]
fn an_exclusive_level_of_a_cluster_converges() {
    let setup = Setup {
        platform: platform("agilex5"),
        level: 3,
        cores: [1, 3],
        victim: chase(768 << 10),
        hog: stream(Operation::Read, 16 << 20),
        window: 2 * MILLISECOND,
    };
    converges(&setup, (0b1111, 0b1111), (0b0011, 0b1100), 24 * MILLISECOND);
}
