//! `tail`: what a kept run says about longer ones.

use crate::program::Desk;

/// A short run, kept in `run`.
fn desk() -> (Desk, serde_json::Value) {
    let desk = Desk::new();
    let run = [
        "run",
        "agilex5-cluster-latency",
        "--duration=1ms",
        "--repeats=2",
        "--set=mitigations=nl3a",
        "--json",
        "--out=run",
    ];
    let run = desk.run(&run).with(0).json();
    (desk, run)
}

#[test]
fn each_case_tells_why_a_short_run_says_nothing() {
    let (desk, run) = desk();
    let tails = desk.run(&["tail", "run", "--json"]).with(0).json();
    let cases = run["cases"].as_array().unwrap();
    assert_eq!(tails.as_array().unwrap().len(), cases.len());
    let mut few = 0;
    for (tail, case) in tails.as_array().unwrap().iter().zip(cases) {
        assert_eq!((&tail["case"], &tail["seen_max_ns"]), (&case["name"], &case["max_ns"]));
        // As long as the published run, which is an hour.
        assert_eq!(tail["over_s"], 3600.0);
        let events = case["excursion_events"].as_u64().unwrap();
        let why = tail["unsettled"].as_str().unwrap_or_default();
        match events {
            0 => assert_eq!(why, "no excursions"),
            1 => assert_eq!(why, "1 peak is too few: it takes more than 50"),
            2..=50 => assert_eq!(why, format!("{events} peaks are too few: it takes more than 50")),
            _ => assert!(tail.get("forecast").is_some() || why.contains("settled") || why.contains("kind"), "{tail}"),
        }
        few += u32::from((1..=50).contains(&events));
    }
    assert!(few > 0, "{run}");
    let text = desk.run(&["tail", "run/run.json", "--over", "24h"]).with(0).stdout;
    assert!(text.contains("no excursions: idle") && text.contains("None of this bounds anything."), "{text}");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let (desk, _) = desk();
    let text = desk.run(&["tail", "run", "--over", "0s"]).with(2).stderr;
    assert!(text.contains("--over") && text.contains("1h"), "{text}");
    let text = desk.run(&["tail", "run", "--over", "soon"]).with(2).stderr;
    assert!(text.contains("--over") && text.contains("`soon`"), "{text}");
    let whole = std::fs::read_to_string(desk.path().join("run/excursions.hlog")).unwrap();
    std::fs::write(desk.path().join("run/excursions.hlog"), "no log\n").unwrap();
    let text = desk.run(&["tail", "run"]).with(2).stderr;
    assert!(text.contains("excursions.hlog:1: ") && text.contains("HdrHistogram"), "{text}");
    // The lines before the damaged one are counted, whatever they hold.
    let cut: Vec<&str> = whole.lines().take(5).collect();
    let cut = format!("{}\n{}", cut.join("\n"), "Tag=c01.r1,0.0");
    std::fs::write(desk.path().join("run/excursions.hlog"), cut).unwrap();
    let text = desk.run(&["tail", "run"]).with(2).stderr;
    assert!(text.contains("excursions.hlog:6: this line is no histogram") && !text.contains("ParseError"), "{text}");
    std::fs::remove_file(desk.path().join("run/excursions.hlog")).unwrap();
    let text = desk.run(&["tail", "run"]).with(2).stderr;
    assert!(text.contains("excursions.hlog") && text.contains("maxima of events"), "{text}");
}

#[test]
fn a_log_with_other_numbers_than_the_record_is_no_run_without_excursions() {
    let (desk, _) = desk();
    let place = desk.path().join("run/excursions.hlog");
    let whole = std::fs::read_to_string(&place).unwrap();
    let without_a_repeat: String =
        whole.split_inclusive('\n').filter(|line| !line.starts_with("Tag=c02.r2,")).collect();
    for (text, found) in
        [(String::new(), "found no histogram for repeat 1 of"), (without_a_repeat, "for repeat 2 of none,")]
    {
        std::fs::write(&place, text).unwrap();
        let refused = desk.run(&["tail", "run"]).with(2).stderr;
        assert!(refused.contains("excursions.hlog: ") && refused.contains(found), "{refused}");
        assert!(refused.contains("a whole copy of the run's folder would do"), "{refused}");
    }
    // Another repeat's histogram.
    std::fs::write(&place, whole.replacen("Tag=c01.r1,", "Tag=c99.r1,", 1).replacen("Tag=c02.r1,", "Tag=c01.r1,", 1))
        .unwrap();
    assert!(desk.run(&["tail", "run"]).with(2).stderr.contains("excursions.hlog: found "));
    // A page says what it leaves out.
    std::fs::write(desk.path().join("run/samples.hlog"), "").unwrap();
    let said = desk.run(&["report", "run", "--out=page.html"]).with(0).stderr;
    assert!(
        said.contains("note: run: The distributions are left out: ") && said.contains("The tails are left out: "),
        "{said}"
    );
    let page = std::fs::read_to_string(desk.path().join("page.html")).unwrap();
    assert!(page.contains("The distributions are left out: ") && page.contains("The tails are left out: "));
}
