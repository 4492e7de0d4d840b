//! A user's own program on a real kernel: its markers, its functions and its period show the same passes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use waykeeper_linux::{KeptTime, Root, kept_for_ordinary_tasks};

/// Where the guest has Waykeeper and the program, as files below its root.
pub const WAYKEEPER: &str = "own/waykeeper";
/// See [`WAYKEEPER`].
pub const PROGRAM: &str = "own/threefold";

/// The same piece of work, seen in three ways.
const WAYS: [&str; 3] = ["--passes=markers", "--begin=work", "--passes=period"];

/// One repeat of 300 ms alone on the core, under SCHED_FIFO; the work comes every 10 ms.
const RUN: [&str; 9] = [
    "run",
    "this-machine",
    "--core=1",
    "--repeats=1",
    "--duration=300ms",
    "--set=sentinel=false",
    "--set=mitigations=['fifo']",
    "--set=neighbours=[]",
    "--out=/tmp/kept",
];
const CASE: &str = "fifo, idle";
const PASSES: std::ops::RangeInclusive<u64> = 28..=31;

/// The work lasts that long by its own clock. An emulated processor adds its traps and system calls, and stands still now and then;
/// that is less than the half of the work in the median.
const WORK_NS: f64 = 2e6;
const MOST_NS: f64 = 1.5 * WORK_NS;

/// Linux's own setting of what is kept of a core for ordinary tasks: 50 ms of each second.
const THROTTLING: KeptTime = KeptTime::Throttling { runtime_us: 950_000, period_us: 1_000_000 };

/// Compiles the program for the guest, which has no library for it.
///
/// # Errors
/// A program that does not compile.
pub fn compile(scratch: &Path) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = scratch.join("threefold");
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-static", "-I"]).arg(root.join("crates/markers/user"));
    compile.arg("-o").arg(&program).arg(root.join("examples/your-program/threefold.c"));
    let status = compile.status().map_err(|error| format!("{compile:?}: {error}"))?;
    if status.success() { Ok(program) } else { Err(format!("{compile:?} ended with {status}")) }
}

/// Measures the program in each way and compares. Only the guest calls this.
///
/// # Errors
/// What is not as it should be.
pub fn run() -> Result<String, String> {
    for folder in ["/tmp", "/dev/shm"] {
        std::fs::create_dir_all(folder).map_err(|error| format!("{folder}: {error}"))?;
    }
    on_all_cores()?;
    // SAFETY: all texts end with a NUL.
    unsafe {
        libc::mount(c"debug".as_ptr(), c"/sys/kernel/debug".as_ptr(), c"debugfs".as_ptr(), 0, std::ptr::null());
    }
    let medians = WAYS.iter().map(|way| median(way)).collect::<Result<Vec<f64>, String>>()?;
    // Markers stand inside the function, and that inside the activation.
    for (way, median) in WAYS.iter().zip(&medians) {
        if !(WORK_NS..MOST_NS).contains(median) || *median < medians[0] - 0.01 * WORK_NS {
            return Err(format!("own task, {way}: medians of {medians:?} ns"));
        }
    }
    let [markers, functions, period] = [0, 1, 2].map(|way| medians[way] / 1e3);
    Ok(format!(
        "median {markers:.1} us by markers, {functions:.1} by functions, {period:.1} by its period; {}",
        kept()?
    ))
}

/// The comparison before it kept to one core.
fn on_all_cores() -> Result<(), String> {
    // SAFETY: the set is a plain value, which the kernel reads.
    let answer = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (0..64).for_each(|core| libc::CPU_SET(core, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if answer == 0 { Ok(()) } else { Err(format!("own task: {}", std::io::Error::last_os_error())) }
}

fn median(way: &str) -> Result<f64, String> {
    let _ = std::fs::remove_dir_all("/tmp/kept");
    let output = Command::new(format!("/{WAYKEEPER}")).args(RUN).args([way, "--", &format!("/{PROGRAM}")]).output();
    let output = output.map_err(|error| format!("{WAYKEEPER}: {error}"))?;
    let failed = |what: &dyn std::fmt::Display| {
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
        format!("own task, {way}: {what}: {said}")
    };
    if !output.status.success() {
        return Err(failed(&output.status));
    }
    let text = std::fs::read_to_string("/tmp/kept/run.json").map_err(|error| failed(&error))?;
    let record: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let cases = record["cases"].as_array().into_iter().flatten();
    let case = cases.clone().find(|case| case["name"] == CASE).ok_or_else(|| failed(&"no such case"))?;
    let got = &case["repeats"][0]["placement"]["target, scheduling"]["got"];
    match (case["samples"].as_u64(), case["p50_ns"].as_f64()) {
        (Some(samples), Some(median)) if PASSES.contains(&samples) && got == "SCHED_FIFO" => Ok(median),
        _ => Err(failed(case)),
    }
}

/// What this kernel keeps for ordinary tasks is what it is known to keep.
fn kept() -> Result<String, String> {
    let kept = kept_for_ordinary_tasks(&Root::default(), 1).0;
    let fair_server =
        |one: &KeptTime| matches!(one, KeptTime::FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000, .. });
    match &kept[..] {
        [THROTTLING] => Ok("throttling keeps time".into()),
        [one] if fair_server(one) => Ok("the fair server keeps time".into()),
        // A guest has no /boot.
        [one, KeptTime::NotSeen(why)] if fair_server(one) && why.contains("/boot/config-") => {
            Ok("the fair server keeps time".into())
        }
        _ => Err(format!("own task: what is kept for ordinary tasks is {kept:?}")),
    }
}
