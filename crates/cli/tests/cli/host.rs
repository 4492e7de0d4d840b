//! Short real measurements of the machine that the tests run on.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;

use crate::program::{Desk, Ended, case, case_names, list, this_machine};

const SHORT: [&str; 6] =
    ["run", "this-machine", "--duration=20ms", "--repeats=2", "--set=mitigations=[]", "--out=kept"];

/// One line of a log of histograms.
pub struct Line {
    tag: String,
    length_s: f64,
    /// In ticks.
    pub histogram: Histogram<u64>,
}

pub fn read_log(path: &Path) -> Vec<Line> {
    let text = std::fs::read(path).unwrap();
    let lines = IntervalLogIterator::new(&text).filter_map(|entry| match entry.unwrap() {
        LogEntry::Interval(interval) => Some(Line {
            tag: interval.tag().unwrap().as_str().to_owned(),
            length_s: interval.duration().as_secs_f64(),
            histogram: Deserializer::new()
                .deserialize(&mut BASE64_STANDARD.decode(interval.encoded_histogram()).unwrap().as_slice())
                .unwrap(),
        }),
        _ => None,
    });
    lines.collect()
}

/// Every repeat of a run, sentinels included.
fn repeats(run: &Value) -> Vec<&Value> {
    let cases = list(run, "cases").iter().chain(list(run, "sentinels"));
    cases.flat_map(|case| list(case, "repeats")).collect()
}

#[test]
fn this_machine_is_measured() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = desk.run(&[&SHORT[..], &["--json"]].concat()).with(0).json();
    assert_eq!((run["platform"].as_str(), run["executor"].as_str()), (Some("host"), Some("host")));
    assert_eq!(case_names(&run), ["latency_loop: idle", "latency_loop: none", "chase_llc: idle", "chase_llc: none"]);
    for name in ["latency_loop: idle", "latency_loop: none"] {
        check_loop(case(&run, name));
    }
    for key in ["name", "frequency_hz", "tick_ns", "resolution_ns", "read_overhead_ns", "stability_ppm"] {
        assert!(run["clock"].get(key).is_some(), "clock.{key}");
    }
    for key in ["architecture", "cores", "kernel", "caches"] {
        assert!(run["machine"].get(key).is_some(), "machine.{key}");
    }
    for case in list(&run, "cases") {
        for key in ["simulated_s", "wall_s", "accesses", "reference"] {
            assert!(case.get(key).is_none(), "{key} does not apply to a measurement");
        }
    }
}

/// A loop that reads a counter takes more than a nanosecond and, in the middle of its samples, less than ten
/// microseconds on any machine that runs Linux.
fn check_loop(case: &Value) {
    let figure = |key: &str| case[key].as_f64().unwrap();
    assert!(figure("min_ns") >= 1.0 && figure("p50_ns") <= 10_000.0, "{case}");
    assert!(figure("min_ns") <= figure("p50_ns") && figure("p50_ns") <= figure("max_ns"), "{case}");
    // Two repeats of 20 ms. Preemption may make them longer, never shorter.
    assert!(figure("run_length_s") >= 0.04 * 0.999, "{case}");
    let filled = figure("samples") * figure("mean_ns") / 1e9 / figure("run_length_s");
    assert!((0.95..=1.001).contains(&filled), "the samples fill {filled} of the time");
    for repeat in list(case, "repeats") {
        assert_eq!(repeat["backwards"], 0);
        let placed = &repeat["placement"]["target"];
        assert_eq!(placed["asked"], placed["got"]);
        assert!(repeat["max_at_s"].as_f64().unwrap() <= repeat["run_length_s"].as_f64().unwrap());
    }
}

