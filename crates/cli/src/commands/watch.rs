//! `waykeeper watch`.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use waykeeper_control::{MonitorReading, MonitoredGroup, ResctrlTree, TreeError};
use waykeeper_experiment::InputError;
use waykeeper_export::machine::look as metrics;
use waykeeper_report::live::{GroupLook, History, Look, ShareLook, Usage, draw, lines};
use waykeeper_report::shown::for_showing;
use waykeeper_workload::parse_duration_ns;

use super::acting::host;
use super::latency::{Latency, Reading};
use super::output::{print_json_line_while_read, print_while_read};
use super::whole_file;
use crate::arguments::Watch;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// The least time between two looks: a look reads every file of every group.
const LEAST_INTERVAL_NS: f64 = 50e6;

/// How often the keyboard is asked.
const KEYS: Duration = Duration::from_millis(50);

/// Shows who holds which ways, what groups occupy and move, and the target's latency, until it is asked to end.
pub fn watch(arguments: &Watch) -> Result<Exit, Failure> {
    let interval = interval(&arguments.interval, LEAST_INTERVAL_NS)?;
    let root = arguments.root.as_deref();
    let mut latency = Latency::of(arguments.target.as_deref(), arguments.region.as_deref(), root)?;
    let mut watcher = Watcher { before: None, begun: None };
    // The first look finds out whether there is anything to see, before the screen is cleared.
    let first = watcher.look(root, &mut latency)?;
    let draws =
        std::io::stdout().is_terminal() && !arguments.json && !arguments.plain && arguments.openmetrics.is_none();
    if draws {
        return on_screen(arguments, root, interval, watcher, latency, first);
    }
    let stop = stop::on_ctrl_c();
    // Rates are between two looks: the first one only begins them.
    for _ in 0..arguments.count.unwrap_or(u64::MAX) {
        if !sleep(interval, &stop) {
            break;
        }
        let look = watcher.look(root, &mut latency)?;
        let is_read = match &arguments.openmetrics {
            Some(out) => write_metrics(out, &look)?,
            None if arguments.json => print_json_line_while_read(&look)?,
            None => print_while_read(&lines(&for_showing(&look)))?,
        };
        if !is_read {
            break;
        }
    }
    Ok(Exit::Done)
}

fn write_metrics(out: &Path, look: &Look) -> Result<bool, Failure> {
    let text = metrics(look).map_err(|why| Failure::NotWatched(why.to_string()))?;
    whole_file::write(out, "metrics", text.as_bytes())?;
    Ok(true)
}

/// The time between two looks, of `--interval`.
///
/// # Errors
/// Where it is none, or below the least one.
pub fn interval(text: &str, least_ns: f64) -> Result<Duration, Failure> {
    let bad = |why: String| InputError::in_option(format!("--interval {text}"), why);
    let ns = parse_duration_ns(text).map_err(|error| bad(error.to_string()))?;
    match ns >= least_ns {
        true => Ok(Duration::from_nanos(ns as u64)),
        false => Err(bad(format!("a look at every file takes a while; expected {}ms or more", least_ns / 1e6)).into()),
    }
}

/// False where Ctrl-C came.
pub fn sleep(interval: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + interval;
    while Instant::now() < end {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        std::thread::sleep(KEYS.min(end.saturating_duration_since(Instant::now())));
    }
    !stop.load(Ordering::Relaxed)
}

fn on_screen(
    arguments: &Watch,
    root: Option<&Path>,
    interval: Duration,
    mut watcher: Watcher,
    mut latency: Latency,
    mut look: Look,
) -> Result<Exit, Failure> {
    let mut terminal = ratatui::try_init().map_err(Failure::Output)?;
    let mut history = History::default();
    let mut run = || -> Result<(), Failure> {
        for number in 1.. {
            history.add(&look);
            let shown = for_showing(&look);
            let next = Instant::now() + interval;
            loop {
                terminal.draw(|frame| draw(frame, &shown, &history)).map_err(Failure::Output)?;
                let left = next.saturating_duration_since(Instant::now());
                if event::poll(left).map_err(Failure::Output)? && ends(&event::read().map_err(Failure::Output)?) {
                    return Ok(());
                }
                if Instant::now() >= next {
                    break;
                }
            }
            if arguments.count == Some(number) {
                return Ok(());
            }
            look = watcher.look(root, &mut latency)?;
        }
        Ok(())
    };
    let outcome = run();
    ratatui::restore();
    outcome.map(|()| Exit::Done)
}

