//! Programs of the user's on simulated platforms: their passes in recordings.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::program::{Desk, Ended};

fn example(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/your-program")).join(name)
}

/// Compiles a program into the desk, as `mine`.
fn compile(desk: &Desk, source: &str) {
    desk.file("waykeeper.h", &desk.run(&["markers", "c"]).with(0).stdout);
    desk.file("mine.c", source);
    compiled(desk, &["-pthread", "-o", "mine", "mine.c"]);
}

fn compiled(desk: &Desk, arguments: &[&str]) {
    let mut compiler = Command::new("cc");
    Ended::of(compiler.arg("-O2").args(arguments).current_dir(desk.path())).with(0);
}

/// The cookbook's task: 4096 loads of 128 KiB a pass.
fn cookbook(desk: &Desk) {
    compile(desk, &std::fs::read_to_string(example("cookbook.c")).unwrap());
}

/// A recording of 20 passes; what it holds.
fn traced(desk: &Desk, more: &[&str], command: &[&str]) -> Value {
    let mut arguments = vec!["trace", "--most-passes=20", "--json", "--out=mine.wkt"];
    arguments.extend(more);
    arguments.push("--");
    arguments.extend(command);
    let traced = desk.run(&arguments).with(0).json();
    std::fs::remove_file(desk.path().join("mine.wkt")).unwrap();
    traced
}

/// A run of the cookbook's task on a simulated platform, whose recordings are kept in the desk.
fn simulated(desk: &Desk, more: &[&str]) -> Ended {
    let mut arguments = vec!["run", "agilex5-cluster-latency", "--set=mitigations=none", "--set=sentinel=false"];
    arguments.extend(["--repeats=1", "--duration=30ms"]);
    arguments.extend(more);
    let mut command = desk.command(&arguments);
    command.env("XDG_CACHE_HOME", desk.path().join("cache"));
    Ended::of(&mut command)
}

fn recordings(desk: &Desk) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(desk.path().join("cache/waykeeper/recordings")).unwrap();
    folder.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn markers_and_functions_survive_in_a_recording() {
    let desk = Desk::new();
    cookbook(&desk);
    let command = ["./mine", "131072", "1000"];
    for (more, called) in [(&[][..], "read"), (&["--begin=read_buffer"], "read_buffer")] {
        let traced = traced(&desk, more, &command);
        assert_eq!(traced["passes"], serde_json::json!({ called: 20 }), "{traced}");
        // 20 passes of 4096 loads. What lies between them is a system call and the sum of the period: far less than a pass.
        let loads = traced["loads"].as_u64().unwrap();
        assert!((20 * 4096..20 * 4096 + 20 * 100).contains(&loads), "{traced}");
        // 128 KiB and the pages of the stack and the C library.
        assert!((131_072..262_144).contains(&traced["data_bytes"].as_u64().unwrap()), "{traced}");
    }
}

#[test]
fn functions_of_a_library_survive_in_a_recording_and_a_changed_library_is_recorded_anew() {
    let desk = Desk::new();
    let library = |stride: &str| {
        desk.file(
            "read.c",
            &format!(
                "unsigned read_it(const volatile unsigned *it) {{ unsigned sum = 0;\n\
                 for (int at = 0; at < 4096; at += {stride}) sum += it[at];\nreturn sum; }}\n"
            ),
        );
        compiled(&desk, &["-shared", "-fPIC", "-o", "libread.so", "read.c"]);
    };
    library("8");
    desk.file(
        "links.c",
        "#include <time.h>\nunsigned read_it(const volatile unsigned *);\nstatic volatile unsigned it[4096] = { 1 };\n\
         int main(void) { struct timespec rest = { 0, 1000000 };\n\
         for (;;) { read_it(it); nanosleep(&rest, 0); } }\n",
    );
    compiled(&desk, &["-o", "mine", "links.c", "libread.so", "-Wl,-rpath,$ORIGIN"]);
    let traced = traced(&desk, &["--begin=libread:read_it"], &["./mine"]);
    assert_eq!(traced["passes"], serde_json::json!({ "libread:read_it": 20 }), "{traced}");

    let recorded = |stride: &str| {
        library(stride);
        simulated(&desk, &["--core=1", "--begin=libread:read_it", "--", "./mine"]).with(0);
        recordings(&desk).len()
    };
    assert_eq!([recorded("8"), recorded("8"), recorded("16")], [1, 1, 2]);
}