#[test]
fn the_histograms_hold_every_sample() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.run(&SHORT).with(0);
    let run = desk.record("kept");
    let tick_ns = run["clock"]["tick_ns"].as_f64().unwrap();
    let (samples, excursions) =
        (read_log(&desk.path().join("kept/samples.hlog")), read_log(&desk.path().join("kept/excursions.hlog")));
    let repeats = repeats(&run);
    assert_eq!(samples.len(), repeats.len());
    assert_eq!(excursions.len(), repeats.len());
    for ((repeat, line), events) in repeats.iter().zip(&samples).zip(&excursions) {
        let number = |key: &str| repeat[key].as_u64().unwrap();
        assert_eq!(repeat["histogram"], line.tag.as_str());
        assert_eq!(line.tag, events.tag);
        assert_eq!(line.histogram.len() + number("overflow"), number("samples"), "{}", line.tag);
        assert_eq!(events.histogram.len(), number("excursion_events"), "{}", line.tag);
        // The log keeps milliseconds.
        assert!((line.length_s - repeat["run_length_s"].as_f64().unwrap()).abs() <= 0.001, "{}", line.tag);
        let max_ticks = (repeat["max_ns"].as_f64().unwrap() / tick_ns).round() as u64;
        assert!(line.histogram.equivalent(line.histogram.max(), max_ticks), "{}: {max_ticks}", line.tag);
        let min_ticks = (repeat["min_ns"].as_f64().unwrap() / tick_ns).round() as u64;
        assert!(line.histogram.equivalent(line.histogram.min(), min_ticks), "{}: {min_ticks}", line.tag);
    }
}

/// The program as an ordinary user: a copy that the user can reach, in a folder that the user may write to.
fn as_ordinary_user(desk: &Desk) -> Command {
    const NOBODY: u32 = 65534;
    let program = desk.copy_of_program();
    std::fs::set_permissions(desk.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = Command::new(program);
    command.current_dir(desk.path());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

#[test]
fn no_privileges_are_needed_and_those_refused_are_told() {
    let _alone = this_machine();
    let desk = Desk::new();
    let mut command = as_ordinary_user(&desk);
    // Limits of 0 on locked memory and real-time priority: refused even where users are given some.
    // SAFETY: between fork and exec only two system calls are made, both safe there.
    unsafe {
        command.pre_exec(|| {
            use rustix::process::{Resource, Rlimit, setrlimit};
            let none = Rlimit { current: Some(0), maximum: Some(0) };
            setrlimit(Resource::Rtprio, none)?;
            Ok(setrlimit(Resource::Memlock, none)?)
        });
    }
    let ended = Ended::from(command.args(SHORT).output().unwrap()).with(0);
    let run = desk.record("kept");
    check_loop(case(&run, "latency_loop: idle"));
    let refused: Vec<_> = list(&run, "privileges").iter().filter(|p| p["granted"] == false).collect();
    for what in ["SCHED_FIFO", "mlockall"] {
        let line = refused.iter().find(|p| p["what"] == what).unwrap_or_else(|| panic!("{what} not in {refused:?}"));
        assert!(!line["detail"].as_str().unwrap().is_empty());
        assert!(ended.stdout.contains(what), "{}", ended.stdout);
    }
    let scheduling = &list(case(&run, "latency_loop: idle"), "repeats")[0]["placement"]["target, scheduling"];
    assert_eq!((scheduling["asked"].as_str(), scheduling["got"].as_str()), (Some("SCHED_FIFO"), Some("SCHED_OTHER")));
}

#[test]
fn mitigations_of_other_places_are_refused_with_the_reason() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = desk.run(&[&SHORT[..4], &["--set=mitigations=fifo,nl3a,fifo+cp", "--json"]].concat()).with(0).json();
    let mut mitigations: Vec<_> = list(&run, "cases").iter().map(|case| case["mitigation"].as_str().unwrap()).collect();
    mitigations.sort();
    mitigations.dedup();
    assert_eq!(mitigations, ["fifo", "none"]);
    let refused: Vec<_> = list(&run, "refused").iter().map(|r| r["what"].as_str().unwrap()).collect();
    assert_eq!(refused, ["mitigation nl3a", "mitigation fifo+cp"]);
    assert!(list(&run, "refused").iter().all(|r| r["why"].as_str().unwrap().contains("this machine does not have")));
}

#[test]
fn an_external_program_is_a_neighbour_without_figures_of_its_own() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file(
        "beside.toml",
        "title = 'x'\nsentinel = false\ntargets = [{ workload = 'latency_loop' }]\n\
         neighbours = [{ workload = 'spin', cores = 'others' }]\n\
         [workloads.spin]\nkind = 'command'\nargv = ['sh', '-c', 'while :; do :; done']\n",
    );
    let run = desk.run(&["run", "beside.toml", "--duration=20ms", "--repeats=1", "--json"]).with(0).json();
    let neighbour = &case(&run, "none")["neighbours"][0];
    assert_eq!(neighbour["workload"], "spin");
    assert!(neighbour.get("accesses_per_s").is_none() && neighbour.get("bytes_per_s").is_none(), "{neighbour}");
}

