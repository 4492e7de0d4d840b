//! What must hold of what a guest's program said.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::guest::Guest;
use crate::programs::{program_here, run};

/// Words of advice that no Arm machine can follow.
const X86_ADVICE: [&str; 8] = ["intel", "TSC", "tsc=", "BIOS", "Hyper-Threading", "max_cstate", "MSR", "amd64"];

/// Looks at all of it.
///
/// # Errors
/// The first thing that is not as it must be.
pub fn look(guest: &Guest, kept: &Path) -> Result<(), String> {
    let kept = Kept(kept);
    machine(guest, &kept)?;
    doctor(&kept)?;
    measured(&kept)?;
    simulated(&kept)?;
    policies(&kept)?;
    errors(&kept)?;
    println!("{}", clock(guest, &kept)?);
    cycles(guest, &kept)
}

/// The folder with what a guest kept.
struct Kept<'p>(&'p Path);

impl Kept<'_> {
    fn text(&self, name: &str) -> Result<String, String> {
        let path = self.0.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn json(&self, name: &str) -> Result<Value, String> {
        serde_json::from_str(&self.text(name)?).map_err(|error| format!("{}: {error}", self.0.join(name).display()))
    }
}

/// Says what is not as it must be.
pub fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn machine(guest: &Guest, kept: &Kept) -> Result<(), String> {
    let machine = kept.json("machine-json.out")?;
    let kinds: Vec<&Value> = machine["cores"].as_array().into_iter().flatten().map(|cores| &cores["kind"]).collect();
    expect(kinds == [guest.cores], || format!("cores are {kinds:?}, expected {}", guest.cores))?;
    // What `--clock pmccntr` needs, before the guest's own steps allow it.
    let readable = &machine["clock"]["cycle_counter_readable"];
    let expected = if guest.architecture == "aarch64" { Value::Bool(false) } else { Value::Null };
    expect(*readable == expected, || format!("the cycle counter is readable: {readable}, expected {expected}"))?;
    // The ARMv7 board has a PL310, which its device tree alone names.
    let controls = machine["controls"].as_array().into_iter().flatten();
    let lockdown = controls.filter(|control| control["id"] == "pl310_lockdown").count();
    let expected = usize::from(guest.architecture == "armv7l");
    expect(lockdown == expected, || format!("{lockdown} PL310 in {}, expected {expected}", machine["controls"]))?;
    let architecture = &machine["identity"]["architecture"];
    expect(architecture == guest.architecture, || format!("architecture {architecture}"))
}

/// No advice for other processors, and no check that is called fine without having seen anything.
fn doctor(kept: &Kept) -> Result<(), String> {
    let report = kept.json("doctor-json.out")?;
    let findings = report["findings"].as_array().ok_or("doctor shows no findings")?;
    expect(findings.len() > 20, || format!("{} findings", findings.len()))?;
    for finding in findings {
        let fixes = finding["fixes"].to_string();
        let advice = X86_ADVICE.iter().find(|word| fixes.contains(**word));
        expect(advice.is_none(), || format!("advice for another processor: {finding}"))?;
        // Its own timer cannot be sent to another core.
        expect(!fixes.contains("arch_timer") && !finding["seen"].to_string().contains("arch_timer"), || {
            format!("a core's own interrupt: {finding}")
        })?;
    }
    Ok(())
}

/// How many samples each case of a run has.
pub fn samples(run: &Value) -> Vec<u64> {
    run["cases"].as_array().into_iter().flatten().filter_map(|case| case["samples"].as_u64()).collect()
}

fn measured(kept: &Kept) -> Result<(), String> {
    let host = samples(&kept.json("host/run.json")?);
    expect(!host.is_empty() && host.iter().all(|samples| *samples > 0), || format!("samples of cases: {host:?}"))?;
    // 300 ms of a period of 2 ms, which is absolute: what the emulator held up before the observation is caught up in it. A
    // pass that was counted twice would be 200 %.
    let run = kept.json("own/run.json")?;
    let own = samples(&run);
    let most = (run["cases"][0]["run_length_s"].as_f64().unwrap_or(0.0) / 2e-3 * 1.5) as u64;
    expect(own.len() == 1 && (100..=most).contains(&own[0]), || {
        format!("passes of the user's program: {own:?}, expected 100 to {most}")
    })
}

/// A simulation has the same bits on every architecture.
fn simulated(kept: &Kept) -> Result<(), String> {
    // In a folder of its own: the guests are looked at at the same time.
    let folder = kept.0.join("simulated-here");
    let _ = std::fs::remove_dir_all(&folder);
    let mut here = Command::new(program_here());
    here.args(["run", "agilex5-cluster-latency", "--duration", "500us", "--repeats", "2", "--out"]).arg(&folder);
    // As in the guest: without wall times.
    run(here.env("SOURCE_DATE_EPOCH", "0").stdout(Stdio::null()))?;
    let here = Kept(&folder).json("run.json")?;
    let there = kept.json("simulated/run.json")?;
    let there = there["cases"].as_array().ok_or("a run without cases")?;
    for (here, there) in here["cases"].as_array().into_iter().flatten().zip(there) {
        let name = &here["name"];
        let files = (folder.display(), kept.0.join("simulated"));
        expect(here == there, || {
            format!("{name} is simulated otherwise here ({}) than there ({})", files.0, files.1.display())
        })?;
    }
    expect(there.len() > 4, || format!("{} simulated cases", there.len()))
}

