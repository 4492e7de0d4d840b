//! The page: our template, filled with texts that are escaped.

mod comparison;
mod escape;
mod figures;
mod preface;
mod provenance;
mod tables;
mod verdicts;

use base64::prelude::{BASE64_STANDARD, Engine};
use sha2::{Digest, Sha256};

use crate::data::{Data, letter};
use crate::source::ReportedRun;

const TEMPLATE: &str = include_str!("../../template/page.html");
const STYLE: &str = include_str!("../../template/style.css");
const SCRIPT: &str = include_str!("../../template/page.js");
const ECHARTS: &str = include_str!("../../vendor/echarts/echarts.min.js");

pub use preface::{Preface, PrefaceTable};

/// The page of one run, or of several that are compared.
pub fn page(sources: &[ReportedRun]) -> String {
    page_of(sources, None)
}

/// The same for a server of runs that go on: the page asks its own address whether there is a version with another tag, and
/// loads that one.
pub fn live_page(sources: &[ReportedRun], tag: &str) -> String {
    page_of(sources, Some(tag))
}

fn page_of(sources: &[ReportedRun], live: Option<&str>) -> String {
    set(sources, title(sources), head(sources), String::new(), comparison::comparison(sources), live)
}

/// The page of runs that belong together, after a first part of their maker's. They are not compared with each other.
pub fn page_with(preface: &Preface, sources: &[ReportedRun]) -> String {
    page_with_of(preface, sources, None)
}

/// The same for a server, as [`live_page`].
pub fn live_page_with(preface: &Preface, sources: &[ReportedRun], tag: &str) -> String {
    page_with_of(preface, sources, Some(tag))
}

fn page_with_of(preface: &Preface, sources: &[ReportedRun], live: Option<&str>) -> String {
    let title = format!("{} - Waykeeper", preface.title);
    let first = format!("{}<section id=\"runs\"><h2>Runs</h2>{}</section>", preface::body(preface), head(sources));
    set(sources, title, preface::head(preface), first, String::new(), live)
}

/// Sets a page.
fn set(
    sources: &[ReportedRun],
    title: String,
    head: String,
    preface: String,
    comparison: String,
    live: Option<&str>,
) -> String {
    let data = Data::new(sources);
    let json = escape::json(&data);
    let parts = [
        ("policy", policy(live.is_some())),
        ("live", live.map(live_mark).unwrap_or_default()),
        ("title", escape::text(&title)),
        ("style", STYLE.to_owned()),
        ("head", head),
        ("preface", preface),
        ("verdicts", verdicts::verdicts(sources)),
        ("comparison", comparison),
        ("pictures", figures::figures(&data)),
        ("tables", tables::tables(sources)),
        ("provenance", provenance::provenance(sources)),
        ("data", json),
        ("echarts", ECHARTS.to_owned()),
        ("script", SCRIPT.to_owned()),
    ];
    filled(TEMPLATE, &parts)
}

/// Fills the places `{{name}}` of a template. What is filled in is not searched for places.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut page = String::with_capacity(template.len() + parts.iter().map(|(_, part)| part.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(before);
        page.push_str(parts.iter().find(|(part, _)| *part == name).map_or("", |(_, text)| text));
        rest = after;
    }
    page.push_str(rest);
    page
}

/// By this the page's script knows that it is served, and which version it is.
fn live_mark(tag: &str) -> String {
    format!("<meta name=\"waykeeper-live\" content=\"{}\">", escape::text(tag))
}

/// What the browser lets the page do: run these two scripts, and fetch nothing; of a served page, from its own address alone.
fn policy(is_live: bool) -> String {
    let connect = if is_live { "connect-src 'self'; " } else { "" };
    let hash = |script: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script)));
    format!(
        "default-src 'none'; {connect}script-src {} {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(ECHARTS),
        hash(SCRIPT)
    )
}

fn title(sources: &[ReportedRun]) -> String {
    let names: Vec<_> = sources.iter().map(|source| source.run.experiment.as_str()).collect();
    match names.as_slice() {
        [one] => format!("{one} - Waykeeper"),
        [first, rest @ ..] if rest.iter().all(|name| name == first) => {
            format!("{first}, {} runs - Waykeeper", names.len())
        }
        names => format!("{} - Waykeeper", names.join(", ")),
    }
}

/// What was run, on what, for how long: the lines of the terminal's headline for each run.
fn head(sources: &[ReportedRun]) -> String {
    sources.iter().enumerate().map(|(number, source)| head_of(number, source, sources.len() > 1)).collect()
}

fn head_of(number: usize, source: &ReportedRun, several: bool) -> String {
    let headline = waykeeper_report::headline(&source.run);
    // A line that was broken to fit a terminal goes on with blanks.
    let headline = headline.replace("\n  ", " ");
    let mut lines = headline.lines();
    let first = lines.next().unwrap_or_default();
    let (experiment, title) = first.split_once(": ").unwrap_or((first, ""));
    let letter = if several { format!("<span class=\"letter\">{}</span>", letter(number)) } else { String::new() };
    let mut html = format!(
        "<div class=\"run-head\"><p class=\"experiment\">{letter}<span>{}</span><time>{}</time></p><h1>{}</h1>",
        escape::text(experiment),
        escape::text(&source.run.started),
        escape::text(if title.is_empty() { experiment } else { title })
    );
    if several {
        html += &format!("<p class=\"path\">{}</p>", escape::text(&source.name));
    }
    for line in lines {
        let class =
            if line.starts_with("CUT SHORT") || line.starts_with("NO SAMPLE") { " class=\"banner\"" } else { "" };
        html += &format!("<p{class}>{}</p>", escape::prose(line));
    }
    let banners = source.unfinished.iter().chain(&source.missing);
    html += &banners.map(|text| format!("<p class=\"banner\">{}</p>", escape::prose(text))).collect::<String>();
    html + "</div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_no_template() {
        let parts = [("a", "{{b}}".to_owned()), ("b", "x".to_owned())];
        assert_eq!(filled("<{{a}}|{{b}}|{{c}}>", &parts), "<{{b}}|x|>");
    }
}
