//! Neighbours that did not do their work: what a comparison and a budget say then.

use serde_json::Value;

use crate::program::{Desk, Ended, list, this_machine};

/// Beside one program on this machine, without cases alone: short, and with no excursions to differ in.
fn beside(script: &str) -> String {
    format!(
        "title = 'x'\nname = 'beside'\nsentinel = false\nsolo = false\nduration = '50 ms'\nexcursions.over_min = '1 s'\n\
         targets = [{{ workload = 'latency_loop' }}]\nneighbours = [{{ workload = 'load' }}]\n\
         [workloads.load]\nkind = 'command'\nargv = ['sh', '-c', '{script}']\n"
    )
}

const SPIN: &str = "while :; do :; done";
const STOPPED: &str = "kill -STOP $$";
const HALF: &str = "while :; do timeout 0.02 sh -c \"while :; do :; done\"; sleep 0.02; done";

fn measured(desk: &Desk, script: &str, out: &str, repeats: u32, more: &[&str]) -> Ended {
    desk.file("beside.toml", &beside(script));
    let (out, repeats) = (format!("--out={out}"), format!("--repeats={repeats}"));
    desk.run(&[&["run", "beside.toml", &out, &repeats], more].concat())
}

/// A copy of a run with maxima that are above those of any other.
fn with_high_maxima(desk: &Desk, run: &str, copy: &str) {
    let mut record = desk.record(run);
    for repeat in record["cases"][0]["repeats"].as_array_mut().unwrap() {
        repeat["max_ns"] = (repeat["max_ns"].as_f64().unwrap() + 1e10).into();
    }
    desk.file(copy, &record.to_string());
}

fn compared(desk: &Desk, a: &str, b: &str, status: i32) -> (String, String) {
    let told = desk.run(&["compare", a, b, "--fail-on=worse", "--json"]).with(status).json();
    let text = |key: &str| told["cases"][0][key].as_str().unwrap().to_owned();
    (text("outcome"), text("b_beside_a"))
}

/// Sets a run beside a program that works less than another one beside it.
fn beside_less(script: &str) {
    let _alone = this_machine();
    let desk = Desk::new();
    measured(&desk, SPIN, "spinning", 5, &[]).with(0);
    measured(&desk, script, "less", 4, &[]).with(0);
    with_high_maxima(&desk, "spinning", "high.json");
    let (outcome, text) = compared(&desk, "high.json", "less", 4);
    assert_eq!(outcome, "cannot_tell", "{text}");
    assert!(text.starts_with("cannot tell: load on core ") && text.contains(" worked less in B: "), "{text}");
    assert_eq!(text.matches(" s of processor time a second in ").count(), 2, "{text}");
    assert!(text.ends_with("; maxima lower"), "{text}");
    // Worse in spite of less work is worse.
    with_high_maxima(&desk, "less", "high.json");
    assert_eq!(compared(&desk, "spinning", "high.json", 1).0, "worse");
}

#[test]
fn a_run_beside_a_program_that_stopped_itself_is_not_better() {
    beside_less(STOPPED);
}

#[test]
fn a_run_beside_a_program_that_sleeps_half_of_the_time_is_not_better() {
    beside_less(HALF);
}

#[test]
fn a_budget_beside_a_program_that_stopped_itself_is_too_thin_to_say() {
    let _alone = this_machine();
    let desk = Desk::new();
    // Far above any mean, and below a repeat.
    let text = measured(&desk, STOPPED, "stopped", 2, &["--budget=mean<=40ms"]).with(4).stdout;
    assert!(text.contains("the neighbour did not work"), "{text}");
    let budget = |run: &Value| {
        let budget = &list(run, "budgets")[0];
        (budget["kind"].as_str().unwrap().to_owned(), budget["text"].as_str().unwrap().to_owned())
    };
    let (kind, text) = budget(&desk.record("stopped"));
    assert_eq!(kind, "too_thin");
    let said = [
        "too thin to say, because the neighbour did not work: load on core ",
        " did 0.000 s of processor time a second",
    ];
    assert!(said.iter().all(|said| text.contains(said)), "{text}");
    // What breaks without it is broken.
    measured(&desk, STOPPED, "broken", 2, &["--budget=mean<=1ns"]).with(1);
    measured(&desk, SPIN, "spinning", 2, &["--budget=mean<=40ms"]).with(0);
    assert_eq!(budget(&desk.record("spinning")).0, "not_seen_broken");
}

/// Two simulated neighbours walk 1 MiB once a period, which takes most of the shorter one.
fn walking(desk: &Desk, period: &str, out: &str, set: &str) {
    let experiment = format!(
        "title = 'x'\nname = 'walking'\nplatform = 'agilex5'\nsentinel = false\nsolo = false\nduration = '1 ms'\n\
         excursions.over_min = '100 ns'\n\
         targets = [{{ workload = 'mine', core = 1 }}]\nneighbours = [{{ workload = 'walker', cores = [2, 3] }}]\n\
         [workloads.mine]\nkind = 'chase'\nsize = '512 KiB'\nstride = '64 B'\nbatch = 4\n\
         [workloads.walker]\nkind = 'buffer'\nsize = '1 MiB'\nstride = '64 B'\noperation = 'read'\nperiod = '{period}'\n"
    );
    desk.file("walking.toml", &experiment);
    desk.run(&["run", "walking.toml", &format!("--out={out}"), set]).with(0);
}

#[test]
fn a_simulated_run_beside_half_of_the_work_is_better_only_where_that_is_accepted() {
    let desk = Desk::new();
    for (least, whole, half) in [("0.9", "a", "b"), ("0.2", "c", "d")] {
        let least = format!("--set=least_neighbour_work={least}");
        walking(&desk, "300 us", whole, &least);
        walking(&desk, "600 us", half, &least);
    }
    let (outcome, text) = compared(&desk, "a", "b", 4);
    assert_eq!(outcome, "cannot_tell", "{text}");
    assert!(text.starts_with("cannot tell: walker on core ") && text.contains(" worked less in B: "), "{text}");
    assert_eq!(text.matches(" accesses a second in ").count(), 2, "{text}");
    assert_eq!(compared(&desk, "c", "d", 0).0, "better");
    // The larger share of the two holds.
    assert_eq!(compared(&desk, "c", "b", 4).0, "cannot_tell");
    // The other way round the first run looks good by it.
    assert_eq!(compared(&desk, "d", "c", 1).0, "worse");
    assert_eq!(compared(&desk, "b", "a", 4).0, "cannot_tell");
}
