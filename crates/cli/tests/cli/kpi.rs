//! `kpi`: the table of a session, sessions that go on, and mistakes.

use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{Desk, PROGRAM, eventually, list, this_machine};

/// A session of some seconds, on core 1 beside a load on the others.
const SHORT: [&str; 7] = [
    "--no-cyclictest",
    "--duration=2s",
    "--block=1s",
    "--rt-cores=1",
    "--session=lab",
    "--budget=max<=500ms over 1s",
    "--json",
];

fn kpi(desk: &Desk, arguments: &[&str]) -> crate::program::Ended {
    desk.run(&[&["kpi"], arguments].concat())
}

fn rows(report: &Value) -> &Vec<Value> {
    report["rows"].as_array().unwrap_or_else(|| panic!("no rows in {report}"))
}

/// The session's log of repeats, as soon as one of them is complete.
fn first_repeat(log: &Path) -> Option<String> {
    let text = std::fs::read_to_string(log).ok()?;
    (text.matches('\n').count() > 1).then_some(text)
}

/// A session that is killed after its first block.
fn killed(desk: &Desk, arguments: &[&str]) {
    let mut command = desk.command(&[&["kpi"], arguments].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let log = desk.path().join("lab/1-wakeup/repeats.log");
    eventually("a complete block", || first_repeat(&log));
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
}

#[test]
fn a_session_has_the_guides_table_and_a_page() {
    let _alone = this_machine();
    let desk = Desk::new();
    let ended = kpi(&desk, &[&SHORT[..], &["--label=tcc-mode=off", "--policy=tcc-halves"]].concat());
    let report = ended.with(0).json();
    let schema = desk.run(&["schema", "kpi"]).with(0).json();
    let schema = jsonschema::validator_for(&schema).unwrap();
    assert_eq!(schema.iter_errors(&report).map(|error| error.to_string()).collect::<Vec<_>>(), [""; 0]);
    // What the run says of the machine, such as its throttling of real-time threads, is not lost on the way to the session.
    let run: Value =
        serde_json::from_slice(&std::fs::read(desk.path().join("lab/1-wakeup/run.json")).unwrap()).unwrap();
    for note in
        run["notes"].as_array().unwrap().iter().filter_map(Value::as_str).filter(|it| !it.starts_with("Repeat "))
    {
        let shown = report["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
        assert_eq!(shown.filter(|shown| shown.ends_with(note)).count(), 1, "{note}: {}", report["notes"]);
    }
    let row = &rows(&report)[0];
    // Two blocks of a second, a wake-up every 250 us; those that came too late are missed.
    let (iterations, missed) = (row["iterations"].as_u64().unwrap(), row["missed_cycles"].as_u64().unwrap());
    assert!((7990..=8010).contains(&(iterations + missed)) && iterations > 4000, "{row}");
    assert_eq!(
        (row["setting"].as_str(), row["core"].as_u64(), row["blocks"].as_u64()),
        (Some("none"), Some(1), Some(2))
    );
    let (max, min) = (row["maximum_ns"].as_f64().unwrap(), row["minimum_ns"].as_f64().unwrap());
    assert_eq!(row["jitter_ns"].as_f64().unwrap(), max - min);
    assert_eq!(row["largest"][0]["ns"].as_f64(), Some(max));
    assert_eq!(row["budgets"][0]["kind"], "not_seen_broken", "{row}");
    // What the guide prints, from its row with TCC Mode off or on: it says which, and that the machine is another one.
    let differs = row["guide"]["differs"].to_string();
    assert!(differs.contains("kernel: ") && differs.contains("TCC Mode: on there, off here"), "{differs}");
    // This kernel has no resctrl, or the policy was measured: never neither.
    let refused = report["refused"].to_string().contains("tcc-halves");
    assert!(refused || rows(&report).iter().any(|row| row["setting"] == "tcc-halves"), "{report}");
    assert_eq!(report["complete"], true);

    let page = desk.run(&["report", "lab", "--out", "lab.html"]).with(0).stdout;
    assert_eq!(page, "lab.html\n");
    let html = std::fs::read_to_string(desk.path().join("lab.html")).unwrap();
    for part in ["<h1>Acceptance record</h1>", "tcc-mode=off", "wake-up every 250 us", "The guide&#39;s rows"] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn cyclictest_stands_beside_our_own_wake_ups() {
    let _alone = this_machine();
    let desk = Desk::new();
    // Without --no-cyclictest; it is among the packages of the tests.
    let report = kpi(&desk, &SHORT[1..]).with(0).json();
    let [ours, theirs] = rows(&report).as_slice() else { panic!("{report}") };
    assert_eq!(
        (ours["measured"].as_str(), theirs["measured"].as_str()),
        (Some("wake-up every 250 us"), Some("cyclictest every 250 us"))
    );
    let iterations = theirs["iterations"].as_u64().unwrap();
    // Two blocks of a second: as many wake-ups as fit, but for those that came too late.
    assert!((2000..=8010).contains(&iterations), "{theirs}");
    let figure = |row: &Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key} in {row}"));
    // In steps of a microsecond; when the longest was, it does not say.
    let steps = figure(theirs, "maximum_ns") / 1000.0;
    assert!((steps - steps.round()).abs() < 1e-3, "{theirs}");
    assert!(figure(theirs, "minimum_ns") <= figure(theirs, "average_ns"), "{theirs}");
    assert_eq!((theirs["largest"][0].get("at"), theirs.get("missed_cycles")), (None, None), "{theirs}");
    // The thread that measures is looked at, which asks for SCHED_FIFO itself, and not the one that started it.
    let granted = |run: &str| {
        let run: Value = serde_json::from_slice(&std::fs::read(desk.path().join(run)).unwrap()).unwrap();
        let privilege = list(&run, "privileges").iter().find(|privilege| privilege["what"] == "SCHED_FIFO").cloned();
        privilege.unwrap_or_else(|| panic!("no SCHED_FIFO in {run}"))["granted"].clone()
    };
    assert_eq!(granted("lab/1-cyclictest/run.json"), granted("lab/1-wakeup/run.json"));
    // The same thing is measured: an order of magnitude apart would be a mistake in a unit.
    let ratio = figure(ours, "average_ns") / figure(theirs, "average_ns");
    assert!((0.1..10.0).contains(&ratio), "{ours} {theirs}");
}

/// A load that shares both cores of the smallest machine with the threads that wake up.
const LOAD: &str = "[[neighbours]]\nworkload = 'stream_modify'\ncores = [0, 1]\n";

#[test]
fn a_load_that_stopped_itself_passes_no_budget() {
    let _alone = this_machine();
    let desk = Desk::new();
    let load = "least_neighbour_work = 0.5\n[[neighbours]]\nworkload = 'stopped'\n\
                [workloads.stopped]\nkind = 'command'\nargv = ['sh', '-c', 'kill -STOP $$']\n";
    desk.file("load.toml", load);
    let report = kpi(&desk, &[&SHORT[..], &["--load=load.toml"]].concat()).with(4).json();
    let budget = &rows(&report)[0]["budgets"][0];
    assert_eq!(budget["kind"], "too_thin", "{budget}");
    assert!(budget["text"].as_str().unwrap().contains("the neighbour did not work: stopped on core "), "{budget}");
    // The load says how much of its work is enough.
    let kept = std::fs::read_to_string(desk.path().join("lab/1-wakeup/experiment.toml")).unwrap();
    assert!(kept.contains("least_neighbour_work = 0.5"), "{kept}");
}

/// When each block of each case of a run began.
fn began(desk: &Desk, run: &str) -> Vec<Vec<String>> {
    let run: Value = serde_json::from_slice(&std::fs::read(desk.path().join(run)).unwrap()).unwrap();
    let of = |case: &Value| {
        list(case, "repeats").iter().map(|repeat| repeat["started"].as_str().unwrap().to_owned()).collect()
    };
    list(&run, "cases").iter().map(of).collect()
}

#[test]
fn two_real_time_cores_are_measured_at_the_same_time_with_a_row_for_each() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file("load.toml", LOAD);
    let own = ["--rt-cores=0,1", "--load=load.toml"];
    let arguments: Vec<&str> =
        SHORT[1..].iter().copied().filter(|it| !it.starts_with("--rt-cores")).chain(own).collect();
    let everyone = format!("--rt-cores={}", waykeeper_linux::format_cpulist(&waykeeper_linux::schedule::allowed()));
    let refused = kpi(&desk, &[everyone.as_str(), "--dry-run"]);
    assert!(refused.with(2).stderr.contains("no core is left for the best-effort load"));
    let report = kpi(&desk, &arguments).with(0).json();
    let called: Vec<_> =
        rows(&report).iter().map(|row| (row["measured"].as_str().unwrap(), row["core"].as_u64().unwrap())).collect();
    let (ours, theirs) = ("wake-up every 250 us", "cyclictest every 250 us");
    assert_eq!(called, [(ours, 0), (ours, 1), (theirs, 0), (theirs, 1)], "{report}");
    for row in rows(&report) {
        let (iterations, missed) = (row["iterations"].as_u64().unwrap(), row["missed_cycles"].as_u64().unwrap_or(0));
        // Two blocks of a second on each core. What cyclictest came too late for, it does not say.
        assert!((2000..=8010).contains(&(iterations + missed)) && iterations > 0, "{row}");
        assert_eq!((row["blocks"].as_u64(), list(row, "budgets").len()), (Some(2), 1), "{row}");
    }
    // Two cores have different samples.
    let average = |row: usize| rows(&report)[row]["average_ns"].as_f64();
    assert!(average(0) != average(1), "{report}");
    for run in ["lab/1-wakeup/run.json", "lab/1-cyclictest/run.json"] {
        let [first, second] = &began(&desk, run)[..] else { panic!("{run}") };
        assert_eq!((first, first.len()), (second, 2), "{run}");
    }
}

#[test]
fn cores_that_are_measured_together_go_on_together_after_a_kill() {
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file("load.toml", LOAD);
    let own =
        ["--no-cyclictest", "--duration=2s", "--block=500ms", "--rt-cores=0,1", "--load=load.toml", "--session=lab"];
    killed(&desk, &own);
    let report = kpi(&desk, &["--session=lab", "--json"]).with(0).json();
    let blocks: Vec<_> = rows(&report).iter().map(|row| row["blocks"].as_u64()).collect();
    assert_eq!((blocks, report["complete"].as_bool()), (vec![Some(4), Some(4)], Some(true)), "{report}");
}

#[test]
fn a_session_goes_on_after_a_kill_and_shows_the_gap() {
    let _alone = this_machine();
    let desk = Desk::new();
    killed(&desk, &["--no-cyclictest", "--duration=4s", "--block=500ms", "--rt-cores=1", "--session=lab"]);
    let refused = kpi(&desk, &["--session=lab", "--duration=9s"]).with(2).stderr;
    assert!(refused.contains("--duration") && refused.contains("goes on with what it began with"), "{refused}");
    let refused = kpi(&desk, &["--session=lab", "--label=a=b"]).with(2).stderr;
    assert!(refused.contains("are not complete"), "{refused}");
    let shown = desk.run(&["report", "lab", "--out", "early.html"]).with(0);
    assert!(std::fs::read_to_string(desk.path().join(shown.stdout.trim())).unwrap().contains("NOT COMPLETE"));
    let report = kpi(&desk, &["--session=lab", "--json"]).with(0).json();
    assert_eq!((rows(&report)[0]["blocks"].as_u64(), report["complete"].as_bool()), (Some(8), Some(true)));
    assert!(report["notes"].to_string().contains("Nothing was measured from"), "{}", report["notes"]);
}

#[test]
fn another_setting_of_the_firmware_is_another_boot_and_the_same_one_is_not_measured_twice() {
    let _alone = this_machine();
    let desk = Desk::new();
    kpi(&desk, &[&SHORT[..], &["--label=tcc-mode=off"]].concat()).with(0);
    let again = kpi(&desk, &["--session=lab", "--label=tcc-mode=off", "--json"]).with(0);
    assert!(again.stderr.contains("all is measured"), "{}", again.stderr);
    assert_eq!(rows(&again.json()).len(), 1);
    let report = kpi(&desk, &["--session=lab", "--label=tcc-mode=on", "--json"]).with(0).json();
    let labels: Vec<_> = rows(&report).iter().map(|row| (row["boot"].clone(), row["labels"].clone())).collect();
    assert_eq!(labels, [(json!(1), json!({ "tcc-mode": "off" })), (json!(2), json!({ "tcc-mode": "on" }))]);
    // Nothing was booted between the two, so nothing of the machine changed.
    assert_eq!(report["changed"], json!([]));
}

/// CRC-32 (IEEE 802.3), bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// A repeat of ten minutes, from one of a short block: each sample 4800 times, in 4800 times the time.
fn ten_minutes(line: &str, number: u64) -> String {
    const TIMES: u64 = 4800;
    let (_, text) = line.split_once(' ').unwrap();
    let mut entry: Value = serde_json::from_str(text).unwrap();
    let repeat = &mut entry["repeat"];
    repeat["repeat"] = json!(number);
    let measurement = &mut repeat["measurement"];
    measurement["observed_s"] = json!(600.0);
    let samples = &mut measurement["samples"];
    for bucket in samples["counts"].as_array_mut().unwrap() {
        bucket[1] = json!(bucket[1].as_u64().unwrap() * TIMES);
    }
    for key in ["count", "sum", "missed_periods"] {
        samples[key] = json!(samples[key].as_u64().unwrap() * TIMES);
    }
    let text = entry.to_string();
    format!("{:08x} {text}\n", crc(text.as_bytes()))
}

#[test]
fn a_day_of_blocks_is_concluded_in_bounded_space() {
    let _alone = this_machine();
    let desk = Desk::new();
    killed(
        &desk,
        &[
            "--no-cyclictest",
            "--duration=18s",
            "--block=125ms",
            "--rt-cores=1",
            "--session=lab",
            "--budget=max<=10s over 23h",
        ],
    );
    let log = desk.path().join("lab/1-wakeup/repeats.log");
    let text = std::fs::read_to_string(&log).unwrap();
    let mut lines = text.split_inclusive('\n');
    let (header, first) = (lines.next().unwrap().to_owned(), lines.next().unwrap().to_owned());
    let per_block = {
        let entry: Value = serde_json::from_str(first.split_once(' ').unwrap().1).unwrap();
        entry["repeat"]["measurement"]["samples"]["count"].as_u64().unwrap()
    };
    let day: String = (1..144).map(|number| ten_minutes(first.trim_end(), number)).collect();
    std::fs::write(&log, header + &day).unwrap();
    // The last block is measured here: 143 blocks of ten minutes and one of 125 ms.
    let report = kpi(&desk, &["--session=lab", "--json"]).with(0).json();
    let row = &rows(&report)[0];
    assert_eq!(row["blocks"], 144);
    let length = row["run_length_s"].as_f64().unwrap();
    assert!((85_800.0..85_801.0).contains(&length), "{length}");
    let iterations = row["iterations"].as_u64().unwrap();
    let day = 143 * 4800 * per_block;
    assert!((day..=day + 510).contains(&iterations), "{iterations} of {day}");
    assert_eq!(row["budgets"][0]["kind"], "not_seen_broken", "{row}");
    assert!(list(row, "largest").len() <= 5);
    assert!(report.to_string().len() < 100_000, "a day's report grows with its blocks");
}

#[test]
fn mistakes_are_refused_before_anything_is_made() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("full")).unwrap();
    desk.file("full/x", "");
    desk.file("bad.toml", "neighbours = 3\n");
    desk.file("none.toml", "[workloads.x]\nkind = 'tick'\n");
    desk.file("unknown.toml", "[[neighbours]]\nworkload = 'no_such'\n");
    desk.file("lab.json", "{}");
    for (arguments, words) in [
        (&["--label=x"][..], "expected KEY=VALUE"),
        (&["--label=a=1", "--label=a=2"], "given before"),
        (&["--session=full"], "expected a new or empty folder"),
        (&["--session=lab.json"], "this is a file"),
        (&["--duration=0"], "--duration 0"),
        (&["--rt-cores=0-99"], "--rt-cores 0-99"),
        (&["--load=bad.toml"], "found `neighbours`"),
        (&["--load=none.toml"], "it names no load"),
        (&["--load=missing.toml"], "cannot be read"),
        (&["--load=unknown.toml"], "no_such"),
        (&["--policy=no_such"], "no_such"),
        (&["--cycle=1ms"], "--if"),
        (&["--if=wk9", "--cycle=1us"], "shorter than a packet takes"),
        (&["--if=wk9", "--generator=a 'b"], "quote"),
        (&["--budget=max"], "max"),
    ] {
        let ended =
            kpi(&desk, &[&["--rt-cores=1"], arguments].concat()[usize::from(arguments[0].starts_with("--rt"))..]);
        let ended = ended.with(2);
        assert!(ended.stderr.contains(words), "{arguments:?}: {}", ended.stderr);
    }
    assert_eq!(desk.names(), ["bad.toml", "full", "lab.json", "none.toml", "unknown.toml"]);
    assert!(Path::new(PROGRAM).exists());
}