#[test]
fn a_program_runs_on_a_simulated_platform_as_its_recording() {
    let desk = Desk::new();
    cookbook(&desk);
    let plan = simulated(&desk, &["--dry-run", "--core=1", "--", "./mine"]).with(0);
    assert!(plan.stdout.contains("it is run and recorded once, with valgrind"), "{plan:?}");
    assert!(!desk.path().join("cache").exists(), "a dry run ran the program");

    let run = simulated(&desk, &["--json", "--core=1", "--", "./mine"]).with(0).json();
    let case = |name: &str| run["cases"].as_array().unwrap().iter().find(|case| case["name"] == name).unwrap();
    let [idle, loaded] = ["idle", "none"].map(case);
    // A period of 10 ms: three passes in 30 ms, one at an edge more or less.
    assert!((2..=4).contains(&idle["samples"].as_u64().unwrap()), "{idle}");
    // The experiment's own threshold, 20 ns over the minimum, is one for its own loop of 75 ns.
    assert!(idle["excursion_above_ns"].as_f64().unwrap() > 1.05 * idle["min_ns"].as_f64().unwrap(), "{idle}");
    // The same walk as a workload: the recording's loop has instructions beside its loads, and nothing else.
    let walk = simulated(&desk, &["--json", "--set=targets.0.workload=rta_128k", "--set=targets.0.core=1"]);
    let mean = |case: &Value| case["mean_ns"].as_f64().unwrap();
    let walk = walk.with(0).json();
    let walks = &walk["cases"].as_array().unwrap()[0];
    let ratio = mean(idle) / mean(walks);
    assert!((0.8..2.5).contains(&ratio), "{ratio}: {idle} {walks}");
    // A hammer in the second level of the others' caches takes its lines away in between.
    assert!(mean(loaded) > 2.0 * mean(idle), "{loaded}");
    let notes = run["notes"].to_string();
    assert!(notes.contains("passes of `read`, which are simulated again and again, one every 10 ms"), "{notes}");

    // Kept by content: the same program is not recorded again, another one is.
    let first = recordings(&desk);
    assert_eq!(first.len(), 1);
    let written = std::fs::metadata(&first[0]).unwrap().modified().unwrap();
    simulated(&desk, &["--core=1", "--", "./mine"]).with(0);
    assert_eq!(std::fs::metadata(&first[0]).unwrap().modified().unwrap(), written);
    let source = std::fs::read_to_string(example("cookbook.c")).unwrap();
    compile(&desk, &source.replace("#define STRIDE 32", "#define STRIDE 64"));
    simulated(&desk, &["--core=1", "--", "./mine"]).with(0);
    assert_eq!(recordings(&desk).len(), 2);
}

#[test]
fn a_script_is_recorded_as_the_program_that_it_starts() {
    let desk = Desk::new();
    cookbook(&desk);
    desk.file("launch.sh", "#!/bin/sh\nMARK=yes exec ./mine 131072 1000\n");
    let mut trace = desk.command(&["trace", "--most-passes=5", "--out=l.wkt", "--", "sh", "launch.sh"]);
    let traced = Ended::of(&mut trace).with(0);
    assert!(traced.stderr.contains("it starts another program in its place, which was recorded: "), "{traced:?}");
    assert!(traced.stdout.contains("passes        5 of `read`"), "{traced:?}");
}

#[test]
fn what_cannot_be_recorded_says_what_would_do() {
    let desk = Desk::new();
    cookbook(&desk);
    for (status, more, expected) in [
        (
            3,
            &["--core=1", "--", "true"][..],
            "`true` cannot be recorded: it made no pass while it was recorded; expected markers in its source",
        ),
        (
            2,
            &["--begin=read_bufer", "--core=1", "--", "./mine"],
            "has no function `read_bufer`; expected `read_buffer`, or",
        ),
        (
            2,
            &["--phase=nix", "--core=1", "--", "./mine", "4096", "100"],
            "found `nix`, which has no pass in the recording; expected `read`",
        ),
    ] {
        let ended = simulated(&desk, more).with(status);
        assert!(ended.stderr.contains(expected), "{ended:?}");
    }
    let period = simulated(&desk, &["--passes=period", "--core=1", "--", "./mine"]).with(2);
    assert!(period.stderr.contains("a recording has no time and so no period"), "{period:?}");
}

