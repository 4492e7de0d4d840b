//! The page of a simulated run: it renders, complains of nothing, asks for nothing, and shows what run.json has.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::chromium::{Chromium, DESKTOP, PHONE};
use crate::program::{Desk, list};

/// A run with everything that a short one can have.
const RUN: [&str; 10] = [
    "run",
    "agilex5-cluster-latency",
    "--set=mitigations=nl3a",
    "--duration=4ms",
    "--repeats=2",
    "--explain=1",
    "--budget=max<=3us",
    "--budget=p99<=1ms",
    "--set=table.shape=true",
    "--out=run",
];

fn desk() -> Desk {
    let desk = Desk::new();
    let ended = desk.run(&RUN);
    assert!(matches!(ended.status, Some(0 | 1)), "{ended:?}");
    desk.run(&["report", "run", "--out=page.html"]).with(0);
    desk
}

/// The data that the page carries.
fn data(desk: &Desk, page: &str) -> Value {
    let html = fs::read_to_string(desk.path().join(page)).unwrap();
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[track_caller]
fn is_quiet(browser: &Chromium) {
    assert_eq!(browser.complaints, [""; 0]);
    let elsewhere: Vec<_> = browser.requests.iter().filter(|url| !url.starts_with("data:")).collect();
    assert!(matches!(elsewhere.as_slice(), [page] if page.starts_with("file:")), "{elsewhere:?}");
}

#[test]
fn a_page_renders_on_both_screens_and_asks_for_nothing() {
    let desk = desk();
    let page = desk.path().join("page.html");
    for screen in [DESKTOP, PHONE] {
        let mut browser = Chromium::start(screen);
        let drawn = browser.open(&page);
        assert_eq!(drawn as u64, browser.evaluate("document.querySelectorAll('figure').length").as_u64().unwrap());
        assert!(drawn >= 4, "{drawn}");
        // Each picture has lines or bars in it.
        let marks = browser
            .evaluate("[...document.querySelectorAll('.chart')].map(c => c.querySelectorAll('svg path').length)");
        assert!(marks.as_array().unwrap().iter().all(|n| n.as_u64().unwrap() > 5), "{marks}");
        let wide = browser.evaluate("document.documentElement.scrollWidth").as_u64().unwrap();
        assert!(wide <= u64::from(screen.width), "{screen:?}: {wide}");
        let smallest = "Math.min(...[...document.querySelectorAll('svg text, td, li, p, figcaption, button')]
            .map(e => parseFloat(getComputedStyle(e).fontSize)))";
        assert!(browser.evaluate(smallest).as_f64().unwrap() >= 12.0);
        // A verdict's badge stands beside or above its text, never on it.
        let covered = "[...document.querySelectorAll('.badge')].map(badge => [badge, badge.nextElementSibling]).filter(([, text]) => text)
            .map(pair => pair.map(e => e.getBoundingClientRect()))
            .filter(([badge, text]) => badge.right > text.left && badge.left < text.right && badge.bottom > text.top && badge.top < text.bottom).length";
        assert_eq!(browser.evaluate(covered).as_u64(), Some(0), "{screen:?}");
        let paper = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert_eq!(paper, if screen.dark { "rgb(18, 22, 27)" } else { "rgb(251, 251, 252)" });
        is_quiet(&browser);
        // For a person who looks at it.
        if let Some(folder) = std::env::var_os("WAYKEEPER_PAGE_PICTURES") {
            fs::write(Path::new(&folder).join(format!("{}.png", screen.width)), browser.picture()).unwrap();
        }
    }
}

#[test]
fn a_page_prints() {
    let desk = desk();
    let mut browser = Chromium::start(PHONE);
    browser.open(&desk.path().join("page.html"));
    let paper = browser.paper();
    assert!(paper.starts_with(b"%PDF") && paper.len() > 20_000, "{}", paper.len());
    is_quiet(&browser);
}

#[test]
fn the_page_without_its_data_is_small() {
    let desk = desk();
    let html = fs::read_to_string(desk.path().join("page.html")).unwrap();
    let own = html.len() - data(&desk, "page.html").to_string().len();
    assert!(own < 2_000_000, "{own}");
}