#[test]
fn a_dry_run_says_how_long_it_takes_and_leaves_nothing() {
    let desk = Desk::new();
    let dry =
        ["--no-cyclictest", "--dry-run", "--duration=24h", "--rt-cores=1", "--policy=tcc-halves", "--session=lab"];
    let said = kpi(&desk, &dry).with(0).stdout;
    for part in
        ["What the doctor found", "144 blocks of 600 s under each setting", "none, tcc-halves", "In all 172800 s"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let planned = kpi(&desk, &[&dry[..], &["--json"]].concat()).with(0).json();
    assert_eq!(
        (&planned["settings"]["duration_s"], &planned["settings"]["rt_cores"]),
        (&86_400.0.into(), &vec![1].into())
    );
    let says: Vec<_> = planned["says"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    assert_eq!(says.join("\n"), said.trim_end());
    // What no length of it shows is said before the day is spent.
    let hopeless = ["--budget=max<=50us over 48h", "--budget=misses==0"];
    let said = kpi(&desk, &[&dry[..], &hopeless].concat()).with(0).stdout;
    assert!(said.contains("The budget `max<=50us over 48h` can be seen broken and not met"), "{said}");
    assert!(said.contains("The budget `misses==0` cannot be judged"), "{said}");
    if !Path::new("/sys/fs/resctrl/info/L3").exists() {
        assert!(said.contains("Not measured: ") && said.contains("tcc-halves: "), "{said}");
    }
    assert_eq!(desk.names(), [""; 0]);
}

#[test]
fn an_interface_or_a_generator_that_is_not_there_is_found_before_anything_is_measured() {
    let desk = Desk::new();
    let session = ["--rt-cores=1", "--no-cyclictest", "--session=lab", "--if"];
    for dry in [&[][..], &["--dry-run"]] {
        let refused = kpi(&desk, &[&session[..], &["nosuch0"], dry].concat()).with(3).stderr;
        assert!(refused.contains("no interface is called `nosuch0`"), "{refused}");
    }
    assert_eq!(desk.names(), [""; 0]);
}
