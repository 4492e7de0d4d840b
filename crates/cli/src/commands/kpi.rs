//! `waykeeper kpi`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use waykeeper_doctor::{BadCores, DriverSettings, Examination, Interface, Smis, View, count_smis, examine};
use waykeeper_experiment::InputError;
use waykeeper_kpi::{Cycle, DoctorFinding, KpiReport, KpiSession, KpiSettings, NextStep, PacketSettings, before, text};
use waykeeper_linux::{Root, schedule};
use waykeeper_report::shown::one_line;
use waykeeper_session::{Observer, Options};
use waykeeper_statistics::JudgementKind;
use waykeeper_workload::{PacketWait, PathKind, parse_duration_ns};

use super::output::{Kind, print, print_json, say};
use crate::arguments::{Kpi, KpiMeasured, RtcpPath};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::stop;

/// System-management interrupts are counted for so long, where they can be.
const SMI_SECONDS: u32 = 2;

/// The load where none is named: the guide's is a stream to memory.
const USUAL_LOAD: &str = "stream_modify";

/// Where a measurement takes that long, each block is long enough for the guide's figures.
const USUAL_DURATION: &str = "10min";

/// What a dry run prints as JSON.
#[derive(Serialize)]
struct PlannedSession<'s> {
    settings: &'s KpiSettings,
    doctor: Vec<DoctorFinding>,
    /// The same in sentences.
    says: Vec<String>,
}

/// Accepts a machine.
pub fn kpi(arguments: &Kpi) -> Result<Exit, Failure> {
    let labels = labels(&arguments.labels)?;
    let found = arguments.session.as_deref().map(KpiSession::find).transpose()?.flatten();
    let is_new = found.is_none();
    let (mut session, doctor) = match found {
        Some(session) => {
            no_other_settings(&arguments.measured, session.folder())?;
            let examination = examined(&session.record().settings)?;
            (session, examination)
        }
        None => begin(arguments)?,
    };
    if arguments.dry_run {
        let (settings, doctor) = (&session.record().settings, DoctorFinding::of(&doctor));
        let says = before_it(&session, &doctor);
        match arguments.json {
            true => print_json(&PlannedSession { settings, doctor, says })?,
            false => print(&(says.join("\n") + "\n"))?,
        }
        return Ok(Exit::Done);
    }
    let goes_on = match session.next_step() {
        NextStep::BeginBoot => is_new || is_other_boot(&session, &labels),
        NextStep::GoOn => {
            same_labels(&session, &labels)?;
            true
        }
    };
    if !goes_on {
        say(Kind::Note, "all is measured; --label with another value begins a boot with another setting of firmware");
        return show(arguments, &session, false);
    }
    before_it(&session, &DoctorFinding::of(&doctor)).iter().for_each(|line| say(Kind::Plain, line));
    if session.next_step() == NextStep::BeginBoot {
        session.begin_boot(labels, &doctor)?;
    }
    let stop = stop::on_ctrl_c();
    let observe = |title: &str| -> Box<dyn Observer> {
        say(Kind::Plain, title);
        Box::new(Bar::new())
    };
    let whole = session.measure(&options(), &observe, &stop)?;
    show(arguments, &session, !whole)
}

/// What is said before anything is measured.
fn before_it(session: &KpiSession, doctor: &[DoctorFinding]) -> Vec<String> {
    before(&session.record().settings, doctor).into_iter().chain(session.foreseen().iter().cloned()).collect()
}

fn show(arguments: &Kpi, session: &KpiSession, interrupted: bool) -> Result<Exit, Failure> {
    let report = KpiReport::new(session)?;
    if arguments.json {
        print_json(&report)?;
    } else {
        let folder = session.folder().display().to_string();
        let folder = one_line(&folder);
        print(&format!("{}\nkept in {folder}; `waykeeper report {folder}` makes a page of it\n", text(&report)))?;
    }
    let any = |kind| report.rows.iter().flat_map(|row| &row.budgets).any(|judged| judged.kind == kind);
    Ok(match () {
        () if any(JudgementKind::Broken) => Exit::BudgetBroken,
        () if interrupted => Exit::Interrupted,
        () if any(JudgementKind::TooThin) || report.rows.iter().any(|row| row.iterations == 0) => Exit::TooThin,
        () => Exit::Done,
    })
}

/// A new session, and what the doctor says of the machine.
fn begin(arguments: &Kpi) -> Result<(KpiSession, Examination), Failure> {
    let measured = &arguments.measured;
    let option = measured.rt_cores.as_ref().map_or("kpi".to_owned(), |cores| format!("--rt-cores {cores}"));
    let view = View::new(Root::default(), measured.rt_cores.as_deref())
        .map_err(|BadCores(why)| InputError::in_option(&option, why))?;
    let settings = settings(measured, &view, &option)?;
    let folder = arguments.session.clone().unwrap_or_else(new_folder);
    let session = KpiSession::begin(&folder, settings, &options())?;
    let examination = examined_view(view, session.record().settings.packets.as_ref());
    Ok((session, examination))
}