fn policies(kept: &Kept) -> Result<(), String> {
    let room = kept.text("room.out")?;
    for line in ["L3:0=3ff", "L3:0=ffc00", "nothing is applied"] {
        expect(room.contains(line), || format!("no `{line}` in the room:\n{room}"))?;
    }
    let info = kept.json("trace-info.out")?;
    // As many as `--limit` asked for.
    let recorded = ["loads", "stores", "modifies"].iter().filter_map(|kind| info[*kind].as_u64()).sum::<u64>();
    expect(recorded == 100_000, || format!("recorded: {info}"))
}

/// One clear line for each thing that is missing.
fn errors(kept: &Kept) -> Result<(), String> {
    for name in ["no-resctrl", "no-experiment"] {
        let text = kept.text(&format!("{name}.err"))?;
        expect(!text.is_empty() && !text.contains("panicked"), || format!("{name} says: {text}"))?;
    }
    Ok(())
}

/// Samples by the cycle counter: finer than the counter's ticks, and no other times than these. A loop that reads the clock all the
/// time is in its samples all the time, whatever the emulator makes of it.
fn cycles(guest: &Guest, kept: &Kept) -> Result<(), String> {
    let refused = kept.text("no-cycles.err")?;
    if guest.architecture != "aarch64" {
        return expect(refused.contains("no counter of this processor"), || format!("no-cycles says: {refused}"));
    }
    expect(refused.contains("sysctl -w kernel.perf_user_access=1"), || format!("no-cycles says: {refused}"))?;
    let sleeper = kept.text("cycles-sleeper.err")?;
    expect(sleeper.contains("the kernel wakes"), || format!("cycles-sleeper says: {sleeper}"))?;
    let (ticks, cycles) = (kept.json("ticks/run.json")?, kept.json("cycles/run.json")?);
    let tick_ns = ticks["clock"]["tick_ns"].as_f64().unwrap_or(f64::NAN);
    for run in [&ticks, &cycles] {
        let case = &run["cases"][0];
        let figure = |key: &str| case[key].as_f64().unwrap_or(f64::NAN);
        let share = figure("samples") * figure("mean_ns") / (figure("run_length_s") * 1e9);
        let name = &run["clock"]["name"];
        expect((0.9..1.001).contains(&share), || format!("samples by {name} are {share} of the time"))?;
    }
    let name = &cycles["clock"]["name"];
    expect(name == "PMCCNTR", || format!("the samples' clock is {name}"))?;
    // QEMU's cycle counter has 1 GHz, whatever the machine beneath it does. A tick of the other counter takes a whole number of
    // nanoseconds there, 41 of 41.7, so that times by it are longer and frequencies lower.
    let expected = 1000.0 * tick_ns.floor() / tick_ns;
    let repeats = cycles["cases"][0]["repeats"].as_array().ok_or("no repeats")?;
    for repeat in repeats {
        let mhz = repeat["disturbances"]["cycle_counter_mhz"].as_f64().unwrap_or(f64::NAN);
        expect((mhz / expected - 1.0).abs() < 0.01, || {
            format!("the cycle counter has {mhz} MHz, expected {expected:.0}")
        })?;
    }
    // Some lie between two ticks.
    let figures = |run: &Value| -> Vec<f64> {
        let cases = run["cases"].as_array().into_iter().flatten();
        let of = |case: &Value| ["min_ns", "p50_ns", "p99_ns", "max_ns"].map(|key| case[key].as_f64().unwrap_or(0.0));
        cases.flat_map(of).map(|ns| ns / tick_ns).collect()
    };
    let found = figures(&cycles);
    let is_between = |ticks: &f64| (ticks - ticks.round()).abs() > 0.01;
    expect(found.iter().any(is_between), || format!("samples by PMCCNTR are whole ticks: {found:.3?}"))?;
    let shown: Vec<String> = found.iter().map(|ticks| format!("{ticks:.2}")).collect();
    println!("samples by PMCCNTR, in ticks of {tick_ns:.1} ns: {}", shown.join(", "));
    Ok(())
}

/// The counter, and how fine it is: one whose step is long is said before the run begins, and a sample that is shorter than a step is
/// not called 0 ns.
fn clock(guest: &Guest, kept: &Kept) -> Result<String, String> {
    let (out, said) = (kept.text("host.out")?, kept.text("host.err")?);
    let words = format!("moves in steps of {}", guest.counter_step);
    expect([&out, &said].iter().any(|text| text.contains(&words)), || format!("no `{words}` in:\n{out}{said}"))?;
    expect(!out.contains(" 0 ns"), || format!("a time of 0 ns in:\n{out}"))?;
    let run = kept.json("host/run.json")?;
    let clock = &run["clock"];
    let figure = |key: &str| clock[key].as_f64().unwrap_or(f64::NAN);
    Ok(format!(
        "clock {}: {:.3} MHz, {:.1} ns a tick, resolution {:.1} ns, {:.1} ns a reading",
        clock["name"],
        figure("frequency_hz") / 1e6,
        figure("tick_ns"),
        figure("resolution_ns"),
        figure("read_overhead_ns")
    ))
}
