//! The pictures as SVG files, drawn without a browser from the same data: for papers, and for pages of others.
//!
//! Nothing moves in them, so what hovering shows in the page stands in their legends: each case with its maximum and the
//! time in which that was seen.

mod drawing;

use plotters::style::RGBColor;
use waykeeper_experiment::layout::{CaseMetric, CaseUnit};
use waykeeper_report::figure::{counted, seconds};
use waykeeper_report::figure_of_metric;
use waykeeper_run::spread::FigureSpread;
use waykeeper_workload::format_ns;

use crate::data::{self, Agreement, Data, LatencyPlot, ScaleKind};

/// More lines than this are a thicket; the page has all.
const MOST_LINES: usize = 10;

/// The colours of the page on a light ground.
const COLOURS: [RGBColor; data::COLOURS] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xa3, 0x44, 0x7c),
    RGBColor(0xb8, 0x86, 0x0b),
    RGBColor(0x3a, 0x96, 0xc9),
    RGBColor(0x5b, 0x4b, 0x9a),
    RGBColor(0x7a, 0x52, 0x30),
    RGBColor(0x4d, 0x6a, 0x00),
    RGBColor(0xc2, 0x18, 0x5b),
];

/// Pixels of a line and of the gap after it, again and again; the page has the same.
const DASHES: [Option<(u32, u32)>; 6] = [None, Some((6, 4)), Some((2, 3)), Some((14, 4)), Some((4, 8)), Some((10, 2))];

/// A picture that is drawn: what `draw` needs.
struct Picture {
    title: String,
    x: Axis,
    y: Axis,
    /// Names of the whole numbers of `x`, from 0 on, where it is no scale.
    places: Vec<String>,
    lines: Vec<Line>,
    /// Upright lines, each with its name.
    limits: Vec<(f64, String)>,
    /// Cases for which there was no room.
    left_out: usize,
}

struct Axis {
    name: String,
    log: bool,
    from: f64,
    to: f64,
    shown: fn(f64) -> String,
}

struct Line {
    name: String,
    colour: RGBColor,
    /// Points that follow each other; a line may have gaps.
    runs: Vec<Vec<(f64, f64)>>,
    dash: Option<(u32, u32)>,
    /// A line that was not measured is thin.
    measured: bool,
    dots: bool,
    /// Whether a point is joined with the next one.
    joined: bool,
    /// Intervals: where, and both ends.
    bars: Vec<(f64, (f64, f64))>,
}

impl Line {
    /// What was measured in a case.
    fn of_case(data: &Data, case: usize, runs: Vec<Vec<(f64, f64)>>) -> Self {
        let of = &data.cases[case];
        Self {
            name: label(data, case),
            colour: COLOURS[of.colour % COLOURS.len()],
            runs,
            dash: DASHES[of.dash % DASHES.len()],
            measured: true,
            dots: false,
            joined: true,
            bars: Vec::new(),
        }
    }
}

/// All pictures for which there is data: the name of a file, and its text.
///
/// # Errors
/// What cannot be drawn, and why.
pub fn svgs(data: &Data) -> Result<Vec<(String, String)>, String> {
    let mut pictures: Vec<(String, Picture)> = Vec::new();
    pictures.extend(latency(data).map(|picture| ("latency.svg".into(), picture)));
    pictures.extend(exceedance(data).map(|picture| ("exceedance.svg".into(), picture)));
    pictures.extend(peaks(data).map(|picture| ("peaks.svg".into(), picture)));
    for at in 0..data.sweeps.len() {
        pictures.extend(sweep(data, at).map(|picture| (format!("sweep-{}.svg", at + 1), picture)));
    }
    let drawn = pictures.into_iter().map(|(name, picture)| {
        let text = drawing::drawn(&picture).map_err(|error| format!("{name} cannot be drawn: {error}"))?;
        Ok((name, text))
    });
    drawn.collect()
}

/// A case as a legend names it: with its maximum and the time in which that was seen.
fn label(data: &Data, case: usize) -> String {
    let of = &data.cases[case];
    let length = seconds(of.run_length_s);
    match of.max_ns {
        Some(max) => format!("{} (max {} in {length})", of.label, format_ns(max)),
        None => format!("{} ({length})", of.label),
    }
}

