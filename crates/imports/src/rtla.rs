//! The histogram that `rtla timerlat hist` and `rtla osnoise hist` print: a column for each cause and core.

use crate::buckets::Widths;
use crate::{Imported, ImportedHistogram, TWO_RESULTS};

/// The kernel takes no shorter period of timerlat (kernel/trace/trace_osnoise.c, timerlat_min_period), seconds.
const SHORTEST_PERIOD_S: f64 = 100e-6;

pub fn read(text: &str) -> Result<Imported, String> {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    // Warnings may stand before it.
    let begins = |line: &str| line.starts_with("# RTLA");
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let title = lines.by_ref().map(|(_, line)| line).find(|line| begins(line)).unwrap_or(first);
    if text.lines().filter(|line| begins(line.trim()) || line.trim().starts_with("Index ")).count() > 2 {
        return Err(TWO_RESULTS.into());
    }
    let tool = match title {
        title if title.starts_with("# RTLA timerlat histogram") => "rtla timerlat",
        title if title.starts_with("# RTLA osnoise histogram") => "rtla osnoise",
        other => {
            let found: String = other.chars().take(60).collect();
            return Err(format!(
                "found `{found}`; expected the JSON of cyclictest, oslat or jitterdebugger, or `# RTLA timerlat histogram`"
            ));
        }
    };
    let (mut step_ns, mut length_s, mut columns) = (1e3, None, Vec::new());
    let mut totals = Vec::new();
    let mut rows: Vec<(u64, bool)> = Vec::new();
    let mut summed_up: Vec<&str> = Vec::new();
    for (number, line) in lines {
        if let Some(unit) = line.strip_prefix("# Time unit is ") {
            step_ns = if unit.starts_with("nanoseconds") { 1.0 } else { 1e3 };
        } else if let Some(length) = line.strip_prefix("# Duration:") {
            length_s = duration(length);
        } else if let Some(heads) = line.strip_prefix("Index") {
            columns = heads.split_whitespace().map(|name| column(name, number)).collect::<Result<Vec<_>, _>>()?;
        } else if line.starts_with("ALL:") || line.starts_with("rtla ") {
            // What follows sums up the columns, or says what stopped the trace.
            break;
        } else if !line.is_empty() && !line.starts_with('#') {
            row(line, number, &mut columns)?;
            let mut words = line.split_whitespace();
            let label = words.next().and_then(|label| label.parse().ok());
            rows.extend(label.map(|label| (label, words.any(|count| !["0", "-"].contains(&count)))));
            summed_up.extend(SUMS.iter().filter(|label| line.starts_with(**label)));
            if let Some(counts) = line.strip_prefix("count:") {
                totals = counts.split_whitespace().map(|count| count.parse().ok()).collect();
            }
        }
    }
    if columns.is_empty() {
        return Err("found no line that begins with `Index`; expected the whole output of `rtla ... hist`".into());
    }
    if let Some(without) = SUMS.iter().find(|label| !summed_up.contains(*label)) {
        return Err(format!(
            "found no row `{without}`; expected the whole output of `rtla ... hist`, without --no-summary: this file was cut short"
        ));
    }
    let totals = totals.into_iter().chain(std::iter::repeat(None));
    let mut histograms = Vec::new();
    for (column, total) in columns.into_iter().zip(totals) {
        let mut column = ImportedHistogram { step_ns, length_s, ..column }.without_samples()?;
        column.check_total(total)?;
        histograms.push(column);
    }
    let extremes_in_buckets = tool == "rtla osnoise";
    let widths = Widths::of(&rows, &histograms, extremes_in_buckets);
    if extremes_in_buckets {
        widths.in_steps(&mut histograms)?;
    } else {
        widths.in_buckets(&mut histograms);
    }
    for column in &histograms {
        if tool == "rtla timerlat" {
            column.check_interval(SHORTEST_PERIOD_S)?;
        }
    }
    Ok(Imported {
        tool: tool.into(),
        version: None,
        command_line: None,
        started: None,
        kernel: None,
        architecture: None,
        remarks: widths.remark(step_ns, &histograms).into_iter().collect(),
        histograms,
    })
}

/// The rows below the histogram.
const SUMS: [&str; 5] = ["over:", "count:", "min:", "avg:", "max:"];

/// `IRQ-001`, `Thr-001`, `CPU-001`.
fn column(name: &str, line: usize) -> Result<ImportedHistogram, String> {
    let core = name.rsplit('-').next().and_then(|core| core.parse().ok());
    let core =
        core.ok_or_else(|| format!("line {line}: found the column `{name}`; expected a name such as `Thr-001`"))?;
    Ok(ImportedHistogram {
        name: name.into(),
        core,
        step_ns: 1e3,
        bucket: 1,
        narrowest: 1,
        counts: Vec::new(),
        beyond: 0,
        missing: 0,
        min: None,
        max: None,
        mean: None,
        length_s: None,
    })
}

/// A row of the histogram, or of what it sums up.
fn row(line: &str, number: usize, columns: &mut [ImportedHistogram]) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let label = words.next().unwrap_or_default();
    let values: Vec<&str> = words.collect();
    let expected = |what: &str| format!("line {number}: found `{line}`; expected {what}");
    if columns.is_empty() {
        return Err(expected("`Index` and the names of the columns before the first row"));
    }
    if values.len() != columns.len() {
        return Err(expected(&format!("{} values after `{label}`", columns.len())));
    }
    for (column, text) in columns.iter_mut().zip(values) {
        // Of a column without samples there is no least, mean and most.
        if text == "-" {
            continue;
        }
        let whole = || text.parse::<u64>().map_err(|_| expected("whole numbers"));
        match label {
            "over:" => column.beyond = whole()?,
            "count:" => {}
            "min:" => column.min = Some(whole()?),
            "max:" => column.max = Some(whole()?),
            "avg:" => column.mean = Some(text.parse().map_err(|_| expected("numbers"))?),
            index => {
                let value = index.parse().map_err(|_| expected("a whole number, over:, count:, min:, avg: or max:"))?;
                let count = whole()?;
                if count > 0 {
                    column.counts.push((value, count));
                }
            }
        }
    }
    Ok(())
}

/// `0 00:01:00`: days, hours, minutes, seconds.
fn duration(text: &str) -> Option<f64> {
    let (days, clock) = text.trim().split_once(' ')?;
    let parts: Vec<f64> = clock.trim().split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts.as_slice() else { return None };
    let length = days.parse::<f64>().ok()? * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds;
    (length.is_finite() && length > 0.0).then_some(length)
}
