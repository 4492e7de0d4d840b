//! Runs one pattern and says where its memory lies, so that somebody outside can compare the addresses that the kernel
//! touches with the pattern's stream.
//!
//! ```text
//! touch PATTERN_JSON SEED ACCESSES target|neighbour [signal]
//! ```
//!
//! Runs in slices of about a millisecond (and some periods of a buffer; longer where that is too short for a pass)
//! until at least ACCESSES accesses (for `tick`: samples) are done. A store of 1 to the word `marker` comes before each
//! slice and a store of 0 after it; with `signal`, so does the signal SIGUSR1. The addresses and, for a target, the
//! recorder's histogram are printed at the end.

use std::env;
use std::process::ExitCode;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use waykeeper_kernels::{AccessCounter, Kernel, MappedMemory, Recorder, clock};
use waykeeper_workload::{Pattern, recorder};

const SLICE_TICKS: u64 = 2_000_000;
/// More than there are, so that a slice holds more than one period of a buffer.
const TICKS_IN_A_NS: u64 = 10;

static MARKER: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicU32 = AtomicU32::new(0);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (pattern, seed, accesses, role, signal) = match arguments.as_slice() {
        [pattern, seed, accesses, role] => (pattern, seed, accesses, role, false),
        [pattern, seed, accesses, role, signal] if signal == "signal" => (pattern, seed, accesses, role, true),
        _ => {
            eprintln!("usage: touch PATTERN_JSON SEED ACCESSES target|neighbour [signal]");
            return ExitCode::from(2);
        }
    };
    let pattern: Pattern = serde_json::from_str(pattern).expect("a pattern in JSON");
    let seed = seed.parse().expect("a seed");
    let accesses = accesses.parse().expect("a number of accesses");
    touch(&pattern, seed, accesses, role == "neighbour", signal);
    ExitCode::SUCCESS
}

fn touch(pattern: &Pattern, seed: u64, accesses: u64, as_neighbour: bool, signal: bool) {
    let bytes = (pattern.data_bytes() as usize).max(1).next_multiple_of(4096);
    // SAFETY: a fresh mapping that only the kernel uses and that stays until the process ends.
    let (data, memory) = unsafe {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let data = mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE).expect("memory").cast::<u8>();
        (data, MappedMemory::new(data, bytes))
    };
    let mut kernel = Kernel::new(pattern, memory, seed).expect("a pattern that can run");
    let mut recorder = Recorder::new_boxed();
    let progress = AccessCounter::new();

    let per_sample = match pattern {
        Pattern::Walk { inner, .. } => inner.count,
        Pattern::Chase { batch, .. } => *batch,
        _ => pattern.accesses_per_pass().unwrap_or(1),
    };
    let mut slice_ticks = SLICE_TICKS + TICKS_IN_A_NS * period_ns(pattern);
    let mut done = 0;
    while done < accesses {
        mark(1, signal);
        let deadline = clock::now() + slice_ticks;
        if as_neighbour {
            kernel.run_neighbour(&progress, deadline, &STOP);
        } else {
            kernel.run_target(&mut recorder, deadline, &STOP);
        }
        mark(0, signal);
        let before = done;
        done = if as_neighbour { progress.accesses() } else { recorder.samples() * per_sample };
        // Whoever watches may slow us down so much that a slice ends before its first pass.
        if done == before {
            slice_ticks *= 2;
        }
    }

    let code = kernel.code().as_ptr_range();
    let recorder_start = ptr::from_ref(&*recorder).addr();
    println!("marker {:x} 8", MARKER.as_ptr().addr());
    println!("data {:x} {:x}", data.addr(), bytes);
    println!("code {:x} {:x}", code.start.addr(), kernel.code().len());
    println!("recorder {:x} {:x}", recorder_start, recorder::BYTES);
    println!("accesses {done:x} 0");
    for (value, count) in recorder.counts() {
        println!("count {value:x} {count:x}");
    }
}

fn period_ns(pattern: &Pattern) -> u64 {
    match pattern {
        Pattern::Buffer { period_ns, .. } => *period_ns as u64,
        _ => 0,
    }
}

fn mark(value: u64, signal: bool) {
    MARKER.store(value, Ordering::SeqCst);
    if signal {
        // SAFETY: raises a signal that the tracer swallows.
        unsafe { libc::raise(libc::SIGUSR1) };
    }
}
