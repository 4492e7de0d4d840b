//! Pages of the documentation that show commands with what they print: the commands are run, and must print that.
//!
//! A page says where its commands run: `<!-- room: PLATFORM OPTIONS -->` is a room, `<!-- shell -->` is a shell on this machine. What
//! follows, down to the next such line, is one shell in an empty folder. A block after `<!-- file: NAME -->` is a file there. In
//! ` ```console ` blocks `$ ` begins a command and `> ` continues it; other lines are what it prints. `...` stands for any lines.
//! Figures vary between runs, so numbers are not compared, nor the widths of columns; words are, and so are lines that begin with `status ` or `waykeeper_`.
//!
//! These tests need root and /dev/fuse, as all tests of rooms do.

mod compare;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

use compare::differs;
use page::{Scenario, Shown, scenarios};

/// Printed after each command.
const MARK: &str = "@@ end of command";

macro_rules! pages {
    ($($test:ident: $file:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            try_page($file);
        })*
        const PAGES: &[&str] = &[$($file),*];
    };
}

pages! {
    my_cat_does_nothing: "cat-does-nothing.md",
    is_my_l3_partition_live: "l3-partition-live.md",
    which_neighbour_hurts: "which-neighbour.md",
    a_day_of_acceptance: "acceptance.md",
    in_continuous_integration: "continuous-integration.md",
    a_fleet_with_containers: "fleet.md",
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tasks")
}

#[test]
fn every_page_by_task_is_tried() {
    let names = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    let mut tried = PAGES.to_vec();
    tried.sort_unstable();
    assert_eq!(names, tried);
}

#[track_caller]
fn try_page(file: &str) {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let scenarios = scenarios(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert!(!scenarios.is_empty(), "{file}: no command is tried");
    let faults: Vec<_> = scenarios.iter().flat_map(|scenario| try_scenario(file, scenario)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs the commands of one shell; returns where it did not print what the page shows.
fn try_scenario(file: &str, scenario: &Scenario) -> Vec<String> {
    let outside = tempfile::tempdir().unwrap();
    for (name, text) in &scenario.files {
        std::fs::write(outside.path().join(name), text).unwrap();
    }
    let output = shell(scenario, outside.path()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut parts = printed.split(MARK);
    let faults = scenario.commands.iter().filter_map(|Shown { command, prints, line }| {
        let Some(part) = parts.next() else {
            return Some(format!("{file}:{line}: `{command}` was not reached; the shell printed\n{printed}"));
        };
        let part = part.split_once('\n').filter(|(rest, _)| rest.is_empty()).map_or(part, |(_, part)| part);
        differs(prints, part)
            .map(|missing| format!("{file}:{line}: `{command}` does not print `{missing}`; it printed\n{part}"))
    });
    faults.collect()
}

fn shell(scenario: &Scenario, folder: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_waykeeper"));
    let mut script = String::from("exec 2>&1\n");
    for Shown { command, .. } in &scenario.commands {
        script += &format!("{command}\nprintf '%s\\n' '{MARK}'\n");
    }
    let mut command = match &scenario.room {
        Some(room) => {
            let mut command = Command::new(program);
            command.arg("enter").args(room).args(["--", "sh", "-c", &script]);
            command
        }
        None => {
            let mut command = Command::new("sh");
            command.args(["-c", &script]).env("WAYKEEPER_STATE", folder.join("state"));
            command
        }
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(path).unwrap()).current_dir(folder);
    command
}
