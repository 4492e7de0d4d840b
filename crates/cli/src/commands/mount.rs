//! `waykeeper mount`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use waykeeper_room::{Room, RoomSpec, Watchdog, machine_of, placeholder};

use super::enter::Furnished;
use super::output::{Kind, say};
use crate::arguments::Mount;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// How often it is looked whether Ctrl-C was pressed or somebody unmounted.
const LOOK: Duration = Duration::from_millis(50);

/// Mounts a platform's resctrl at a folder until Ctrl-C.
pub fn mount(arguments: &Mount) -> Result<Exit, Failure> {
    let Furnished { platform, kernel, loads, backing } = Furnished::new(&arguments.room)?;
    machine_of(&platform, kernel).map_err(|none| Failure::Room(none.to_string()))?;
    let at = &arguments.folder;
    let cannot = |error: std::io::Error| Failure::Room(error.to_string());
    if !at.is_dir() {
        return Err(Failure::Room(format!(
            "found `{}`, which is no folder to mount on; mkdir makes one",
            at.display()
        )));
    }
    if at.read_dir().map_err(cannot)?.next().is_some() {
        return Err(Failure::Room(format!("`{}` is not empty; a new folder would do", at.display())));
    }
    let mut placed = Vec::new();
    for load in loads {
        let pid = placeholder(&load).map_err(cannot)?;
        placed.push((load, pid));
    }
    let mut watchdog = Watchdog::start(at).map_err(cannot)?;
    let stop = stop::on_ctrl_c_or("the mount is removed");
    let room = Room::open(RoomSpec::new(platform, kernel), backing).map_err(cannot)?;
    let mounted = room.mount_resctrl(at).map_err(cannot)?;
    watchdog.mounted(mounted.id()).map_err(cannot)?;
    room.start(&placed).map_err(Failure::Room)?;
    let socket = arguments.socket.as_ref().map(|socket| room.listen(socket)).transpose().map_err(cannot)?;
    say(Kind::Plain, &format!("mounted at {}; Ctrl-C unmounts", at.display()));
    while !stop.load(Ordering::Relaxed) && !mounted.is_gone() {
        std::thread::sleep(LOOK);
    }
    drop(socket);
    drop(mounted);
    // Whether it hears this does not matter any more.
    let _ = watchdog.unmounted();
    Ok(Exit::Done)
}
