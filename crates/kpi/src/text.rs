//! What a person reads of a session.

use waykeeper_report::figure::{cores, counted, seconds, time};
use waykeeper_report::shown::one_line;
use waykeeper_report::table::{columns, table};
use waykeeper_report::text::section;
use waykeeper_workload::format_ns;

use crate::figures::{COLUMNS, figures};
use crate::record::{BootRecord, DoctorFinding};
use crate::report::KpiReport;
use crate::rows::{KpiRow, Outlier, PacketTotals};
use crate::settings::KpiSettings;

/// What is going to be measured, and for how long, in lines: before a day is spent.
pub fn before(settings: &KpiSettings, doctor: &[DoctorFinding]) -> Vec<String> {
    let mut lines = vec!["What the doctor found, the worst first:".to_owned()];
    let found: Vec<_> = doctor.iter().filter(|finding| finding.severity.is_some()).collect();
    lines.extend(found.iter().map(|finding| finding_line(finding)));
    if found.is_empty() {
        lines.push("  nothing".into());
    }
    let not_seen = doctor.len() - found.len();
    if not_seen > 0 {
        lines.push(format!("  {not_seen} checks could not see what they look for; `waykeeper doctor` lists them"));
    }
    lines.push(String::new());
    lines.push(format!(
        "Real-time {}; load: {} on {}.",
        cores(&settings.rt_cores),
        one_line(&settings.load_name),
        load_cores(settings)
    ));
    let names: Vec<_> = std::iter::once("none").chain(settings.policies.iter().map(String::as_str)).collect();
    lines.push(format!("Settings: {}.", one_line(&names.join(", "))));
    for measurand in settings.measurands() {
        let targets = settings.targets(&measurand);
        let each = match settings.is_simultaneous(&measurand) {
            true => format!(", on {} at the same time", cores(&settings.rt_cores)),
            false if targets > 1 => format!(", on each of {targets} cores"),
            false => String::new(),
        };
        lines.push(format!(
            "  {}{each}: {} of {} under each setting",
            measurand.title(settings),
            counted(settings.blocks().into(), "block", "blocks"),
            seconds(settings.block_s)
        ));
    }
    lines.push(format!("In all {} and the starts of the blocks.", seconds(settings.length_of_boot_s())));
    lines
}

/// The cores of the load in words. Where no core is left for it, its file names them.
pub(crate) fn load_cores(settings: &KpiSettings) -> String {
    if settings.load_cores.is_empty() { "the cores that it names".into() } else { cores(&settings.load_cores) }
}

/// A finding of the doctor's.
pub(crate) fn finding_line(finding: &DoctorFinding) -> String {
    format!("  {}: {}: {}", finding.severity.as_deref().unwrap_or("not seen"), finding.id, one_line(&finding.what))
}

/// The result.
pub fn text(report: &KpiReport) -> String {
    let mut parts = vec![header(report), rows(report)];
    parts.extend(section("guide's row", report.rows.iter().filter_map(guide).collect()));
    parts.extend(section("verdicts", report.rows.iter().flat_map(verdicts).collect()));
    parts.extend(section("packets", report.rows.iter().filter_map(packets).collect()));
    parts.extend(section("largest samples", report.rows.iter().flat_map(largest).collect()));
    parts.extend(section("not measured", report.refused.clone()));
    parts.extend(section("changed between the boots", report.changed.clone()));
    parts.extend(section("notes", report.notes.clone()));
    parts.join("\n\n") + "\n"
}

/// Rows in which no sample ended: they say nothing, and a session measures nothing twice.
pub(crate) fn nothing_seen(report: &KpiReport) -> impl Iterator<Item = String> {
    report.rows.iter().filter(|row| row.iterations == 0).map(|row| {
        let length = seconds(row.run_length_s);
        format!(
            "NOTHING SEEN: {}, {}: no sample in {length}; a new session measures it again",
            row.measured, row.setting
        )
    })
}

fn header(report: &KpiReport) -> String {
    let settings = &report.session.settings;
    let mut lines = vec![format!(
        "{} for each setting beside {} on {}",
        seconds(settings.duration_s),
        one_line(&settings.load_name),
        load_cores(settings)
    )];
    for (number, boot) in (1..).zip(&report.session.boots) {
        lines.push(boot_line(number, boot));
    }
    lines.extend(nothing_seen(report));
    if !report.complete {
        let folder = one_line(&report.folder).into_owned();
        lines.push(format!("NOT COMPLETE: `waykeeper kpi --session {folder}` goes on"));
    }
    lines.join("\n")
}

