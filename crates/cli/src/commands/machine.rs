//! `waykeeper machine`.

use std::path::Path;

use serde::Serialize;
use waykeeper_executor::ladder::{Ladder, ladder, sizes};
use waykeeper_experiment::InputError;
use waykeeper_linux::machine::{CacheUse, Machine as Described, MeasuredLatencies};
use waykeeper_linux::memory::available;
use waykeeper_linux::recording::record;
use waykeeper_linux::{Root, schedule};
use waykeeper_report::shown::one_line;

use super::output::{print, print_json, print_toml};
use crate::arguments::Machine;
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints what a machine is, or records it.
pub fn machine(arguments: &Machine) -> Result<Exit, Failure> {
    let root = match &arguments.root {
        Some(path) => Root::open(path).map_err(|error| InputError::in_option("--root", error.to_string()))?,
        None => Root::default(),
    };
    if let Some(to) = &arguments.record {
        return take(arguments.root.as_deref().unwrap_or(Path::new("/")), to);
    }
    let mut machine = Described::read(&root).map_err(|error| Failure::Machine(error.to_string()))?;
    if arguments.probe_msr {
        machine.probe_registers().map_err(|error| Failure::Machine(error.to_string()))?;
    }
    let ladders = if arguments.measure { measure(&machine)? } else { Vec::new() };
    let day = jiff::Zoned::now().date().to_string();
    let latencies: Vec<MeasuredLatencies> = ladders.iter().map(|ladder| ladder.measured(&machine, &day)).collect();
    if arguments.json {
        print_json(&Printed { machine: &machine, ladders })?;
    } else if arguments.platform {
        let text = machine.platform_text(&latencies);
        machine.platform(&latencies)?;
        print_toml(&text)?;
    } else {
        print(&waykeeper_report::machine(&machine, &latencies))?;
    }
    Ok(Exit::Done)
}

/// What `--json` prints: the machine, and what was measured where it was.
#[derive(Serialize)]
struct Printed<'m> {
    #[serde(flatten)]
    machine: &'m Described,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ladders: Vec<Ladder>,
}

fn take(from: &Path, to: &Path) -> Result<Exit, Failure> {
    if !from.is_dir() {
        let message = format!("{}: a recording is made of a machine's files, not of a recording", from.display());
        return Err(InputError::in_option("--root", message).into());
    }
    // A folder that is there but empty will do.
    let taken = to.is_file() || std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        let message = format!("{} is there already; choose a name that is not", to.display());
        return Err(InputError::in_option("--record", message).into());
    }
    let recording = record(from);
    recording.write(to).map_err(|error| Failure::Machine(error.to_string()))?;
    let manifest = recording.manifest();
    let unreadable = manifest.as_ref().map_or(0, |manifest| manifest.unreadable.len());
    let mut text = format!("{}: {} files", to.display(), recording.files().count());
    if unreadable > 0 {
        text += &format!("; {unreadable} could not be read (manifest.toml names them; as root there are fewer)");
    }
    text += "\nleft out:\n";
    text +=
        &manifest.iter().flat_map(|it| &it.left_out).map(|what| format!("  {}\n", one_line(what))).collect::<String>();
    print(&text)?;
    Ok(Exit::Done)
}

/// The largest buffer that is chased: what is larger takes long and shows no more.
const MOST_BYTES: u64 = 512 << 20;

/// One core of each kind, the last one of it that this process may use: the first ones have most interrupts.
fn measure(machine: &Described) -> Result<Vec<Ladder>, Failure> {
    let allowed = schedule::allowed();
    let data = machine.caches.iter().filter(|cache| cache.holds != CacheUse::Instructions);
    let last = data.map(|cache| cache.size_kib * 1024).max().unwrap_or(16 << 20);
    let free = available(&Root::default()).unwrap_or(u64::MAX);
    let most = (last * 4).next_power_of_two().min(MOST_BYTES.max(last * 4)).min(free / 4);
    let line = machine.caches.iter().find_map(|cache| cache.line_bytes).unwrap_or(64);
    let cores = machine.cores.iter().filter_map(|kind| kind.cpus.iter().rev().find(|cpu| allowed.contains(cpu)));
    cores.map(|cpu| ladder(*cpu, line, &sizes(most)).map_err(Failure::Machine)).collect()
}