fn examined(settings: &KpiSettings) -> Result<Examination, Failure> {
    let list = waykeeper_linux::format_cpulist(&settings.rt_cores);
    let refuse = |BadCores(why): BadCores| InputError::in_option("--session", format!("its real-time cores: {why}"));
    let view = View::new(Root::default(), Some(&list)).map_err(refuse)?;
    Ok(examined_view(view, settings.packets.as_ref()))
}

fn examined_view(view: View, packets: Option<&PacketSettings>) -> Examination {
    let wait = || std::thread::sleep(std::time::Duration::from_secs(SMI_SECONDS.into()));
    let smis: Smis = count_smis(&view.root, &view.rt_cores, SMI_SECONDS.into(), wait);
    // Not looked up: one whose files are not to be seen here is an interface none the less, and its checks say so.
    let interface = packets.map(|packets| &packets.interface);
    let interface = interface.map(|name| Interface { name: name.clone(), driver: DriverSettings::read(name) });
    examine(&View { smis, interface, ..view })
}

fn settings(measured: &KpiMeasured, view: &View, rt_option: &str) -> Result<KpiSettings, InputError> {
    let duration = measured.duration.as_deref().unwrap_or(USUAL_DURATION);
    let duration_s = time("--duration", duration, 0.1)? / 1e9;
    let block_s = match &measured.block {
        Some(text) => time("--block", text, 0.1)? / 1e9,
        None => KpiSettings::usual_block_s(duration_s),
    };
    let rt_cores = view.rt_cores.clone();
    let load_cores: Vec<u32> = schedule::allowed().into_iter().filter(|core| !rt_cores.contains(core)).collect();
    let wakeup_period = measured.wakeup_period.as_deref().unwrap_or("250us");
    let (load, load_name) = load(measured.load.as_deref())?;
    if load_cores.is_empty() && !names_its_cores(&load) {
        let why = "no core is left for the best-effort load; expected fewer real-time cores, a larger affinity mask, or a --load \
                   whose neighbours name `cores`";
        return Err(InputError::in_option(rt_option, why));
    }
    Ok(KpiSettings {
        duration_s,
        block_s: block_s.min(duration_s),
        packets: packets(measured, &rt_cores)?,
        simultaneous: rt_cores.len() > 1,
        rt_cores,
        load_cores,
        cyclictest: !measured.no_cyclictest && block_s.min(duration_s) >= 1.0 && has_cyclictest(),
        wakeup_period_ns: time("--wakeup-period", wakeup_period, 1e-6)?,
        policies: measured.policies.iter().map(|name| policy(name)).collect(),
        load,
        load_name,
        budgets: measured.budgets.clone(),
        packet_budgets: measured.packet_budgets.clone(),
    })
}

fn packets(measured: &KpiMeasured, rt_cores: &[u32]) -> Result<Option<PacketSettings>, InputError> {
    let Some(interface) = measured.interface.clone() else { return Ok(None) };
    let usual = ["1ms:1296KiBx60k".to_owned(), "125us:264KiBx12k".to_owned()];
    let texts = if measured.cycles.is_empty() { usual.as_slice() } else { &measured.cycles };
    let cycle = |text: &String| {
        text.parse::<Cycle>().map_err(|bad| InputError::in_option(format!("--cycle {text}"), bad.to_string()))
    };
    let generator = measured.generator.as_deref().map(words).transpose()?.unwrap_or_default();
    Ok(Some(PacketSettings {
        interface,
        path: match measured.path {
            None | Some(RtcpPath::Xdp) => PathKind::AfXdp,
            Some(RtcpPath::Packet) => PathKind::AfPacket,
        },
        wait: if measured.interrupt { PacketWait::Interrupt } else { PacketWait::BusyPoll },
        queue: measured.queue,
        core: rt_cores.last().copied().unwrap_or(0),
        generator,
        cycles: texts.iter().map(cycle).collect::<Result<_, _>>()?,
    }))
}

/// The words of a command, as a shell takes them apart; nothing is expanded. A program's path is whole, for the session may go on
/// from another folder.
fn words(text: &str) -> Result<Vec<String>, InputError> {
    let refuse = |why: &str| InputError::in_option(format!("--generator '{text}'"), why);
    let mut words = shlex::split(text).ok_or_else(|| refuse("a quote is not closed, or it ends in a backslash"))?;
    let program = words.first_mut().filter(|program| !program.is_empty());
    let program =
        program.ok_or_else(|| refuse("it names no program; expected `ssh peer waykeeper rtcp generate --if eth1`"))?;
    if program.contains('/') {
        *program = whole(program);
    }
    Ok(words)
}

