//! What a client waits for: a write to `schemata` and a read of `mon_data` through the mount, while the simulation runs.
//! And what the simulation loses by being mounted. Needs root and /dev/fuse.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_resctrl::KernelRelease;
use waykeeper_room::backing::{Backing, SampleSink};
use waykeeper_room::{Load, PlacedLoad, Room, RoomSpec, simulated};

fn platform() -> Platform {
    Platform::from_toml(find_bundled("xeon-d-2752ter").unwrap().text, "xeon-d-2752ter").unwrap()
}

fn loads(platform: &Platform) -> Vec<PlacedLoad> {
    ["target:latency_loop@0", "cache_stressor@1-3"]
        .iter()
        .flat_map(|load| Load::parse(load).unwrap().place(platform).unwrap())
        .collect()
}

fn room() -> Room {
    let platform = platform();
    let loads: Vec<_> = loads(&platform).into_iter().map(|load| (load, 0)).collect();
    let backing = simulated(&platform).unwrap();
    let room = Room::open(RoomSpec::new(platform, KernelRelease::V6_12), backing).unwrap();
    room.start(&loads).unwrap();
    room
}

fn files(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let room = room();
    let _mounted = room.mount_resctrl(folder.path()).expect("this needs root and /dev/fuse");
    let mut group = criterion.benchmark_group("mounted");
    let open = || OpenOptions::new().write(true).truncate(true).open(folder.path().join("schemata")).unwrap();
    let mut file = open();
    let mut masks = ["L3:0=ff\n", "L3:0=fffff\n"].iter().cycle();
    group.bench_function("schemata/write", |bencher| {
        bencher.iter(|| file.write_all(masks.next().unwrap().as_bytes()).unwrap());
    });
    group.bench_function("schemata/open, write, close", |bencher| {
        bencher.iter(|| open().write_all(masks.next().unwrap().as_bytes()).unwrap());
    });
    let path = folder.path().join("mon_data/mon_L3_00/llc_occupancy");
    let counter = std::fs::File::open(&path).unwrap();
    let mut text = [0; 32];
    group.bench_function("mon_data/read", |bencher| bencher.iter(|| counter.read_at(&mut text, 0).unwrap()));
    group.bench_function("mon_data/open, read, close", |bencher| {
        bencher.iter(|| black_box(std::fs::read(&path).unwrap()));
    });
    group.finish();
}

struct Nowhere;

impl SampleSink for Nowhere {
    fn record(&mut self, _core: u32, _ticks: u64, _count: u64) {}
}

/// Processor time of a thread of this process, from /proc/self/task/TID/schedstat.
fn processor_time(thread: &str) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).expect("a thread");
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds"))
}

/// The number of the thread that simulates a room.
fn simulating() -> String {
    let mut threads = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
    let named = |path: &std::path::Path| std::fs::read_to_string(path.join("comm")).unwrap_or_default();
    let found = threads.find(|thread| named(&thread.path()) == "simulation\n").expect("a room simulates");
    found.file_name().to_string_lossy().into_owned()
}

/// What 20 us of simulated time take, alone and in a mounted room with a client that reads counters a hundred times a second.
/// Processor time of the simulating thread: on a busy machine real time says more about who else runs, and a room gives way
/// to others (nice 5).
fn speed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulation");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    const STEP_PS: u64 = 20_000_000;
    group.bench_function("20 us alone", |bencher| {
        let platform = platform();
        let mut backing: Box<dyn Backing> = simulated(&platform).unwrap();
        for load in loads(&platform) {
            let work = waykeeper_room::backing::Work {
                core: load.core,
                pattern: load.pattern,
                watched: load.target,
                buffer: waykeeper_room::backing::BufferMemory::Own,
                samples: None,
            };
            backing.start(&work).unwrap();
        }
        backing.advance(10 * STEP_PS, &mut Nowhere);
        bencher.iter_custom(|times| {
            let own = rustix::thread::gettid().to_string();
            let began = processor_time(&own);
            backing.advance(backing.now_ps() + times * STEP_PS, &mut Nowhere);
            processor_time(&own) - began
        });
    });
    group.bench_function("20 us in a mounted room", |bencher| {
        let folder = tempfile::tempdir().unwrap();
        let room = room();
        let _mounted = room.mount_resctrl(folder.path()).expect("this needs root and /dev/fuse");
        let path = folder.path().join("mon_data/mon_L3_00/llc_occupancy");
        let now = || {
            let answer = room.answer(br#"{"version":1,"ask":"status"}"#);
            match answer.outcome {
                waykeeper_room::socket::protocol::RoomOutcome::Status(status) => status.now_ns,
                other => panic!("{other:?}"),
            }
        };
        let thread = simulating();
        bencher.iter_custom(|times| {
            let (from, began) = (now(), processor_time(&thread));
            // Until it has come as far as was asked; what it takes for the rest of a slice counts in proportion.
            let wanted = times as f64 * STEP_PS as f64 / 1000.0;
            while now() - from < wanted {
                std::thread::sleep(Duration::from_millis(10));
                black_box(std::fs::read(&path).unwrap());
            }
            (processor_time(&thread) - began).mul_f64(wanted / (now() - from))
        });
    });
    group.finish();
}

criterion_group!(benches, files, speed);
criterion_main!(benches);
