//! The acceptance record: the first part of a session's page.

use waykeeper_page::{Preface, PrefaceTable};
use waykeeper_report::figure::{cores, seconds};
use waykeeper_workload::format_ns;

use crate::figures::{COLUMNS, Figure, figures, text};
use crate::report::KpiReport;
use crate::rows::KpiRow;
use crate::text::{boot_line, called, finding_line, guide, largest, load_cores, nothing_seen, packets};

/// The acceptance record of a session.
pub fn preface(report: &KpiReport) -> Preface {
    let settings = &report.session.settings;
    let mut lines = vec![format!(
        "{} for each setting, in blocks of {}, beside {} on {}; real-time {}",
        seconds(settings.duration_s),
        seconds(settings.block_s),
        settings.load_name,
        load_cores(settings),
        cores(&settings.rt_cores)
    )];
    lines.extend((1..).zip(&report.session.boots).map(|(number, boot)| boot_line(number, boot)));
    let unfinished = format!("NOT COMPLETE: `waykeeper kpi --session {}` goes on.", report.folder);
    let several = report.session.boots.len() > 1;
    let doctor = (1..).zip(&report.session.boots).flat_map(|(number, boot)| {
        let boot_name = if several { format!("boot {number}, ") } else { String::new() };
        boot.doctor.iter().map(move |finding| format!("{boot_name}{}", finding_line(finding).trim_start()))
    });
    let guides: Vec<_> = report.rows.iter().filter_map(guide_row).collect();
    Preface {
        title: "Acceptance record".into(),
        lines,
        banners: nothing_seen(report).chain((!report.complete).then_some(unfinished)).collect(),
        tables: vec![table(report, several), guide_table(guides)],
        lists: vec![
            ("What differs from the guide's machine".into(), report.rows.iter().filter_map(guide).collect()),
            ("Packets".into(), report.rows.iter().filter_map(packets).collect()),
            (
                "Largest samples, and other events counted in their blocks".into(),
                report.rows.iter().flat_map(largest).collect(),
            ),
            ("Not measured".into(), report.refused.clone()),
            ("Changed between the boots".into(), report.changed.clone()),
            ("What the doctor found, and what it could not see".into(), doctor.collect()),
            ("What a reader must know".into(), report.notes.clone()),
        ],
    }
}

fn columns(list: &[(&str, bool)]) -> Vec<(String, bool)> {
    list.iter().map(|(heading, numbers)| ((*heading).to_owned(), *numbers)).collect()
}

fn table(report: &KpiReport, several: bool) -> PrefaceTable {
    let of = |row: &KpiRow| {
        let verdicts: Vec<_> = row.budgets.iter().map(|judged| format!("{}: {}", judged.budget, judged.kind)).collect();
        beside_what(figures(row, several), text(verdicts.join("; ")))
    };
    PrefaceTable {
        heading: "Figures".into(),
        columns: columns(&beside_what(COLUMNS, ("budgets", false))),
        rows: report.rows.iter().map(of).collect(),
    }
}

/// The verdicts stand beside what was measured: nobody has to look for them at the end of a wide table.
fn beside_what<T, const N: usize>(figures: [T; N], budgets: T) -> Vec<T> {
    let what = COLUMNS.iter().position(|(heading, _)| *heading == "measured").map_or(N, |at| at + 1);
    let mut all = Vec::from(figures);
    all.insert(what, budgets);
    all
}

fn guide_row(row: &KpiRow) -> Option<Vec<Figure>> {
    let guide = row.guide.as_ref().filter(|_| row.setting == "none")?;
    let us = |us: Option<f64>| us.map_or(text("not printed"), |us| (format_ns(us * 1e3), Some(us * 1e3)));
    let cycles = guide.million_cycles.map_or(String::new(), |millions| format!("{millions} M"));
    Some(vec![
        text(format!("{}{}", called(row), if row.boot > 1 { format!(", boot {}", row.boot) } else { String::new() })),
        text(format!("{}, section {}", guide.processor, guide.section)),
        text(guide.measured.clone()),
        us(guide.average_us),
        us(guide.maximum_us),
        us(guide.jitter_us),
        text(cycles),
    ])
}

fn guide_table(rows: Vec<Vec<Figure>>) -> PrefaceTable {
    PrefaceTable {
        heading: "The guide's rows: another machine, not a limit".into(),
        columns: columns(&[
            ("beside", false),
            ("processor", false),
            ("measured", false),
            ("average", true),
            ("max", true),
            ("jitter", true),
            ("cycles", false),
        ]),
        rows,
    }
}
