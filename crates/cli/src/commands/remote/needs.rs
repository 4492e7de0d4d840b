//! What each command needs on a board: the files that it reads, and the results that it leaves.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use waykeeper_experiment::{InputError, Loaded, NamedFile};
use waykeeper_policy::LoadedPolicy;
use waykeeper_remote::{Parcel, TREE, WantedResult};
use waykeeper_room::Load as WantedLoad;
use waykeeper_session::RunFolder;
use waykeeper_shelf::{Folder, find};

use super::Form;
use crate::arguments::{Command, Hunt, Machine, Rtcp, RtcpRole, Run, THIS_MACHINE, Trace, Tune};
use crate::commands::{overrides, run, trace, tune, whole_file};
use crate::failure::Failure;

/// What a command needs on a board.
pub struct Needs {
    /// Files that are sent.
    pub parcel: Parcel,
    /// What is fetched.
    pub results: Vec<WantedResult>,
    /// Absolute paths among the arguments that are sent or fetched.
    pub absolute: Vec<String>,
    /// Arguments beside those that were typed.
    pub added: Vec<OsString>,
    /// What the standard output is.
    pub form: Form,
    /// The folder for the run here.
    pub held: Option<RunFolder>,
}

impl Needs {
    /// What a command needs.
    ///
    /// # Errors
    /// A command that needs no board; a file that is missing; a result whose place is taken.
    #[expect(clippy::too_many_lines, reason = "one arm a command")]
    pub fn of(command: &Command) -> Result<Self, Failure> {
        let here = std::env::current_dir().map_err(|error| Failure::Bad(format!("the working directory: {error}")))?;
        let mut needs = Self {
            parcel: Parcel::new(here),
            results: Vec::new(),
            absolute: Vec::new(),
            added: Vec::new(),
            form: Form::Text,
            held: None,
        };
        let mut json = false;
        match command {
            Command::Run(run) => {
                needs.run(run)?;
                json = run.json;
            }
            Command::Tune(tune) => {
                needs.tune(tune)?;
                json = tune.json;
            }
            Command::Hunt(hunt) => {
                needs.hunt(hunt)?;
                json = hunt.json;
            }
            Command::Plan(plan) => {
                no_root(plan.root.as_deref())?;
                needs.policy(&plan.policy)?;
                needs.platform(plan.platform.as_deref())?;
                json = plan.json;
            }
            Command::Apply(apply) => {
                no_root(apply.root.as_deref())?;
                apply.policy.iter().try_for_each(|policy| needs.policy(policy))?;
                apply.steps.iter().try_for_each(|file| needs.file("--steps", file))?;
                needs.platform(apply.platform.as_deref())?;
                json = apply.json;
            }
            Command::Machine(machine) => {
                needs.machine(machine)?;
                json = machine.json;
            }
            Command::Trace(trace) => {
                needs.trace(trace)?;
                json = trace.json;
            }
            Command::Rtcp(rtcp) => json = needs.rtcp(rtcp)?,
            Command::Load(load) => load.loads.iter().try_for_each(|text| needs.workload(text))?,
            Command::Watch(watch) => {
                no_root(watch.root.as_deref())?;
                watch.target.iter().try_for_each(|text| needs.workload(text))?;
                json = watch.json;
            }
            Command::Doctor(doctor) => {
                no_root(doctor.root.as_deref())?;
                json = doctor.json;
            }
            Command::Channels(channels) => {
                no_root(channels.root.as_deref())?;
                if channels.measure || !channels.runs.is_empty() {
                    let message = "--measure and --run are for the machine that runs this program: `waykeeper run` with --remote \
                                   fetches a run, and `channels --run` shows it beside a recording of the board (--root)";
                    return Err(Failure::Bad(message.into()));
                }
                channels.policy.iter().try_for_each(|policy| needs.policy(policy))?;
                let place = Some(channels.place.as_str()).filter(|place| *place != THIS_MACHINE);
                needs.platform(place)?;
                json = channels.json;
            }
            Command::Status(status) => {
                no_root(status.root.as_deref())?;
                json = status.json;
            }
            Command::Verify(verify) => {
                no_root(verify.root.as_deref())?;
                json = verify.json;
            }
            Command::Follow(follow) => {
                no_root(follow.root.as_deref())?;
                json = follow.json;
            }
            Command::Restore(restore) => {
                no_root(restore.root.as_deref())?;
                json = restore.json;
            }
            Command::Bugreport(report) if report.run.is_none() => {}
            other => return Err(needs_no_board(other)),
        }
        if json {
            needs.form = Form::Json;
        }
        Ok(needs)
    }

