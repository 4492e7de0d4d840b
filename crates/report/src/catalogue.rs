//! The catalogue: one processor, or all of them.

use waykeeper_platform::catalogue::{Catalogue, Entry, MeasuredMachine, Slip, Test};

use crate::table::{columns, table};
use crate::text::{paragraph, section};

/// All processors, a line each.
pub fn catalogue(catalogue: &Catalogue) -> String {
    let columns = columns(&[
        ("processor", false),
        ("series", false),
        ("cores", true),
        ("E-cores", true),
        ("TDP", true),
        ("use", false),
        ("L3 mask", true),
        ("classes", true),
        ("measured in", false),
        ("", false),
    ]);
    let rows: Vec<Vec<String>> = catalogue
        .processors
        .iter()
        .map(|row| {
            let mask = catalogue.masks.iter().find(|mask| mask.sku == row.sku);
            let measured = catalogue.measurements.iter().find(|it| it.sku == row.sku);
            let slips = row.slip.is_some() || mask.is_some_and(|mask| mask.slip.is_some());
            vec![
                row.sku.clone(),
                row.series.clone(),
                row.cores.to_string(),
                row.efficiency_cores.map_or(String::new(), |cores| cores.to_string()),
                row.tdp_w.map_or(String::new(), |watts| format!("{watts} W")),
                row.r#use.clone(),
                mask.map_or(String::new(), |mask| format!("{:#x}", mask.mask)),
                mask.map_or(String::new(), |mask| mask.classes.to_string()),
                measured.map_or(String::new(), |it| it.section.clone()),
                if slips { "*".into() } else { String::new() },
            ]
        })
        .collect();
    let slips = catalogue.text_slips.iter().map(|row| slip(&row.section, &row.slip)).collect();
    let mut text = table(&columns, &rows);
    text += &format!(
        "\n\n{}\n\n",
        paragraph(
            &format!(
                "{} processors of: {}. A star: the guide prints something else; `waykeeper catalogue SKU` says what, with firmware \
                 settings, pins and measurements. Processors of the Xeon D series enumerate their masks by CPUID.",
                rows.len(),
                catalogue.document
            ),
            ""
        )
    );
    text += &section("slips of the guide's text", slips).unwrap_or_default();
    text + "\n"
}

fn slip(section: &str, slip: &Slip) -> String {
    format!("{section} prints \"{}\"; right is {}: {}", slip.prints, slip.right, slip.why)
}

/// One processor.
pub fn entry(entry: &Entry, document: &str) -> String {
    let mut parts = vec![heading(entry), mask(entry)];
    parts.extend(entry.measurements.iter().map(measurement));
    parts.extend(speed_shift(entry));
    parts.extend(firmware(entry));
    parts.extend(pins(entry));
    parts.extend(section("what the guide prints otherwise", slips(entry)));
    parts.push(format!("Source: {document}; sections as named."));
    parts.join("\n\n") + "\n"
}

fn heading(entry: &Entry) -> String {
    let Some(row) = &entry.processor else {
        return format!("{}: in no list of processors of the guide, but measured there", entry.sku);
    };
    let cores = match row.efficiency_cores {
        Some(efficient) => format!("{} cores ({} P, {efficient} E)", row.cores, row.cores - efficient),
        None => format!("{} cores", row.cores),
    };
    let power = row.tdp_w.map_or(String::new(), |watts| format!(", {watts} W"));
    let safety = match row.functional_safety {
        Some(true) => ", for functional safety",
        _ => "",
    };
    format!(
        "Intel {} {}: {} ({}), {cores}{power}, {}{safety} [{}]",
        row.family, row.sku, row.series, row.code_name, row.r#use, row.section
    )
}

fn mask(entry: &Entry) -> String {
    match &entry.mask {
        Some(mask) => format!(
            "L{}: masks of {} bits ({:#x}), {} classes, not enumerated by CPUID [{}]",
            mask.level, mask.bits, mask.mask, mask.classes, mask.section
        ),
        None => "no mask of the last-level cache is given; CPUID leaf 0x10 shows it where the processor has one".into(),
    }
}

