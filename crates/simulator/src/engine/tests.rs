//! A branch on a load that waits for a walk.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_workload::{Access, Loop, Operation, Pattern, Region};

use crate::core::program::Op;
use crate::engine::Engine;
use crate::engine::programs::{Program, Role};
use crate::engine::running::Running;
use crate::engine::test_platform::{param, translated};
use crate::observe::samples::Discard;
use crate::time::Ps;

/// An out-of-order core whose branches cost nothing but their wait.
fn engine() -> Engine {
    let mut platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap();
    let kind = platform.cores.iter_mut().find(|kind| kind.ids.contains(&2)).unwrap();
    translated(kind);
    kind.window_instructions = Some(param(128));
    kind.misprediction_cycles = Some(param(0));
    let one = Loop { count: 1 << 20, stride: 0 };
    let pattern = Pattern::Walk { operation: Operation::Read, outer: one, inner: one };
    Engine::new(&platform, &[Program { core: 2, pattern, role: Role::Neighbour }], &[], 1).unwrap()
}

const LATER: Ps = Ps::new(1_000_000_000_000);

/// After how many picoseconds the core goes on after a load of a page that no TLB has, and what follows it.
fn goes_on_after(dependent: bool, then: Option<Op>) -> u64 {
    let mut engine = engine();
    let Running::Stream(stream) = &mut engine.running[0] else { unreachable!("a walk is a stream") };
    let load = Access { region: Region::Data, offset: 0, operation: Operation::Read, dependent };
    let load = stream.touch_of(load);
    let began = stream.core_at;
    stream.next.extend([Some(load), then, Some(Op::Delay(LATER))].into_iter().flatten());
    engine.advance((LATER / 2).get(), &mut Discard);
    let Running::Stream(stream) = &engine.running[0] else { unreachable!("a walk is a stream") };
    assert_eq!(stream.port.counts.walks, 1);
    (stream.core_at - LATER - began).get()
}

#[test]
fn a_branch_waits_for_the_walk_of_its_load() {
    let loaded = goes_on_after(true, None);
    // The look into both TLBs alone takes 5 cycles of 714 ps; whoever needs no value goes on beside it.
    let beside = goes_on_after(false, None);
    assert!(beside < 5 * 714 && loaded > 5 * 714, "{beside}, {loaded}");
    assert_eq!(goes_on_after(false, Some(Op::Mispredicted(false))), beside + 2857, "on something else, 4 cycles");
    assert_eq!(goes_on_after(false, Some(Op::Mispredicted(true))), loaded);
}
