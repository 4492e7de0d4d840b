//! `run ... -- COMMAND`: a program of the user's in the place of the experiment's targets.

use std::ffi::OsStr;
use std::path::Path;

use toml::{Table, Value};
use waykeeper_experiment::{InputError, Loaded, OptionOverrides, Set};

use super::name_of;
use crate::arguments::TargetProgram;

/// The fields of the experiment that the options stand for, and what its sweeps vary without its targets; without a program only the
/// core of its targets. A sweep may vary the program's core where none is typed.
///
/// # Errors
/// A name that is not UTF-8, or a folder that is gone; an experiment that cannot be read.
pub fn sets(arguments: &TargetProgram, experiment: &str) -> Result<OptionOverrides, InputError> {
    let Some(program) = arguments.command.first() else {
        let Some(core) = arguments.core else { return Ok(OptionOverrides::default()) };
        return Loaded::open(experiment, Vec::new())?.with_targets_on(&format!("--core {core}"), core);
    };
    let typed: Vec<_> = arguments.command.iter().map(|part| part.to_string_lossy()).collect();
    let option = format!("-- {}", typed.join(" "));
    let mut argv = Vec::new();
    for part in &arguments.command {
        let text = part.to_str().ok_or_else(|| {
            let found = part.to_string_lossy();
            InputError::in_option(&option, format!("found `{found}`, which is not UTF-8; expected another file name"))
        })?;
        argv.push(Value::String(text.to_owned()));
    }
    check_program(program, &option)?;
    // The experiment may lie in another folder; the command is typed in this one.
    if program.to_str().is_some_and(|program| program.contains('/')) {
        let path = std::path::absolute(program).map_err(|error| InputError::in_option(&option, error.to_string()))?;
        argv[0] = Value::String(path.to_string_lossy().into_owned());
    }
    let mut workload = Table::new();
    workload.insert("kind".into(), "command".into());
    workload.insert("argv".into(), Value::Array(argv));
    if let Some(passes) = arguments.passes {
        workload.insert("passes".into(), name_of(&passes).into());
    }
    if let Some(phase) = &arguments.phase {
        let number = phase.parse::<i64>().ok().map(Value::Integer);
        workload.insert("phase".into(), number.unwrap_or_else(|| phase.clone().into()));
    }
    for (key, function) in [("begin", &arguments.begin), ("end", &arguments.end)] {
        workload.extend(function.iter().map(|function| (key.to_owned(), function.clone().into())));
    }
    let name = workload_name(Path::new(program));
    let mut target = Table::from_iter([("workload".to_owned(), Value::from(name.clone()))]);
    target.extend(arguments.core.map(|core| ("core".to_owned(), Value::Integer(core.into()))));
    let set = |path: &[&str], value| {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Set { option: option.clone(), path, value }
    };
    let mut sets = vec![
        set(&["workloads", &name], Value::Table(workload)),
        set(&["targets"], Value::Array(vec![Value::Table(target)])),
        // What the experiment says is of its own targets.
        set(&["excursions", "over_min"], waykeeper_experiment::PILOT.into()),
    ];
    // Once more by itself, so that a mistake in it names the option that it was typed as.
    sets.extend(arguments.core.map(|number| Set {
        option: format!("--core {number}"),
        path: ["targets", "0", "core"].map(String::from).to_vec(),
        value: Value::Integer(number.into()),
    }));
    let is_its_core = |path: &[&str]| path == ["targets", "0", "core"] && arguments.core.is_none();
    let is_taken = |path: &[&str]| path[0] == "targets" && !is_its_core(path);
    let mut replacement = Loaded::open(experiment, Vec::new())?.without_swept(&option, is_taken)?;
    replacement.sets.extend(sets);
    Ok(replacement)
}

/// Whether a program that was typed can be started.
///
/// # Errors
/// A program that does not exist, or that this user may not execute.
pub fn check_program(program: &OsStr, option: &str) -> Result<(), InputError> {
    let why = program.to_str().and_then(waykeeper_executor::no_program);
    let expected = "expected a program's file, or the name of a program in PATH";
    why.map_or(Ok(()), |why| Err(InputError::in_option(option, format!("{why}; {expected}"))))
}

/// The file's name, as far as a workload in an experiment can have it: letters, digits, `_` and `-`. A bundled workload of that name may be a neighbour.
fn workload_name(program: &Path) -> String {
    let stem = program.file_name().unwrap_or_default().to_string_lossy();
    let letter = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' };
    let name: String = stem.chars().map(letter).collect();
    let is_taken = name.is_empty() || waykeeper_workload::find_bundled(&name).is_some();
    if is_taken { format!("{name}_program") } else { name }
}

#[cfg(test)]
mod tests {
    use super::workload_name;

    #[test]
    fn a_program_has_a_name_of_its_own_among_the_workloads() {
        assert_eq!(workload_name("/opt/x y/my rta".as_ref()), "my_rta");
        assert_eq!(workload_name("stream_modify".as_ref()), "stream_modify_program");
        assert_eq!(workload_name("./a.out".as_ref()), "a_out");
        assert_eq!(workload_name("/usr/bin/python3.11".as_ref()), "python3_11");
        assert_eq!(workload_name("..".as_ref()), "_program");
    }
}
