//! `waykeeper run --dry-run`: the cases, and where each would run.

use serde_json::{Value, json};
use waykeeper_executor::RunSettings;
use waykeeper_experiment::cases::{Case, Placed, Plan, Purpose};
use waykeeper_experiment::site::RefusalRecord;
use waykeeper_report::Length;
use waykeeper_report::shown::one_line;
use waykeeper_run::ShardRepeats;
use waykeeper_session::Session;

use super::output::{print, print_json};
use crate::arguments::Run;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints what would be measured. It ends as the run would.
pub fn dry_run(arguments: &Run, session: &Session) -> Result<Exit, Failure> {
    let exit = session.impossible().map_or(Exit::Done, |why| Exit::from(&Failure::from(why.clone())));
    let mut plan = session.cases().clone();
    let refused = session.impossible().map(|why| RefusalRecord { what: "the whole run".into(), why: why.to_string() });
    plan.refused.extend(refused);
    if arguments.json {
        print_json(&planned(session, &plan))?;
        return Ok(exit);
    }
    let RunSettings { repeats, duration_s, simulated_samples: samples, .. } = *session.settings();
    let text = waykeeper_report::plan(&plan, session.site(), Length { repeats, duration_s, samples });
    let shard = of_shard(session);
    let notes = session.notes().into_iter().chain(session.budgets_out_of_reach()).chain(shard);
    print(&notes.fold(text, |text, note| text + &one_line(&note) + "\n"))?;
    Ok(exit)
}

/// How many repeats a shard measures.
fn of_shard(session: &Session) -> Option<String> {
    let RunSettings { shard, repeats, .. } = *session.settings();
    let (shard, plan) = (shard?, session.cases());
    let share = ShardRepeats::new(shard, plan, repeats, session.site().executor);
    let all = plan.cases.len() * repeats as usize;
    Some(format!("Shard {shard} measures {} of these {all} repeats.", share.len()))
}

fn planned(session: &Session, plan: &Plan) -> Value {
    let (site, settings) = (session.site(), session.settings());
    let mut planned = json!({
        "experiment": session.loaded().name,
        "platform": site.platform,
        "executor": site.executor,
        "duration_s": settings.duration_s,
        "repeats": settings.repeats,
        "seed": settings.seed,
        "cases": plan.cases.iter().map(of_case).collect::<Vec<_>>(),
        "refused": plan.refused,
        "budgets_out_of_reach": session.budgets_out_of_reach(),
    });
    if let Some(samples) = settings.simulated_samples {
        planned["simulated_samples"] = json!(samples);
    }
    planned
}

fn of_case(case: &Case) -> Value {
    let placed = |placed: &Placed| json!({ "workload": placed.workload, "core": placed.core });
    let mut entry = json!({
        "name": case.name,
        "sentinel": case.purpose == Purpose::Sentinel,
        "target": placed(&case.target),
        "neighbours": case.neighbours.iter().map(placed).collect::<Vec<_>>(),
        "mitigation": case.mitigation,
        "point": case.point.to_map(),
    });
    if let Some(sampling) = &case.sampled {
        entry["sampled"] = json!(sampling);
    }
    entry
}
