//! A program of the user's as target.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::program::{Desk, Ended, case, list, repository, this_machine};

/// One case and nothing beside it: passes alone count here.
const ALONE: [&str; 8] = [
    "run",
    "this-machine",
    "--repeats=1",
    "--set=sentinel=false",
    "--set=mitigations=[]",
    "--set=neighbours=[]",
    "--out=kept",
    "--duration=300ms",
];

/// Compiles C with the header that the program prints.
fn compile(desk: &Desk, source: &str) {
    let header = desk.run(&["markers", "c"]).with(0).stdout;
    desk.file("waykeeper.h", &header);
    desk.file("mine.c", source);
    build(desk, "cc", &["-g", "-o", "mine", "mine.c"]);
}

/// Runs a compiler in the desk's folder.
fn build(desk: &Desk, compiler: &str, arguments: &[&str]) {
    let mut command = Command::new(compiler);
    command.args(["-O1", "-Wall", "-Wextra", "-Werror"]).args(arguments).current_dir(desk.path());
    Ended::of(&mut command).with(0);
}

/// A program whose main function is this.
fn main_of(body: &str) -> String {
    format!(
        "#define _GNU_SOURCE\n#include <sched.h>\n#include <signal.h>\n#include <stdio.h>\n#include \"waykeeper.h\"\n\
         static inline void rest(long us) {{ struct timespec t = {{ 0, us * 1000 }}; nanosleep(&t, NULL); }}\n\
         int main(void)\n{{\n{body}\n}}\n"
    )
}

fn example(name: &str) -> PathBuf {
    repository().join("examples/your-program").join(name)
}

fn run(desk: &Desk, more: &[&str]) -> Ended {
    desk.run(&[&ALONE, more].concat())
}

fn idle(desk: &Desk) -> Value {
    case(&desk.record("kept"), "idle").clone()
}

fn samples(desk: &Desk) -> u64 {
    idle(desk)["samples"].as_u64().unwrap()
}

/// The task has one pass each 10 ms. An absolute period catches up on what the machine held up: of passes that were due before
/// the observation some may fall into it. One that was counted twice would be 200 %.
#[track_caller]
fn one_each_10_ms(idle: &Value) {
    let due = idle["run_length_s"].as_f64().unwrap() / 10e-3;
    let samples = idle["samples"].as_f64().unwrap();
    assert!((0.7 * due..1.5 * due).contains(&samples), "{samples} passes, {due} due: {idle}");
}

fn remarks(desk: &Desk) -> Vec<String> {
    let idle = idle(desk);
    let remarks = list(&idle, "repeats")[0].get("remarks").and_then(Value::as_array).cloned().unwrap_or_default();
    remarks.iter().map(|remark| remark.as_str().unwrap().to_owned()).collect()
}

#[test]
fn passes_of_the_cookbooks_task_are_samples() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &std::fs::read_to_string(example("cookbook.c")).unwrap());
    run(&desk, &["--", "./mine"]).with(0);
    let idle = idle(&desk);
    one_each_10_ms(&idle);
    assert_eq!(idle["target"], "mine");
    // Four thousand loads take a microsecond at the very least, and far less than a period.
    let (min, mean) = (idle["min_ns"].as_f64().unwrap(), idle["mean_ns"].as_f64().unwrap());
    assert!(min > 1e3 && mean < 5e6, "{idle}");
    let placement = &list(&idle, "repeats")[0]["placement"];
    assert_eq!(placement["target, passes"]["got"], "phase 0 `read`, 1 thread");
    assert_eq!(remarks(&desk), [""; 0]);
}

