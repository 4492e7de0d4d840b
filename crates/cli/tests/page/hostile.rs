//! A run whose every text tries to become a part of the page.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::chromium::{Chromium, DESKTOP};
use crate::program::Desk;

const HOSTILE: &str = "</script><script>window.hacked=1;alert(1)</script><img src=x onerror=window.hacked=2>\
    <!--\"'><a href=http://example.invalid/>{{data}}\u{2028}\u{2029}\u{202e}\u{1b}[2J";

/// Each text of a run becomes hostile, but for those that decide what it is and where its histograms are.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) if !["host", "none"].contains(&text.as_str()) => *text += HOSTILE,
        Value::Array(items) => items.iter_mut().for_each(spoil),
        Value::Object(members) => {
            let decides = ["executor", "kind", "metric", "histogram"];
            members
                .iter_mut()
                .filter(|(key, _)| !decides.contains(&key.as_str()))
                .for_each(|(_, member)| spoil(member));
        }
        _ => {}
    }
}

#[test]
fn nothing_that_a_run_says_becomes_a_part_of_the_page() {
    let desk = Desk::new();
    for kind in ["host", "simulated"] {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/0.1.0").join(kind);
        fs::create_dir(desk.path().join(kind)).unwrap();
        for name in ["samples.hlog", "excursions.hlog", "experiment.toml"] {
            fs::copy(kept.join(name), desk.path().join(kind).join(name)).unwrap();
        }
        let mut run: Value = serde_json::from_slice(&fs::read(kept.join("run.json")).unwrap()).unwrap();
        spoil(&mut run);
        desk.file(&format!("{kind}/run.json"), &run.to_string());
    }
    desk.run(&["report", "host", "simulated", "--out=page.html"]).with(0);
    let html = fs::read_to_string(desk.path().join("page.html")).unwrap();
    assert!(!html.contains(['\u{202e}', '\u{2028}', '\u{1b}']));
    let mut browser = Chromium::start(DESKTOP);
    assert!(browser.open(&desk.path().join("page.html")) >= 3);
    assert_eq!(browser.evaluate("window.hacked === undefined"), true);
    // Our data, the chart script, our script; no picture and no link is ours.
    assert_eq!(browser.evaluate("document.scripts.length"), 3);
    assert_eq!(browser.evaluate("document.querySelectorAll('img, a, iframe, object').length"), 0);
    // The hostile name is there as text.
    let named = browser.evaluate("document.querySelector('table.cases td').textContent.includes('</script><script>')");
    assert_eq!(named, true);
    // Tooltips are where names meet markup once more.
    let hovered = "(() => { const r = document.querySelector('#latency .chart').getBoundingClientRect(); window.scrollTo(0, r.top - 100);
        const s = document.querySelector('#latency .chart').getBoundingClientRect(); return [s.left + s.width / 2, s.top + s.height / 2]; })()";
    let at = browser.evaluate(hovered);
    for step in 0..20 {
        browser.point_at(at[0].as_f64().unwrap() - 300.0 + 30.0 * f64::from(step), at[1].as_f64().unwrap());
    }
    assert_eq!(
        browser.evaluate("document.querySelector('#latency .tip') !== null && window.hacked === undefined"),
        true
    );
    assert_eq!(browser.evaluate("document.querySelectorAll('img, a, iframe, object').length"), 0);
    assert_eq!(browser.complaints, [""; 0]);
    assert!(
        browser.requests.iter().all(|url| url.starts_with("file:") || url.starts_with("data:")),
        "{:?}",
        browser.requests
    );
}
