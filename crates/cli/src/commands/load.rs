//! `waykeeper load`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use waykeeper_executor::{ExecutorError, LiveNeighbour, not_installed};
use waykeeper_experiment::InputError;
use waykeeper_room::Load as Wanted;
use waykeeper_room::socket::client::ClientError;
use waykeeper_room::socket::protocol::Start;

use super::latency::pattern;
use super::output::print;
use crate::arguments::Load;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// What a room refuses, as a failure.
pub fn refused(error: ClientError) -> Failure {
    ExecutorError::Refused(error.to_string()).into()
}

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Runs workloads as neighbours until it is asked to end.
pub fn load(arguments: &Load) -> Result<Exit, Failure> {
    let stop = stop::on_ctrl_c();
    let mut room = waykeeper_room::guest::client()?;
    let mut running = Vec::new();
    for text in &arguments.loads {
        let refuse = |why: String| Failure::from(InputError::in_option(text.clone(), why));
        let wanted = Wanted::parse(text).map_err(|bad| refuse(bad.why))?;
        if wanted.target {
            return Err(refuse("a target is timed: `waykeeper watch --target` runs one".into()));
        }
        let name = &wanted.workload;
        for core in wanted.cores {
            let pattern = pattern(name, core).map_err(refuse)?;
            not_installed(&pattern).map_or(Ok(()), Err)?;
            match &mut room {
                Some(room) => drop(room.start(Start::task(name, pattern, core)).map_err(refused)?),
                None => running.push(LiveNeighbour::start(pattern, core).map_err(ExecutorError::Refused)?),
            }
        }
    }
    print(&format!("running: {}; Ctrl-C ends\n", arguments.loads.join(" ")))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    drop(running);
    Ok(Exit::Done)
}