#[test]
fn a_pass_of_the_cookbooks_task_reads_every_line_of_its_buffer() {
    let desk = Desk::new();
    compile(&desk, &std::fs::read_to_string(example("cookbook.c")).unwrap());
    let lackey = |passes: &str| {
        let mut valgrind = Command::new("valgrind");
        valgrind
            .args(["--tool=lackey", "--trace-mem=yes", "./mine", "131072", "1000", passes])
            .current_dir(desk.path());
        let ended = Ended::of(&mut valgrind).with(0);
        let buffer = u64::from_str_radix(ended.stdout.trim().trim_start_matches("0x"), 16).unwrap();
        let loads = ended.stderr.lines().filter_map(|line| line.strip_prefix(" L "));
        let loads = loads.filter_map(|line| {
            let (address, bytes) = line.split_once(',')?;
            let address = u64::from_str_radix(address, 16).ok()?;
            (bytes == "4" && (buffer..buffer + 131_072).contains(&address)).then_some(address)
        });
        loads.collect::<Vec<_>>()
    };
    let one = lackey("1");
    let lines: BTreeSet<u64> = one.iter().map(|address| address / 64).collect();
    // 128 KiB are 4096 steps of 32 bytes, and 2048 lines of 64.
    assert_eq!((one.len(), lines.len()), (4096, 2048));
    assert_eq!(lackey("3").len(), 3 * 4096);
}

#[test]
fn a_python_program_is_measured_too() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file("waykeeper.py", &desk.run(&["markers", "python"]).with(0).stdout);
    desk.file("control.py", &std::fs::read_to_string(example("control.py")).unwrap());
    run(&desk, &["--", "python3", "control.py"]).with(0);
    one_each_10_ms(&idle(&desk));
}

#[test]
fn a_program_without_markers_is_measured_by_its_whole_runs() {
    let _alone = this_machine();
    let desk = Desk::new();
    run(&desk, &["--passes=process", "--", "sleep", "0.05"]).with(0);
    // A run sleeps for 50 ms; the last one is finished.
    assert!((2..=6).contains(&samples(&desk)), "{}", idle(&desk));
    assert!(idle(&desk)["min_ns"].as_f64().unwrap() >= 50e6, "{}", idle(&desk));
    std::fs::remove_dir_all(desk.path().join("kept")).unwrap();
    let failed = run(&desk, &["--passes=process", "--", "ls", "/nothing-here"]).with(3);
    assert!(failed.stderr.contains("a run of the program `ls` failed: exit status: 2; its last lines"), "{failed:?}");
}

#[test]
fn the_phase_is_chosen_by_number_or_name() {
    let _alone = this_machine();
    let desk = Desk::new();
    // Phase 4 sleeps for two milliseconds, the other one does nothing.
    compile(
        &desk,
        &main_of("wk_name(4, \"slow\"); for (;;) { wk_begin(1); wk_end(1); wk_begin(4); rest(2000); wk_end(4); }"),
    );
    let ambiguous = run(&desk, &["--", "./mine"]).with(2);
    assert!(ambiguous.stderr.contains("marks 2 phases: 1, 4 `slow`; choose one with"), "{ambiguous:?}");
    for (phase, slow) in [("1", false), ("4", true), ("slow", true)] {
        std::fs::remove_dir_all(desk.path().join("kept")).unwrap_or(());
        run(&desk, &["--phase", phase, "--", "./mine"]).with(0);
        let min_ns = idle(&desk)["min_ns"].as_f64().unwrap();
        assert_eq!(min_ns >= 2e6, slow, "phase {phase}: {min_ns} ns");
    }
    std::fs::remove_dir_all(desk.path().join("kept")).unwrap();
    let unknown = run(&desk, &["--phase=quick", "--", "./mine"]).with(2);
    assert!(unknown.stderr.contains("has no phase `quick`; it marks phase 1, 4 `slow`"), "{unknown:?}");
    let unmarked = run(&desk, &["--phase=7", "--", "./mine"]).with(2);
    assert!(unmarked.stderr.contains("has made no pass of phase 7; it marks phase 1, 4 `slow`"), "{unmarked:?}");
}

#[test]
fn markers_without_their_other_are_remarked() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &main_of("for (;;) { wk_begin(0); rest(100); wk_begin(0); wk_end(0); wk_end(0); rest(1000); }"));
    let ended = run(&desk, &["--", "./mine"]).with(0);
    assert!(samples(&desk) > 50, "{}", idle(&desk));
    let remarks = remarks(&desk);
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(remarks[0].ends_with(" `wk_begin` of a phase that was open already"), "{remarks:?}");
    assert!(remarks[1].ends_with(" `wk_end` of a phase that was not open"), "{remarks:?}");
    assert!(ended.stdout.contains("Repeat 1 of the case `idle`: "), "{}", ended.stdout);
}

