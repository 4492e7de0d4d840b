//! Exit statuses: what became of budgets, and what a place cannot do.

use crate::program::{Desk, Ended, case, list, this_machine};

fn judged(desk: &Desk, duration: &str, budgets: &[&str]) -> Ended {
    let mut arguments = vec![
        "run",
        "agilex5-cluster-latency",
        "--repeats=2",
        "--set=mitigations=[]",
        "--out=kept",
        "--duration",
        duration,
    ];
    budgets.iter().for_each(|budget| arguments.extend(["--budget", budget]));
    desk.run(&arguments)
}

fn kinds(desk: &Desk) -> Vec<String> {
    let record = desk.record("kept");
    record["budgets"].as_array().unwrap().iter().map(|b| b["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_broken_budget_is_1() {
    let desk = Desk::new();
    let text = judged(&desk, "1ms", &["max<=1ns"]).with(1).stdout;
    assert_eq!(kinds(&desk), ["broken", "broken"]);
    assert!(text.contains("max<=1ns for idle: "), "{text}");
}

#[test]
fn a_budget_not_seen_broken_is_0() {
    // Judged against one sample in 1000: 3/n is below that from 3000 samples on, and 2 ms of the loop are over 10000.
    let desk = Desk::new();
    judged(&desk, "1ms", &["max<=500us", "mean<=500us"]).with(0);
    assert_eq!(kinds(&desk), ["not_seen_broken"; 4]);
}

#[test]
fn a_budget_on_too_few_samples_is_4() {
    // The last: in a repeat of 1 ms nothing of 1 s could have been seen.
    for (duration, budget) in
        [("100us", "p99.99<=50us"), ("20us", "max<=19us"), ("1ms", "max<=500us@1e-9"), ("1ms", "max<=1s")]
    {
        let desk = Desk::new();
        judged(&desk, duration, &[budget]).with(4);
        assert_eq!(kinds(&desk), ["too_thin"; 2], "{budget}");
    }
}

#[test]
fn a_broken_budget_outweighs_one_that_is_too_thin() {
    judged(&Desk::new(), "1ms", &["max<=500us@1e-9", "max<=1ns", "mean<=500us"]).with(1);
}

#[test]
fn a_budget_for_one_mitigation_leaves_the_others_alone() {
    let desk = Desk::new();
    let run = [
        "run",
        "agilex5-cluster-latency",
        "--duration=1ms",
        "--repeats=1",
        "--set=mitigations=colouring",
        "--out=kept",
    ];
    desk.run(&[&run[..], &["--budget", "colouring: max<=500us"]].concat()).with(0);
    let record = desk.record("kept");
    let cases: Vec<_> = record["budgets"].as_array().unwrap().iter().map(|b| b["case"].as_str().unwrap()).collect();
    assert_eq!(cases, ["colouring, idle", "colouring"]);
}

#[test]
fn budgets_of_the_file_count_too() {
    let desk = Desk::new();
    let run = ["run", "agilex5-cluster-latency", "--duration=1ms", "--repeats=1", "--set=mitigations=[]"];
    desk.run(&[&run[..], &["--set", "budgets=max<=1ns"]].concat()).with(1);
}

/// A run on this machine that cannot be done: status 3, a reason, and nothing left behind.
#[track_caller]
fn cannot(desk: &Desk, experiment: &str, told: &[&str]) {
    let _alone = this_machine();
    desk.file("impossible.toml", experiment);
    let ended = desk.run(&["run", "impossible.toml", "--duration=10ms", "--repeats=1"]).with(3);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    told.iter().for_each(|word| assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr));
    assert_eq!(desk.names(), ["impossible.toml"]);
}

#[test]
fn a_neighbour_that_is_not_installed_is_3() {
    let experiment = "title = 'x'\nsentinel = false\ntargets = [{ workload = 'latency_loop' }]\n\
         neighbours = [{ workload = 'absent' }]\n[workloads.absent]\nkind = 'command'\nargv = ['no-such-program-anywhere']\n";
    cannot(&Desk::new(), experiment, &["`no-such-program-anywhere`", "is not on this machine"]);
}

#[test]
fn a_neighbour_that_ends_too_early_is_3() {
    let experiment = "title = 'x'\nsentinel = false\ntargets = [{ workload = 'latency_loop' }]\n\
         neighbours = [{ workload = 'brief' }]\n[workloads.brief]\nkind = 'command'\nargv = ['false']\n";
    let _alone = this_machine();
    let desk = Desk::new();
    desk.file("impossible.toml", experiment);
    let ended = desk.run(&["run", "impossible.toml", "--duration=10ms", "--repeats=1", "--out=kept"]).with(3);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    for word in ["error: ", "`false`", "ended by itself", "exit status: 1", "`waykeeper run --resume kept` goes on"] {
        assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
    // The idle case had ended before: it is not lost.
    let shown = desk.run(&["show", "kept", "--json"]).with(0).json();
    let repeats = |name| list(case(&shown, name), "repeats").len();
    assert_eq!((repeats("idle"), repeats("none")), (1, 0));
}

#[test]
fn a_buffer_larger_than_the_memory_is_3() {
    let experiment = "title = 'x'\ntargets = [{ workload = 'vast' }]\n\
         [workloads.vast]\nkind = 'chase'\nsize = '1000 GiB'\nstride = '4 KiB'\n";
    cannot(&Desk::new(), experiment, &["case `idle` needs 1024000 MiB", "available"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_3() {
    let desk = Desk::new();
    let out = ["--out=/proc/here"];
    let run = ["run", "agilex5-cluster-latency", "--duration=10us", "--repeats=1", "--set=mitigations=[]"];
    let ended = desk.run(&[&run[..], &out].concat()).with(3);
    assert!(ended.stderr.contains("/proc/here") && ended.stderr.contains("--out"), "{}", ended.stderr);
}

/// A copy of the kept run in which every maximum of a repeat is so many times as large.
fn with_maxima(desk: &Desk, name: &str, times: f64) {
    let mut run = desk.record("kept");
    for case in run["cases"].as_array_mut().unwrap() {
        for repeat in case["repeats"].as_array_mut().unwrap() {
            repeat["max_ns"] = (repeat["max_ns"].as_f64().unwrap() * times).into();
        }
    }
    desk.file(name, &run.to_string());
}

#[test]
fn a_comparison_fails_on_a_case_that_is_worse() {
    let desk = Desk::new();
    let run = ["run", "agilex5-cluster-latency", "--set=mitigations=[]", "--duration=1ms", "--repeats=5", "--out=kept"];
    desk.run(&run).with(0);
    with_maxima(&desk, "worse.json", 3.0);
    let compare = |a: &str, b: &str| desk.run(&["compare", a, b, "--fail-on", "worse", "--json"]);
    let outcomes = |ended: &Ended| -> Vec<String> {
        list(&ended.json(), "cases").iter().map(|case| case["outcome"].as_str().unwrap().to_owned()).collect()
    };
    // Five maxima above five others: p = 1/126 for one side.
    assert_eq!(outcomes(&compare("kept", "worse.json").with(1)), ["worse", "worse"]);
    assert_eq!(outcomes(&compare("worse.json", "kept").with(0)), ["better", "better"]);
    assert_eq!(outcomes(&compare("kept", "kept").with(0)), ["no_difference_shown", "no_difference_shown"]);
    // Without the option a comparison is no judgement.
    desk.run(&["compare", "kept", "worse.json"]).with(0);
}

#[test]
fn a_comparison_that_cannot_tell_is_no_success() {
    let desk = Desk::new();
    judged(&desk, "1ms", &[]).with(0);
    with_maxima(&desk, "worse.json", 3.0);
    desk.run(&["compare", "kept", "worse.json", "--fail-on=worse"]).with(4);
    // Five repeats, but a case is missing in the second run.
    let run = ["run", "agilex5-cluster-latency", "--set=mitigations=[]", "--duration=1ms", "--repeats=5", "--out=five"];
    desk.run(&run).with(0);
    let mut record = desk.record("five");
    record["cases"].as_array_mut().unwrap().pop();
    desk.file("one.json", &record.to_string());
    desk.run(&["compare", "five", "one.json", "--fail-on=worse"]).with(4);
}

#[test]
fn a_file_that_cannot_be_executed_is_a_mistake_and_a_missing_program_is_3_also_for_load() {
    let desk = Desk::new();
    desk.file("own.toml", "kind = 'command'\nargv = ['./plain.txt']\n");
    desk.file("plain.txt", "no program\n");
    desk.file("other.toml", "kind = 'command'\nargv = ['no-such-program-anywhere']\n");
    for (workload, status, told) in [("own.toml@0", 2, "./plain.txt"), ("other.toml@0", 3, "no-such-program-anywhere")]
    {
        let ended = desk.run(&["load", workload]).with(status);
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}