/// The lines of a picture that are drawn, and how many are not: of several runs some of each, so that they can be compared.
fn chosen<'l, L>(data: &Data, lines: &'l [L], case: fn(&L) -> usize) -> (Vec<&'l L>, usize) {
    let run = |line: &L| data.cases[case(line)].run;
    let mut turns: Vec<(usize, usize)> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let before = lines[..at].iter().filter(|other| run(other) == run(line)).count();
        turns.push((before, at));
    }
    turns.sort_unstable();
    let mut drawn: Vec<usize> = turns.iter().take(MOST_LINES).map(|(_, at)| *at).collect();
    drawn.sort_unstable();
    (drawn.into_iter().map(|at| &lines[at]).collect(), lines.len().saturating_sub(MOST_LINES))
}

fn latency(data: &Data) -> Option<Picture> {
    let latency = data.latency.as_ref()?;
    let scale = latency.scales.iter().find(|scale| scale.kind == latency.first)?;
    let edges = &scale.edges_ns;
    let axis = lengths(latency.first == ScaleKind::Log, latency.least_ns(), edges[edges.len() - 1]);
    let mut most = 1.0_f64;
    let (lines, left_out) = chosen(data, &scale.lines, |line| line.case);
    let lines = lines.into_iter().map(|line| {
        let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut next = None;
        for (step, count) in &line.counts {
            let count = *count as f64;
            most = most.max(count);
            let (from, to) = (edges[*step].max(axis.from), edges[*step + 1]);
            if next != Some(*step) {
                runs.push(vec![(from, 0.5)]);
            }
            if let Some(run) = runs.last_mut() {
                run.extend([(from, count), (to, count)]);
            }
            next = Some(step + 1);
        }
        for run in &mut runs {
            let end = run[run.len() - 1].0;
            run.push((end, 0.5));
        }
        let mut drawn = Line::of_case(data, line.case, runs);
        if line.beyond > 0 {
            drawn.name += &format!("; {} beyond the histogram", counted(line.beyond, "sample", "samples"));
        }
        drawn
    });
    let lines: Vec<Line> = lines.collect();
    Some(Picture {
        title: "Latency plot".into(),
        x: axis,
        y: Axis { name: "samples".into(), log: true, from: 0.5, to: most * 1.5, shown: plain },
        places: Vec::new(),
        lines,
        limits: Vec::new(),
        left_out,
    })
}

fn lengths(log: bool, from: f64, to: f64) -> Axis {
    let from = if log { from.max(0.1) } else { 0.0 };
    Axis { name: "length of a sample".into(), log, from, to: to.max(from * 1.1), shown: format_ns }
}

fn exceedance(data: &Data) -> Option<Picture> {
    let exceedance = data.exceedance.as_ref()?;
    let log = data.latency.as_ref().is_none_or(|latency| latency.first == ScaleKind::Log);
    // A length of 0 has no place on a logarithmic axis.
    let begin = data.latency.as_ref().filter(|_| log).map_or(0.0, LatencyPlot::least_ns);
    let mut lines = Vec::new();
    let (mut from, mut to, mut least) = (f64::INFINITY, 0.0_f64, 1.0_f64);
    let (drawn, left_out) = chosen(data, &exceedance.lines, |line| line.case);
    for line in &drawn {
        let seen: Vec<_> =
            line.points.iter().map(|(ns, share)| (if *ns > 0.0 { *ns } else { begin }, *share)).collect();
        for (ns, share) in &seen {
            (from, to, least) = (from.min(*ns), to.max(*ns), least.min(*share));
        }
        lines.push(Line::of_case(data, line.case, vec![stairs(&seen)]));
    }
    for line in &drawn {
        let Some(tail) = &line.tail else { continue };
        least = tail.points.last().map_or(least, |(_, share)| least.min(*share));
        let beyond = tail.points.iter().copied().filter(|(ns, _)| *ns < 20.0 * to);
        lines.push(Line {
            name: format!(
                "{}, fitted tail of {} events to a run of {}",
                data.cases[line.case].label,
                tail.peaks,
                seconds(tail.over_s)
            ),
            measured: false,
            ..Line::of_case(data, line.case, vec![beyond.collect()])
        });
    }
    let mut limits: Vec<(f64, String)> = Vec::new();
    for limit in &exceedance.limits {
        if !limits.iter().any(|(_, name)| *name == limit.budget) {
            limits.push((limit.limit_ns, limit.budget.clone()));
        }
    }
    let of_lines = lines.iter().flat_map(|line| line.runs.iter().flatten()).map(|(ns, _)| *ns);
    let (from, to) =
        limits.iter().map(|(ns, _)| *ns).chain(of_lines).fold((from, to), |(from, to), ns| (from.min(ns), to.max(ns)));
    Some(Picture {
        title: "Complementary distribution".into(),
        x: lengths(log, from, to * 1.05),
        y: Axis {
            name: "share of samples at least so long".into(),
            log: true,
            from: least / 1.5,
            to: 1.0,
            shown: small,
        },
        places: Vec::new(),
        lines,
        limits,
        left_out,
    })
}

