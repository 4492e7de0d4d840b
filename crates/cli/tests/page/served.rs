//! `waykeeper report --serve`: the page of a run that goes on, in a browser.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::chromium::{Chromium, DESKTOP};
use crate::program::{Desk, eventually, list};

const EXPERIMENT: &str = "title = 'x'\nplatform = 'agilex5'\nsentinel = false\n\
    targets = [{ workload = 'latency_loop', core = 1 }]\n\
    neighbours = [{ workload = 'way_hammer', cores = [2] }]\nmitigations = ['nl3a']\n";

/// A process that ends with the test.
struct Going(Child);

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run of so many repeats of each of four cases, of which some are kept.
fn begun(desk: &Desk, repeats: &str) -> Going {
    desk.file("mine.toml", EXPERIMENT);
    let mut command = desk.command(&["run", "mine.toml", "--duration=4ms", repeats, "--out=kept"]);
    let run = Going(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let log = desk.path().join("kept/repeats.log");
    eventually("a repeat", || (fs::read(&log).ok()?.iter().filter(|byte| **byte == b'\n').count() > 2).then_some(()));
    run
}

/// A server of that run, and its address.
fn server(desk: &Desk) -> (Going, String) {
    let mut command = desk.command(&["report", "--serve", "kept"]);
    let mut server = Going(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (server, address.trim().to_owned())
}

#[test]
fn the_page_follows_the_run_to_its_end_and_stays_where_its_reader_is() {
    let desk = Desk::new();
    let _run = begun(&desk, "--repeats=120");
    let (_server, address) = server(&desk);
    let mut browser = Chromium::start(DESKTOP);
    browser.open_address(&address);
    let unfinished = "document.querySelector('header').textContent.includes('This run is unfinished')";
    assert_eq!(browser.evaluate(unfinished), true);
    let version = browser.evaluate("document.querySelector('meta[name=waykeeper-live]').content");
    browser.evaluate("document.querySelector('#theme').click(); window.scrollTo(0, 500)");
    let newer = format!(
        "document.documentElement.dataset.drawn && document.querySelector('meta[name=waykeeper-live]')?.content !== {version}"
    );
    browser.wait_for(&newer);
    assert_eq!(browser.evaluate("document.documentElement.dataset.theme"), "dark");
    assert_eq!(browser.evaluate("window.scrollY"), 500);
    // The whole run: nothing asks for more, and the figures are those of run.json.
    browser.wait_for("document.documentElement.dataset.drawn && !document.querySelector('meta[name=waykeeper-live]')");
    assert_eq!(browser.evaluate(unfinished), false);
    assert_eq!(browser.evaluate("document.querySelector('#live').hidden"), true);
    let samples = browser.evaluate(
        "[...document.querySelectorAll('table.cases tbody tr td[data-label=samples]')].map(cell => Number(cell.dataset.value))",
    );
    let record = desk.record("kept");
    let kept: Vec<_> = list(&record, "cases").iter().map(|case| &case["samples"]).collect();
    assert_eq!(samples, serde_json::json!(kept));
    assert_eq!(browser.complaints, [""; 0]);
    assert!(browser.requests.iter().all(|url| *url == address || url.starts_with("data:")), "{:?}", browser.requests);
}

#[test]
fn a_page_whose_server_has_ended_says_so_and_stays() {
    let desk = Desk::new();
    drop(begun(&desk, "--repeats=400"));
    let (server, address) = server(&desk);
    let mut browser = Chromium::start(DESKTOP);
    browser.open_address(&address);
    assert_eq!(browser.evaluate("document.querySelector('#live').textContent.includes('goes on')"), true);
    drop(server);
    browser.wait_for("document.querySelector('#live').textContent.includes('does not answer')");
    assert_eq!(browser.evaluate("document.querySelector('#latency') !== null"), true);
}