/// A periodic task leaves its core to others between two passes; a loop that never sleeps does not.
#[test]
fn a_neighbour_may_share_the_core_of_a_task_that_sleeps() {
    let desk = Desk::new();
    let plan = desk.run(&["run", "this-machine-colours", "--dry-run"]).with(0).stdout;
    assert!(plan.contains("rta_128k@0  intruder@0"), "{plan}");
    let busy =
        desk.run(&["run", "this-machine-colours", "--dry-run", "--set", "targets.0.workload=latency_loop"]).with(2);
    assert!(busy.stderr.contains("a neighbour needs a core of its own"), "{}", busy.stderr);
}

#[test]
fn the_work_of_external_neighbours_is_their_processor_time() {
    let _alone = this_machine();
    let desk = Desk::new();
    let experiment = "title = 'x'\nduration = '100 ms'\nrepeats = 2\nsentinel = false\n\
         targets = [{ workload = 'latency_loop' }]\n\
         neighbours = [{ workload = 'spin', group = 'busy' }, { workload = 'idle', group = 'idle' }]\n\
         [workloads.spin]\nkind = 'command'\nargv = ['sh', '-c', 'while :; do :; done']\n\
         [workloads.idle]\nkind = 'command'\nargv = ['sleep', '60']\n";
    desk.file("work.toml", experiment);
    let run = desk.run(&["run", "work.toml", "--json", "--out=kept"]).with(0).json();
    let mut seen = 0;
    for case in list(&run, "cases") {
        let Some(neighbour) = case["neighbours"].as_array().and_then(|all| all.first()) else { continue };
        for repeat in list(case, "repeats") {
            let share = repeat["neighbours"][0]["cpu_s_per_s"].as_f64().unwrap();
            // Other tenants may take a part of the core.
            let expected = if neighbour["workload"] == "spin" { 0.3..1.1 } else { 0.0..0.1 };
            assert!(expected.contains(&share), "{neighbour}: {share}");
            assert!(repeat["neighbours"][0].get("accesses_per_s").is_none());
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}

#[test]
fn a_core_without_a_program_is_that_of_all_targets() {
    let desk = Desk::new();
    let text = "title = \"t\"\nplatform = \"agilex5\"\nsentinel = false\nneighbours = []\ntargets = [\
        { workload = \"latency_loop\", core = 1 }, { workload = \"latency_loop\", core = 3 }, { workload = \"chase_llc\", core = 1 }]\n";
    std::fs::write(desk.path().join("my.toml"), text).unwrap();
    let planned = |options: &[&str]| {
        let plan = desk.run(&[&["run", "my.toml", "--dry-run", "--json"], options].concat()).with(0).json();
        let of = |case: &Value| {
            let target = &case["target"];
            format!("{}@{}", target["workload"].as_str().unwrap(), target["core"])
        };
        list(&plan, "cases").iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(planned(&[]), ["latency_loop@1", "latency_loop@3", "chase_llc@1"]);
    // Those that differ in their core alone are the same target then.
    assert_eq!(planned(&["--core", "2"]), ["latency_loop@2", "chase_llc@2"]);
    let text = desk.run(&["run", "--core", "1", "--resume", "x"]).with(2).stderr;
    assert!(text.contains("--resume"), "{text}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn another_architectures_clock_is_refused_with_the_reason() {
    let desk = Desk::new();
    let text = desk.run(&[&SHORT[..], &["--clock", "pmccntr"]].concat()).with(3).stderr;
    assert!(text.contains("PMCCNTR") && text.contains("no counter of this processor (x86_64)"), "{text}");
    assert!(!desk.path().join("kept").exists());
    // Simulated samples are exact: an experiment for both places may name it.
    let simulated = ["run", "agilex5-cluster-latency", "--clock", "pmccntr", "--duration", "300us", "--repeats", "1"];
    let run = desk.run(&[&simulated[..], &["--out=simulated", "--json"]].concat()).with(0).json();
    assert_ne!(run["clock"]["name"], "PMCCNTR");
}