    /// Adds files that were named by `--remote-send`.
    pub fn send(&mut self, files: &[PathBuf]) -> Result<(), Failure> {
        files.iter().try_for_each(|path| self.file("--remote-send", path))
    }

    fn run(&mut self, run: &Run) -> Result<(), Failure> {
        if let Some(folder) = &run.resume {
            self.file("--resume", folder)?;
            return self.result("--resume", folder, true);
        }
        let name = run.experiment.as_deref().unwrap_or("this-machine");
        let loaded = Loaded::open(name, run::sets(run)?.sets)?;
        self.experiment(name, &loaded)?;
        self.program(&run.program.command)?;
        run.against.iter().try_for_each(|path| self.file("--against", path))?;
        if run.dry_run {
            return Ok(());
        }
        let held = RunFolder::prepare(run.out.as_deref(), &loaded.name)?;
        self.folder("--out", run.out.is_none(), held)
    }

    fn tune(&mut self, tune: &Tune) -> Result<(), Failure> {
        let loaded = Loaded::open(&tune.experiment, tune::sets(tune)?.sets)?;
        self.experiment(&tune.experiment, &loaded)?;
        tune.against.iter().try_for_each(|path| self.file("--against", path))?;
        if tune.dry_run {
            return Ok(());
        }
        tune.out.iter().try_for_each(|path| self.result("--out", path, true))?;
        let goes_on = |path: &Path| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if let Some(keep) = tune.keep.as_deref().filter(|path| goes_on(path)) {
            self.file("--keep", keep)?;
            return self.result("--keep", keep, true);
        }
        let held = RunFolder::prepare(tune.keep.as_deref(), &format!("tune-{}", loaded.name))?;
        self.folder("--keep", tune.keep.is_none(), held)
    }

    fn hunt(&mut self, hunt: &Hunt) -> Result<(), Failure> {
        let loaded = Loaded::open(&hunt.experiment, overrides::of_search(&hunt.measured, &hunt.experiment)?.sets)?;
        self.experiment(&hunt.experiment, &loaded)?;
        hunt.out.iter().try_for_each(|path| self.result("--out", path, true))
    }

    fn machine(&mut self, machine: &Machine) -> Result<(), Failure> {
        no_root(machine.root.as_deref())?;
        if machine.platform {
            self.form = Form::Toml;
        }
        machine.record.iter().try_for_each(|path| self.result("--record", path, false))
    }

    fn trace(&mut self, trace: &Trace) -> Result<(), Failure> {
        if trace.info.is_some() {
            return Err(Failure::Bad("--info shows a file here, which needs no board: leave --remote out".into()));
        }
        let (_, named) = trace::source_and_name(trace)?;
        self.program(&trace.command)?;
        self.result("--out", trace.out.as_deref().unwrap_or(&named), false)
    }

    /// Returns whether its output is JSON.
    fn rtcp(&mut self, rtcp: &Rtcp) -> Result<bool, Failure> {
        let (common, compute) = match &rtcp.role {
            RtcpRole::Generate(generate) => (&generate.common, None),
            RtcpRole::Respond(respond) => (&respond.common, respond.compute.as_deref()),
        };
        // An amount of instructions and a bundled workload are no files.
        let file = compute.map(Path::new).filter(|path| path.is_file());
        file.map_or(Ok(()), |path| self.file("--compute", path))?;
        common.out.iter().try_for_each(|path| self.result("--out", path, true))?;
        Ok(common.json)
    }

    /// An experiment, and the files that it names.
    fn experiment(&mut self, name: &str, loaded: &Loaded) -> Result<(), Failure> {
        if find(Folder::Experiments, name).is_none() {
            self.file("the experiment", Path::new(name))?;
        }
        let mut elsewhere = Vec::new();
        for file in loaded.named_files()? {
            let path = Path::new(&file.path);
            // A program with an absolute path is the board's own, and the user's program is looked at elsewhere.
            if file.is_program && path.is_absolute() {
                continue;
            }
            let missing = |error: std::io::Error| {
                let found = format!("found `{}`, and `{}` cannot be sent to the board: {error}", file.name, file.path);
                loaded.error(&file.key, format!("{found}; expected a file here"))
            };
            self.parcel.add(path).map_err(missing)?;
            if path.is_absolute() {
                self.absolute.push(file.path.clone());
                elsewhere.push(file);
            }
        }
        self.say_where(loaded, &elsewhere);
        Ok(())
    }

