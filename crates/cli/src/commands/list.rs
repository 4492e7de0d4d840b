//! `waykeeper list`.

use serde::Serialize;

use super::output::{print, print_json};
use crate::arguments::List;
use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    title: String,
}

#[derive(Serialize)]
struct Listing {
    experiments: Vec<Entry>,
    policies: Vec<Entry>,
    platforms: Vec<Entry>,
    workloads: Vec<Entry>,
}

/// Prints what is bundled, one line each.
pub fn list(arguments: &List) -> Result<Exit, Failure> {
    let listing = Listing {
        experiments: entries(waykeeper_experiment::bundled().iter().map(|b| (b.name, b.text))),
        policies: entries(waykeeper_policy::bundled().iter().map(|b| (b.name, b.text))),
        platforms: entries(waykeeper_platform::bundled().iter().map(|b| (b.name, b.text))),
        workloads: entries(waykeeper_workload::bundled().iter().map(|b| (b.name, b.text))),
    };
    if arguments.json {
        print_json(&listing)?;
        return Ok(Exit::Done);
    }
    let sections = [
        ("experiments", &listing.experiments),
        ("policies", &listing.policies),
        ("platforms", &listing.platforms),
        ("workloads", &listing.workloads),
    ];
    let width =
        sections.iter().flat_map(|(_, entries)| entries.iter()).map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, entries) in sections {
        text += &format!("{heading}\n");
        for entry in entries {
            text += &format!("  {:width$}  {}\n", entry.name, entry.title);
        }
        text.push('\n');
    }
    text += "`host` is a platform too: the machine that this runs on. Files of your own do for platforms, experiments and \
             policies; an experiment has workloads of its own in `[workloads]`.\n";
    print(&text)?;
    Ok(Exit::Done)
}

fn entries(files: impl Iterator<Item = (&'static str, &'static str)>) -> Vec<Entry> {
    files.map(|(name, text)| Entry { name, title: title(text) }).collect()
}

/// The `title` of a bundled file.
fn title(text: &str) -> String {
    let table: Option<toml::Table> = text.parse().ok();
    table.and_then(|table| Some(table.get("title")?.as_str()?.to_owned())).unwrap_or_default()
}