/// `q`, Escape and Ctrl-C end the view.
fn ends(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) || (control && key.code == KeyCode::Char('c'))
}

/// What is needed to tell what changed.
struct Watcher {
    before: Option<(MonitorReading, f64)>,
    begun: Option<f64>,
}

impl Watcher {
    fn look(&mut self, root: Option<&Path>, latency: &mut Latency) -> Result<Look, Failure> {
        let mut host = host(root);
        let machine = host.machine();
        let groups = groups(machine.tree, latency.is_some())?;
        let Reading { machine, at_s, target } = latency.take()?;
        let begun = *self.begun.get_or_insert(at_s);
        let before = self.before.take();
        let found = groups.groups.iter().map(|(path, group)| {
            let moved = |domain: &str, event: &str| {
                let (earlier, then_s) = before.as_ref()?;
                let moved = groups.moved_since(earlier, path, domain, event)?;
                (at_s > *then_s).then(|| moved as f64 / (at_s - then_s))
            };
            group_look(path, group, &groups, moved)
        });
        let look = Look { machine, at_s: at_s - begun, groups: found.collect(), target };
        self.before = Some((groups, at_s));
        Ok(look)
    }
}

/// All groups; none where there is no resctrl, if there is something else to show.
fn groups(tree: &mut dyn ResctrlTree, has_target: bool) -> Result<MonitorReading, Failure> {
    let seen = |error: TreeError| Failure::NotWatched(error.to_string());
    let why = match tree.unusable() {
        None if tree.mounted().map_err(seen)?.is_some() => return MonitorReading::take(tree).map_err(seen),
        None => "resctrl is not mounted; `mount -t resctrl resctrl /sys/fs/resctrl` does that".to_owned(),
        Some(why) => why,
    };
    match has_target {
        true => Ok(MonitorReading::default()),
        false => Err(Failure::NotWatched(format!(
            "there are no groups to watch: {why}; --target WORKLOAD@CORE shows a latency all the same, and \
             `waykeeper enter PLATFORM` a machine that has them"
        ))),
    }
}

fn group_look(
    path: &str,
    group: &MonitoredGroup,
    all: &MonitorReading,
    moved: impl Fn(&str, &str) -> Option<f64>,
) -> GroupLook {
    let shares = group.shares.iter().map(|share| ShareLook {
        what: format!("{}:{}", share.domain.resource, share.domain.id),
        value: share.value,
        bits: all.mask_bits.get(&share.domain.resource).copied(),
    });
    let mut domains: Vec<&str> = group.counters.iter().map(|counter| counter.domain.as_str()).collect();
    domains.dedup();
    let usage = domains.into_iter().map(|domain| Usage {
        domain: shown(domain),
        occupancy_bytes: all.bytes(path, domain, "llc_occupancy"),
        total_bytes_s: moved(domain, "mbm_total_bytes"),
        local_bytes_s: moved(domain, "mbm_local_bytes"),
    });
    GroupLook {
        group: path.to_owned(),
        mode: group.mode.clone(),
        cpus: waykeeper_platform::format_cpulist(&group.cpus),
        tasks: group.tasks,
        shares: shares.collect(),
        usage: usage.collect(),
    }
}

/// `mon_L3_00` as schemata has it: `L3:0`.
fn shown(folder: &str) -> String {
    let parts: Vec<&str> = folder.split('_').collect();
    match parts[..] {
        ["mon", resource, id] => format!("{resource}:{}", id.parse::<u32>().map_or(id.into(), |id| id.to_string())),
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_called_as_in_schemata() {
        assert_eq!(shown("mon_L3_00"), "L3:0");
        assert_eq!(shown("mon_L3_12"), "L3:12");
        assert_eq!(shown("mon_sub_L3_03"), "mon_sub_L3_03");
    }
}