    /// Where files are on the board that an experiment names by absolute paths.
    fn say_where(&mut self, loaded: &Loaded, elsewhere: &[NamedFile]) {
        if elsewhere.is_empty() {
            return;
        }
        let mut files: toml::Table =
            loaded.experiment.files.iter().map(|(name, path)| (name.clone(), path.clone().into())).collect();
        files.extend(elsewhere.iter().map(|file| (file.name.clone(), format!("{TREE}{}", file.path).into())));
        self.added.extend(["--set".into(), format!("files={}", toml::Value::Table(files)).into()]);
    }

    /// A policy, unless it is bundled.
    fn policy(&mut self, name: &str) -> Result<(), Failure> {
        LoadedPolicy::open(name)?;
        if find(Folder::Policies, name).is_some() { Ok(()) } else { self.file("the policy", Path::new(name)) }
    }

    /// A platform, unless it is bundled.
    fn platform(&mut self, name: Option<&str>) -> Result<(), Failure> {
        match name.filter(|name| find(Folder::Platforms, name).is_none()) {
            Some(name) => self.file("--for", Path::new(name)),
            None => Ok(()),
        }
    }

    /// The workload in `WORKLOAD@CORES`, unless it is bundled.
    fn workload(&mut self, text: &str) -> Result<(), Failure> {
        let load = WantedLoad::parse(text).map_err(|bad| InputError::in_option(text, bad.why))?;
        match find(Folder::Workloads, &load.workload) {
            Some(_) => Ok(()),
            None => self.file("the workload", Path::new(&load.workload)),
        }
    }

    /// A program of the user's. One with an absolute path, or one that is looked for in `PATH`, is the board's own.
    fn program(&mut self, command: &[OsString]) -> Result<(), Failure> {
        let Some(path) = command.first().map(Path::new) else { return Ok(()) };
        let is_sent = path.is_relative() && path.components().count() > 1;
        if is_sent || path.as_os_str().to_string_lossy().starts_with("./") { self.file("--", path) } else { Ok(()) }
    }

    /// A file or folder that is sent.
    fn file(&mut self, option: &str, path: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            let message = format!("it cannot be sent to the board: {error}; expected a file here");
            InputError::in_option(format!("{option} {}", path.display()), message)
        };
        self.parcel.add(path).map_err(failed)?;
        self.is_there(option, path)
    }

    /// The new folder that a run is fetched into; `is_named_here` where the board would give it another name.
    fn folder(&mut self, option: &str, is_named_here: bool, held: RunFolder) -> Result<(), Failure> {
        let path = held.path().to_owned();
        if is_named_here {
            self.added.extend([option.into(), path.clone().into_os_string()]);
        }
        self.held = Some(held);
        self.result(option, &path, false)
    }

    /// A file or folder that is fetched.
    fn result(&mut self, option: &str, path: &Path, replaces: bool) -> Result<(), Failure> {
        let refuse = |why: &str| Err(InputError::in_option(format!("{option} {}", path.display()), why).into());
        if let Ok(data) = std::fs::metadata(path) {
            let is_empty = || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
            if !data.is_file() && !data.is_dir() {
                return refuse("it is neither a file nor a folder; expected the name of a file, since it is fetched");
            }
            if !replaces && !is_empty() {
                return refuse("it is there already; expected a new name");
            }
        }
        whole_file::check_replaces_nothing(path)?;
        if path.file_name().is_none() {
            return refuse("expected a path that ends with a name");
        }
        let place = self.parcel.expect(path);
        let path_here = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.results.push(WantedResult { place, path: path_here, replaces });
        self.is_there(option, path)
    }

    /// An absolute path is another one on the board.
    fn is_there(&mut self, option: &str, path: &Path) -> Result<(), Failure> {
        let Some(text) = path.to_str() else {
            let message = "its name is not UTF-8; expected another name";
            return Err(InputError::in_option(format!("{option} {}", path.display()), message).into());
        };
        if path.is_absolute() {
            self.absolute.push(text.to_owned());
        }
        Ok(())
    }
}

/// Files below another root are here, not on the board.
fn no_root(root: Option<&Path>) -> Result<(), Failure> {
    match root {
        None => Ok(()),
        Some(root) => {
            let message = "this looks at files here, and --remote at a running board; leave one of them out";
            Err(InputError::in_option(format!("--root {}", root.display()), message).into())
        }
    }
}

fn needs_no_board(command: &Command) -> Failure {
    let message = match command {
        Command::Enter(_) | Command::Mount(_) => {
            "a room is a simulated machine and needs no board; expected this command without --remote"
        }
        _ => "this command works on files here and needs no board; expected it without --remote",
    };
    Failure::Bad(format!("--remote: {message}"))
}
