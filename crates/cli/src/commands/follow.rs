//! `waykeeper follow`.

use std::collections::BTreeMap;

use waykeeper_control::{FollowError, Followed, FollowedCgroup, Follower};
use waykeeper_report::shown::one_line;

use super::acting::{host, state};
use super::output::{print_json_line_while_read, print_while_read};
use super::watch::{interval, sleep};
use crate::arguments::Follow;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// The least time between two looks: a look reads the tasks of every group.
const LEAST_INTERVAL_NS: f64 = 10e6;

/// Follows the cgroups of what is applied, until that is undone.
pub fn follow(arguments: &Follow) -> Result<Exit, Failure> {
    let interval = interval(&arguments.interval, LEAST_INTERVAL_NS)?;
    let root = arguments.root.as_deref();
    let (state, stop) = (state(root), stop::on_ctrl_c_or("tasks that came since the last look were not moved"));
    let (mut host, mut follower, mut shown) = (host(root), Follower::default(), BTreeMap::new());
    for number in 1.. {
        let followed = follower.look(&mut host.machine(), &state)?;
        if number == 1 && followed == Followed::Nothing {
            return Err(FollowError::Nothing.into());
        }
        let is_read = match arguments.json {
            true => print_json_line_while_read(&followed)?,
            false => print_while_read(&news(&followed, &mut shown))?,
        };
        if !is_read || followed == Followed::Nothing || arguments.count == Some(number) || !sleep(interval, &stop) {
            break;
        }
    }
    Ok(Exit::Done)
}

/// What is not as it was at the last look.
fn news(followed: &Followed, shown: &mut BTreeMap<String, FollowedCgroup>) -> String {
    match followed {
        Followed::Nothing => "nothing is applied any more\n".into(),
        Followed::Busy => String::new(),
        Followed::Looked { cgroups, moved, .. } => {
            let mut text = String::new();
            if *moved > 0 {
                text += &format!("moved {moved} {}\n", if *moved == 1 { "task" } else { "tasks" });
            }
            for cgroup in cgroups {
                let same = shown.get(&cgroup.cgroup).is_some_and(|before| {
                    (before.tasks.is_some(), &before.outside) == (cgroup.tasks.is_some(), &cgroup.outside)
                });
                if !same || *moved > 0 {
                    text += &format!("{}\n", one_line(&cgroup.to_string()));
                }
                shown.insert(cgroup.cgroup.clone(), cgroup.clone());
            }
            text
        }
    }
}
