//! JUnit's XML: a test case for each budget and each expectation of a run.
//!
//! A broken budget and an expectation that is not met fail. A budget with too little data is an error, not a test that
//! passed: continuous integration must not call it fine. An expectation that cannot be judged is skipped.

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use waykeeper_report::shown::one_line;
use waykeeper_run::{Met, Run};
use waykeeper_statistics::JudgementKind;

use crate::NotExported;

/// How a test ended.
enum Ended {
    Passed,
    Failure(&'static str),
    Error(&'static str),
    Skipped,
}

struct Test {
    class: String,
    name: String,
    ended: Ended,
    text: String,
    /// The time in which it was seen, where it is of one case.
    run_length_s: Option<f64>,
}

/// The report.
///
/// # Errors
/// A run that has neither a budget nor an expectation.
pub fn junit(run: &Run) -> Result<Vec<u8>, NotExported> {
    let tests: Vec<Test> = budgets(run).chain(expectations(run)).collect();
    if tests.is_empty() {
        return Err(NotExported(
            "found no budget and no expectation in the run, so there is nothing to test; expected a run with `--budget`, or \
             of an experiment with `expectations`"
                .into(),
        ));
    }
    let failed = |error: std::io::Error| NotExported(format!("the report cannot be written: {error}"));
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, run, &tests).map_err(failed)?;
    let mut text = writer.into_inner();
    text.push(b'\n');
    Ok(text)
}

fn budgets(run: &Run) -> impl Iterator<Item = Test> + '_ {
    run.budgets.iter().map(|judged| Test {
        class: format!("{}.budgets", run.experiment),
        name: format!("{} for {}", judged.budget, judged.case),
        ended: match judged.kind {
            JudgementKind::NotSeenBroken => Ended::Passed,
            JudgementKind::Broken => Ended::Failure("broken"),
            JudgementKind::TooThin => Ended::Error("too_thin"),
        },
        text: judged.text.clone(),
        run_length_s: run.cases.iter().find(|case| case.name == judged.case).map(|case| case.run_length_s),
    })
}

fn expectations(run: &Run) -> impl Iterator<Item = Test> + '_ {
    run.expectations.iter().map(|record| Test {
        class: format!("{}.expectations", run.experiment),
        name: format!("{}: {} of {}", record.says, record.metric, record.statement),
        ended: match record.kind {
            Met::Met => Ended::Passed,
            Met::NotMet => Ended::Failure("not_met"),
            Met::CannotTell => Ended::Skipped,
        },
        text: record.text.clone(),
        run_length_s: None,
    })
}

fn write(writer: &mut Writer<Vec<u8>>, run: &Run, tests: &[Test]) -> std::io::Result<()> {
    let count = |is: fn(&Ended) -> bool| tests.iter().filter(|test| is(&test.ended)).count().to_string();
    let counts = [
        ("tests", tests.len().to_string()),
        ("failures", count(|ended| matches!(ended, Ended::Failure(_)))),
        ("errors", count(|ended| matches!(ended, Ended::Error(_)))),
        ("skipped", count(|ended| matches!(ended, Ended::Skipped))),
    ];
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let suites = counts.iter().fold(BytesStart::new("testsuites"), |start, (key, value)| with(start, key, value));
    writer.write_event(Event::Start(suites))?;
    let suite = counts.iter().fold(BytesStart::new("testsuite"), |start, (key, value)| with(start, key, value));
    let suite = with(with(suite, "name", &run.experiment), "timestamp", &run.started);
    writer.write_event(Event::Start(suite))?;
    for test in tests {
        of_test(writer, test)?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuite")))?;
    writer.write_event(Event::End(BytesEnd::new("testsuites")))
}

fn of_test(writer: &mut Writer<Vec<u8>>, test: &Test) -> std::io::Result<()> {
    let start = with(with(BytesStart::new("testcase"), "classname", &test.class), "name", &test.name);
    let start = match test.run_length_s {
        Some(length) => with(start, "time", &length.to_string()),
        None => start,
    };
    writer.write_event(Event::Start(start))?;
    let (element, kind) = match test.ended {
        Ended::Passed => ("system-out", None),
        Ended::Failure(kind) => ("failure", Some(kind)),
        Ended::Error(kind) => ("error", Some(kind)),
        Ended::Skipped => ("skipped", None),
    };
    let start = BytesStart::new(element);
    let start = if element == "system-out" { start } else { with(start, "message", &test.text) };
    let start = if let Some(kind) = kind { with(start, "type", kind) } else { start };
    writer.write_event(Event::Start(start))?;
    writer.write_event(Event::Text(BytesText::new(&one_line(&test.text))))?;
    writer.write_event(Event::End(BytesEnd::new(element)))?;
    writer.write_event(Event::End(BytesEnd::new("testcase")))
}

fn with<'e>(mut start: BytesStart<'e>, key: &str, value: &str) -> BytesStart<'e> {
    start.push_attribute((key, one_line(value).as_ref()));
    start
}