#[test]
fn figures_of_the_page_are_those_of_run_json() {
    let desk = desk();
    let run = desk.record("run");
    let data = data(&desk, "page.html");
    let cases = list(&run, "cases");
    assert_eq!(list(&data, "cases").len(), cases.len());
    for (case, shown) in cases.iter().zip(list(&data, "cases")) {
        for key in ["name", "samples", "run_length_s", "min_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns", "slowdown"] {
            assert_eq!(case.get(key), shown.get(key), "{key} of {}", case["name"]);
        }
    }
    for line in list(&data["exceedance"], "lines") {
        let case = &cases[line["case"].as_u64().unwrap() as usize];
        let points = list(line, "points");
        assert_eq!((&points[0][0], points[0][1].as_f64()), (&case["min_ns"], Some(1.0)));
        let last = points.last().unwrap();
        let samples = case["samples"].as_f64().unwrap();
        assert_eq!(&last[0], &case["max_ns"]);
        // At least one sample was the largest; several may share it.
        let largest = last[1].as_f64().unwrap() * samples;
        assert!(largest > 0.999 && (largest - largest.round()).abs() < 1e-6, "{largest}");
    }
    for scale in list(&data["latency"], "scales") {
        for line in list(scale, "lines") {
            let counted: u64 = list(line, "counts").iter().map(|step| step[1].as_u64().unwrap()).sum();
            let case = &cases[line["case"].as_u64().unwrap() as usize];
            assert_eq!(counted + line["beyond"].as_u64().unwrap(), case["samples"].as_u64().unwrap());
        }
    }
    let limits = list(&data["exceedance"], "limits");
    assert_eq!(limits.len(), list(&run, "budgets").len());
    for limit in limits {
        let (ns, share) = if limit["budget"] == "max<=3us" { (3000.0, None) } else { (1e6, Some(0.01)) };
        assert_eq!((limit["limit_ns"].as_f64(), limit.get("share").and_then(Value::as_f64)), (Some(ns), share));
    }
}

#[test]
fn the_table_has_the_numbers_of_run_json_and_sorts() {
    let desk = desk();
    let run = desk.record("run");
    let mut browser = Chromium::start(DESKTOP);
    browser.open(&desk.path().join("page.html"));
    let cells = "[...document.querySelectorAll('table.cases tbody tr')].map(row => Object.fromEntries(
        [...row.cells].map(cell => [cell.dataset.label, cell.dataset.value === undefined ? cell.textContent : JSON.parse(cell.dataset.value)])))";
    let rows = browser.evaluate(cells);
    let cases = list(&run, "cases");
    assert_eq!(rows.as_array().unwrap().len(), cases.len());
    for (row, case) in rows.as_array().unwrap().iter().zip(cases) {
        let keys = [
            ("min", "min_ns"),
            ("mean", "mean_ns"),
            ("p99", "p99_ns"),
            ("max", "max_ns"),
            ("seen in", "run_length_s"),
            ("samples", "samples"),
        ];
        for (label, key) in keys {
            assert_eq!(row[label].as_f64(), case[key].as_f64(), "{label} of {}", case["name"]);
        }
        assert_eq!(row["case"], case["name"]);
        assert_eq!(row["slowdown"].as_f64(), case.get("slowdown").and_then(Value::as_f64));
    }
    let sorted = "[...document.querySelectorAll('table.cases th')].find(h => h.textContent === 'max').click();
        [...document.querySelectorAll('table.cases tbody td[data-label=max]')].map(cell => Number(cell.dataset.value))";
    let of = |value: Value| -> Vec<f64> { value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
    let up = of(browser.evaluate(sorted));
    let down = of(browser.evaluate(sorted));
    assert!(up.is_sorted() && down.iter().rev().is_sorted() && up.first() < up.last(), "{up:?} {down:?}");
    is_quiet(&browser);
}

#[test]
fn hovering_shows_figures_with_the_run_length() {
    let desk = desk();
    let mut browser = Chromium::start(DESKTOP);
    browser.open(&desk.path().join("page.html"));
    browser.evaluate("document.querySelector('#latency').scrollIntoView()");
    let at = browser.evaluate("(() => { const r = document.querySelector('#latency .chart').getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()");
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    browser.point_at(x - 5.0, y);
    browser.point_at(x, y);
    let text = browser.evaluate("document.querySelector('#latency .tip').textContent");
    // Two repeats of 4 ms.
    assert!(text.as_str().unwrap().contains("none in 8 ms"), "{text}");
    is_quiet(&browser);
}

#[test]
fn verdicts_come_first_in_the_words_of_the_report() {
    let desk = desk();
    let run = desk.record("run");
    let mut browser = Chromium::start(DESKTOP);
    browser.open(&desk.path().join("page.html"));
    let text = browser.evaluate("document.querySelector('#verdicts').textContent");
    let text = text.as_str().unwrap();
    for budget in list(&run, "budgets") {
        let said = budget["text"].as_str().unwrap();
        assert!(text.contains(said), "{said}: {text}");
    }
    let sections = browser.evaluate("[...document.querySelectorAll('main > section')].map(s => s.id)");
    assert_eq!(sections, serde_json::json!(["verdicts", "pictures", "tables", "provenance"]));
}