/// Points as stairs: a share holds from just above the length before up to its own length, for no sample lies between the two.
fn stairs(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut stairs = Vec::with_capacity(2 * points.len());
    let mut before: Option<f64> = None;
    for (ns, share) in points {
        stairs.extend(before.map(|before| (before, *share)));
        stairs.push((*ns, *share));
        before = Some(*ns);
    }
    stairs
}

fn peaks(data: &Data) -> Option<Picture> {
    let peaks = data.peaks.as_ref()?;
    let (lines, left_out) = chosen(data, &peaks.lines, |line| line.case);
    let lines = lines.into_iter().map(|line| {
        // A repeat that does not count has no place among the others.
        let counted = line.points.iter().filter(|point| point.not_counted.is_none());
        let points = counted.map(|point| (point.at_s, point.max_ns)).collect();
        Line { dots: true, ..Line::of_case(data, line.case, vec![points]) }
    });
    let lines: Vec<Line> = lines.collect();
    let points = || lines.iter().flat_map(|line| line.runs.iter().flatten());
    let until = points().map(|(at, _)| *at).fold(0.0, f64::max);
    let (least, most) =
        points().fold((f64::INFINITY, 0.0_f64), |(least, most), (_, ns)| (least.min(*ns), most.max(*ns)));
    let log = most > 20.0 * least && least > 0.0;
    (until > 0.0 && most > 0.0).then(|| Picture {
        title: "Largest samples over time".into(),
        x: Axis { name: "time measured".into(), log: false, from: 0.0, to: until * 1.02, shown: seconds },
        y: Axis {
            name: "largest sample".into(),
            log,
            from: if log { least / 1.5 } else { 0.0 },
            to: most * 1.5,
            shown: format_ns,
        },
        places: Vec::new(),
        lines,
        limits: Vec::new(),
        left_out,
    })
}