#[test]
fn programs_that_end_too_early_or_never_mark_a_pass_are_one_clear_error() {
    let _alone = this_machine();
    let desk = Desk::new();
    let refused = |body: &str, expected: &[&str]| {
        compile(&desk, &main_of(body));
        let ended = run(&desk, &["--", "./mine"]).with(3);
        for text in expected {
            assert!(ended.stderr.contains(text), "{text}: {ended:?}");
        }
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    };
    refused("return 0;", &["ended by itself before it made a pass: exit status: 0", "waykeeper markers c"]);
    refused("wk_begin(0); return 0;", &["it made markers, but no `wk_end` that belongs to a `wk_begin`"]);
    refused(
        "wk_begin(0); wk_end(0); fputs(\"no sensor\", stderr); return 7;",
        &["ended by itself before the measurement began: exit status: 7", "no sensor"],
    );
    refused(
        "for (int i = 0; i < 200; i++) { wk_begin(0); wk_end(0); rest(1000); } abort();",
        &["ended by itself", "after the measurement began: signal: 6 (SIGABRT)"],
    );
    refused(
        "wk_begin(0); wk_end(0); rest(100000); wk_begin(0); for (;;) rest(1000);",
        &["phase 0 of the program", "began and had not ended", "nothing marks its end"],
    );
}

#[test]
fn a_program_that_ends_well_is_measured_as_long_as_it_ran() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &main_of("for (int i = 0; i < 200; i++) { wk_begin(0); wk_end(0); rest(1000); } return 0;"));
    run(&desk, &["--", "./mine"]).with(0);
    let remarks = remarks(&desk);
    assert!(remarks[0].starts_with("the program ended by itself after 0."), "{remarks:?}");
    assert!(remarks[0].ends_with(" of 0.300 s"), "{remarks:?}");
}

#[test]
fn nothing_of_a_program_is_left_behind() {
    let _alone = this_machine();
    let desk = Desk::new();
    // It ignores SIGTERM, and leaves a daemon in a session of its own.
    compile(
        &desk,
        &main_of(
            "signal(SIGTERM, SIG_IGN); if (fork() == 0) { setsid(); if (fork() == 0) for (;;) rest(100000); return 0; }\n\
             for (;;) { wk_begin(0); wk_end(0); rest(1000); }",
        ),
    );
    let name = "wk-left-behind";
    std::fs::rename(desk.path().join("mine"), desk.path().join(name)).unwrap();
    run(&desk, &["--", "./wk-left-behind"]).with(0);
    let comm = |entry: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(entry.unwrap().path().join("comm"));
    let left =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| comm(entry).ok()).filter(|comm| comm.trim() == name);
    assert_eq!(left.count(), 0);
}

#[test]
fn a_program_is_a_case_as_any_other() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &std::fs::read_to_string(example("cookbook.c")).unwrap());
    desk.file(
        "mine.toml",
        "title = 'x'\nduration = '200 ms'\nrepeats = 1\nsentinel = false\nmitigations = ['fifo', 'hugepages']\n\
         targets = [{ workload = 'task' }]\nneighbours = [{ workload = 'latency_loop' }]\n\
         [workloads.task]\nkind = 'command'\nargv = ['./mine']\nphase = 'read'\n",
    );
    desk.run(&["run", "mine.toml", "--out=kept", "--budget=max<=1s"]).with(4);
    let run = desk.record("kept");
    let scheduling =
        |name: &str| list(case(&run, name), "repeats")[0]["placement"]["target, scheduling"]["got"].clone();
    assert_eq!(scheduling("none"), "SCHED_OTHER");
    let fifo = list(&run, "privileges").iter().find(|privilege| privilege["what"] == "SCHED_FIFO").unwrap();
    let expected = if fifo["granted"] == true { "SCHED_FIFO" } else { "SCHED_OTHER" };
    assert_eq!(scheduling("fifo"), expected);
    assert!(case(&run, "hugepages, idle")["samples"].as_u64().unwrap() >= 15);
}

