//! What a page is made of: several runs, a run that has not ended, a record alone.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::chromium::{Chromium, DESKTOP};
use crate::program::{Desk, names_in};

const EXPERIMENT: &str = "title = 'x'\nplatform = 'agilex5'\nsentinel = false\n\
    targets = [{ workload = 'latency_loop', core = 1 }]\n\
    neighbours = [{ workload = 'way_hammer', cores = [2] }]\nmitigations = ['nl3a']\n";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("mine.toml", EXPERIMENT);
    desk
}

fn page(desk: &Desk, name: &str) -> String {
    fs::read_to_string(desk.path().join(name)).unwrap()
}

#[test]
fn several_runs_are_compared_on_one_page() {
    let desk = desk();
    for (seed, out) in [("--seed=1", "--out=one"), ("--seed=2", "--out=two")] {
        desk.run(&["run", "mine.toml", "--duration=1ms", "--repeats=2", seed, out]).with(0);
    }
    desk.run(&["report", "one", "two", "--out=page.html"]).with(0);
    let compared = desk.run(&["compare", "one", "two", "--json"]).with(0).json();
    let mut browser = Chromium::start(DESKTOP);
    browser.open(&desk.path().join("page.html"));
    let rows = browser.evaluate(
        "[...document.querySelectorAll('table.compared tbody tr')].map(row => [...row.cells].map(cell => cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value)))",
    );
    let cases = compared["cases"].as_array().unwrap();
    assert_eq!(rows.as_array().unwrap().len(), cases.len());
    for (row, case) in rows.as_array().unwrap().iter().zip(cases) {
        let mean = &case["figures"]["mean_ns"];
        assert_eq!((&row[0], &row[1]), (&case["case"], &case["b_beside_a"]));
        let figures = [&row[2], &row[3], &row[4]].map(|cell| cell.as_f64());
        assert_eq!(figures, [&mean["a"], &mean["b"], &mean["ratio"]].map(|figure| figure.as_f64()));
    }
    let labels =
        browser.evaluate("[...document.querySelectorAll('#latency .legend button span')].map(s => s.textContent)");
    assert!(labels.as_array().unwrap().iter().any(|label| label == "B: nl3a, in 2 ms"), "{labels}");
    assert!(page(&desk, "page.html").contains("The seeds differ: 1 and 2."));
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn a_run_that_has_not_ended_says_so() {
    let desk = desk();
    let mut command = desk.command(&["run", "mine.toml", "--duration=2ms", "--repeats=40", "--out=kept"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let log = desk.path().join("kept/repeats.log");
    let begun = Instant::now();
    while fs::read(&log).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count() < 4 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no repeat has ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    desk.run(&["report", "kept", "--out=page.html"]).with(0);
    let html = page(&desk, "page.html");
    let banner = "<p class=\"banner\">This run is unfinished: ";
    assert!(html.contains(banner) && html.contains("id=\"latency\""), "{}", &html[..4000]);
    assert_eq!(names_in(&desk.path().join("kept")), ["experiment.toml", "repeats.log"]);
}

#[test]
fn a_record_alone_says_what_is_missing() {
    let desk = desk();
    desk.run(&["run", "mine.toml", "--duration=1ms", "--repeats=2", "--out=run"]).with(0);
    fs::create_dir(desk.path().join("alone")).unwrap();
    fs::copy(desk.path().join("run/run.json"), desk.path().join("alone/run.json")).unwrap();
    desk.run(&["report", "alone/run.json"]).with(0);
    let html = page(&desk, "mine.html");
    assert!(html.contains("The distributions are left out: "), "{}", &html[..4000]);
    assert!(!html.contains("id=\"latency\"") && html.contains("id=\"peaks\""));
}

#[test]
fn what_cannot_be_read_or_written_is_refused_with_a_reason() {
    let desk = desk();
    let ended = desk.run(&["report", "nowhere"]).with(2);
    assert!(ended.stderr.contains("nowhere") && ended.stderr.contains("expected the folder"), "{ended:?}");
    desk.run(&["run", "mine.toml", "--duration=1ms", "--repeats=1", "--out=run"]).with(0);
    let ended = desk.run(&["report", "run", "--out=no/such/folder/page.html"]).with(3);
    assert!(ended.stderr.contains("no/such/folder/page.html: it cannot be written"), "{ended:?}");
    // A page that is there is replaced, and nothing else is left beside it.
    let mut old = fs::File::create(desk.path().join("page.html")).unwrap();
    old.write_all(b"old").unwrap();
    desk.run(&["report", "run", "--out=page.html"]).with(0);
    assert!(page(&desk, "page.html").starts_with("<!DOCTYPE html>"));
    assert_eq!(desk.names(), ["mine.toml", "page.html", "run"]);
}