/// A boot.
pub(crate) fn boot_line(number: u32, boot: &BootRecord) -> String {
    let serious = boot.doctor.iter().filter(|finding| finding.is_serious()).count();
    let doctor = match serious {
        0 => "the doctor found nothing serious".to_owned(),
        1 => "the doctor found 1 serious thing".to_owned(),
        many => format!("the doctor found {many} serious things"),
    };
    let labels = boot.called();
    let labels = if labels.is_empty() { "no labels".into() } else { labels };
    format!("boot {number}, {}: {}; {doctor}", boot.started, one_line(&labels))
}

/// The guide's table.
fn rows(report: &KpiReport) -> String {
    let several = report.session.boots.len() > 1;
    let of = |row: &KpiRow| figures(row, several).map(|(shown, _)| shown).to_vec();
    let all: Vec<_> = report.rows.iter().map(of).collect();
    table(&columns(&COLUMNS), &all).trim_end().to_owned()
}

/// How a row is called below the table.
pub(crate) fn called(row: &KpiRow) -> String {
    let labels: Vec<_> = row.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let labels = if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) };
    format!("{}{labels}, {}, core {}", row.setting, row.measured, row.core)
}

/// The guide's row beside one of ours.
pub(crate) fn guide(row: &KpiRow) -> Option<String> {
    // The settings of a boot share one row of the guide.
    let guide = row.guide.as_ref().filter(|_| row.setting == "none")?;
    let us = |us: Option<f64>| us.map_or("not printed".into(), |us| format_ns(us * 1e3));
    let cycles = guide.million_cycles.map_or(String::new(), |millions| format!(", {millions} million cycles"));
    Some(format!(
        "{}, core {}: {} (section {}), {}: average {}, max {}, jitter {}{cycles}; differs: {}",
        row.measured,
        row.core,
        guide.processor,
        guide.section,
        guide.measured,
        us(guide.average_us),
        us(guide.maximum_us),
        us(guide.jitter_us),
        guide.differs.join("; ")
    ))
}

fn verdicts(row: &KpiRow) -> Vec<String> {
    row.budgets.iter().map(|judged| format!("{}: {}: {}", called(row), judged.budget, judged.text)).collect()
}

/// What became of a row's packets.
pub(crate) fn packets(row: &KpiRow) -> Option<String> {
    let packets = row.packets.as_ref()?;
    Some(format!("{}: {}; {}", called(row), counts(packets), row.path.as_deref().unwrap_or_default()))
}

fn counts(packets: &PacketTotals) -> String {
    let PacketTotals { received, missing, doubled, reordered, .. } = packets;
    let here = format!("{received} received, {missing} missing, {doubled} doubled, {reordered} reordered here");
    let (Some(sent), Some(lost), Some(late)) = (packets.sent, packets.lost, packets.late) else {
        return format!("{here}; what the generator saw is not known");
    };
    let late_ones: Vec<_> = packets
        .late_cycles
        .iter()
        .map(|late| format!("cycle {} of block {} ({})", late.cycle, late.block, format_ns(late.round_trip_ns as f64)))
        .collect();
    let late_ones = if late_ones.is_empty() { String::new() } else { format!(": {}", late_ones.join(", ")) };
    let own = packets.missed_periods.filter(|missed| *missed > 0);
    let own = own.map_or(String::new(), |missed| {
        format!("; {missed} periods without a packet, because the generator came too late")
    });
    let shared = packets.generator_shares_core.map_or(String::new(), |core| {
        format!(" (SHARED CORE: the generator ran on core {core}, where the load or the target ran too)")
    });
    format!(
        "{sent} sent, {lost} lost, {late} late{late_ones}; {here}; round trip {} to {}, mean {}{shared}{own}",
        time(packets.round_trip_min_ns),
        time(packets.round_trip_max_ns),
        time(packets.round_trip_mean_ns)
    )
}

/// The largest sample of a row, and those that are outliers.
pub(crate) fn largest(row: &KpiRow) -> Vec<String> {
    let threshold = row.outlier_above_ns.unwrap_or(f64::INFINITY);
    let shown = row.largest.iter().enumerate().filter(|(at, outlier)| *at == 0 || outlier.ns > threshold);
    shown.map(|(_, outlier)| format!("{}: {}", called(row), outlier_line(outlier))).collect()
}

fn outlier_line(outlier: &Outlier) -> String {
    let at = outlier.at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
    let events: Vec<_> = outlier.in_block.iter().map(|(name, value)| format!("{name} {}", number(*value))).collect();
    let events = if events.is_empty() { "nothing else was counted".into() } else { events.join(", ") };
    format!("{}{at}, block {}; in the whole block: {events}", format_ns(outlier.ns), outlier.block)
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
