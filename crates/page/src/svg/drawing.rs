//! One picture on its axes, with the legend below: above the data a legend would hide some of them.

use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Line, Picture};

type Drawn<T> = Result<T, Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Width of a picture, and height of its axes without the legend.
const SIZE: (u32, u32) = (960, 520);
/// Height of a line of the legend.
const ROW: u32 = 19;
/// Where the legend begins, where its texts do, and how many letters have room in one of its lines.
const LEGEND_FROM: i32 = 76;
const LEGEND_TEXT: i32 = LEGEND_FROM + 40;
const LETTERS: usize = 120;

/// The picture as SVG.
pub(super) fn drawn(picture: &Picture) -> Drawn<String> {
    let (x, y) = (picture.x.from..picture.x.to, picture.y.from..picture.y.to);
    match (picture.x.log, picture.y.log) {
        (false, false) => on_axes(picture, x, y),
        (false, true) => on_axes(picture, x, y.log_scale()),
        (true, false) => on_axes(picture, x.log_scale(), y),
        (true, true) => on_axes(picture, x.log_scale(), y.log_scale()),
    }
}

fn on_axes<X, Y>(picture: &Picture, x: X, y: Y) -> Drawn<String>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut text = String::new();
    let legend = legend(picture);
    let rows: usize = legend.iter().map(|entry| entry.texts.len()).sum();
    {
        let size = (SIZE.0, SIZE.1 + ROW * (rows as u32 + 1));
        let all = SVGBackend::with_string(&mut text, size).into_drawing_area();
        all.fill(&WHITE)?;
        let (area, below) = all.split_vertically(SIZE.1);
        let mut chart = ChartBuilder::on(&area)
            .caption(&picture.title, ("sans-serif", 20))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(76)
            .build_cartesian_2d(x, y)?;
        let mut mesh = chart.configure_mesh();
        if !picture.places.is_empty() {
            mesh.disable_x_mesh().x_labels(0);
        }
        mesh.light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .x_desc(&picture.x.name)
            .y_desc(&picture.y.name)
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .x_label_formatter(&|value| (picture.x.shown)(*value))
            .y_label_formatter(&|value| (picture.y.shown)(*value))
            .draw()?;
        for (at, name) in below_axis(&picture.places).into_iter().enumerate() {
            let (x, y) = chart.backend_coord(&(at as f64, picture.y.from));
            let style = ("sans-serif", 13).into_text_style(&area).pos(Pos::new(HPos::Center, VPos::Top));
            area.draw(&Text::new(name, (x, y + 8), style))?;
        }
        for line in &picture.lines {
            draw_line(&mut chart, line)?;
        }
        for (at, _) in &picture.limits {
            let ends = vec![(*at, picture.y.from), (*at, picture.y.to)];
            chart.draw_series(LineSeries::new(ends, RED.stroke_width(1)))?;
        }
        draw_legend(&below, &legend)?;
        all.present()?;
    }
    Ok(text)
}

fn style(line: &Line) -> ShapeStyle {
    line.colour.stroke_width(if line.measured { 2 } else { 1 })
}

fn draw_line<'a, X, Y>(chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>, line: &Line) -> Drawn<()>
where
    X: Ranged<ValueType = f64> + 'a,
    Y: Ranged<ValueType = f64> + 'a,
{
    for run in &line.runs {
        let points = run.iter().copied();
        match line.dash.filter(|_| line.joined) {
            Some((length, gap)) => drop(chart.draw_series(DashedLineSeries::new(points, length, gap, style(line)))?),
            None if line.joined => drop(chart.draw_series(LineSeries::new(points, style(line)))?),
            None => {}
        }
        if line.dots {
            draw_bars(chart, line)?;
            chart.draw_series(run.iter().map(|point| Circle::new(*point, dot_size(line), dot(line))))?;
        }
    }
    Ok(())
}

/// A full dot is a figure of a run, a ring a published one.
fn dot(line: &Line) -> ShapeStyle {
    if line.measured { line.colour.filled() } else { line.colour.stroke_width(1) }
}

/// A ring is still seen where a dot lies in it.
fn dot_size(line: &Line) -> u32 {
    if line.measured { 3 } else { 5 }
}

