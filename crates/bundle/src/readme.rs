//! The page of an archive for its reader.

use std::fmt::Write as _;

use waykeeper_experiment::site::ExecutorKind;
use waykeeper_report::shown::one_line;

use crate::{Bundle, Bundled};

/// The text, Markdown.
pub(crate) fn text(bundle: &Bundle) -> String {
    let runs: String = bundle.runs.iter().map(run).collect();
    let pages: String = bundle.pages.iter().map(|page| format!("- `{}`\n", page.file)).collect();
    let tables: String =
        bundle.tables.iter().map(|table| format!("- `{}`: {}\n", table.file, plain(&table.about))).collect();
    let tables = match bundle.tables.is_empty() {
        true => String::new(),
        false => format!(
            "## Interference channels\n\nTables of `waykeeper channels`, as JSON and, beside it, as text. They say what was seen \
             when they were printed, and support an argument; the script does not make them again.\n\n{tables}\n"
        ),
    };
    let left_out = match bundle.left_out.is_empty() {
        true => "Nothing that the runs know.\n".to_owned(),
        false => bundle.left_out.iter().map(|what| format!("- {}\n", plain(what))).collect(),
    };
    format!(
        "# Runs of Waykeeper, with what makes them again\n\n\
         | file | holds |\n|---|---|\n\
         | `runs/` | the runs as they were left: `run.json`, all samples (`samples.hlog`), the experiment as run |\n\
         | `inputs/` | platforms, workloads, policies and recordings, each with the SHA-256 that the run has of it |\n\
         | `MANIFEST.sha256` | SHA-256 of every other file: `sha256sum -c MANIFEST.sha256` |\n\
         | `reproduce.sh` | verifies the hashes, runs the experiments again, draws pages and pictures again |\n\n\
         Pages, which need no network, and their pictures beside them:\n\n{pages}\n\
         ## Make it again\n\n\
         ```sh\n./reproduce.sh           # or with verify, run or draw\n```\n\n\
         It needs `waykeeper` in `PATH`, or its path in `WAYKEEPER`, and writes to `again/` and `drawn/`.\n\n\
         - A simulated run is equal to the last bit with the same version of Waykeeper, on any machine. The script compares the \
         histograms byte for byte, and ends with 1 if they differ.\n\
         - A run on a machine is measured again on the machine that the script runs on, for as long as the first time, and may need \
         root as that did. Its figures are others; the script compares them and judges nothing.\n\
         - A maximum belongs to the time in which it was seen, and bounds nothing.\n\n\
         ## Runs\n\n{runs}{tables}\
         ## Not in the archive\n\n{left_out}"
    )
}

fn run(bundled: &Bundled) -> String {
    let Bundled { name, run, inputs, again } = bundled;
    let tool = &run.tool;
    let place = match run.executor {
        ExecutorKind::Sim => "simulated on",
        ExecutorKind::Host => "measured on",
    };
    let mut text = format!(
        "### {name}\n\n{} {place} {}, {}\n\n",
        plain(&run.experiment),
        plain(&run.platform),
        plain(&run.started)
    );
    let _ = writeln!(text, "- program: {} {}", plain(&tool.name), plain(&tool.version));
    let details = [("commit", tool.commit.as_deref()), ("SHA-256 of the program", tool.sha256.as_deref())];
    for (what, value) in details {
        let _ = writeln!(text, "- {what}: {}", value.map_or("not known".into(), plain));
    }
    let _ = writeln!(text, "- inputs: `{}`", inputs.experiment);
    for (what, path) in &inputs.found {
        let _ = writeln!(text, "    - {}: `{path}`", plain(what));
    }
    if let Err(why) = again {
        let _ = writeln!(text, "- **it cannot be run again**: {}", plain(why));
    }
    let words: Vec<String> = run.command_line.iter().map(|word| one_line(word).into_owned()).collect();
    let _ = writeln!(text, "\nIts command line:\n\n    {}\n", words.join(" "));
    text
}

/// A text of a run as Markdown that says only that.
fn plain(text: &str) -> String {
    let special = |c: char| "\\*[]<>#|!".contains(c);
    let escaped = |c: char| if special(c) { format!("\\{c}") } else { c.to_string() };
    one_line(text).chars().map(escaped).collect()
}
