//! Published figures beside those of the run.

use waykeeper_experiment::layout::CaseMetric;
use waykeeper_experiment::published::Figure;
use waykeeper_experiment::published::Reference;
use waykeeper_run::{CaseRecord, Run};

use crate::figure::{count, ratio, run_length};
use crate::metric::figure;
use crate::table::{columns, table};
use crate::text::paragraph;

/// The figures that can be published, the metric of each, and its heading.
const FIGURES: [(Figure, CaseMetric, &str); 7] = [
    (Figure::MinNs, CaseMetric::Min, "min"),
    (Figure::MeanNs, CaseMetric::Mean, "mean"),
    (Figure::MaxNs, CaseMetric::Max, "max"),
    (Figure::Slowdown, CaseMetric::Slowdown, "slowdown"),
    (Figure::BandwidthBytesPerS, CaseMetric::Bandwidth, "bandwidth"),
    (Figure::TotalBandwidthBytesPerS, CaseMetric::TotalBandwidth, "all cores"),
    (Figure::MissesPerSample, CaseMetric::Misses, "misses"),
];

/// A table of the cases that have published figures.
pub fn references(run: &Run) -> Option<String> {
    let with: Vec<(&CaseRecord, &Reference)> =
        run.cases.iter().filter_map(|case| Some((case, case.reference.as_ref()?))).collect();
    let source = &with.first()?.1.source;
    let mut spec = vec![("beside the published figures", false)];
    for (what, _, heading) in FIGURES {
        spec.push((heading, true));
        // A maximum never travels without the time in which it was seen.
        spec.extend((what == Figure::MaxNs).then_some(("seen in", true)));
        spec.push(("published", true));
        spec.extend((what == Figure::MaxNs).then_some(("seen in", true)));
        spec.push(("ratio", true));
    }
    let imposed_everywhere = |what: Figure| {
        with.iter().all(|(_, reference)| published(reference, what).is_none() || imposed(reference, what))
    };
    let rows: Vec<Vec<String>> = with
        .iter()
        .map(|(case, reference)| {
            let mut row = vec![case.name.clone()];
            for (what, metric, _) in FIGURES {
                let theirs = published(reference, what).filter(|_| !imposed_everywhere(what));
                let own = theirs.and(case.figure(metric));
                let length = |text: String| if what == Figure::MaxNs && theirs.is_some() { vec![text] } else { vec![] };
                let pad = |list: Vec<String>| {
                    if what == Figure::MaxNs && list.is_empty() { vec![String::new()] } else { list }
                };
                row.push(figure(metric, own));
                row.extend(pad(length(run_length(case.run_length_s))));
                row.push(figure(metric, theirs));
                row.extend(pad(length(seen_in(reference))));
                row.push(judged_ratio(reference, what, own, theirs));
            }
            row
        })
        .collect();
    let mut legend =
        "`imposed`: the figure was put into the model and agrees by construction; `fitted`: a parameter was \
                      chosen for it. Neither is evidence. What is not marked is predicted."
            .to_owned();
    if with.iter().any(|(_, reference)| reference.min_ns.is_some()) && imposed_everywhere(Figure::MinNs) {
        legend += " The minimum is imposed in every row.";
    }
    Some(format!("{}\n{}", table(&columns(&spec), &rows), paragraph(&format!("published: {source}. {legend}"), "")))
}

/// The run length that a published maximum belongs to.
fn seen_in(reference: &Reference) -> String {
    let samples = || reference.run_samples.map(|samples| format!("{} samples", count(samples)));
    reference.run_length_s.map(|s| format!("{s} s")).or_else(samples).unwrap_or_default()
}

fn published(reference: &Reference, what: Figure) -> Option<f64> {
    match what {
        Figure::MinNs => reference.min_ns,
        Figure::MeanNs => reference.mean_ns,
        Figure::MaxNs => reference.max_ns,
        Figure::Slowdown => reference.slowdown,
        Figure::BandwidthBytesPerS => reference.bandwidth_bytes_per_s,
        Figure::TotalBandwidthBytesPerS => reference.total_bandwidth_bytes_per_s,
        Figure::MissesPerSample => reference.misses_per_sample,
    }
}

fn imposed(reference: &Reference, what: Figure) -> bool {
    reference.imposed.iter().any(|name| name == what.key())
}

fn judged_ratio(reference: &Reference, what: Figure, own: Option<f64>, published: Option<f64>) -> String {
    let Some((own, published)) = own.zip(published) else { return String::new() };
    let ratio = match published {
        // Nothing is a multiple of nothing.
        0.0 if own == 0.0 => "equal".to_owned(),
        0.0 => "not 0".to_owned(),
        _ => ratio(Some(own / published)),
    };
    match () {
        () if imposed(reference, what) => "imposed".into(),
        () if reference.fitted.iter().any(|name| name == what.key()) => format!("{ratio} fitted"),
        () => ratio,
    }
}