fn sweep(data: &Data, at: usize) -> Option<Picture> {
    let sweep = &data.sweeps[at];
    let mut lines = Vec::new();
    let drawn = sweep.lines.len().min(MOST_LINES);
    for (number, line) in sweep.lines.iter().enumerate().take(MOST_LINES) {
        // Points that nothing joins stand beside each other.
        let aside =
            if sweep.is_ordered { 0.0 } else { (number as f64 - (drawn - 1) as f64 / 2.0) * 0.6 / drawn as f64 };
        let at = |place: usize| place as f64 + aside;
        let own = line.points.iter().enumerate().filter_map(|(place, point)| Some((at(place), point.as_ref()?.value)));
        let colour = COLOURS[number % COLOURS.len()];
        let spreads =
            line.points.iter().enumerate().filter_map(|(place, point)| Some((place, point.as_ref()?.spread?)));
        let spreads: Vec<(usize, FigureSpread)> = spreads.collect();
        lines.push(Line {
            name: format!("{}{}", line.name, rests_on(&spreads)),
            colour,
            runs: vec![own.collect()],
            dash: None,
            measured: true,
            dots: true,
            joined: sweep.is_ordered,
            bars: spreads.iter().map(|(place, spread)| (at(*place), (spread.low.max(0.0), spread.high))).collect(),
        });
        // What was imposed on the model agrees by construction, and is left out.
        let others =
            [(Agreement::Predicted, "published", DASHES[1]), (Agreement::Fitted, "published, fitted on", DASHES[2])];
        for (agreement, what, dash) in others {
            let theirs = line.points.iter().enumerate().filter_map(|(place, point)| {
                let point = point.as_ref().filter(|point| point.how == Some(agreement))?;
                Some((at(place), point.published?))
            });
            let theirs: Vec<(f64, f64)> = theirs.collect();
            if !theirs.is_empty() {
                lines.push(Line {
                    name: format!("{}, {what}", line.name),
                    colour,
                    runs: vec![theirs],
                    dash,
                    measured: false,
                    dots: true,
                    joined: sweep.is_ordered,
                    bars: Vec::new(),
                });
            }
        }
    }
    let values = lines.iter().flat_map(|line| line.runs.iter().flatten()).map(|(_, value)| *value);
    let ends = lines.iter().flat_map(|line| &line.bars).map(|(_, (_, high))| *high);
    let most = values.chain(ends).fold(0.0, f64::max);
    let shown: fn(f64) -> String = match sweep.metric.unit() {
        CaseUnit::Ratio => |value| figure_of_metric(CaseMetric::Slowdown, Some(value)),
        CaseUnit::Bandwidth => |value| figure_of_metric(CaseMetric::Bandwidth, Some(value)),
        CaseUnit::Count => |value| figure_of_metric(CaseMetric::Misses, Some(value)),
        CaseUnit::Time => format_ns,
    };
    (most > 0.0).then(|| Picture {
        title: sweep.title(data.runs.len()),
        x: Axis {
            name: sweep.sweep.clone(),
            log: false,
            from: -0.5,
            to: sweep.points.len() as f64 - 0.5,
            shown: plain,
        },
        y: Axis { name: sweep.metric.to_string(), log: false, from: 0.0, to: most * 1.15, shown },
        places: sweep.points.clone(),
        lines,
        limits: Vec::new(),
        left_out: sweep.lines.len().saturating_sub(MOST_LINES),
    })
}

/// What the intervals of a line rest on, for its legend.
fn rests_on(spreads: &[(usize, FigureSpread)]) -> String {
    let Some((_, first)) = spreads.first() else { return String::new() };
    let counts = || spreads.iter().map(|(_, spread)| spread.n);
    let (least, most) = (counts().min().unwrap_or(first.n), counts().max().unwrap_or(first.n));
    let n = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    format!(" (95 % of the mean, {n} {})", first.of.name())
}

fn plain(value: f64) -> String {
    if value < 1e5 { format!("{value:.0}") } else { format!("{value:.0e}") }
}