#[test]
fn markers_functions_and_the_period_agree() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &std::fs::read_to_string(example("threefold.c")).unwrap());
    let mut medians = Vec::new();
    for (passes, got) in [
        (&["--passes=markers"][..], "phase 0, 1 thread"),
        (&["--begin=work"][..], "from function to function, by uprobes, 1 thread"),
        (&["--passes=period"][..], "from each switch to the first thread after a sleep to its next sleep, 1 thread"),
    ] {
        std::fs::remove_dir_all(desk.path().join("kept")).unwrap_or(());
        run(&desk, &[passes, &["--", "./mine"]].concat()).with(0);
        let idle = idle(&desk);
        one_each_10_ms(&idle);
        assert_eq!(list(&idle, "repeats")[0]["placement"]["target, passes"]["got"], got);
        assert_eq!(remarks(&desk), [""; 0], "{passes:?}");
        medians.push(idle["p50_ns"].as_f64().unwrap());
        println!("{passes:?}: median {} ns", medians.last().unwrap());
    }
    // The same work: markers see it from inside the function, uprobes with a trap at either end, the scheduler with two system calls.
    let [markers, functions, period] = medians[..] else { unreachable!() };
    assert!((2e6..2.2e6).contains(&markers), "{medians:?}");
    assert!(functions >= markers - 20e3 && functions <= markers + 100e3, "{medians:?}");
    assert!(period >= markers - 20e3 && period <= markers + 500e3, "{medians:?}");
}

/// A library whose function works for half a millisecond, and programs that call it every 10 ms: one that links to it, and one that
/// opens it.
fn programs_with_a_library(desk: &Desk) {
    desk.file(
        "control.c",
        "#include <time.h>\nstatic long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); \
         return t.tv_sec * 1000000000l + t.tv_nsec; }\n\
         void step(void) { long end = now() + 500000; while (now() < end) ; }\n",
    );
    let cyclic = "#include <time.h>\nstatic void cycle(void (*step)(void)) {\n\
                  struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);\nfor (;;) {\n\
                  t.tv_nsec += 10000000; t.tv_sec += t.tv_nsec / 1000000000; t.tv_nsec %= 1000000000;\n\
                  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0); step(); } }\n";
    desk.file("links.c", &format!("{cyclic}void step(void);\nint main(void) {{ cycle(step); }}\n"));
    let opening = "#include <dlfcn.h>\nint main(void) { void *it = dlopen(\"./libcontrol.so.1\", RTLD_NOW); \
                   cycle((void (*)(void))dlsym(it, \"step\")); }\n";
    desk.file("opens.c", &format!("{cyclic}{opening}"));
    for arguments in [
        &["-shared", "-fPIC", "-Wl,-soname,libcontrol.so.1", "-o", "libcontrol.so.1", "control.c"][..],
        &["-o", "mine", "links.c", "libcontrol.so.1", "-Wl,-rpath,$ORIGIN"],
        &["-o", "opens", "opens.c", "-ldl"],
    ] {
        build(desk, "cc", arguments);
    }
}

#[test]
fn functions_of_shared_libraries_are_passes_of_those_who_link_to_them_or_open_them() {
    let _alone = this_machine();
    let desk = Desk::new();
    programs_with_a_library(&desk);
    for (begin, program) in [("libcontrol.so:step", "./mine"), ("./libcontrol.so.1:step", "./opens")] {
        std::fs::remove_dir_all(desk.path().join("kept")).unwrap_or(());
        run(&desk, &["--begin", begin, "--", program]).with(0);
        one_each_10_ms(&idle(&desk));
        assert!((500e3..600e3).contains(&idle(&desk)["p50_ns"].as_f64().unwrap()), "{program}: {}", idle(&desk));
        assert_eq!(remarks(&desk), [""; 0], "{program}");
    }
    std::fs::remove_dir_all(desk.path().join("kept")).unwrap();
    let own = run(&desk, &["--begin=step", "--", "./mine"]).with(2);
    assert!(own.stderr.contains("the library `libcontrol.so.1` has it: `libcontrol.so.1:step`"), "{own:?}");
    let unknown = run(&desk, &["--begin=libcontrol:stop", "--", "./mine"]).with(2);
    assert!(unknown.stderr.contains("has no function `stop`; expected `step`"), "{unknown:?}");
    let opened = run(&desk, &["--begin=libcontrol:step", "--", "./opens"]).with(2);
    assert!(opened.stderr.contains("`libcontrol` is no library of "), "{opened:?}");
}