/// Intervals. A cap is as wide as a mark, whatever the axis is.
fn draw_bars<'a, X, Y>(chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>, line: &Line) -> Drawn<()>
where
    X: Ranged<ValueType = f64> + 'a,
    Y: Ranged<ValueType = f64> + 'a,
{
    for (x, (low, high)) in &line.bars {
        let thin = line.colour.stroke_width(1);
        let cap = |y: f64| EmptyElement::at((*x, y)) + PathElement::new(vec![(-5, 0), (5, 0)], thin);
        chart.draw_series(std::iter::once(PathElement::new(vec![(*x, *low), (*x, *high)], thin)))?;
        chart.draw_series([cap(*low), cap(*high)])?;
    }
    Ok(())
}

/// How a line is shown in the legend.
enum Sample {
    /// A piece of it, and its dashes.
    Line(ShapeStyle, Option<(u32, u32)>),
    /// One of its dots, and the radius.
    Dot(ShapeStyle, u32),
}

/// One entry of the legend: how its line is drawn, where it has one, and its text in lines that have room.
struct Entry {
    drawn: Option<Sample>,
    texts: Vec<String>,
}

fn legend(picture: &Picture) -> Vec<Entry> {
    let sample = |line: &Line| match line.joined {
        true => Sample::Line(style(line), line.dash),
        false => Sample::Dot(dot(line), dot_size(line)),
    };
    let lines = picture.lines.iter().map(|line| (Some(sample(line)), line.name.clone()));
    let limit = |(_, name): &(f64, String)| (Some(Sample::Line(RED.stroke_width(1), None)), format!("budget {name}"));
    let limits = picture.limits.iter().map(limit);
    let places = picture.places.iter().zip(below_axis(&picture.places)).filter(|(name, shown)| *name != shown);
    let places = places.map(|(name, number)| (None, format!("{number}: {name}")));
    let left_out =
        (picture.left_out > 0).then(|| (None, format!("not drawn: {} more; the page has all", picture.left_out)));
    let entries = lines.chain(limits).chain(places).chain(left_out);
    entries.map(|(drawn, text)| Entry { drawn, texts: in_rows(&text) }).collect()
}

/// The names of an axis's places where all have room beside each other, else their numbers.
fn below_axis(places: &[String]) -> Vec<String> {
    const LETTER_PIXELS: usize = 7;
    let room = (SIZE.0 as usize - 120) / places.len().max(1);
    let fits = |name: &String| (name.chars().count() + 2) * LETTER_PIXELS <= room;
    if places.iter().all(fits) { places.to_vec() } else { (1..=places.len()).map(|at| at.to_string()).collect() }
}

/// A text in pieces that have room.
fn in_rows(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(LETTERS).map(|row| row.iter().collect()).collect()
}

/// A piece of a line, in the legend.
fn draw_piece(area: &Area<'_>, middle: i32, style: ShapeStyle, dash: Option<(u32, u32)>) -> Drawn<()> {
    let (length, gap) = dash.map_or((30, 0), |(length, gap)| (length as i32, gap as i32));
    let mut from = LEGEND_FROM;
    while from < LEGEND_FROM + 30 {
        let to = (from + length).min(LEGEND_FROM + 30);
        area.draw(&PathElement::new(vec![(from, middle), (to, middle)], style))?;
        from += length + gap;
    }
    Ok(())
}

fn draw_legend(area: &Area<'_>, legend: &[Entry]) -> Drawn<()> {
    let mut row = 0;
    for entry in legend {
        let middle = (row * ROW + ROW / 2) as i32;
        match &entry.drawn {
            Some(Sample::Line(style, dash)) => draw_piece(area, middle, *style, *dash)?,
            Some(Sample::Dot(style, size)) => area.draw(&Circle::new((LEGEND_FROM + 15, middle), *size, *style))?,
            None => {}
        }
        for text in &entry.texts {
            let top = (row * ROW + 3) as i32;
            area.draw(&Text::new(text.clone(), (LEGEND_TEXT, top), ("sans-serif", 13)))?;
            row += 1;
        }
    }
    Ok(())
}