#[test]
fn several_phases_are_chosen_in_a_workload() {
    let desk = Desk::new();
    compile(
        &desk,
        "#include \"waykeeper.h\"\nstatic volatile char memory[1 << 16];\nint main(void) {\n  wk_name(2, \"outer\");\n  \
         for (int i = 0; i < 10; i++) {\n    wk_begin(2);\n    for (int j = 0; j < 3; j++) {\n      wk_begin(1);\n      \
         for (int k = 0; k < 1024; k++) memory[64 * k];\n      wk_end(1);\n    }\n    wk_end(2);\n  }\n  wk_end(1);\n}\n",
    );
    let mut trace = desk.command(&["trace", "--json", "--out=mine.wkt", "--", "./mine"]);
    let traced = Ended::of(&mut trace).with(0);
    assert!(traced.stderr.contains("1 `wk_end` of a phase that was not open"), "{traced:?}");
    assert_eq!(traced.json()["passes"], serde_json::json!({ "1": 30, "outer": 10 }));
    let samples = |keys: &str| {
        desk.file(
            "x.toml",
            &format!(
                "platform = 'agilex5'\ntitle = 'x'\ntargets = [{{ workload = 'mine', core = 1 }}]\nsentinel = false\n\
                 simulated_duration = '5ms'\nrepeats = 1\n[workloads.mine]\nkind = 'trace'\nfile = 'mine.wkt'\n{keys}\n"
            ),
        );
        desk.run(&["run", "x.toml", "--json"])
    };
    let several = samples("").with(2);
    assert!(several.stderr.contains("several phases; expected one of `1`, `outer`"), "{several:?}");
    let mean = |keys: &str| samples(keys).with(0).json()["cases"][0]["mean_ns"].as_f64().unwrap();
    let [inner, outer] = [mean("phase = 1"), mean("phase = 'outer'")];
    // Three passes of one phase lie in each of the other, and little else.
    assert!((2.8..3.3).contains(&(outer / inner)), "{outer} {inner}");
}

#[test]
fn a_program_takes_what_a_sweep_varies_of_the_targets_that_it_replaces() {
    let desk = Desk::new();
    cookbook(&desk);
    let target = "title = 'x'\nplatform = 'agilex5'\nsentinel = false\nexcursions.over_min = '1 us'\n\
                  targets = [{ workload = 'chase_llc', core = 2 }, { workload = 'latency_loop', core = 1 }]\n";
    let sweeps = "[[sweep]]\nname = 'size'\nkey = 'targets.0.with.size'\nvalues = ['8 KiB', '16 KiB']\n\
                  [[sweep]]\nname = 'core'\npoints = [{ name = 'a', set.targets.0.core = 1, set.targets.1.core = 2 }, \
                  { name = 'b', set.targets.0.core = 2, set.targets.1.core = 1 }]\n";
    desk.file("swept.toml", &format!("{target}{sweeps}"));
    let planned = |core: &[&str]| {
        let mut command = desk.command(&[&["run", "swept.toml", "--dry-run"][..], core, &["--", "./mine"]].concat());
        command.env("XDG_CACHE_HOME", desk.path().join("cache"));
        Ended::of(&mut command).with(0)
    };
    // The size is that of a target that is not there; the core is also the program's.
    let swept = planned(&[]);
    assert!(swept.stderr.contains("would vary: `size`"), "{}", swept.stderr);
    assert!(swept.stdout.contains("[core a]") && swept.stdout.contains("[core b]"), "{}", swept.stdout);
    let typed = planned(&["--core=3"]);
    assert!(typed.stderr.contains("would vary: `size`, `core`"), "{}", typed.stderr);
    assert!(!typed.stdout.contains("[core"), "{}", typed.stdout);
}