const SWEPT: &str = "title = 'x'\nplatform = 'agilex5'\nsentinel = false\nmitigations = []\n\
    targets = [{ workload = 'latency_loop', core = 1 }]\n\
    neighbours = [{ workload = 'way_hammer', cores = [2, 3] }]\n\
    sweep = [{ name = 'hammer', key = 'neighbours.0.workload', values = ['way_hammer', 'set_crawler'] }]\n\
    table = { metric = 'slowdown' }\n";

#[test]
fn means_against_a_sweep_have_their_interval() {
    let desk = Desk::new();
    desk.file("swept.toml", SWEPT);
    desk.run(&["run", "swept.toml", "--duration=2ms", "--repeats=3", "--out=run"]).with(0);
    desk.run(&["report", "run", "--out=page.html", "--svg=figures"]).with(0);
    let record = desk.record("run");
    let means = |name: &str| -> Vec<f64> {
        let of = list(&record, "cases").iter().find(|case| case["name"] == name).unwrap();
        list(of, "repeats").iter().map(|repeat| repeat["mean_ns"].as_f64().unwrap()).collect()
    };
    let solo = means("idle");
    let data = data(&desk, "page.html");
    let line = list(&data["sweeps"][0], "lines").iter().find(|line| line["name"] == "none").unwrap();
    for (at, hammer) in ["way_hammer", "set_crawler"].iter().enumerate() {
        let beside = means(&format!("none [hammer {hammer}]"));
        let ratios: Vec<f64> = beside.iter().zip(&solo).map(|(beside, solo)| beside / solo).collect();
        let mean = ratios.iter().sum::<f64>() / 3.0;
        let deviation = (ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
        // t(0.975, 2) = 4.302653 (tables).
        let half = 4.302_653 * deviation / 3f64.sqrt();
        let spread = &line["points"][at]["spread"];
        for (key, expected) in [("low", mean - half), ("high", mean + half)] {
            assert!((spread[key].as_f64().unwrap() - expected).abs() < 1e-6, "{key} of {hammer}: {spread} {expected}");
        }
        assert_eq!((&spread["n"], &spread["of"]), (&Value::from(3), &Value::from("repeats")));
    }
    let svg = fs::read_to_string(desk.path().join("figures/sweep-1.svg")).unwrap();
    assert!(svg.contains("none (95 % of the mean, 3 repeats)"), "{svg}");
    let mut browser = Chromium::start(DESKTOP);
    browser.open(&desk.path().join("page.html"));
    browser.evaluate("document.querySelector('#sweep-0').scrollIntoView({ block: 'center' })");
    let at = browser.evaluate("(() => { const r = document.querySelector('#sweep-0 .chart').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()");
    let of = |place: usize| at[place].as_f64().unwrap();
    let mut hovered = String::new();
    // The mark of the first point is somewhere in the first half.
    'marks: for left in 0..40 {
        for down in 0..50 {
            browser.point_at(of(0) + of(2) * (0.2 + 0.005 * f64::from(left)), of(1) + of(3) * f64::from(down) / 50.0);
            let tip = browser.evaluate("document.querySelector('#sweep-0 .tip')?.textContent ?? ''");
            hovered = tip.as_str().unwrap().to_owned();
            if !hovered.is_empty() {
                break 'marks;
            }
        }
    }
    assert!(hovered.contains("95 % of the mean") && hovered.contains("3 repeats"), "{hovered}");
    is_quiet(&browser);
}

#[test]
fn the_share_between_two_lengths_is_that_of_the_longer_one() {
    let desk = Desk::new();
    desk.file(
        "x.json",
        r#"{ "cpu": { "0": { "histogram": { "1": 20000, "2": 19890, "1200": 10 }, "count": 39900, "min": 1, "max": 1200 } } }"#,
    );
    desk.run(&["import", "x.json", "--duration=1m", "--out=run"]).with(0);
    desk.run(&["report", "run", "--out=page.html"]).with(0);
    let mut browser = Chromium::start(DESKTOP);
    browser.open(&desk.path().join("page.html"));
    // Lines of an axis have two corners; that of the samples falls at a length and then goes on at its height.
    let corners = browser.evaluate(
        "[...document.querySelectorAll('#exceedance .chart svg path')]
            .filter(p => p.getAttribute('fill') === 'none')
            .map(p => (p.getAttribute('d').match(/-?[0-9.]+/g) || []).map(Number))
            .filter(n => n.length === 10)",
    );
    let lines = corners.as_array().unwrap();
    assert_eq!(lines.len(), 1, "{corners}");
    let at: Vec<f64> = lines[0].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
    assert!(at[0] == at[2] && at[1] < at[3], "it falls from the first length on: {at:?}");
    assert!(at[4] == at[6] && at[7] == at[9] && at[8] > at[6], "it is level before the longest: {at:?}");
}