fn measurement(of: &MeasuredMachine) -> String {
    let masks: Vec<_> = of
        .masks
        .iter()
        .map(|mask| format!("L{} {:#x} for real time, {:#x} for the others", mask.level, mask.real_time, mask.others))
        .collect();
    let heading =
        format!("measured [{}]: {}, {}, Linux {}; {}", of.section, of.board, of.memory, of.kernel, masks.join("; "));
    let columns = columns(&[
        ("test", false),
        ("network", false),
        ("period us", true),
        ("TCC", false),
        ("mean us", true),
        ("max us", true),
        ("jitter us", true),
        ("min us", true),
        ("million", true),
        ("", false),
    ]);
    let figure = |value: Option<f64>| value.map_or(String::new(), |value| format!("{}", (value * 10.0).round() / 10.0));
    let rows: Vec<Vec<String>> = of
        .results
        .iter()
        .map(|row| {
            let test = match (row.test, row.thousand_instructions) {
                (Test::Rtcp, Some(thousands)) => format!("rtcp {thousands}k"),
                (Test::Rtcp, None) => "rtcp".into(),
                (Test::Cyclictest, _) => "cyclictest".into(),
            };
            let network = [&row.driver, &row.ethernet].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
            vec![
                test,
                network,
                row.period_us.to_string(),
                if row.tcc_mode { "on" } else { "off" }.into(),
                figure(row.average_us),
                figure(row.maximum_us),
                figure(row.jitter_us),
                // Where one of its parts is wrong there is none.
                figure(row.minimum_us().filter(|_| row.slip.is_none())),
                row.million_cycles.map_or(String::new(), |count| count.to_string()),
                row.slip.as_ref().map_or(String::new(), |_| "*".into()),
            ]
        })
        .collect();
    format!("{}\n\n{}", paragraph(&heading, "  "), table(&columns, &rows))
}

fn speed_shift(entry: &Entry) -> Option<String> {
    let shift = entry.speed_shift.as_ref()?;
    let mut lines = vec![format!(
        "up to {} P-cores at {} GHz while the others stay at {} GHz or below",
        shift.raised_cores, shift.raised_ghz, shift.base_ghz
    )];
    for register in &entry.registers {
        let ghz = register.ghz.map_or(String::new(), |ghz| format!(" ({ghz} GHz)"));
        lines.push(format!(
            "cores {}: {} ({:#x}) = {}{ghz}",
            register.cores, register.name, register.address, register.value
        ));
    }
    section(&format!("raised cores [{}]", shift.section), lines)
}

fn firmware(entry: &Entry) -> Option<String> {
    let firmware = entry.firmware.as_ref()?;
    let columns = columns(&[("menu", false), ("option", false), ("TCC Mode sets", false), ("", false)]);
    let rows: Vec<Vec<String>> = firmware
        .settings
        .iter()
        .map(|setting| {
            let mut marks = Vec::new();
            marks.extend(setting.each_port.then_some("every root port"));
            marks.extend(setting.with_tcc_menu.then_some("with a TCC menu"));
            vec![setting.menu.clone(), setting.option.clone(), setting.value.clone(), marks.join(", ")]
        })
        .collect();
    let heading = format!("firmware of {} [{}]", firmware.platform, firmware.section);
    if rows.is_empty() {
        return Some(format!("{heading}: no table"));
    }
    Some(format!("{heading}\n\n{}", table(&columns, &rows)))
}

fn pins(entry: &Entry) -> Option<String> {
    let lines = entry.timed_gpio.iter().flat_map(|of| {
        of.pins.iter().map(move |pin| format!("{} [{}]: pin {} is {}", of.platform, of.section, pin.number, pin.name))
    });
    section("timed GPIO", lines.collect())
}

fn slips(entry: &Entry) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |section: &str, of: &Option<Slip>| found.extend(of.as_ref().map(|of| slip(section, of)));
    if let Some(row) = &entry.processor {
        add(&row.section, &row.slip);
    }
    if let Some(row) = &entry.mask {
        add(&row.section, &row.slip);
    }
    for row in &entry.measurements {
        add(&row.section, &row.slip);
        row.results.iter().for_each(|result| add(&row.section, &result.slip));
    }
    if let Some(row) = &entry.speed_shift {
        add(&row.section, &row.slip);
    }
    if let Some(row) = &entry.firmware {
        add(&row.section, &row.slip);
    }
    entry.timed_gpio.iter().for_each(|row| add(&row.section, &row.slip));
    found.dedup();
    found
}
