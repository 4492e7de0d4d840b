//! `hunt`: a workload that other commands take, and figures of its own.

use crate::program::{Desk, list};

const SMALL: &str = "
title = 'a loop beside whatever is found'
platform = 'agilex5'
duration = '200 us'
repeats = 5
[[targets]]
workload = 'latency_loop'
core = 1
[[neighbours]]
workload = 'stream_read'
cores = [2, 3]
";

#[test]
fn the_worst_neighbour_found_is_a_workload_that_searches_run_against() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let hunt = ["hunt", "small.toml", "--candidates=16", "--time-limit=3min", "--seed=5", "--out=worst.toml", "--json"];
    let hunted = desk.run(&hunt).with(0).json();
    let candidates = list(&hunted, "candidates");
    assert_eq!(hunted["tried"].as_u64(), Some(16));
    let (found, bundled): (Vec<_>, Vec<_>) = candidates.iter().partition(|candidate| candidate["bundled"].is_null());
    assert!((1..=3).contains(&found.len()) && bundled.iter().any(|candidate| candidate["bundled"] == "way_hammer"));
    for candidate in candidates {
        let ratios = list(candidate, "ratios");
        let mean = ratios.iter().filter_map(|ratio| ratio.as_f64()).sum::<f64>() / ratios.len() as f64;
        assert_eq!(ratios.len(), 5, "{candidate}");
        assert!((candidate["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{candidate}");
    }
    let means: Vec<f64> = candidates.iter().filter_map(|candidate| candidate["mean"].as_f64()).collect();
    assert!(means.is_sorted_by(|a, b| a >= b), "{means:?}");
    // What was written is what was found, and a run beside it sees the same figures: seeds decide placements.
    let worst = std::fs::read_to_string(desk.path().join("worst.toml")).unwrap();
    assert_eq!(Some(worst.as_str()), found[0]["workload"].as_str());
    let tune = ["tune", "small.toml", "--budget=max<=1ns", "--against=worst.toml", "--dry-run"];
    desk.run(&tune).with(0);
    let run = ["run", "small.toml", "--against=worst.toml", "--set=sentinel=false", "--json"];
    let run = desk.run(&run).with(0).json();
    let beside: Vec<_> = list(&run, "cases").iter().filter(|case| !list(case, "neighbours").is_empty()).collect();
    assert_eq!(beside.len(), 1, "{run}");
    let none =
        desk.run(&["tune", "small.toml", "--budget=max<=1ns", "--against=none.toml", "--dry-run"]).with(2).stderr;
    assert!(none.contains("--against none.toml: the file cannot be read"), "{none}");
}

/// A target that stays in its caches, beside neighbours that can only reach it through its own lines.
const TASK: &str = "
title = 'a task beside whatever is found'
platform = 'zynq7000'
duration = '50 us'
repeats = 5
sentinel = false
[[targets]]
workload = 'chase_llc'
core = 0
with = { size = '16 KiB', batch = 16 }
[[neighbours]]
workload = 'stream_read'
cores = [1]
";

#[test]
fn neighbours_in_the_targets_lines_are_hunted_where_asked_for() {
    let desk = Desk::new();
    desk.file("task.toml", TASK);
    let hunt = ["hunt", "task.toml", "--candidates=20", "--time-limit=3min", "--seed=5"];
    let sharing = [&hunt[..], &["--also=shared-lines", "--out=worst.toml"]].concat();
    let hunted = desk.run(&[&sharing[..], &["--json"]].concat()).with(0).json();
    assert_eq!(hunted["target_buffer_bytes"].as_u64(), Some(16 << 10));
    let candidates = list(&hunted, "candidates");
    let shares = |candidate: &serde_json::Value| candidate["shares_lines"] == true;
    assert_eq!(candidates.iter().filter(|candidate| shares(candidate)).count(), 3, "{hunted}");
    // The winner is one of them; bundled ones are compared with the worst other one.
    let worst = &candidates[0];
    let mean = |candidate: &serde_json::Value| candidate["mean"].as_f64().unwrap();
    assert!(shares(worst) && mean(worst) > 2.0, "{worst}");
    let own = candidates.iter().find(|candidate| candidate["bundled"].is_null() && !shares(candidate)).unwrap();
    let bundled = candidates.iter().find(|candidate| candidate["bundled"].is_string()).unwrap();
    let over = |key: &str| hunted[key][0].as_f64().unwrap();
    assert!((over("over_bundled") - mean(own) / mean(bundled)).abs() < 0.05, "{hunted}");
    assert!(over("sharing_over_others") > 1.5, "{hunted}");
    // Reads leave the lines in the target's caches too; changes take them.
    let of = |operation: &str| {
        let called = |candidate: &&serde_json::Value| candidate["called"].as_str().unwrap().starts_with(operation);
        mean(candidates.iter().filter(|candidate| shares(candidate)).find(called).unwrap())
    };
    assert!(of("read") < 1.05 && of("modify") > 2.0, "{hunted}");
    // The file has the sharing, so that a run beside it sees what the hunt saw.
    let written = std::fs::read_to_string(desk.path().join("worst.toml")).unwrap();
    assert_eq!(Some(written.as_str()), worst["neighbours"].as_str());
    assert!(written.contains("buffer = \"target\"") && worst["workload"].is_null(), "{written}");
    let run = desk.run(&["run", "task.toml", "--against=worst.toml", "--json"]).with(0).json();
    let beside = list(&run, "cases").iter().find(|case| !list(case, "neighbours").is_empty()).unwrap();
    let slowdown = beside["slowdown"].as_f64().unwrap();
    assert!(list(beside, "neighbours").iter().any(|neighbour| neighbour["with"]["buffer"] == "target"), "{beside}");
    assert!((slowdown / mean(worst) - 1.0).abs() < 0.2, "{slowdown} beside {worst}");
    desk.run(&["tune", "task.toml", "--budget=max<=1ns", "--against=worst.toml", "--dry-run"]).with(0);
    let text = desk.run(&[&sharing[..], &["--turns=2"]].concat()).with(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "Worst neighbour found in the target's buffer: ",
        "a neighbour that shares no data with the target cannot do that; ",
        "Worst neighbour found with a buffer of its own: ",
        "found, shares lines",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("without lines shared with the target"), "{text}");
}

#[test]
fn lines_are_shared_only_where_the_place_and_the_target_allow() {
    let desk = Desk::new();
    desk.file("task.toml", TASK);
    let hunt = ["hunt", "task.toml", "--dry-run"];
    let sharing = [&hunt[..], &["--also=shared-lines"]].concat();
    let said = desk.run(&sharing).with(0).stdout;
    assert!(said.contains("Half of them access the target's buffer of 16 KiB"), "{said}");
    let plain = desk.run(&hunt).with(0).stdout;
    assert!(!plain.contains("buffer") && plain.contains("without lines shared with the target"), "{plain}");
    desk.file(
        "tick.toml",
        &TASK.replace("with = { size = '16 KiB', batch = 16 }", "").replace("chase_llc", "latency_loop"),
    );
    for (experiment, set, word) in [
        ("tick.toml", "repeats=5", "--also shared-lines: the target has no buffer"),
        ("task.toml", "platform=host", "each workload has memory of its own; expected a simulated platform"),
    ] {
        // Cores that any machine with two of them has.
        let cores = ["--set=targets.0.core=0", "--set=neighbours.0.cores=[1]"];
        let set = format!("--set={set}");
        let arguments = ["hunt", experiment, "--dry-run", "--also=shared-lines", &set];
        let refused = desk.run(&[&arguments[..], &cores[..]].concat()).with(2).stderr;
        assert!(refused.contains(word) && refused.trim_end().lines().count() == 1, "{set}: {refused}");
    }
}

#[test]
fn a_winner_is_ranked_where_assumed_parameters_differ() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let hunt = ["hunt", "small.toml", "--candidates=14", "--seed=5", "--duration=60us", "--turns=2"];
    let hunted = desk.run(&[&hunt[..], &["--members=2", "--json"]].concat()).with(0).json();
    let sets = list(&hunted["members"], "sets");
    let bundled = list(&hunted, "candidates").iter().filter(|candidate| !candidate["bundled"].is_null()).count();
    let repeats = hunted["members"]["repeats"].as_u64().unwrap() as usize;
    assert_eq!(sets.len(), 2, "{hunted}");
    for set in sets {
        let neighbours = list(set, "neighbours");
        // The winner first, then every bundled one, each with all of its repeats and their mean.
        assert_eq!(neighbours.len(), bundled + 1, "{set}");
        assert!(neighbours[0]["bundled"].is_null() && neighbours[1..].iter().all(|it| it["bundled"].is_string()));
        for neighbour in neighbours {
            let ratios: Vec<f64> = list(neighbour, "ratios").iter().filter_map(|ratio| ratio.as_f64()).collect();
            assert_eq!(ratios.len(), repeats, "{neighbour}");
            let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
            assert!((neighbour["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{neighbour}");
        }
        // Those that are worse have larger means, and where there are some the set names another.
        let mean = |name: &serde_json::Value| {
            neighbours.iter().find(|it| it["bundled"] == *name).and_then(|it| it["mean"].as_f64()).unwrap()
        };
        let worse = set.get("worse").and_then(|worse| worse.as_array()).cloned().unwrap_or_default();
        assert!(worse.iter().all(|name| mean(name) > neighbours[0]["mean"].as_f64().unwrap()), "{set}");
        assert_eq!(set["answer"] == "another", !worse.is_empty(), "{set}");
        assert!(["winner", "another", "nothing"].iter().any(|answer| set["answer"] == *answer), "{set}");
    }
    let text = desk.run(&[&hunt[..], &["--members=1"]].concat()).with(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("of 1 set of assumed parameters, "), "{text}");
    let refused = desk.run(&["hunt", "this-machine", "--cores=0", "--members=2"]);
    assert!(matches!(refused.status, Some(2 | 3)), "{}", refused.stderr);
}

/// What a hunt writes where the cores run different patterns.
const MIXTURE: &str = "
title = 'found by a hunt: two patterns'
[workloads.found-1]
kind = 'chase'
size = '64 KiB'
[workloads.found-2]
kind = 'walk'
operation = 'modify'
outer = { count = 4, stride = '4 KiB' }
inner = { count = 8, stride = '1 line' }
[[neighbours]]
workload = 'found-1'
cores = [3]
[[neighbours]]
workload = 'found-2'
cores = [0]
";

#[test]
fn different_neighbours_of_a_file_run_each_on_its_own_cores() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk.file("worst.toml", MIXTURE);
    let run = ["run", "small.toml", "--against=worst.toml", "--repeats=1", "--set=sentinel=false", "--json"];
    let run = desk.run(&run).with(0).json();
    let mut placed: Vec<String> = Vec::new();
    for case in list(&run, "cases") {
        let neighbours = list(case, "neighbours");
        placed.extend(neighbours.iter().map(|at| format!("{} on {}", at["workload"], at["cores"])));
    }
    assert_eq!(placed, ["\"against-found-1\" on [3]", "\"against-found-2\" on [0]"]);
    let tune = ["tune", "small.toml", "--budget=max<=1ns", "--against=worst.toml", "--dry-run"];
    desk.run(&tune).with(0);
    desk.file("bad.toml", "neighbours = [{ workload = 3 }]");
    let bad = desk.run(&["run", "small.toml", "--against=bad.toml"]).with(2).stderr;
    assert!(bad.contains("--against bad.toml: expected `[workloads.NAME]`"), "{bad}");
}

#[test]
fn the_budget_of_the_experiment_says_what_is_hunted_for() {
    let desk = Desk::new();
    desk.file("small.toml", &format!("budgets = ['max<=1s@0.5']\n{SMALL}"));
    let tuned = desk.run(&["tune", "small.toml", "--hunt", "--candidates=14", "--seed=5", "--json"]).with(0).json();
    assert_eq!(tuned["objective"], "max", "{tuned}");
}

/// Two targets, one with keys of its own.
const SEVERAL: &str = "
title = 'two loops beside whatever is found'
platform = 'agilex5'
duration = '60 us'
repeats = 5
[[targets]]
workload = 'latency_loop'
core = 1
[[targets]]
workload = 'chase_llc'
core = 1
with = { size = '64 KiB', batch = 16 }
[[neighbours]]
workload = 'stream_read'
cores = [2, 3]
";

#[test]
fn several_targets_are_named_with_the_options_that_choose_one() {
    let desk = Desk::new();
    desk.file("several.toml", SEVERAL);
    let refused = desk.run(&["hunt", "several.toml"]).with(2).stderr;
    let said = "expected `--target latency_loop@1` or `--target chase_llc@1`";
    assert!(refused.contains(said) && refused.trim_end().lines().count() == 1, "{refused}");
    // Both do, and keep the keys of the target; on another core too, which is said.
    let dry = ["hunt", "several.toml", "--dry-run", "--json"];
    for (option, target, note) in [
        ("--target=latency_loop@1", "latency_loop on core 1", ""),
        ("--target=chase_llc@1", "chase_llc (batch 16, size 64 KiB) on core 1", ""),
        (
            "--target=chase_llc@0",
            "chase_llc (batch 16, size 64 KiB) on core 0",
            "on core 1: its keys are kept, on core 0",
        ),
    ] {
        let ended = desk.run(&[&dry[..], &[option]].concat()).with(0);
        assert_eq!(ended.json()["target"], target, "{option}");
        assert!(
            ended.stderr.contains(note) && ended.stderr.is_empty() == note.is_empty(),
            "{option}: {}",
            ended.stderr
        );
    }
    // Where workload and core are those of several, the whole target tells them apart.
    let twice = SEVERAL.replace("'latency_loop'", "'chase_llc'");
    desk.file("twice.toml", &twice);
    let refused = desk.run(&["hunt", "twice.toml", "--target=chase_llc@1"]).with(2).stderr;
    let own = "targets=[{ workload = \"chase_llc\", core = 1, with = { batch = 16, size = \"64 KiB\" } }]";
    assert!(refused.contains(&format!("`--set '{own}'`")), "{refused}");
    let hunt = ["hunt", "twice.toml", "--set", own, "--candidates=14", "--turns=2", "--seed=5", "--json"];
    let hunted = desk.run(&hunt).with(0).json();
    assert_eq!(hunted["target"], "chase_llc (batch 16, size 64 KiB) on core 1");
}

#[test]
fn a_target_chooses_the_point_of_a_bundled_sweep_over_cores() {
    let desk = Desk::new();
    let asked = desk.run(&["hunt", "agilex5-loops"]).with(2).stderr;
    assert!(asked.contains("--target latency_loop@1") && asked.contains("'sweep.core.only=3 (A76)'"), "{asked}");
    let dry = ["hunt", "agilex5-loops", "--dry-run", "--json"];
    for (target, called, cores) in [
        ("latency_loop@1", "latency_loop on core 1", "[2,3]"),
        ("latency_loop_2ki@3", "latency_loop_2ki on core 3", "[1,2]"),
    ] {
        let hunted = desk.run(&[&dry[..], &["--target", target]].concat()).with(0).json();
        assert_eq!((hunted["target"].as_str(), hunted["cores"].to_string()), (Some(called), cores.to_owned()));
    }
    // A search of measures goes through the points that are left, beside both hammers.
    let tune = ["tune", "agilex5-loops", "--target=latency_loop@1", "--budget=max<=1us", "--dry-run"];
    assert!(desk.run(&tune).with(0).stdout.contains("ways of the L3"));
    let named = desk.run(&["tune", "agilex5-loops", "--budget=latency_loop: max<=1us"]).with(2).stderr;
    assert!(named.contains("is a target of the experiment") && named.contains("`--target latency_loop@1`"), "{named}");
}

#[test]
fn neighbours_of_a_file_take_the_place_of_those_that_a_sweep_varies() {
    let desk = Desk::new();
    desk.file("worst.toml", "title = 'x'\nkind = 'stream'\noperation = 'read'\nsize = '1 MiB'\n");
    let run = ["run", "agilex5-loops", "--against=worst.toml", "--dry-run", "--json"];
    let planned = desk.run(&run).with(0);
    assert!(planned.stderr.contains("would vary: `hammer`"), "{}", planned.stderr);
    let planned = planned.json();
    let cases = list(&planned, "cases");
    let workload = |case: &serde_json::Value| list(case, "neighbours").first().map(|at| at["workload"].clone());
    assert!(cases.iter().filter_map(workload).all(|name| name == "against"), "{planned}");
    assert!(cases.iter().any(|case| case["point"]["core"] == "3 (A76)"), "{planned}");
}

#[test]
fn points_of_a_sweep_are_named_with_the_options_that_choose_one() {
    let desk = Desk::new();
    let sweep = "[[sweep]]\nname = 'size'\nkey = 'targets.0.with.size'\nvalues = ['32 KiB', '64 KiB']\n";
    let swept = SMALL.replace("latency_loop", "chase_llc").replace("200 us", "60 us");
    desk.file("swept.toml", &format!("{swept}{sweep}"));
    let hunt = ["hunt", "swept.toml", "--candidates=14", "--turns=2", "--seed=5", "--json"];
    let dry = ["hunt", "swept.toml", "--dry-run", "--json"];
    let refused = desk.run(&hunt).with(2).stderr;
    assert!(
        refused.contains("expected `--set 'sweep.size.only=32 KiB'` or `--set 'sweep.size.only=64 KiB'`"),
        "{refused}"
    );
    let point = "--set=sweep.size.only=64 KiB";
    for chosen in [[&hunt[..], &[point]].concat(), [&dry[..], &[point, "--target=chase_llc@1"]].concat()] {
        let hunted = desk.run(&chosen).with(0).json();
        assert_eq!(hunted["target"], "chase_llc (size 64 KiB) on core 1", "{chosen:?}");
    }
    // Another target has no such size.
    let other = desk.run(&[&dry[..], &["--target=latency_loop@1"]].concat()).with(0);
    assert!(
        other.stderr.contains("in the place of what this sweep of the experiment would vary: `size`"),
        "{}",
        other.stderr
    );
    assert_eq!(other.json()["target"], "latency_loop on core 1");
}

#[test]
fn mistakes_of_a_hunt_are_one_clear_paragraph_each() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    for (option, word) in [
        ("--cores=x", "expected a list of cores"),
        ("--time-limit=0s", "expected a time over 0"),
        ("--target=latency_loop", "expected WORKLOAD@CORE"),
        ("--cores=1", "--cores 1: found core 1, which is the core of the target"),
        ("--cores=9", "--cores 9: found core 9, which platform `agilex5` does not have"),
        ("--time-limit=1us", "--time-limit: 1 us is too short: the first round and two fresh repeats"),
        ("--also=split_lock", "a simulated platform has no locked bus"),
        ("--beside=stress-ng", "simulated platforms run access patterns only"),
        ("--also=clflush", "a simulated platform has no flushes of lines"),
        ("--set=neighbours=[]", "expected some, such as `--cores 2,3`"),
    ] {
        let ended = desk.run(&["hunt", "small.toml", option]);
        assert!(ended.status == Some(2) || ended.status == Some(3), "{option}: {:?} {}", ended.status, ended.stderr);
        assert!(ended.stderr.contains(word), "{option}: {}", ended.stderr);
        assert!(ended.status == Some(2) || !ended.stderr.contains("--cores") && !option.contains("limit"), "{ended:?}");
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{option}");
    }
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    for (arguments, word) in [
        (&["report", "RUN", "--out=page.html", "--port=8080"][..], "--port"),
        (&["export", "RUN", "--format=openmetrics", "--table=cases"], "--table cases: only CSV has tables"),
        (&["tune", "small.toml", "--budget=mean<=1s", "--candidates=5"], "--hunt"),
        (&["tune", "small.toml", "--budget=mean<=1s", "--candidates=5", "--dry-run"], "--candidates"),
        (&["tune", "small.toml", "--budget=mean<=1s", "--repeats=2"], "--repeats 2: expected 5 or more"),
        (&["run", "--core=4000", "--", "true"], "--core 4000: targets.0.core: found core 4000"),
        (&["run", "--passes=functions", "--", "true"], "--begin FUNCTION"),
    ] {
        let refused = desk.run(arguments).with(2).stderr;
        assert!(refused.contains(word), "{arguments:?}: {refused}");
    }
}

