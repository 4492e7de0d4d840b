//! `waykeeper doctor`.

use std::time::Duration;

use waykeeper_doctor::{BadCores, Interface, NoInterface, Smis, View, advice_text, advise, count_smis, examine, text};
use waykeeper_experiment::InputError;
use waykeeper_linux::Root;

use super::output::{Kind, print, print_json, say};
use crate::arguments::Doctor;
use crate::exit::Exit;
use crate::failure::Failure;

/// What a user reads of an examination in a room.
const IN_A_ROOM: &str = "this is a room: processor, cores, caches, resctrl and MSRs are those of its platform; kernel, kernel \
     parameters, interrupts, memory, power management, network, services and hypervisor are those of the machine that it runs on";

/// Examines a machine, or names the kernel parameters that it lacks.
pub fn doctor(arguments: &Doctor) -> Result<Exit, Failure> {
    let root = match &arguments.root {
        Some(path) => Root::open(path).map_err(|error| InputError::in_option("--root", error.to_string()))?,
        None => Root::default(),
    };
    let option = arguments.rt_cores.as_ref().map_or("doctor".to_owned(), |cores| format!("--rt-cores {cores}"));
    let view =
        View::new(root, arguments.rt_cores.as_deref()).map_err(|BadCores(why)| InputError::in_option(option, why))?;
    let interface = arguments.interface.as_deref().map(|name| Interface::find(&view.root, name)).transpose();
    let interface = interface.map_err(|NoInterface(why)| {
        InputError::in_option(format!("--if {}", arguments.interface.clone().unwrap_or_default()), why)
    })?;
    if arguments.cmdline {
        let advice = advise(&view);
        match arguments.json {
            true => print_json(&advice)?,
            false => print(&advice_text(&advice))?,
        }
        return Ok(Exit::Done);
    }
    let smis = match view.root.is_running() {
        true => {
            let seconds = arguments.seconds;
            let wait = || std::thread::sleep(Duration::from_secs(seconds.into()));
            count_smis(&view.root, &view.rt_cores, seconds.into(), wait)
        }
        false => Smis::NotCounted("a recorded tree stands still, so nothing can be counted".into()),
    };
    if arguments.root.is_none() && waykeeper_session::is_room() {
        say(Kind::Note, IN_A_ROOM);
    }
    let examination = examine(&View { smis, interface, ..view });
    match arguments.json {
        true => print_json(&examination)?,
        false => print(&text(&examination))?,
    }
    Ok(if examination.is_serious() { Exit::SeriousFound } else { Exit::Done })
}