/// What ends a process with this value.
struct Other(std::process::Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn calls_by_other_processes_of_the_same_file_are_no_passes() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &std::fs::read_to_string(example("cookbook.c")).unwrap());
    // The same program a second time, on the target's core, with a pass each millisecond.
    let mut other = Command::new("taskset");
    other.args(["-c", "1", "./mine", "4096", "1000"]).current_dir(desk.path());
    let _other = Other(other.stderr(std::process::Stdio::null()).spawn().unwrap());
    run(&desk, &["--core=1", "--begin=read_buffer", "--", "./mine"]).with(0);
    let idle = idle(&desk);
    one_each_10_ms(&idle);
    let placement = &list(&idle, "repeats")[0]["placement"]["target, passes"]["got"];
    assert_eq!(*placement, "from function to function, by uprobes, 1 thread");
    assert_eq!(remarks(&desk), [""; 0]);
}

#[test]
fn a_threshold_below_the_ordinary_passes_is_remarked() {
    let _alone = this_machine();
    let desk = Desk::new();
    // The pilot is its first start; every later one has passes of ten times the length.
    compile(
        &desk,
        &main_of(
            "FILE *starts = fopen(\"starts\", \"a\");\nfputc('x', starts);\n\
             long long ns = ftell(starts) > 1 ? 5000000 : 500000;\nfclose(starts);\n\
             for (;;) {\nwk_begin(0);\nstruct timespec t;\nclock_gettime(CLOCK_MONOTONIC, &t);\n\
             long long end = t.tv_sec * 1000000000ll + t.tv_nsec + ns;\n\
             do clock_gettime(CLOCK_MONOTONIC, &t); while (t.tv_sec * 1000000000ll + t.tv_nsec < end);\nwk_end(0);\nrest(10);\n}",
        ),
    );
    run(&desk, &["--", "./mine"]).with(0);
    let notes = desk.record("kept")["notes"].to_string();
    assert!(notes.contains("100 % of the samples of the case `idle` are excursions, above "), "{notes}");
    // What was typed decides, over what the program alone stands for.
    std::fs::remove_dir_all(desk.path().join("kept")).unwrap();
    run(&desk, &["--set=excursions.over_min=200ms", "--", "./mine"]).with(0);
    let kept = desk.record("kept");
    assert!(!kept["notes"].to_string().contains("are excursions, above"), "{}", kept["notes"]);
    assert!(case(&kept, "idle")["excursion_above_ns"].as_f64().unwrap() > 200e6, "{kept}");
}

#[test]
fn functions_that_are_not_there_are_named_with_those_that_are() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &std::fs::read_to_string(example("threefold.c")).unwrap());
    let unknown = run(&desk, &["--begin=wrok", "--", "./mine"]).with(2);
    assert!(unknown.stderr.contains("mine has no function `wrok`; expected `work`, or "), "{unknown:?}");
    let script = run(&desk, &["--begin=main", "--", "/usr/bin/env"]).with(2);
    assert!(
        script.stderr.contains("has no function `main`") || script.stderr.contains("was not stripped"),
        "{script:?}"
    );
    desk.file("script", "#!/bin/sh\n");
    desk.make_executable("script");
    let script = run(&desk, &["--begin=main", "--", "./script"]).with(2);
    assert!(script.stderr.contains("is no ELF program"), "{script:?}");
    // A function that is never called.
    let never = run(&desk, &["--begin=main", "--", "./mine"]).with(3);
    assert!(never.stderr.contains("made no pass within 20 s; expected a begin function that it calls"), "{never:?}");
}

/// What works for so many microseconds, and a main function that calls functions every 10 ms.
fn cyclic(functions: &str, calls: &str) -> String {
    format!(
        "#include <time.h>\nstatic long now(void) {{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); \
         return t.tv_sec * 1000000000l + t.tv_nsec; }}\n\
         static void work(long us) {{ long end = now() + us * 1000; while (now() < end) ; }}\n{functions}\n\
         int main(void) {{ for (;;) {{ {calls} struct timespec t = {{ 0, 9000000 }}; nanosleep(&t, 0); }} }}\n"
    )
}