#[test]
fn a_measure_and_a_neighbour_are_searched_by_turns() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    // The goal holds beside anything: the rounds end with the first neighbour that needs no larger share.
    let tune = [
        "tune",
        "small.toml",
        "--budget=mean<=1s",
        "--hunt",
        "--candidates=14",
        "--time-limit=4min",
        "--seed=5",
        "--json",
    ];
    let tuned = desk.run(&tune).with(0).json();
    assert_eq!(tuned["ended"], "neither_improves", "{tuned}");
    let rounds = list(&tuned, "rounds");
    assert_eq!(rounds.len(), 2, "{tuned}");
    assert!(rounds[0]["neighbour"].is_string() && rounds[0]["slowdown"].as_f64().unwrap() > 0.5, "{tuned}");
    assert!(rounds.iter().all(|round| round["answer"] == "no measure"), "{tuned}");
    // The second search knew the neighbour of the first hunt.
    let settings = list(&tuned["tuned"], "settings");
    assert_eq!(settings.len(), 2, "{tuned}");
    assert!(!list(&tuned, "not_searched").is_empty());
    assert_eq!(tuned["objective"], "mean");
    let refused = desk.run(&["tune", "small.toml", "--budget=mean<=1s", "--hunt", "--against=x.toml"]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
}

/// A pass takes a fifth of a repeat alone, and longer than a repeat beside the worst neighbours: their repeats count too.
#[test]
fn repeats_in_which_no_sample_ended_are_not_left_out() {
    let desk = Desk::new();
    let keys = "with = { size = '64 KiB', batch = 1024 }\ncore = 1";
    let slow = SMALL.replace("latency_loop", "chase_llc").replace("core = 1", keys).replace("200 us", "20 us");
    desk.file("slow.toml", &slow);
    let hunt = ["hunt", "slow.toml", "--candidates=14", "--turns=2", "--seed=5"];
    let by_mean = desk.run(&[&hunt[..], &["--json"]].concat()).with(0).json();
    for candidate in list(&by_mean, "candidates") {
        assert_eq!(list(candidate, "ratios").len(), 2, "{candidate}");
        assert!(candidate.get("unended").is_none(), "a longer repeat holds a sample: {candidate}");
    }
    let worst = |hunted: &serde_json::Value| list(hunted, "candidates")[0].clone();
    // 20 us over a pass alone: a slowdown beyond that could not be seen in a repeat of this length.
    let most_in_a_repeat = 5.0;
    assert!(worst(&by_mean)["mean"].as_f64().unwrap() > most_in_a_repeat, "{}", worst(&by_mean));
    // The largest sample is not sought in longer repeats: what is known is a bound, and is called one.
    let by_max = desk.run(&[&hunt[..], &["--objective=max", "--json"]].concat()).with(0).json();
    assert!(worst(&by_max)["unended"].as_u64().is_some_and(|unended| unended > 0), "{}", worst(&by_max));
    assert_eq!(list(&worst(&by_max), "ratios").len(), 2, "{}", worst(&by_max));
    let text = desk.run(&[&hunt[..], &["--objective=max"]].concat()).with(0).stdout;
    assert!(text.contains("Worst neighbour found: ") && text.contains(": at least x"), "{text}");
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains("no sample of the target ended"), "{text}");
}

