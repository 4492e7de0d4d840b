//! Verdicts first: budgets, expectations, mitigations, neighbours, in the words of the terminal's report.

use waykeeper_run::{Met, Run};
use waykeeper_statistics::{JudgementKind, VerdictKind};

use super::escape;
use crate::data::letter;
use crate::source::ReportedRun;

/// How something ended: the look of its badge.
#[derive(Clone, Copy)]
enum Tone {
    Good,
    Bad,
    /// Not seen, cannot tell, too thin.
    Open,
    /// Neither good nor bad.
    Plain,
}

struct Entry {
    tone: Tone,
    badge: String,
    what: String,
    text: String,
}

/// All verdicts of all runs.
pub fn verdicts(sources: &[ReportedRun]) -> String {
    let each = sources.iter().enumerate().map(|(number, source)| {
        let heading = if sources.len() > 1 { format!("<h3>{}</h3>", letter(number)) } else { String::new() };
        heading + &of_run(&source.run)
    });
    each.collect()
}

fn of_run(run: &Run) -> String {
    let groups = [
        ("Budgets", budgets(run)),
        ("Expectations of the experiment", expectations(run)),
        ("Mitigations, compared with none", mitigations(run)),
        ("Neighbours", neighbours(run)),
    ];
    let mut html = String::new();
    for (heading, entries) in groups {
        if !entries.is_empty() {
            html += &group(heading, &entries);
        }
    }
    if html.is_empty() {
        html =
            "<p class=\"note\">This run has no budget, no expectation and no mitigation beside neighbours: there is \
                nothing to judge. The figures are below.</p>"
                .into();
    }
    html
}

/// So many entries of a kind are shown at once.
const AT_ONCE: usize = 8;

fn group(heading: &str, entries: &[Entry]) -> String {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by_key(|entry| match entry.tone {
        Tone::Bad => 0,
        Tone::Open => 1,
        Tone::Good | Tone::Plain => 2,
    });
    let (shown, folded) = sorted.split_at(sorted.len().min(AT_ONCE));
    let items = |list: &[&Entry]| list.iter().map(|entry| item(entry)).collect::<String>();
    let folded = match folded {
        [] => String::new(),
        more => format!(
            "<details><summary>{} more</summary><ul class=\"verdicts\">{}</ul></details>",
            more.len(),
            items(more)
        ),
    };
    format!("<h3>{heading}</h3><ul class=\"verdicts\">{}</ul>{folded}", items(shown))
}

fn item(entry: &Entry) -> String {
    let class = match entry.tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Open => "open",
        Tone::Plain => "plain",
    };
    format!(
        "<li><span class=\"badge {class}\">{}</span><div><strong>{}:</strong> <span>{}</span></div></li>",
        escape::text(&entry.badge),
        escape::text(&entry.what),
        escape::prose(&entry.text)
    )
}

fn budgets(run: &Run) -> Vec<Entry> {
    let entry = |judged: &waykeeper_run::BudgetRecord| Entry {
        tone: match judged.kind {
            JudgementKind::Broken => Tone::Bad,
            JudgementKind::NotSeenBroken => Tone::Good,
            JudgementKind::TooThin => Tone::Open,
        },
        badge: judged.kind.to_string(),
        what: format!("{} for {}", judged.budget, judged.case),
        text: judged.text.clone(),
    };
    run.budgets.iter().map(entry).collect()
}

fn expectations(run: &Run) -> Vec<Entry> {
    let entry = |record: &waykeeper_run::ExpectationRecord| Entry {
        tone: match record.kind {
            Met::Met => Tone::Good,
            Met::NotMet => Tone::Bad,
            Met::CannotTell => Tone::Open,
        },
        badge: record.kind.to_string().to_lowercase(),
        what: record.says.clone(),
        text: format!("{} of {}: {}", record.metric, record.statement, record.text),
    };
    run.expectations.iter().map(entry).collect()
}

fn mitigations(run: &Run) -> Vec<Entry> {
    let entry = |case: &waykeeper_run::CaseRecord| {
        let verdict = case.verdict.as_ref()?;
        Some(Entry {
            tone: match verdict.kind {
                VerdictKind::Better => Tone::Good,
                VerdictKind::Worse => Tone::Bad,
                VerdictKind::NoDifferenceShown | VerdictKind::CannotTell => Tone::Open,
            },
            badge: verdict.kind.to_string(),
            what: case.name.clone(),
            text: verdict.text.clone(),
        })
    };
    run.cases.iter().filter_map(entry).collect()
}

fn neighbours(run: &Run) -> Vec<Entry> {
    let judged = run.cases.iter().filter_map(|case| {
        let effective = case.neighbours.first()?.effective;
        Some((case, effective, case.neighbours.first()?.effect.clone()?))
    });
    // One judgement is of a group of cases: it is said once.
    let mut entries: Vec<Entry> = Vec::new();
    for (case, effective, text) in judged {
        let (tone, badge) = match effective {
            Some(true) => (Tone::Plain, "effective"),
            Some(false) => (Tone::Open, "no effect shown"),
            None => (Tone::Open, "effect unknown"),
        };
        if entries.iter().all(|entry| entry.text != text) {
            entries.push(Entry { tone, badge: badge.into(), what: case.name.clone(), text });
        }
    }
    entries
}