fn small(value: f64) -> String {
    if value > 0.09 { format!("{value}") } else { format!("{value:.0e}") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use waykeeper_run::spread::SpreadOf;

    use super::*;
    use crate::data::{SweepLine, SweepPicture, SweptFigure};
    use crate::source::ReportedRun;

    fn run(name: &str) -> ReportedRun {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/released/0.1.0").join(name);
        ReportedRun::read(&kept).unwrap()
    }

    #[test]
    fn each_picture_is_drawn_and_names_the_time_of_each_maximum() {
        for name in ["host", "simulated"] {
            let run = run(name);
            let pictures = svgs(&Data::new(std::slice::from_ref(&run))).unwrap();
            let names: Vec<_> = pictures.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["latency.svg", "exceedance.svg", "peaks.svg"]);
            for (file, text) in &pictures {
                assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{file}");
                assert!(text.matches("<polyline").count() > run.run.cases.len(), "{file}");
                for case in run.run.cases.iter().take(MOST_LINES) {
                    let max = format_ns(case.max_ns.unwrap());
                    let label = format!("{} (max {max} in {})", case.name, seconds(case.run_length_s));
                    assert!(text.contains(&label), "{file}: {label}");
                }
            }
        }
    }

    #[test]
    fn runs_are_told_apart_and_each_has_lines() {
        let mut host = run("host");
        let cases = host.run.cases.clone();
        // More cases than there is room for, in the first run alone.
        while host.run.cases.len() <= MOST_LINES {
            host.run.cases.extend(cases.clone());
        }
        let runs = [host, run("host")];
        let data = Data::new(&runs);
        let dashes = |run: usize| -> Vec<_> {
            (0..data.cases.len())
                .filter(|case| data.cases[*case].run == run)
                .map(|case| Line::of_case(&data, case, Vec::new()).dash)
                .collect()
        };
        assert_eq!((dashes(0)[0], dashes(1)[0]), (None, Some((6, 4))));
        assert_eq!(data.cases[0].colour, data.cases.iter().find(|case| case.run == 1).unwrap().colour);
        let all: Vec<usize> = (0..data.cases.len()).collect();
        let (drawn, left_out) = chosen(&data, &all, |case| *case);
        assert_eq!((drawn.len(), left_out), (MOST_LINES, all.len() - MOST_LINES));
        let of_second = drawn.iter().filter(|case| data.cases[***case].run == 1).count();
        assert_eq!(of_second, dashes(1).len().min(MOST_LINES / 2));
        for (file, text) in svgs(&data).unwrap() {
            assert!(text.contains("A: ") && text.contains("B: "), "{file}");
            assert!(text.contains(&format!("not drawn: {left_out} more")), "{file}");
        }
    }

    #[test]
    fn a_legend_lies_below_the_axes() {
        let run = run("simulated");
        for (file, text) in svgs(&Data::new(std::slice::from_ref(&run))).unwrap() {
            let name = &run.run.cases[0].name;
            let at = text.find(&format!("{name} (max ")).unwrap();
            let tag = &text[text[..at].rfind("<text").unwrap()..at];
            let y: f64 = tag.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            assert!(y > 520.0, "{file}: {tag}");
        }
    }

    #[test]
    fn a_sweep_has_its_intervals_and_what_they_rest_on() {
        let mut data = Data::new(&[run("simulated")]);
        let point = |value, spread| Some(SweptFigure { case: 0, value, spread, published: None, how: None });
        let spread = |low, high, n| Some(FigureSpread { low, high, n, of: SpreadOf::Repeats });
        let points = vec![point(1.0, spread(-0.5, 1.5, 3)), point(2.0, None), point(3.0, spread(2.0, 4.0, 5))];
        let name = |at: usize| format!("p{at}");
        data.sweeps = vec![SweepPicture {
            run: 0,
            metric: CaseMetric::Slowdown,
            sweep: "size".into(),
            points: (0..3).map(name).collect(),
            is_ordered: true,
            lines: vec![SweepLine { name: "none".into(), points }],
        }];
        let drawn = svgs(&data).unwrap();
        let (_, text) = drawn.iter().find(|(file, _)| file == "sweep-1.svg").unwrap();
        assert!(text.contains("none (95 % of the mean, 3 to 5 repeats)"), "{text}");
        // Three points, two of them with an upright line and two caps.
        let own = format!("stroke=\"#{:02X}{:02X}{:02X}\" stroke-width=\"1\"", 0x00, 0x72, 0xb2);
        assert_eq!(text.matches(&own).count(), 6, "{text}");
        // Nothing is drawn below the axis, which begins at 0.
        data.sweeps[0].lines[0].points[0] = point(1.0, spread(0.0, 1.5, 3));
        let same = svgs(&data).unwrap();
        assert_eq!(same.iter().find(|(file, _)| file == "sweep-1.svg").unwrap().1, *text);
    }

    #[test]
    fn what_was_fitted_on_is_no_prediction_and_what_was_imposed_is_not_drawn() {
        let mut data = Data::new(&[run("simulated")]);
        let point = |published, how| Some(SweptFigure { case: 0, value: 1.0, spread: None, published, how });
        let line = |name: &str, hows: [Agreement; 2]| SweepLine {
            name: name.into(),
            points: hows.map(|how| point(Some(2.0), Some(how))).to_vec(),
        };
        let (predicted, fitted, imposed) = (Agreement::Predicted, Agreement::Fitted, Agreement::Imposed);
        let lines = vec![
            line("a", [predicted; 2]),
            line("b", [predicted, fitted]),
            line("c", [imposed; 2]),
            line("d", [fitted; 2]),
        ];
        let points = vec!["one".into(), "other".into()];
        let (metric, sweep) = (CaseMetric::Max, "hammer".into());
        data.sweeps = vec![SweepPicture { run: 0, metric, sweep, points, is_ordered: false, lines }];
        let drawn = svgs(&data).unwrap();
        let (_, text) = drawn.iter().find(|(file, _)| file == "sweep-1.svg").unwrap();
        let words = |of: &str| text.lines().map(str::trim).filter(|line| *line == of).count();
        let shown =
            |name: &str| [words(&format!("{name}, published")), words(&format!("{name}, published, fitted on"))];
        assert_eq!(["a", "b", "c", "d"].map(shown), [[1, 0], [1, 1], [0, 0], [0, 1]], "{text}");
        // Both points of the sweep have their name below the axis, and no line joins what is no amount.
        assert_eq!((words("one"), words("other")), (1, 1), "{text}");
        let joins = |text: &str| text.matches("<polyline fill=\"none\" opacity=\"1\" stroke=\"#0072B2\"").count();
        assert_eq!(joins(text), 0, "{text}");
        data.sweeps[0].is_ordered = true;
        let drawn = svgs(&data).unwrap();
        // The line itself, and the dashes of the published one.
        assert!(joins(&drawn.iter().find(|(file, _)| file == "sweep-1.svg").unwrap().1) > 1);
    }

    #[test]
    fn long_names_of_points_are_numbers_below_the_axis_and_names_in_the_legend() {
        let mut data = Data::new(&[run("simulated")]);
        let point = Some(SweptFigure { case: 0, value: 1.0, spread: None, published: None, how: None });
        let points: Vec<String> = (0..12).map(|at| format!("a neighbour with the long name {at}")).collect();
        let lines = vec![SweepLine { name: "none".into(), points: vec![point; 12] }];
        let (metric, sweep) = (CaseMetric::Max, "hammer".into());
        data.sweeps = vec![SweepPicture { run: 0, metric, sweep, points, is_ordered: false, lines }];
        let drawn = svgs(&data).unwrap();
        let (_, text) = drawn.iter().find(|(file, _)| file == "sweep-1.svg").unwrap();
        let words = |of: &str| text.lines().map(str::trim).filter(|line| *line == of).count();
        assert_eq!((words("1"), words("12"), words("12: a neighbour with the long name 11")), (1, 1, 1), "{text}");
    }

    #[test]
    fn between_two_lengths_the_share_is_that_of_the_longer_one() {
        let points = [(1e3, 1.0), (2e3, 0.4975), (1.2e6, 0.00025)];
        let stairs = stairs(&points);
        // 10 of 39 900 samples are at least 100 us long, and not the half that is at least 2 us long.
        let share_at = |ns: f64| {
            let level = stairs.windows(2).find(|pair| pair[0].0 < ns && ns <= pair[1].0);
            level.map(|pair| (pair[0].1, pair[1].1))
        };
        for (ns, share) in [(1.5e3, 0.4975), (2e3, 0.4975), (2.1e3, 0.00025), (1e5, 0.00025), (1.2e6, 0.00025)] {
            assert_eq!(share_at(ns), Some((share, share)), "{ns}");
        }
        assert_eq!((stairs.first(), stairs.last()), (points.first(), points.last()));
    }

    #[test]
    fn an_axis_begins_at_the_first_step_that_has_samples() {
        let plot = |edges_ns: Vec<f64>| LatencyPlot {
            scales: vec![crate::data::Scale { kind: ScaleKind::Log, edges_ns, lines: Vec::new() }],
            first: ScaleKind::Log,
        };
        assert_eq!(plot(vec![500.0, 1500.0]).least_ns(), 500.0);
        // From 0 to half a tick: no empty decades below it.
        let from_0 = plot(vec![0.0, 500.0, 1500.0]).least_ns();
        assert!((100.0..500.0).contains(&from_0), "{from_0}");
    }

    #[test]
    fn a_hostile_name_is_text() {
        let mut run = run("simulated");
        run.run.cases[0].name = "</text><script>a&b\"</script>".into();
        for (file, text) in svgs(&Data::new(&[run])).unwrap() {
            assert!(!text.contains("<script") && text.contains("&lt;script&gt;"), "{file}");
        }
    }
}