#[test]
fn a_dry_run_says_what_would_be_tried_and_measures_nothing() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let hunt = ["hunt", "small.toml", "--candidates=3", "--repeats=7", "--dry-run", "--out=worst.toml"];
    let foreseen = desk.run(&[&hunt[..], &["--json"]].concat()).with(0).json();
    assert_eq!(
        (foreseen["target"].as_str(), foreseen["executor"].as_str()),
        (Some("latency_loop on core 1"), Some("sim"))
    );
    assert_eq!(list(&foreseen, "cores").iter().filter_map(|core| core.as_u64()).collect::<Vec<_>>(), [2, 3]);
    // All bundled ones and one other at least, however few are asked for.
    let bundled = list(&foreseen, "bundled");
    assert!(bundled.iter().any(|name| name == "way_hammer"), "{bundled:?}");
    assert_eq!(foreseen["candidates"].as_u64(), Some(bundled.len() as u64 + 1));
    assert_eq!((foreseen["fresh_repeats"].as_u64(), foreseen["repeat_s"].as_f64()), (Some(7), Some(200e-6)));
    let text = desk.run(&hunt).with(0).stdout;
    assert!(text.contains("beside neighbours on the cores 2, 3") && text.contains("way_hammer"), "{text}");
    assert!(!desk.path().join("worst.toml").exists());
    // What a hunt refuses before it measures, it refuses here too: also a file that could not be written after minutes of it.
    let lost = desk.run(&["hunt", "small.toml", "--out=nowhere/worst.toml"]).with(3).stderr;
    assert!(lost.contains("nowhere/worst.toml: it cannot be written (nowhere: No such file"), "{lost}");
    desk.run(&[&hunt[..], &["--cores=1"]].concat()).with(2);
}
