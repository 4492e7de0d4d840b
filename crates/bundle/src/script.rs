//! The script of an archive: it verifies the hashes, runs the experiments again and draws the pictures again.

use std::collections::BTreeSet;

use waykeeper_experiment::site::ExecutorKind;
use waykeeper_run::Run;
use waykeeper_statistics::Budget;

use crate::inputs::Inputs;
use crate::{Bundle, Bundled, Page, RunRequest};

/// Its name in the archive.
pub(crate) const NAME: &str = "reproduce.sh";

/// The words after `waykeeper` that make a run again, without the folder; or why nothing can.
pub(crate) fn again(name: &str, run: &Run, inputs: &Inputs, asked: RunRequest) -> Result<Vec<String>, String> {
    let (explain, fast) = match asked {
        RunRequest::Run { explain, fast } => (explain, fast),
        RunRequest::Otherwise(why) => return Err(why),
    };
    if let Some(lacking) = &inputs.lacking {
        return Err(lacking.clone());
    }
    let mut words = vec!["run".to_owned(), inputs.experiment.clone()];
    words.push(format!("--on={}", place(run)));
    words.push(format!("--out=again/{name}"));
    words.extend(explain.map(|longest| format!("--explain={longest}")));
    words.extend(fast.then(|| "--fast".to_owned()));
    words.extend(budgets(run)?.into_iter().map(|budget| format!("--budget={budget}")));
    Ok(words)
}

fn place(run: &Run) -> &'static str {
    match run.executor {
        ExecutorKind::Host => "host",
        ExecutorKind::Sim => "sim",
    }
}

/// All budgets that the run was judged by, each once. Those of the experiment itself are judged twice, to the same outcome.
fn budgets(run: &Run) -> Result<BTreeSet<String>, String> {
    let read = |text: &str| text.parse::<Budget>().map(|budget| budget.to_string()).map_err(|bad| bad.to_string());
    run.budgets.iter().map(|judged| read(&judged.budget)).collect()
}

/// The script, in the shell's standard language.
pub(crate) fn text(bundle: &Bundle) -> String {
    let runs: String = bundle.runs.iter().map(call_of).collect();
    let pages: String = bundle.pages.iter().map(page_call).collect();
    let programs: BTreeSet<&str> = bundle.runs.iter().filter_map(|it| it.run.tool.sha256.as_deref()).collect();
    let programs = programs.into_iter().filter(|hash| hash.chars().all(|c| c.is_ascii_hexdigit())).collect::<Vec<_>>();
    include_str!("reproduce.sh")
        .replace("@PROGRAMS@", &programs.join(" "))
        .replace("@RUNS@", runs.trim_end())
        .replace("@PAGES@", pages.trim_end())
}

fn call_of(bundled: &Bundled) -> String {
    let Bundled { name, run, again, .. } = bundled;
    let quoted = again.as_ref().map_err(Clone::clone).and_then(|words| words_of_shell(words));
    match quoted {
        Ok(words) => format!("    run_again {name} {} {words}\n", place(run)),
        Err(why) => {
            let why = waykeeper_report::shown::one_line(&why).into_owned();
            // What can be quoted at all can be said.
            let why = words_of_shell(&[why]).unwrap_or_else(|_| "'its options cannot be written'".into());
            format!("    not_run_again {name} {why}\n")
        }
    }
}

fn page_call(page: &Page) -> String {
    let of: String = page.of.iter().map(|run| format!(" runs/{run}")).collect();
    let pictures = page.pictures.as_deref().unwrap_or("-");
    format!("    draw_again {} {pictures}{of}\n", page.file)
}

fn words_of_shell(words: &[String]) -> Result<String, String> {
    let quoted = words.iter().map(|word| shlex::try_quote(word).map(|word| word.into_owned()));
    let quoted: Result<Vec<String>, _> = quoted.collect();
    quoted.map(|words| words.join(" ")).map_err(|_| "its options cannot be written for a shell".into())
}
