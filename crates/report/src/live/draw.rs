//! A look drawn on a terminal.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table};

use super::line::{bytes_of, target, ways};
use super::{GroupLook, History, Look, name};
use crate::figure::{scaled, time};

/// Rows of the two curves with their frames.
const CURVES: u16 = 12;

/// Draws it: a table of groups, and below it the target's mean and longest sample over the last looks.
pub fn draw(frame: &mut Frame<'_>, look: &Look, history: &History) {
    let curves = if look.target.is_some() { CURVES } else { 0 };
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(curves),
        Constraint::Length(1),
    ])
    .split(frame.area());
    let title = Line::from(vec![
        Span::styled(look.machine.as_str(), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(format!("  {:.1} s", look.at_s)),
    ]);
    frame.render_widget(Paragraph::new(title), areas[0]);
    groups(frame, areas[1], look);
    if look.target.is_some() {
        latency(frame, areas[2], look, history);
    }
    frame.render_widget(Paragraph::new("q ends").style(Style::new().fg(Color::DarkGray)), areas[3]);
}

/// Domains and limits that some group has, in the order in which they come.
fn columns(look: &Look, of: impl Fn(&GroupLook) -> Vec<String>) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for column in look.groups.iter().flat_map(of) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

fn groups(frame: &mut Frame<'_>, area: Rect, look: &Look) {
    let shares = columns(look, |group| group.shares.iter().map(|share| share.what.clone()).collect());
    let domains = columns(look, |group| group.usage.iter().map(|usage| usage.domain.clone()).collect());
    let mut header: Vec<String> = ["group", "cpus", "tasks"].map(str::to_owned).into();
    header.extend(shares.iter().cloned());
    header.extend(domains.iter().flat_map(|domain| [format!("{domain} holds"), format!("{domain} moves")]));
    let rows: Vec<Vec<String>> = look.groups.iter().map(|group| row(group, &shares, &domains)).collect();
    let widths: Vec<Constraint> = (0..header.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            let widest = cells.chain([header[column].chars().count()]).max().unwrap_or(0);
            Constraint::Length(widest.min(64) as u16)
        })
        .collect();
    let rows = rows.into_iter().map(|row| Row::new(row.into_iter().map(Cell::from)));
    let table = Table::new(rows, widths)
        .header(Row::new(header).style(Style::new().add_modifier(Modifier::BOLD)))
        .column_spacing(2);
    frame.render_widget(table, area);
}

fn row(group: &GroupLook, shares: &[String], domains: &[String]) -> Vec<String> {
    let mode = group.mode.as_deref().filter(|mode| *mode != "shareable");
    let called = mode.map_or_else(|| name(&group.group).to_owned(), |mode| format!("{} [{mode}]", name(&group.group)));
    let mut row = vec![called, group.cpus.clone(), group.tasks.to_string()];
    for what in shares {
        let share = group.shares.iter().find(|share| share.what == *what);
        row.push(share.map_or_else(String::new, |share| match share.bits {
            Some(bits) => ways(share.value, bits),
            None => share.value.to_string(),
        }));
    }
    for domain in domains {
        let usage = group.usage.iter().find(|usage| usage.domain == *domain);
        row.push(usage.and_then(|usage| usage.occupancy_bytes).map(bytes_of).unwrap_or_default());
        let rate = usage.and_then(|usage| usage.total_bytes_s);
        row.push(rate.map(|rate| scaled(rate.round(), "B/s")).unwrap_or_default());
    }
    row
}

fn latency(frame: &mut Frame<'_>, area: Rect, look: &Look, history: &History) {
    let Some(it) = &look.target else { return };
    let areas = Layout::vertical([Constraint::Length(2), Constraint::Length(5), Constraint::Length(5)]).split(area);
    let seen = match history.max_ns {
        Some(max) => format!("since the view began: {} samples, max seen {}", history.samples, time(Some(max))),
        None => "no sample yet".to_owned(),
    };
    frame.render_widget(Paragraph::new(vec![Line::raw(target(it)), Line::raw(seen)]), areas[0]);
    let most = usize::from(area.width.saturating_sub(2));
    for (area, title, data, colour) in [
        (areas[1], "mean", history.means(most), Color::Cyan),
        (areas[2], "longest of each look", history.maxima(most), Color::Yellow),
    ] {
        let top = data.iter().copied().max().unwrap_or(0);
        let title = format!(" {title}, up to {} ", time(Some(top as f64)));
        let curve = Sparkline::default().block(Block::bordered().title(title)).data(data).max(top.max(1));
        frame.render_widget(curve.style(Style::new().fg(colour)), area);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::{ShareLook, TargetLook, Usage};
    use super::*;

    fn group(group: &str, cpus: &str, mask: u64, holds: Option<u64>, moves: Option<f64>) -> GroupLook {
        GroupLook {
            group: group.into(),
            mode: Some("shareable".into()),
            cpus: cpus.into(),
            tasks: 2,
            shares: vec![
                ShareLook { what: "L3:0".into(), value: mask, bits: Some(8) },
                ShareLook { what: "MB:0".into(), value: 50, bits: None },
            ],
            usage: vec![Usage {
                domain: "L3:0".into(),
                occupancy_bytes: holds,
                total_bytes_s: moves,
                local_bytes_s: None,
            }],
        }
    }

    fn drawn(look: &Look, history: &History) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(90, 20)).unwrap();
        terminal.draw(|frame| draw(frame, look, history)).unwrap();
        let buffer = terminal.backend().buffer();
        (0..20).map(|y| (0..90).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()).collect()
    }

    #[test]
    fn groups_are_rows_and_what_is_not_told_is_empty() {
        let look = Look {
            machine: "room of x".into(),
            at_s: 12.34,
            groups: vec![group("", "0-2", 0xf0, Some(3 << 20), Some(1.5e9)), group("rt", "3", 0x0f, None, None)],
            target: None,
        };
        let screen = drawn(&look, &History::default());
        assert_eq!(screen[0], "room of x  12.3 s");
        assert_eq!(screen[1], "group   cpus  tasks  L3:0      MB:0  L3:0 holds  L3:0 moves");
        // Highest way first: 0xf0 is the upper half. 3 MiB are 3072 KiB.
        assert_eq!(screen[2], "(root)  0-2   2      ####....  50    3072 KiB    1.50 GB/s");
        assert_eq!(screen[3], "rt      3     2      ....####  50");
    }

    #[test]
    fn the_target_has_its_figures_and_two_curves() {
        let target = TargetLook {
            name: "rta on core 3".into(),
            samples: 10,
            mean_ns: Some(1500.0),
            min_ns: Some(1000.0),
            max_ns: Some(4000.0),
            misses_per_sample: Some(2.0),
        };
        let look = Look { machine: "m".into(), target: Some(target), ..Look::default() };
        let mut history = History::default();
        history.add(&look);
        let screen = drawn(&look, &history).join("\n");
        assert!(screen.contains("rta on core 3: 10 samples, min 1 us, mean 1.5 us, max seen 4 us"), "{screen}");
        assert!(screen.contains("2.00 misses a sample"), "{screen}");
        assert!(screen.contains("since the view began: 10 samples, max seen 4 us"), "{screen}");
        assert!(screen.contains(" mean, up to 1.5 us "), "{screen}");
        assert!(screen.contains(" longest of each look, up to 4 us "), "{screen}");
    }
}