/// A path from the root.
fn whole(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

/// A policy by its bundled name, or by the whole path of its file.
fn policy(name: &str) -> String {
    if waykeeper_experiment::is_policy_file(name) { whole(name) } else { name.to_owned() }
}

/// Whether cyclictest is installed.
fn has_cyclictest() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("cyclictest").is_file())
}

/// The load's text and its name.
fn load(file: Option<&Path>) -> Result<(String, String), InputError> {
    let Some(file) = file else {
        return Ok((format!("[[neighbours]]\nworkload = \"{USUAL_LOAD}\"\n"), USUAL_LOAD.to_owned()));
    };
    let name = file.display().to_string();
    let text = waykeeper_platform::read_text(&name).map_err(|error| {
        InputError::in_option(format!("--load {name}"), format!("the file cannot be read: {error}"))
    })?;
    Ok((text, name))
}

/// Whether each neighbour of a load says on which cores it runs.
fn names_its_cores(load: &str) -> bool {
    let load = load.parse::<toml::Table>().unwrap_or_default();
    let neighbours = load.get("neighbours").and_then(toml::Value::as_array);
    neighbours.is_some_and(|all| all.iter().all(|one| one.get("cores").is_some_and(toml::Value::is_array)))
}

fn labels(texts: &[String]) -> Result<BTreeMap<String, String>, InputError> {
    let mut labels = BTreeMap::new();
    for text in texts {
        let refuse = |why: &str| InputError::in_option(format!("--label {text}"), why);
        let pair = text.split_once('=').filter(|(key, value)| !key.trim().is_empty() && !value.trim().is_empty());
        let (key, value) = pair.ok_or_else(|| refuse("expected KEY=VALUE, such as tcc-mode=on"))?;
        if labels.insert(key.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err(refuse("the key was given before; expected it once"));
        }
    }
    Ok(labels)
}

/// A session keeps what it measures: its rows would not belong together otherwise.
fn no_other_settings(measured: &KpiMeasured, folder: &Path) -> Result<(), InputError> {
    let Some(option) = measured.first_given() else { return Ok(()) };
    let folder = folder.display();
    let why = format!(
        "the session in {folder} goes on with what it began with (kpi.json); expected no such option, or another folder"
    );
    Err(InputError::in_option(option, why))
}

fn same_labels(session: &KpiSession, labels: &BTreeMap<String, String>) -> Result<(), InputError> {
    let Some(boot) = session.record().boots.last() else { return Ok(()) };
    if labels.is_empty() || *labels == boot.labels {
        return Ok(());
    }
    let (folder, called) = (session.folder().display(), boot.called());
    let called = if called.is_empty() { "without labels".to_owned() } else { format!("with {called}") };
    let why = format!(
        "the measurements {called} are not complete; expected `waykeeper kpi --session {folder}` with that setting first"
    );
    Err(InputError::in_option("--label", why))
}

/// Whether the user says that something else is set now.
fn is_other_boot(session: &KpiSession, labels: &BTreeMap<String, String>) -> bool {
    !labels.is_empty() && session.record().boots.iter().all(|boot| boot.labels != *labels)
}

fn options() -> Options {
    Options {
        commit: crate::commit().map(str::to_owned),
        command_line: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        ..Options::default()
    }
}

fn time(option: &str, text: &str, least_s: f64) -> Result<f64, InputError> {
    let bad = |why: String| InputError::in_option(format!("{option} {text}"), why);
    let ns = parse_duration_ns(text).map_err(|error| bad(error.to_string()))?;
    match ns >= least_s * 1e9 && ns < 1e17 {
        true => Ok(ns),
        false => Err(bad(format!("expected {} to 3 years", waykeeper_workload::format_ns(least_s * 1e9)))),
    }
}

fn new_folder() -> PathBuf {
    PathBuf::from("waykeeper-runs").join(format!("kpi-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S")))
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_generator_is_a_command_whose_program_has_a_whole_path() {
        let of = |text: &str| words(text).map_err(|error| error.to_string());
        assert_eq!(of("ssh board 'a b' $HOME").unwrap(), ["ssh", "board", "a b", "$HOME"]);
        let here = std::env::current_dir().unwrap().join("bin/x").display().to_string();
        assert_eq!(of("bin/x rtcp").unwrap(), [here, "rtcp".to_owned()]);
        for (bad, why) in [("", "no program"), ("''", "no program"), ("a 'b", "not closed"), ("a\\", "backslash")] {
            assert!(of(bad).unwrap_err().contains(why), "{bad}");
        }
    }
}
