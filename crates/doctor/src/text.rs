//! What a person reads.

use textwrap::{Options, WordSplitter, fill};

use crate::finding::{Examination, Finding, Fix, Outcome, Severity};
use crate::parameters::advice::{Advice, Parameter};
use crate::view::ChosenBy;

/// Wide enough for paths, narrow enough to read.
const WIDTH: usize = 110;

/// What is wrong at a glance, the gravest first; then each finding in full, what could not be seen, and what is fine.
pub fn text(examination: &Examination) -> String {
    let mut text = head(examination) + &glance(examination);
    for (severity, heading) in
        [(Severity::Serious, "SERIOUS"), (Severity::Warning, "WARNINGS"), (Severity::Note, "NOTES")]
    {
        let entries: Vec<String> = examination.of(severity).map(entry).collect();
        if !entries.is_empty() {
            text += &format!("\n{heading}\n{}", entries.join("\n"));
        }
    }
    let unseen: Vec<&Finding> = examination.ended(Outcome::NotSeen).collect();
    if !unseen.is_empty() {
        text += "\nNOT SEEN (this says nothing about whether they are fine)\n";
        for finding in unseen {
            text += &labelled(&finding.id, &finding.what);
        }
    }
    let fine: Vec<&Finding> = examination.ended(Outcome::Fine).collect();
    if !fine.is_empty() {
        text += "\nFINE\n";
        for finding in fine {
            text += &labelled(&finding.id, &finding.what);
        }
    }
    text
}

fn head(examination: &Examination) -> String {
    let Examination { kernel, processor, hypervisor, online, rt_cores, chosen_by, findings, .. } = examination;
    let unknown = || "unknown".to_owned();
    let machine = hypervisor.as_ref().map(|name| format!(", in a virtual machine ({name})")).unwrap_or_default();
    let chosen = match chosen_by {
        ChosenBy::User => "as asked",
        ChosenBy::Isolated => "the isolated ones; --rt-cores names others",
        ChosenBy::Default => "the last one; --rt-cores names others",
    };
    let count = |severity| examination.of(severity).count();
    let (warnings, notes) = (count(Severity::Warning), count(Severity::Note));
    let unseen = examination.ended(Outcome::NotSeen).count();
    fill_plain(&format!(
        "Linux {} on {}{machine}; cores {online}, real-time: {rt_cores} ({chosen})",
        kernel.clone().unwrap_or_else(unknown),
        processor.clone().unwrap_or_else(|| "a processor that does not tell its name".to_owned()),
    )) + &fill_plain(&format!(
        "{} checks: {} serious, {}, {}; {unseen} could not be seen",
        findings.len(),
        count(Severity::Serious),
        counted(warnings, "warning"),
        counted(notes, "note"),
    ))
}

/// One line for each finding, and what to do first.
fn glance(examination: &Examination) -> String {
    let marked = [(Severity::Serious, "!!"), (Severity::Warning, "!"), (Severity::Note, "")];
    let of = |(severity, mark): (Severity, &str)| {
        let line =
            |finding: &Finding| wrapped(&finding.what, &format!("  {mark:<2} {:<22}", finding.id), GLANCE_INDENT);
        examination.of(severity).map(line).collect::<String>()
    };
    let lines: String = marked.into_iter().map(of).collect();
    if lines.is_empty() {
        return "\nnothing that keeps the real-time cores from answering in time was seen\n".into();
    }
    let boots = |finding: &&Finding| finding.fixes.iter().any(|fix| matches!(fix, Fix::Parameter(_)));
    let advice = match examination.ended(Outcome::Found).any(|finding| boots(&finding)) {
        false => String::new(),
        true => fill_plain(&format!(
            "`waykeeper doctor --cmdline --rt-cores {}` prints the kernel parameters that help, in one line; what else \
             helps stands with each finding below.",
            examination.rt_cores
        )),
    };
    format!("\n{lines}{advice}")
}

const GLANCE_INDENT: &str = "                           ";

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn entry(finding: &Finding) -> String {
    let mut text = wrapped(&format!("{}: {}", finding.id, finding.what), "  ", "    ");
    for seen in &finding.seen {
        text += &line("seen", &format!("{}: {}", seen.file, seen.value));
    }
    text += &line("why", &finding.why);
    for fix in &finding.fixes {
        text += &match fix {
            Fix::Parameter(what) => line("boot", what),
            Fix::Command(what) => line("run", what),
            Fix::Firmware(what) => line("BIOS", what),
            Fix::Other(what) => line("do", what),
        };
    }
    text + &line("source", &finding.source)
}

fn line(label: &str, text: &str) -> String {
    wrapped(text, &format!("    {label:<8}"), "            ")
}

fn labelled(label: &str, text: &str) -> String {
    wrapped(text, &format!("  {label:<22}"), "                        ")
}

/// The line to paste, then each parameter with its reason.
pub fn advice_text(advice: &Advice) -> String {
    let mut text = match advice.add.is_empty() {
        true => format!("nothing is lacking on the command line for the real-time cores {}\n", advice.rt_cores),
        false => advice.line.clone() + "\n",
    };
    let mut section = |heading: &str, parameters: &[Parameter]| {
        if !parameters.is_empty() {
            text += &format!("\n{heading}\n");
        }
        for parameter in parameters {
            let replaces =
                parameter.replaces.as_ref().map(|old| format!(" (in the place of {old})")).unwrap_or_default();
            text += &wrapped(&format!("{}{replaces}: {}", parameter.parameter, parameter.reason), "  ", "    ");
        }
    };
    section("to be added", &advice.add);
    section("to be taken out", &advice.remove);
    section("left out here", &advice.left_out);
    if !advice.there.is_empty() {
        text += &format!("\nthere already\n{}", wrapped(&advice.there.join(" "), "  ", "  "));
    }
    text
}

fn fill_plain(text: &str) -> String {
    wrapped(text, "", "  ")
}

fn wrapped(text: &str, first: &str, others: &str) -> String {
    let options = Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(others)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    // What files say may hold line breaks: it stays one paragraph.
    fill(&text.replace('\n', "\\n"), options) + "\n"
}