#[test]
fn functions_of_cpp_are_called_as_in_their_source() {
    let _alone = this_machine();
    let desk = Desk::new();
    let functions = "namespace ns {\nstruct Control { void step(int us); void step(double us); };\n\
                     __attribute__((noinline)) void Control::step(int us) { work(us); }\n\
                     __attribute__((noinline)) void Control::step(double us) { work((long)us); }\n\
                     template <class T> __attribute__((noinline)) void scale(T us) { work((long)us); }\n}";
    desk.file("mine.cc", &cyclic(functions, "ns::Control c; c.step(300); ns::scale<float>(400.0f); c.step(2e3);"));
    build(&desk, "c++", &["-o", "mine", "mine.cc"]);
    let overloaded = run(&desk, &["--begin=ns::Control::step", "--", "./mine"]).with(2);
    let which = "mine has several functions `ns::Control::step`; expected `ns::Control::step(double)`, or \
                 `ns::Control::step(int)`";
    assert!(overloaded.stderr.contains(which), "{overloaded:?}");
    let unknown = run(&desk, &["--begin=ns::scale<float>", "--end=ns::scales", "--", "./mine"]).with(2);
    assert!(
        unknown.stderr.contains("no function `ns::scales`; expected `ns::scale<float>(float)`, or "),
        "{unknown:?}"
    );
    // From the short step to the end of the template's function: neither alone lasts so long, and the long step is no part.
    run(&desk, &["--begin=ns::Control::step(int)", "--end=ns::scale<float>", "--", "./mine"]).with(0);
    assert!((700e3..1500e3).contains(&idle(&desk)["p50_ns"].as_f64().unwrap()), "{}", idle(&desk));
    assert_eq!(remarks(&desk), [""; 0]);
}

#[test]
fn functions_of_rust_are_called_as_in_their_source() {
    let _alone = this_machine();
    let desk = Desk::new();
    // What rustc would call `step` of the crate `control` (legacy), and `stop::<u8>` of it (v0).
    let functions = "void step(void) __asm__(\"_ZN7control4step17h0123456789abcdefE\");\n\
                     void stop(void) __asm__(\"_RINvCs1234_7control4stophE\");\n\
                     __attribute__((noinline)) void step(void) { work(300); }\n\
                     __attribute__((noinline)) void stop(void) { work(400); }";
    desk.file("mine.c", &cyclic(functions, "step(); stop(); work(1000);"));
    build(&desk, "cc", &["-o", "mine", "mine.c"]);
    let unknown = run(&desk, &["--begin=control::stpe", "--", "./mine"]).with(2);
    assert!(unknown.stderr.contains("no function `control::stpe`; expected `control::step`, or "), "{unknown:?}");
    run(&desk, &["--begin=control::step", "--end=control::stop", "--", "./mine"]).with(0);
    assert!((700e3..1500e3).contains(&idle(&desk)["p50_ns"].as_f64().unwrap()), "{}", idle(&desk));
    assert_eq!(remarks(&desk), [""; 0]);
}

#[test]
fn functions_that_several_files_have_for_themselves_are_refused() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file("other.c", "static __attribute__((noinline, used)) void step(void) { __asm__ volatile(\"\"); }\n");
    let own = "static __attribute__((noinline, used)) void step(void) { work(10); }";
    desk.file("mine.c", &cyclic(own, "step();"));
    build(&desk, "cc", &["-o", "mine", "mine.c", "other.c"]);
    let several = run(&desk, &["--begin=step", "--", "./mine"]).with(2);
    assert!(
        several.stderr.contains("mine has several functions `step`; each is local to a source file"),
        "{several:?}"
    );
}

