//! Bad input: each mistake ends with status 2 and one paragraph that names the file and line or the option, the key, what
//! was found and what would do. The snapshots are the paragraphs; read them as a user would before accepting a change.

use std::fmt::Write;

use crate::program::{Desk, Ended, repository};

/// A small experiment on the Agilex 5. The lines of a mistake follow from line 4 on.
const SMALL: &str = "title = 'x'\nplatform = 'agilex5'\ntargets = [{ workload = 'latency_loop', core = 1 }]\n";

#[track_caller]
fn check(ended: &Ended) {
    assert_eq!(ended.status, Some(2), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    for word in ["panicked", "RUST_BACKTRACE", "struct ", "enum ", "u64", "i64", "serde"] {
        assert!(!ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
}

/// One paragraph is one line: terminals wrap it.
#[track_caller]
fn check_paragraph(ended: &Ended) {
    check(ended);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

/// Compares with what was read and found good before. Lists of what is bundled are left out: they grow.
#[track_caller]
fn snapshot(name: &str, mut told: String) {
    let platforms = waykeeper_platform::bundled().iter().map(|file| file.name);
    let workloads = waykeeper_workload::bundled().iter().map(|file| file.name);
    let experiments = waykeeper_experiment::bundled().iter().map(|file| file.name);
    let lists: [(&str, Vec<_>); 3] = [
        ("(the bundled platforms)", platforms.collect()),
        ("(the bundled workloads)", workloads.collect()),
        ("(the bundled experiments)", experiments.collect()),
    ];
    for (short, names) in lists {
        told = told.replace(&names.join(", "), short);
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, told) });
}

/// The errors of experiments, each under the lines that hold its mistake.
#[track_caller]
fn errors_in_files(texts: &[&str], before: &str, options: &[&str]) -> String {
    let desk = Desk::new();
    let mut told = String::new();
    for text in texts {
        desk.file("my.toml", &format!("{before}{text}"));
        let ended = desk.run(&[&["run", "my.toml", "--dry-run"], options].concat());
        check_paragraph(&ended);
        writeln!(told, "{}\n  {}", text.trim_end(), ended.stderr).unwrap();
        assert_eq!(desk.names(), ["my.toml"]);
    }
    told
}

/// The errors of options, each under the options as typed.
#[track_caller]
fn errors_of_options(options: &[&[&str]]) -> String {
    let desk = Desk::new();
    desk.file("my.toml", SMALL);
    let mut told = String::new();
    for options in options {
        let ended = desk.run(&[&["run", "my.toml", "--dry-run"], *options].concat());
        check_paragraph(&ended);
        writeln!(told, "{}\n  {}", options.join(" "), ended.stderr).unwrap();
    }
    told
}

#[test]
fn top_level_keys() {
    snapshot(
        "top_level_keys",
        errors_in_files(
            &[
                "repeat = 3\n",
                "name = 'a/b'\n",
                "duration = 5\n",
                "duration = '5 parsecs'\n",
                "duration = '-5 s'\n",
                "duration = '0 s'\n",
                "duration = '2 d'\n",
                "duration = '100 h'\n",
                "repeats = 0\n",
                "repeats = -1\n",
                "repeats = 'many'\n",
                "repeats = 99999999999\n",
                "seed = -1\n",
                "seed = 1.5\n",
                "sentinel = 'no'\n",
                "combine = 'crossed'\n",
                "combine = ['cross']\n",
                "excursions = '5 us'\n",
                "excursions.over = '20 ns'\n",
                "excursions.over_min = 20\n",
                "excursions.gap = '0 ns'\n",
                "budgets = 'max<10us'\n",
                "budgets = ['max<=10us', 'worst<=1us']\n",
                "budgets = ['max<=10us', 10]\n",
                "budgets = ['nl3a: max<=10us']\n",
            ],
            SMALL,
            &[],
        ),
    );
}

#[test]
fn text_that_is_not_toml() {
    snapshot(
        "text_that_is_not_toml",
        errors_in_files(
            &[
                "title = 'x\n",
                "= 3\n",
                "title = 'x'\ntitle = 'y'\n",
                "[targets\n",
                "title = \"\\q\"\n",
                "duration = 5s\n",
            ],
            "",
            &[],
        ),
    );
}

#[test]
fn required_keys() {
    snapshot(
        "required_keys",
        errors_in_files(
            &[
                "\n",
                "title = 3\n",
                "title = 'x'\n",
                "title = 'x'\ntargets = []\n",
                "title = 'x'\ntargets = [{ core = 1 }]\n",
            ],
            "",
            &[],
        ),
    );
}

#[test]
fn numbers_that_are_none() {
    let sweep = "[[targets]]\nworkload = 'chase_llc'\ncore = 2\nwith = { size = nan }\n\
                 [[sweep]]\nname = 'size'\nkey = 'targets.1.with.size'\nvalues = ['64 KiB']\n";
    let small = SMALL.replace("targets = [{ workload = 'latency_loop', core = 1 }]\n", "");
    let in_files = errors_in_files(&[sweep], &format!("{small}[[targets]]\nworkload = 'chase_llc'\ncore = 1\n"), &[]);
    let in_options =
        errors_of_options(&[&["--set", "targets.0.with.size=inf"], &["--set", "targets.0.with.size=-nan"]]);
    snapshot("numbers_that_are_none", in_files + &in_options);
}

#[test]
fn targets() {
    snapshot(
        "targets",
        errors_in_files(
            &[
                "targets = 'latency_loop'\n",
                "targets = ['latency_loop']\n",
                "targets = [['latency_loop', 1]]\n",
                "[[targets]]\nworkload = 'latency_loop'\ncpu = 3\n",
                "[[targets]]\nworkload = 'latency_lop'\n",
                "[[targets]]\nworkload = 'latency_loop'\ncore = 4\n",
                "[[targets]]\nworkload = 'latency_loop'\ncore = -1\n",
                "[[targets]]\nworkload = 'latency_loop'\ncore = 'first'\n",
                "[[targets]]\nworkload = 'latency_loop'\ncore = [1, 2]\n",
                "[[targets]]\nworkload = 'latency_loop'\ncore = 1\n[[targets]]\nworkload = 'latency_loop'\ncore = 1\n",
                "[[targets]]\nworkload = 'stress_ng_cache'\ncore = 1\nwith.passes = 'period'\n",
            ],
            "title = 'x'\nplatform = 'agilex5'\n",
            &[],
        ),
    );
}

#[test]
fn neighbours() {
    snapshot(
        "neighbours",
        errors_in_files(
            &[
                "neighbours = 'way_hammer'\n",
                "[[neighbours]]\ncores = [2]\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncore = 2\n",
                "[[neighbours]]\nworkload = 'way_hamer'\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = [2, 7]\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = [1, 2]\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = [2, 2]\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = [2]\n[[neighbours]]\nworkload = 'stream_read'\ncores = [3, 2]\n",
                "[[neighbours]]\nworkload = 'way_hammer'\n[[neighbours]]\nworkload = 'stream_read'\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = []\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = ['2']\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = 'all'\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ncores = -2\n",
                "[[neighbours]]\nworkload = 'way_hammer'\ngroup = ''\n",
                "[[neighbours]]\nworkload = 'stress_ng_cache'\ncores = [2]\n",
            ],
            SMALL,
            &[],
        ),
    );
}

#[test]
fn a_core_that_was_typed_is_the_mistake_where_it_meets_one_of_the_file() {
    let neighbour = ["[[neighbours]]\nworkload = 'way_hammer'\ncores = [2, 3]\n"];
    let told = errors_in_files(&neighbour, SMALL, &["--set", "targets.0.core=2"]);
    let expected = "error: --set targets.0.core=2: targets.0.core: found core 2, which `neighbours.0.cores` assigns to `way_hammer`; \
                    a target needs a core of its own\n";
    assert!(told.contains(expected), "{told}");
    let both = ["--set", "targets.0.core=2", "--set", "neighbours.0.cores=2"];
    let told = errors_in_files(&neighbour, SMALL, &both);
    assert!(told.contains("error: --set neighbours.0.cores=2: "), "{told}");
}

#[test]
fn mitigations() {
    snapshot(
        "mitigations",
        errors_in_files(
            &[
                "mitigations = 3\n",
                "mitigations = ['nl3a', 3]\n",
                "mitigations = 'nl3b'\n",
                "mitigations = ['nl3a', 'nl3a+nl3b']\n",
                "mitigations = ['']\n",
                "mitigations = 'nl3a+'\n",
                "combine = 'cross'\nmitigations = ['nl3a', 'cp', 'qos', 'colouring', 'nl3a', 'cp', 'qos', 'colouring', 'cp']\n",
            ],
            SMALL,
            &[],
        ),
    );
}

#[test]
fn workloads_of_the_file() {
    snapshot(
        "workloads_of_the_file",
        errors_in_files(
            &[
                "workloads = 3\n",
                "[workloads]\nw = 'walk'\n",
                "[workloads]\nw = ['tick']\n",
                "[workloads]\nw = ['walk', 'read']\n",
                "[workloads.'my loop']\nkind = 'tick'\n",
                "[workloads.w]\nsize = 'L2'\n",
                "[workloads.w]\nkind = 'wander'\n",
                "[workloads.w]\nkind = 'walk'\noperation = 'read'\n",
                "[workloads.w]\nkind = 'walk'\noperation = 'skip'\nouter = { count = 1, stride = 64 }\ninner = { count = 1, stride = 64 }\n",
                "[workloads.w]\nkind = 'walk'\noperation = 'read'\nouter = { count = 1, stride = 64 }\ninner = { count = 1, stride = 64 }\nbatch = 3\n",
                "[workloads.w]\nkind = 'walk'\noperation = 'read'\nouter = { count = 1, stride = 64, steps = 2 }\ninner = { count = 1, stride = 64 }\n",
                "[workloads.w]\nkind = 'walk'\noperation = 'read'\nouter = { count = 1, stride = 64 }\n\n[workloads.w.inner]\ncount = 'many'\nstride = 64\n",
                "[workloads.w]\nkind = 'chase'\nsize = '4 MB'\n",
                "[workloads.w]\nkind = 'chase'\nsize = '64'\n",
                "[workloads.w]\nkind = 'chase'\nsize = '4 x L9'\n",
                "[workloads.w]\nkind = 'chase'\nsize = 3.5\n",
                "[workloads.w]\nkind = 'tick'\nbody = { adds = 1, loop = 2 }\n",
                "[workloads.w]\nkind = 'tick'\nbody = { muls = 1 }\n",
                "[workloads.w]\nkind = 'tick'\nbody = 64\n",
                "[workloads.w]\nkind = 'buffer'\nsize = 'L1'\nstride = '1 line'\nperiod = 10\n",
                "[workloads.w]\nkind = 'buffer'\nsize = 'L1'\nstride = '1 line'\noffset = '1 us'\n",
                "[workloads.w]\nkind = 'buffer'\nsize = 'L1'\nstride = '1 line'\nperiod = '1 ms'\noffset = 250\n",
                "[workloads.w]\nkind = 'stream'\noperation = 'read'\nsize = 'L1'\noffset = '1 us'\n",
                "[workloads.w]\nkind = 'command'\nargv = 'stress-ng --cache 1'\n",
                "[workloads.w]\nkind = 'wakeup'\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nfigure = 'latency'\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nbody = 'rta_128k'\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nbody = { kind = 'stream', operation = 'read', sise = 'L1' }\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nbody = { size = 'L1' }\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nbody = { kind = 'wander' }\n",
                "[workloads.w]\nkind = 'interrupt'\nperiod = '1 ms'\n",
                "[workloads.w]\nkind = 'interrupt'\nperiod = '1 ms'\nsource = 'hpet'\n",
                "[workloads.w]\nkind = 'interrupt'\nperiod = '1 ms'\nsource = 'timerfd'\nbody = { kind = 'tick' }\n",
            ],
            SMALL,
            &[],
        ),
    );
}

#[test]
fn sizes_that_come_to_nothing() {
    snapshot(
        "sizes_that_come_to_nothing",
        errors_in_files(
            &[
                "[workloads.w]\nkind = 'chase'\nsize = '0 KiB'\n",
                "[workloads.w]\nkind = 'chase'\nsize = 0\n",
                "[workloads.w]\nkind = 'chase'\nsize = '64 B'\n",
                "[workloads.w]\nkind = 'chase'\nsize = 'L1'\nstride = '0 B'\n",
                "[workloads.w]\nkind = 'chase'\nsize = 'L1'\nstride = '12 B'\n",
                "[workloads.w]\nkind = 'chase'\nsize = 'L1'\nbatch = 0\n",
                "[workloads.w]\nkind = 'chase'\nsize = '2000 GiB'\n",
                "[workloads.w]\nkind = 'buffer'\nsize = '4 B'\nstride = '8 B'\nperiod = '1 ms'\n",
                "[workloads.w]\nkind = 'buffer'\nsize = 'L1'\nstride = '8 B'\nperiod = '0 s'\n",
                "[workloads.w]\nkind = 'buffer'\nsize = 'L1'\nstride = '8 B'\nperiod = '1 ms'\noffset = '1 ms'\n",
                "[workloads.w]\nkind = 'buffer'\nsize = 'L1'\nstride = '8 B'\nperiod = '99 ns'\noffset = '0 ns'\n",
                "[workloads.w]\nkind = 'walk'\noperation = 'read'\nouter = { count = 0, stride = 64 }\ninner = { count = 1, stride = 64 }\n",
                "[workloads.w]\nkind = 'walk'\noperation = 'read'\nouter = { count = 1, stride = '0 x L2' }\ninner = { count = 1, stride = 64 }\n",
                "[workloads.w]\nkind = 'tick'\nbody.adds = 10_000_000\n",
                "[workloads.w]\nkind = 'tick'\nbody.loop = 0\n",
                "[workloads.w]\nkind = 'random'\ndata = '1 B'\ndata_accesses = 1\ncode = 'L1'\ncode_calls = 1\nevent_data_lines = 1\nevent_code_lines = 1\n",
            ],
            SMALL,
            &["--set=targets.0.workload=w"],
        ),
    );
}

#[test]
fn wake_ups() {
    snapshot(
        "wake_ups",
        errors_in_files(
            &[
                "[workloads.w]\nkind = 'wakeup'\nperiod = '0 s'\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '10 ns'\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nfigure = 'response_time'\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nbody = { kind = 'stream', operation = 'read', size = '4 B' }\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nbody = { kind = 'wakeup', period = '1 ms' }\n",
                "[workloads.w]\nkind = 'wakeup'\nperiod = '1 ms'\nbody = { kind = 'trace', file = 'x.wkt' }\n",
                "[workloads.w]\nkind = 'interrupt'\nsource = 'timerfd'\nperiod = '0 s'\n",
            ],
            "title = 'x'\nplatform = 'host'\ntargets = [{ workload = 'w' }]\n",
            &[],
        ),
    );
}

#[test]
fn external_programs() {
    snapshot(
        "external_programs",
        errors_in_files(
            &[
                "[workloads.w]\nkind = 'command'\nargv = []\n",
                "[workloads.w]\nkind = 'command'\nargv = ['', '--cache', '1']\n",
                "[workloads.w]\nkind = 'command'\nargv = ['stress-ng', 1]\n",
                "[workloads.w]\nkind = 'command'\n",
            ],
            "title = 'x'\nplatform = 'host'\ntargets = [{ workload = 'latency_loop' }]\nneighbours = [{ workload = 'w' }]\n",
            &[],
        ),
    );
}

#[test]
fn references() {
    let published =
        "[published]\nsource = 'a'\nplatform = 'agilex5'\ntarget = { workload = 'latency_loop', core = 1 }\n";
    snapshot(
        "references",
        errors_in_files(
            &[
                "[[references]]\nmitigation = 'none'\nmax_ns = 75\n",
                &format!("{published}[[references]]\nmitigation = 'none'\nmax_ns = -75\n"),
                &format!("{published}[[references]]\nmitigation = 'none'\nmax_ns = nan\n"),
                &format!("{published}[[references]]\nmitigation = 'none'\nmax = 75\n"),
                &format!("{published}[[references]]\nmitigation = 'none'\nimposed = ['max']\n"),
                &format!("{published}run_length_s = inf\n"),
                "[published]\nsource = 'a'\n",
            ],
            SMALL,
            &[],
        ),
    );
}

/// Sweeps over a neighbour's size; the lines of a mistake follow from line 8 on.
const SWEPT: &str = "title = 'x'\nplatform = 'agilex5'\ntargets = [{ workload = 'latency_loop', core = 1 }]\nneighbours = [{ workload = 'stream_read', cores = [2] }]\n[[sweep]]\nname = 'size'\n";

#[test]
fn sweeps() {
    snapshot(
        "sweeps",
        errors_in_files(
            &[
                "\n",
                "key = 'neighbours.0.with.size'\n",
                "key = 'neighbours.0.with.size'\nvalues = []\n",
                "values = ['1 MiB']\n",
                "key = 3\nvalues = ['1 MiB']\n",
                "key = 'duration'\nvalues = ['1 s', '2 s']\n",
                "key = 'neighbours..size'\nvalues = ['1 MiB']\n",
                "key = 'neighbours.4.with.size'\nvalues = ['1 MiB']\n",
                "key = 'neighbours.0.with.size'\nvalues = ['1 MiB', '1 MiB']\n",
                "key = 'neighbours.0.with.size'\nvalues = ['1 MiB', '1 MB']\n",
                "key = 'neighbours.0.with.size'\nvalues = ['1 MiB', '0 B']\n",
                "key = 'neighbours.0.with.width'\nvalues = ['1 MiB']\n",
                "key = 'neighbours.0.with.size'\nvalues = [{ size = '1 MiB' }]\n",
                "key = 'neighbours.0.workload'\nvalues = ['stream_read', 'stream_reed']\n",
                "key = 'neighbours.0.with.size'\nvalues = ['1 MiB']\nonly = '2 MiB'\n",
                "key = 'neighbours.0.cores'\nvalues = [[2], [1]]\n",
                "points = [{ name = 'a', set.neighbours.0.cores = 2 }, { name = 'a', set.neighbours.0.cores = 3 }]\n",
                "points = [{ name = 'a,b', set.neighbours.0.cores = 2 }]\n",
                "points = [{ name = 'a', set = {} }]\n",
                "points = [{ name = 'a' }]\n",
                "points = [{ name = 'a', set.neighbours.0.core = 2 }]\n",
                "points = [{ name = 'a', set.seed = 2 }]\n",
                "key = 'neighbours.0.cores'\nvalues = [2]\n[[sweep]]\nname = 'size'\nkey = 'targets.0.core'\nvalues = [1]\n",
                "key = 'neighbours.0.with.size'\nvalues = ['1 MiB']\n[[sweep]]\nname = 'two'\nkey = 'neighbours.0.with'\nvalues = ['x']\n",
                "key = 'neighbours.0.cores'\nvalues = [2]\n[[sweep]]\nname = 'mitigation'\nkey = 'targets.0.core'\nvalues = [1]\n",
            ],
            SWEPT,
            &[],
        ),
    );
}

#[test]
fn tables_and_expectations() {
    let swept = format!("{SWEPT}key = 'neighbours.0.with.size'\nvalues = ['8 KiB', '1 MiB']\n");
    snapshot(
        "tables_and_expectations",
        errors_in_files(
            &[
                "[table]\nmetric = 'speed'\n",
                "[table]\nrows = 'width'\n",
                "[table]\nrows = 'mitigation'\n",
                "[table]\ncolumns = 'width'\n",
                "[table]\nrows = 'size'\ncolumns = 'size'\n",
                "[[expectations]]\nsays = 'x'\norder = []\n",
                "[[expectations]]\nsays = 'x'\norder = 'none'\n",
                "[[expectations]]\nsays = 'x'\norder = ['none > 1', 'none > twice none']\n",
                "[[expectations]]\nsays = 'x'\norder = 'none > nl3b'\n",
                "[[expectations]]\nsays = 'x'\norder = 'none[width 3] > 1'\n",
                "[[expectations]]\nsays = 'x'\norder = 'none[size 2 MiB] > 1'\n",
                "[[expectations]]\nsays = 'x'\norder = 'none > 1'\npoint = { size = '2 MiB' }\n",
                "[[expectations]]\nsays = 'x'\norder = 'none > 1'\nmetric = 'speed'\n",
                "[published]\nsource = 'a'\nplatform = 'agilex5'\n[[references]]\nmitigation = 'none'\nslowdown = 0\n",
                "[published]\nsource = 'a'\nplatform = 'agilex5'\n[[references]]\nmitigation = 'none'\npoint = { width = 3 }\n",
                "[published]\nsource = 'a'\nplatform = 'agilex5'\nneighbours = [{ workload = 'stream_read' }]\n",
                "[assignments.none]\nset.no_allocate_mode = false\n",
                "[assignments.own]\nset.no_allocate = false\n",
            ],
            &swept,
            &[],
        ),
    );
}

#[test]
fn a_table_of_sweeps_that_are_not_there() {
    let told = errors_in_files(&["[table]\nrows = 'width'\n"], SMALL, &[]);
    let expected = "error: my.toml:5: table.rows: found `width`, but the experiment has no sweep; expected none to be named, or a \
                    `[[sweep]]` of that name\n";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn assignments_without_their_controls() {
    let listed =
        "title = 'x'\nplatform = 'agilex5'\ntargets = [{ workload = 'latency_loop', core = 1 }]\nmitigations = 'own'\n";
    snapshot(
        "assignments_without_their_controls",
        errors_in_files(
            &[
                "[assignments.own]\nset.on_chip_ram = true\n",
                "[assignments.own]\nset.way_groups = { target = [4], others = [0] }\n",
                "[assignments.own.set]\nno_allocate_mode = true\nlock = { level = 2, groups = [0], what = 'event' }\n",
                "[assignments.own]\n[[sweep]]\nname = 's'\nkey = 'assignments.own.set.clock_ghz.others'\nvalues = [1.0, 0.0]\n",
            ],
            listed,
            &[],
        ) + &errors_in_files(
            &["[assignments.own]\nset.no_allocate_mode = true\n"],
            listed,
            &["--set", "assignments.own.set.page_kib=64"],
        ),
    );
}

/// One experiment can have assignments for several platforms.
#[test]
fn an_assignment_that_is_not_listed_may_be_for_another_platform() {
    let desk = Desk::new();
    desk.file("my.toml", &format!("{SMALL}[assignments.own]\nset.on_chip_ram = true\n"));
    desk.run(&["run", "my.toml", "--dry-run"]).with(0);
}

#[test]
fn other_values_for_a_workload() {
    snapshot(
        "other_values_for_a_workload",
        errors_in_files(
            &[
                "with = 3\n",
                "with.size = '1 MB'\n",
                "with.width = '1 MiB'\n",
                "with.stride = '96 B'\n",
                "with.operation = 'skip'\n",
                "measure = 'speed'\n",
            ],
            "title = 'x'\nplatform = 'agilex5'\n[[targets]]\nworkload = 'stream_read'\ncore = 1\n",
            &[],
        ),
    );
}

#[test]
fn options_beside_a_sweep() {
    let desk = Desk::new();
    desk.file("my.toml", &format!("{SWEPT}key = 'neighbours.0.with.size'\nvalues = ['8 KiB', '1 MiB']\n"));
    let mut told = String::new();
    for set in [
        "neighbours.0.with.size=2 MiB",
        "sweep.size.only=2 MiB",
        "sweep.size.values=2 MB",
        "sweep.width.values=2 MiB",
        "neighbours=[]",
        "measure=throughput",
    ] {
        let ended = desk.run(&["run", "my.toml", "--dry-run", "--set", set]);
        check_paragraph(&ended);
        writeln!(told, "--set {set}\n  {}", ended.stderr).unwrap();
    }
    snapshot("options_beside_a_sweep", told);
}

#[test]
fn throughput_of_what_moves_no_bytes() {
    let desk = Desk::new();
    desk.file("my.toml", SMALL);
    let ended = desk.run(&["run", "my.toml", "--dry-run", "--set", "targets.0.measure=throughput"]);
    check_paragraph(&ended);
    assert!(ended.stderr.contains("targets.0.measure: `latency_loop` moves no bytes"), "{}", ended.stderr);
}

#[test]
fn sets() {
    snapshot(
        "sets",
        errors_of_options(&[
            &["--set", "targets.0.core"],
            &["--set", "=3"],
            &["--set", "targets..core=3"],
            &["--set", "targets.5.core=3"],
            &["--set", "targets.first.core=3"],
            &["--set", "title.x=3"],
            &["--set", "repeat=3"],
            &["--set", "targets.0.cpu=3"],
            &["--set", "targets.0.core=9"],
            &["--set", "targets.0.core=one"],
            &["--set", "targets=[]"],
            &["--set", "targets.0=3"],
            &["--set", "neighbours.0.cores=2"],
            &["--set", "neighbours.0.workload=nope"],
            &["--set", "neighbours.0.workload=way_hammer", "--set", "neighbours.0.cores=1"],
            &["--set", "neighbours=3"],
            &["--set", "mitigations=nl3a,nope"],
            &["--set", "platform=nope"],
            &["--set", "platform=host", "--on", "sim"],
            &["--set", "repeats=0"],
            &["--set", "duration=5"],
            &["--set", "seed=-1"],
            &["--set", "workloads.w.kind=walk"],
            &["--set", "workloads.w.kind=chase", "--set", "workloads.w.size=4 MB"],
            &["--set", "budgets=max<=10us,worst<=1us"],
            &["--set", "combine=all"],
        ]),
    );
}

#[test]
fn budgets() {
    snapshot(
        "budgets",
        errors_of_options(&[
            &["--budget", "max"],
            &["--budget", "max<10us"],
            &["--budget", "worst<=10us"],
            &["--budget", "max<=10"],
            &["--budget", "max<=0us"],
            &["--budget", "max<=10us@2"],
            &["--budget", "p99<=10us@1e-6"],
            &["--budget", "nl3a: max<=10us"],
            &["--budget", ": max<=10us"],
            &["--budget", ""],
        ]),
    );
}

#[test]
fn lengths_and_numbers() {
    snapshot(
        "lengths_and_numbers",
        errors_of_options(&[
            &["--duration", "5"],
            &["--duration", "long"],
            &["--duration", "0s"],
            &["--duration", "100h"],
            &["--duration=-5s"],
            &["--repeats", "0"],
            &["--repeats", "-1"],
            &["--repeats", "2000"],
            &["--seed", "-1"],
        ]),
    );
}

#[test]
fn what_the_command_line_itself_refuses_names_the_option() {
    let desk = Desk::new();
    for (arguments, told) in [
        (
            vec!["run", "this-machine", "--seed", "first"],
            "invalid value 'first' for '--seed <N>': expected a whole number",
        ),
        (vec!["run", "this-machine", "--seed", "18446744073709551615"], "at most 2^63 - 1"),
        (
            vec!["run", "this-machine", "--repeats", "2.5"],
            "invalid value '2.5' for '--repeats <N>': expected a whole number",
        ),
        (vec!["run", "this-machine", "--on", "board"], "[possible values: host, sim]"),
        (vec!["run", "this-machine", "--budgets", "max<=1us"], "a similar argument exists: '--budget'"),
        (vec!["run"], "<EXPERIMENT>"),
        (vec!["measure"], "unrecognized subcommand 'measure'"),
        (
            vec!["schema", "result"],
            "[possible values: experiment, platform, workload, policy, run, tuned, tuned-by-turns, hunted, kpi, doctor, machine, channels, catalogue]",
        ),
        (vec!["compare", "one"], "<B>"),
    ] {
        let ended = desk.run(&arguments);
        check(&ended);
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
    }
    assert!(desk.names().is_empty());
}

#[test]
fn files_that_are_not_there_or_not_text() {
    let desk = Desk::new();
    desk.file("my.toml", SMALL);
    std::fs::write(desk.path().join("bytes.toml"), [0xff, 0xfe]).unwrap();
    std::fs::create_dir(desk.path().join("folder")).unwrap();
    let mut told = String::new();
    for arguments in [
        vec!["run", "this-machin"],
        vec!["run", "nowhere.toml"],
        vec!["run", "folder"],
        vec!["run", "bytes.toml"],
        vec!["run", "/dev/zero"],
        vec!["run", "my.toml", "--set", "platform=nowhere.toml"],
        vec!["run", "my.toml", "--set", "platform=folder"],
        vec!["run", "my.toml", "--out", "my.toml"],
    ] {
        let ended = desk.run(&arguments);
        check_paragraph(&ended);
        writeln!(told, "{}\n  {}", arguments.join(" "), ended.stderr).unwrap();
    }
    snapshot("files_that_are_not_there_or_not_text", told);
}

#[test]
fn a_core_that_this_machine_does_not_have() {
    let desk = Desk::new();
    let last = std::fs::read_to_string("/sys/devices/system/cpu/present").unwrap();
    for set in ["targets.0.core=4000", "neighbours.0.cores=4000"] {
        let ended = desk.run(&["run", "this-machine", "--dry-run", "--set", set]);
        check_paragraph(&ended);
        let key = set.split_once('=').unwrap().0;
        let told = format!("error: --set {set}: {key}: found core 4000, which this machine does not have; expected ");
        assert!(ended.stderr.starts_with(&told), "of {last}: {}", ended.stderr);
    }
    for (arguments, option) in [
        (vec!["load", "stream_read@4000"], "stream_read@4000"),
        (vec!["watch", "--count=1", "--target=latency_loop@4000"], "--target latency_loop@4000"),
    ] {
        let ended = desk.run(&arguments);
        check_paragraph(&ended);
        let told = format!("error: {option}: found core 4000, which this machine does not have; expected ");
        assert!(ended.stderr.starts_with(&told), "of {last}: {}", ended.stderr);
    }
}

#[test]
fn a_platform_file_with_a_mistake() {
    let desk = Desk::new();
    desk.file("my.toml", SMALL);
    let text = std::fs::read_to_string(repository().join("platforms/agilex5.toml")).unwrap();
    for (from, to, told) in [
        ("[counter.tick_ns]", "[counter.tick]", "counter.tick: unknown key `tick`"),
        (
            "[counter.tick_ns]\nvalue = 2.5",
            "[counter.tick_ns]\nvalue = 0.0",
            "counter.tick_ns.value: 0 is not above zero",
        ),
        (
            "clock_ghz = { value = 1.25",
            "clock_ghz = { value = nan",
            "cores.0.clock_ghz.value: NaN is not a finite number",
        ),
        ("ids = [0, 1]", "ids = [0, 2]", "cores."),
        ("title = ", "title ", "expected"),
    ] {
        let broken = text.replacen(from, to, 1);
        assert_ne!(broken, text, "{from}");
        // The line of the mistake, or of its value: within the first two lines of what was replaced.
        let line = 1 + text[..text.find(from).unwrap()].matches('\n').count();
        desk.file("board.toml", &broken);
        let ended = desk.run(&["run", "my.toml", "--dry-run", "--set", "platform=board.toml"]);
        check_paragraph(&ended);
        assert!(ended.stderr.contains(told), "{told}: {}", ended.stderr);
        let named = (line..line + 2).any(|line| ended.stderr.starts_with(&format!("error: board.toml:{line}: ")));
        assert!(named || from.starts_with("ids"), "line {line}: {}", ended.stderr);
    }
}

#[test]
fn windows_of_what_has_no_passes() {
    let desk = Desk::new();
    let run = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| format!("--set={set}")).collect();
        let mut options = vec!["run", "cd8180-cache-portions", "--dry-run"];
        options.extend(sets.iter().map(String::as_str));
        let ended = desk.run(&options);
        check(&ended);
        ended.stderr
    };
    for (sets, told) in [
        (&["targets.0.sampled.windows=0"][..], "targets.0.sampled.windows: found 0; expected 1 or more"),
        (&["targets.0.sampled.accesses=0"], "targets.0.sampled.accesses: found 0; expected 1 or more"),
        (&["targets.0.sampled.warm_up=2 s"], "targets.0.sampled.warm_up: found 2 s; expected 0 ns to 1 s"),
        (&["targets.0.sampled=true"], "targets.0.sampled: "),
        (&["targets.0.sampled.window=3"], "unknown key `window`"),
        (
            &["targets.0.sampled.windows=1000", "targets.0.sampled.accesses=1000000"],
            "windows of 1000000 accesses; a pass has",
        ),
        // What a whole program moves is not counted, so that it always takes samples.
        (&["targets.0.sampled={}", "targets.0.measure=throughput"], "targets.0.measure: `mser_vga` moves no bytes"),
        (
            &[
                "sweep.program.values=stream_modify",
                "sweep.program.only=[]",
                "references=[]",
                "expectations=[]",
                "targets.0.sampled={}",
            ],
            "found windows for `stream_modify`, which is no whole program",
        ),
    ] {
        let error = run(sets);
        assert!(error.contains(told), "{told}: {error}");
    }
}
