//! Where the figures come from, folded: machine, kernel, command line, refusals, parameters, notes.

use std::collections::BTreeMap;

use waykeeper_report::figure::three_digits;
use waykeeper_report::{peaks, sections};
use waykeeper_run::{Parameters, Provenance, Run};

use super::escape;
use super::tables::{Cell, table};
use crate::data::letter;
use crate::source::ReportedRun;

/// What a reader must know of each run, and where its figures come from.
pub fn provenance(sources: &[ReportedRun]) -> String {
    let each = sources.iter().enumerate().map(|(number, source)| {
        let heading = if sources.len() > 1 { format!("<h3>{}</h3>", letter(number)) } else { String::new() };
        heading + &of_run(source)
    });
    each.collect()
}

fn of_run(source: &ReportedRun) -> String {
    let run = &source.run;
    let mut html = String::new();
    let lists = [
        ("Notes", run.notes.clone()),
        ("What the neighbours did", sections::neighbours(run)),
        ("Peaks over time", peaks(run)),
        ("The last shared cache, over time", sections::occupancy(run)),
        ("Other events on the target's core", sections::disturbances(run)),
        ("Unavailable on this machine", sections::refusals(run)),
        ("Simulation", sections::simulation(run)),
    ];
    for (heading, entries) in lists {
        html += &list(heading, &entries);
    }
    html += &machine(source);
    html += &hashes(run);
    if let Some(parameters) = &run.parameters {
        html += &of_parameters(parameters);
    }
    html
}

fn list(heading: &str, entries: &[String]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let items: String = entries.iter().map(|entry| format!("<li>{}</li>", escape::prose(entry))).collect();
    format!("<details><summary>{heading} ({})</summary><ul class=\"plain\">{items}</ul></details>", entries.len())
}

fn machine(source: &ReportedRun) -> String {
    let Run { tool, machine, clock, .. } = &source.run;
    let run = &source.run;
    let optional = |what: &str, value: &Option<String>| Some((what.to_owned(), value.clone()?));
    let rows = [
        Some(("run".into(), source.name.clone())),
        Some(("begun".into(), run.started.clone())),
        Some(("program".into(), format!("{} {}", tool.name, tool.version))),
        Some(("command line".into(), run.command_line.join(" "))),
        Some(("experiment".into(), run.experiment.clone())),
        Some(("platform".into(), run.platform.clone())),
        Some(("executor".into(), run.executor.to_string())),
        Some(("seed".into(), run.seed.to_string())),
        Some(("clock".into(), format!("{}, {}, tick of {} ns", clock.name, clock.rate(), three_digits(clock.tick_ns)))),
        optional("processor", &machine.processor),
        Some(("architecture".into(), machine.architecture.clone())),
        Some(("cores".into(), machine.cores.to_string())),
        (!machine.caches.is_empty()).then(|| ("caches".into(), machine.caches.join("; "))),
        optional("kernel", &machine.kernel),
        optional("kernel command line", &machine.kernel_command_line),
        optional("preemption", &machine.preemption),
        optional("clock source", &machine.clocksource),
        optional("governor", &machine.governor),
        optional("SMT", &machine.smt),
        optional("isolated cores", &machine.isolated),
        optional("nohz_full", &machine.nohz_full),
        optional("hypervisor", &machine.hypervisor),
        optional("transparent huge pages", &machine.transparent_hugepages),
        optional("real-time throttling", &machine.realtime_throttling),
    ];
    let rows = rows.into_iter().flatten().map(|(what, value)| {
        let shown = if value.is_empty() { "(empty)" } else { value.as_str() };
        format!("<dt>{}</dt><dd>{}</dd>", escape::text(&what), escape::text(shown))
    });
    let granted = run.privileges.iter().filter(|privilege| privilege.granted);
    let granted: String = granted
        .map(|privilege| {
            format!("<dt>{}</dt><dd>{}</dd>", escape::text(&privilege.what), escape::text(&privilege.detail))
        })
        .collect();
    format!(
        "<details><summary>Machine and command line</summary><dl>{}{granted}</dl></details>",
        rows.collect::<String>()
    )
}

/// What the run was made from; nothing where its version of the program did not write it down.
fn hashes(run: &Run) -> String {
    let Some(Provenance { experiment, platform, workloads, policies }) = &run.provenance else { return String::new() };
    let tool = [("commit of the program", &run.tool.commit), ("program", &run.tool.sha256)];
    let tool = tool.into_iter().filter_map(|(what, hash)| Some((what.to_owned(), hash.clone()?)));
    let named = |kind: &'static str, hashes: &BTreeMap<String, String>| -> Vec<(String, String)> {
        hashes.iter().map(|(name, hash)| (format!("{kind} {name}"), hash.clone())).collect()
    };
    let rows = tool
        .chain([("experiment.toml".to_owned(), experiment.clone())])
        .chain(platform.iter().map(|hash| ("platform".to_owned(), hash.clone())))
        .chain(named("workload", workloads))
        .chain(named("policy", policies));
    let rows: String = rows
        .map(|(what, hash)| format!("<dt>{}</dt><dd><code>{}</code></dd>", escape::text(&what), escape::text(&hash)))
        .collect();
    format!("<details><summary>Provenance (SHA-256)</summary><dl>{rows}</dl></details>")
}

fn of_parameters(parameters: &Parameters) -> String {
    let head: Vec<_> = ["parameter", "value", "is", "range, reason, source"]
        .into_iter()
        .map(|head| (head.to_owned(), false))
        .collect();
    let rows: Vec<_> = parameters
        .list
        .iter()
        .map(|of| vec![Cell::text(&of.key), Cell::text(&of.value), Cell::text(&of.is), Cell::text(&of.note)])
        .collect();
    format!(
        "<details><summary>Parameters of the platform ({})</summary>{}</details>",
        rows.len(),
        table("parameters", &head, &rows)
    )
}