#[test]
fn an_argument_of_a_program_can_be_swept() {
    let _alone = this_machine();
    let desk = Desk::new();
    compile(&desk, &std::fs::read_to_string(example("cookbook.c")).unwrap());
    std::fs::rename(desk.path().join("mine"), desk.path().join("cookbook")).unwrap();
    desk.file("footprint.toml", &std::fs::read_to_string(example("footprint.toml")).unwrap());
    desk.run(&["run", "footprint.toml", "--out=kept", "--repeats=1", "--duration=100ms", "--set=sentinel=false"])
        .with(0);
    let run = desk.record("kept");
    // The median: one pass during which the machine stands still moves the mean of fifty.
    let median = |bytes: &str| case(&run, &format!("idle [footprint {bytes}]"))["p50_ns"].as_f64().unwrap();
    // Sixteen times the loads, and a last size beyond a second level, against a first one within a first level.
    assert!(median("524288") > 4.0 * median("32768") && median("8388608") > 4.0 * median("524288"), "{run}");
}

#[test]
fn a_program_alone_is_measured_on_this_machine() {
    let desk = Desk::new();
    let plan = desk.run(&["run", "--dry-run", "--json", "--", "sleep", "1"]).with(0).json();
    assert_eq!(
        (&plan["experiment"], &plan["cases"][0]["target"]["workload"]),
        (&"this-machine".into(), &"sleep".into())
    );
}

/// Why the only repeat of a program does not count.
fn not_counted(body: &str) -> String {
    let desk = Desk::new();
    compile(&desk, &main_of(body));
    run(&desk, &["--", "./mine"]).with(0);
    let idle = idle(&desk);
    list(&idle, "repeats")[0]["not_counted"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_program_that_was_stopped_or_left_its_core_does_not_count() {
    let _alone = this_machine();
    // A child of it stops the program for 150 ms while it is observed.
    let stopped = not_counted(
        "if (fork() == 0) { for (int i = 0; i < 10; i++) { rest(100000); kill(getppid(), SIGSTOP); rest(150000); \
         kill(getppid(), SIGCONT); } return 0; }\nfor (;;) { wk_begin(0); wk_end(0); rest(1000); }",
    );
    assert_eq!(stopped, "the program was stopped for a time (SIGSTOP, or a debugger)");
    // It was asked to run on the last core, and goes to the first one.
    let moved = not_counted(
        "for (int i = 0;; i++) { if (i == 150) { cpu_set_t set; CPU_ZERO(&set); CPU_SET(0, &set); \
         sched_setaffinity(0, sizeof set, &set); }\nwk_begin(0); wk_end(0); rest(1000); }",
    );
    assert!(moved.starts_with("the target was asked to run on core "), "{moved}");
    assert!(moved.contains(" and ran on core"), "{moved}");
}

#[test]
fn programs_that_cannot_be_started_are_mistakes_of_who_typed_them() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file("text", "no program\n");
    std::fs::create_dir(desk.path().join("folder")).unwrap();
    for (program, why) in [
        ("no-such-program-anywhere", "`no-such-program-anywhere` is not on this machine; expected"),
        ("./nothing", "`./nothing` is not on this machine; expected"),
        ("./folder", "`./folder` is not a file that can be executed; expected"),
        ("./text", "`./text` cannot be executed (Permission denied"),
    ] {
        for command in [&["run", "--core=0"][..], &["run", "agilex5-cluster-latency", "--on=sim"], &["trace"]] {
            let ended = desk.run(&[command, &["--", program]].concat()).with(2);
            assert!(ended.stderr.contains(why) && ended.stderr.lines().count() == 1, "{command:?}: {ended:?}");
        }
    }
    assert_eq!(desk.names(), ["folder", "text"]);
}

#[test]
fn a_sweep_of_what_the_program_replaces_goes_with_it_and_is_named() {
    let desk = Desk::new();
    // The first varies a key that a program does not have, the second names another target.
    for (experiment, sweep) in [("tcc-cache-partition", "size"), ("cd8180-cache-portions", "program")] {
        let planned = desk.run(&["run", experiment, "--dry-run", "--json", "--", "/bin/true"]).with(0);
        assert!(planned.stderr.contains(&format!("would vary: `{sweep}`")), "{experiment}: {}", planned.stderr);
        let cases = list(&planned.json(), "cases").clone();
        assert!(!cases.is_empty() && cases.iter().all(|case| case["target"]["workload"] == "true"), "{cases:?}");
    }
}
