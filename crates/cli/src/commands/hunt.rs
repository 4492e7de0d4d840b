//! `waykeeper hunt`: parse, search, print.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use waykeeper_experiment::InputError;
use waykeeper_platform::parse_cpulist;
use waykeeper_report::figure::ratio;
use waykeeper_report::shown::one_line;
use waykeeper_search::hunt::{self, HuntEvent, HuntForeseen, HuntRequest, HuntWatcher, Objective};
use waykeeper_workload::format_ns;

use super::output::{Kind, print, print_json, say};
use super::overrides;
use super::whole_file;
use crate::arguments::{AskedFor, Hunt, HuntFor, On};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// Searches for the workload that slows a target most.
pub fn hunt(arguments: &Hunt) -> Result<Exit, Failure> {
    arguments.out.as_deref().map_or(Ok(()), whole_file::check)?;
    let (request, notes) = request(arguments)?;
    if arguments.dry_run {
        let foreseen = HuntForeseen::of(&request)?;
        notes.iter().for_each(|said| say(Kind::Note, said));
        if arguments.json {
            print_json(&foreseen)?;
        } else {
            print(&foreseen.text())?;
        }
        return Ok(Exit::Done);
    }
    let stop = stop::on_ctrl_c();
    let following = Following::new(request.time_limit);
    let hunted = hunt::hunt(&request, &following, &stop);
    following.bar.finish_and_clear();
    let hunted = hunted?;
    notes.iter().for_each(|said| say(Kind::Note, said));
    if arguments.json {
        print_json(&hunted)?;
    } else {
        print(&hunt::text(&hunted))?;
    }
    let worst = hunted.candidates.iter().find_map(|candidate| candidate.file());
    if let (Some(out), Some(worst)) = (&arguments.out, worst) {
        whole_file::write(out, "neighbour", worst.as_bytes())?;
    }
    Ok(if hunted.cut_short { Exit::Interrupted } else { Exit::Done })
}

/// What is asked for, and what a person should hear of it.
fn request(arguments: &Hunt) -> Result<(HuntRequest, Vec<String>), Failure> {
    let cores = arguments.cores.as_deref().map(|text| {
        let refuse = || InputError::in_option(format!("--cores {text}"), "expected a list of cores, such as `0,2-3`");
        parse_cpulist(text).filter(|cores| !cores.is_empty()).ok_or_else(refuse)
    });
    let overrides = overrides::of_search(&arguments.measured, &arguments.experiment)?;
    let request = HuntRequest {
        experiment: arguments.experiment.clone(),
        sets: overrides.sets,
        on: arguments.measured.on.map(On::kind),
        policy: None,
        cores: cores.transpose()?.unwrap_or_default(),
        objective: match arguments.objective {
            HuntFor::Mean => Objective::Mean,
            HuntFor::P99_99 => Objective::P99_99,
            HuntFor::Max => Objective::Max,
        },
        also: arguments.also.iter().filter_map(|asked| unfair_name(*asked)).map(str::to_owned).collect(),
        shared_lines: arguments.also.contains(&AskedFor::SharedLines),
        stress_ng: arguments.beside.is_some(),
        turns: arguments.turns.map(|turns| turns as usize),
        members: arguments.members.unwrap_or(0) as usize,
        candidates: arguments.candidates as usize,
        time_limit: overrides::time_limit(&arguments.time_limit)?,
        seed: arguments.measured.seed.unwrap_or(1).unsigned_abs(),
    };
    Ok((request, overrides.notes))
}

/// The bundled workload, of those that are one.
fn unfair_name(asked: AskedFor) -> Option<&'static str> {
    match asked {
        AskedFor::SplitLock => Some("split_lock"),
        AskedFor::Clflush => Some("clflush"),
        AskedFor::SharedLines => None,
    }
}

/// A line on standard error: the time that is left at most, and the best so far.
pub(super) struct Following {
    pub(super) bar: ProgressBar,
    begun: Instant,
    limit: Duration,
}

impl Following {
    pub(super) fn new(limit: Duration) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {prefix}: {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar, begun: Instant::now(), limit }
    }
}

impl HuntWatcher for Following {
    fn event(&self, event: HuntEvent<'_>) {
        if self.bar.is_hidden() && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let left = self.limit.saturating_sub(self.begun.elapsed()).as_secs_f64().round();
        self.bar.set_prefix(format!("{} tried, {} left at most", event.tried, format_ns(left * 1e9)));
        self.bar.set_message(format!("best so far {}: {}", ratio(Some(event.ratio)), one_line(event.best)));
        self.bar.tick();
    }
}
