//! What fast-forwarding leaves in caches, filters and TLBs, beside accesses in time of one core alone.

use std::path::PathBuf;

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_trace::{Record, RecordKind, Writer};
use waykeeper_workload::{Pattern, TraceSource, Xorshift};

use crate::core::front::translation::{Looked, Side};
use crate::core::program::detour::Detour;
use crate::engine::Engine;
use crate::engine::programs::{Program, Role};
use crate::engine::running::Running;
use crate::engine::test_platform::translated;
use crate::observe::samples::Discard;
use crate::shortcuts::sampled::SampledPass;
use crate::shortcuts::sampling::PassSampling;
use crate::shortcuts::window_warm_up::WindowWarmUp;
use crate::time::Ps;

const ACCESSES: u64 = 150_000;
const BYTES: u64 = 6 << 20;

/// Loads, and changes of what was just loaded, for which an in-order core waits: within 6 MiB, some of them one line after
/// the other. Before the last one it does nothing for so long that a test can stop it there.
fn recording() -> PathBuf {
    let path = std::env::temp_dir().join(format!("waykeeper-forward-{}.wkt", std::process::id()));
    let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), "test", false).unwrap();
    let (mut random, mut address) = (Xorshift::new(1), 0);
    for at in 0..=ACCESSES {
        address = if random.below(4) == 0 { (address + 64) % BYTES } else { random.below(BYTES / 64) * 64 };
        let kind = if random.below(3) == 0 { RecordKind::Modify } else { RecordKind::Load };
        let gap = if at == ACCESSES { 1 << 40 } else { 0 };
        writer.push(&Record { address, gap, bytes: 4, kind, dependent: true }).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn engine(path: &std::path::Path) -> Engine {
    let mut platform = Platform::from_toml(find_bundled("agilex5").unwrap().text, "agilex5").unwrap();
    platform.cores.iter_mut().for_each(translated);
    let source = TraceSource::File(path.to_str().unwrap().into());
    let pattern =
        Pattern::Trace { source, data_bytes: BYTES, code_bytes: 0, line_bytes: 64, phase: None, period_ns: None };
    // Core 0 is in order. The mode depends on time.
    let program = Program { core: 0, pattern, role: Role::Neighbour };
    Engine::new(&platform, &[program], &["nl3a"], 1).unwrap()
}

/// By cache, what it has of each line; and which pages the TLBs have.
fn state(engine: &mut Engine) -> (Vec<Vec<Option<u8>>>, Vec<Looked>) {
    let Engine { world, running, .. } = engine;
    let Running::Stream(stream) = &mut running[0] else { unreachable!("a trace is a stream") };
    let hierarchy = &world.hierarchy;
    let private = &hierarchy.cores[0];
    let shared = hierarchy.nodes.iter().filter_map(|node| Some(&node.cache.as_ref()?.cache));
    let caches: Vec<_> =
        [Some(&private.l1d), private.l2.as_ref().map(|l2| &l2.cache)].into_iter().flatten().chain(shared).collect();
    let lines: Vec<_> = (0..BYTES).step_by(64).map(|at| stream.data().line(at)).collect();
    let of = |cache: &&crate::caches::cache::Cache| {
        lines.iter().map(|line| cache.find(*line).map(|place| cache.flags(place) as u8)).collect()
    };
    let caches = caches.iter().map(of).collect();
    let addresses: Vec<_> = (0..BYTES).step_by(4096).map(|at| stream.data().address(at)).collect();
    let translation = stream.front.as_mut().and_then(|front| front.translation.as_mut()).expect("it has TLBs");
    let pages = addresses.into_iter().map(|address| {
        let page = translation.page(address);
        translation.look_up(Side::Data, page)
    });
    (caches, pages.collect())
}

#[test]
fn going_forward_leaves_what_accesses_in_time_leave() {
    let path = recording();
    let mut in_time = engine(&path);
    // But the last; some go to a line that was just used, and are not shown.
    let accesses = in_time.programs[0].pattern.pass_length().unwrap().accesses - 1;
    in_time.advance(200_000_000_000, &mut Discard);
    let counters = in_time.counters();
    let (core, walks) = (*counters.core(0).unwrap(), counters.front(0).unwrap().walk_reads);
    assert_eq!(core.accesses - walks, accesses, "it has stopped before its last access");

    let mut forward = engine(&path);
    let Running::Stream(stream) = &mut forward.running[0] else { unreachable!("a trace is a stream") };
    let sampling = PassSampling { windows: 1, accesses: 1, warm_up_ps: 0, functional: false, seed: 1 };
    SampledPass::new(sampling, WindowWarmUp::in_time(Ps::ZERO), accesses + 1, Xorshift::new(1)).leave(
        stream,
        accesses,
        &mut forward.world,
    );
    assert_eq!(forward.running[0].front_counters().forwarded_accesses, accesses);
    assert_eq!(*forward.counters().core(0).unwrap(), Default::default(), "nothing is counted");
    assert_eq!(forward.counters().memory.reads, 0);

    let (in_time, forward) = (state(&mut in_time), state(&mut forward));
    for (level, (one, other)) in in_time.0.iter().zip(&forward.0).enumerate() {
        let held = one.iter().flatten().count();
        assert!(held > 200, "cache {level} holds {held}");
        let differing = one.iter().zip(other).filter(|(one, other)| one != other).count();
        assert_eq!(differing, 0, "lines of cache {level}, {held} held");
    }
    let is_missed = |looked: &Looked| matches!(looked, Looked::Missed(_));
    assert!(in_time.1.iter().any(is_missed) && !in_time.1.iter().all(is_missed));
    assert_eq!(in_time.1, forward.1, "pages");
    let _ = std::fs::remove_file(path);
}
