//! Compares the model of resctrl with real kernels: see docs/resctrl.md.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use waykeeper_kernel_rig::boot::{Lines, Machinery, READY, boot};
use waykeeper_kernel_rig::doctor::unknown_parameters_are_unknown;
use waykeeper_kernel_rig::image::KernelImage;
use waykeeper_kernel_rig::plan::{Doctor, Plan, Task, read_sequences};
use waykeeper_kernel_rig::provide;
use waykeeper_kernel_rig::setup::{SETUPS, Setup};
use waykeeper_kernel_rig::step::Step;

const HELP: &str = "\
kernel-rig [--ops N] [--seed S] [--kernel 6.1|6.12|6.18|7.3|7.3-rt]... [--setup NAME]... [--replay FILE]... [--record FILE]
           [--circle NAME]... [--doctor NAME]... [--doctor-tuned NAME]... [--launch NAME]...
           [--own-task NAME]... [--waykeeper PROGRAM]

Boots kernels under QEMU with the registers of cache allocation, and compares random operations on resctrl with the
model. N operations go to each kernel, shared by the setups. The kernels 6.1 and 7.3 and all setups unless some are named.
--replay compares kept sequences instead; --record writes one sequence of N operations with the kernel's answers.
Sequences that differed once (rigs/kernel/sequences) are compared first.
--doctor and --doctor-tuned, on the setup of that name, examine the kernel as it is booted, or with parameters that help a
real-time core, and compare the findings with that.
--own-task, on the setup of that name, measures a user's own program with the static PROGRAM that `cargo xtask package` builds:
its markers, its functions and its period.
--launch, on the setup of that name, tries launch times of packets with etf; its kernel's package has the modules (6.1).
--circle, on the setup of that name, applies plans and restores them as well, killed before and amid every single write.
";

/// The longest time that one guest may take.
const SECONDS: u64 = 3600;

struct Options {
    operations: usize,
    seed: u64,
    kernels: Vec<KernelImage>,
    setups: Vec<Setup>,
    replay: Vec<PathBuf>,
    record: Option<PathBuf>,
    circle: Vec<String>,
    launch: Vec<String>,
    own_task: Vec<String>,
    waykeeper: Option<PathBuf>,
    doctor: Vec<(String, Doctor)>,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(why) => {
            eprint!("{why}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("kernel-rig: {why}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        operations: 10_000,
        seed: fastrand::u64(..1 << 32),
        kernels: Vec::new(),
        setups: Vec::new(),
        replay: Vec::new(),
        record: None,
        circle: Vec::new(),
        launch: Vec::new(),
        own_task: Vec::new(),
        waykeeper: None,
        doctor: Vec::new(),
    };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: not a number"));
        match name.as_str() {
            "--ops" => options.operations = number()? as usize,
            "--seed" => options.seed = number()?,
            "--kernel" => {
                let kernel = KernelImage::named(&value);
                options.kernels.push(kernel.ok_or_else(|| format!("{value}: no such kernel"))?);
            }
            "--setup" => options.setups.push(Setup::named(&value).ok_or_else(|| format!("{value}: no such setup"))?),
            "--replay" => options.replay.push(value.into()),
            "--doctor" => options.doctor.push((value, Doctor::Plain)),
            "--doctor-tuned" => options.doctor.push((value, Doctor::Tuned)),
            "--circle" => options.circle.push(value),
            "--launch" => options.launch.push(value),
            "--own-task" => options.own_task.push(value),
            "--waykeeper" => options.waykeeper = Some(value.into()),
            "--record" => options.record = Some(value.into()),
            _ => return Err(format!("{name}: no such option")),
        }
    }
    if options.kernels.is_empty() {
        options.kernels = ["6.1", "7.3"].into_iter().filter_map(KernelImage::named).collect();
    }
    if options.setups.is_empty() {
        options.setups = SETUPS.to_vec();
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let machinery = provide::machinery(options.waykeeper.as_deref())?;
    println!("seed {}", options.seed);
    let compared = compare(options, &machinery);
    let _ = std::fs::remove_dir_all(&machinery.scratch);
    compared
}

fn compare(options: &Options, machinery: &Machinery) -> Result<(), String> {
    let mut differences = 0;
    for &kernel in &options.kernels {
        let image = provide::kernel(kernel)?;
        let release = provide::release(kernel).unwrap_or_default();
        if !options.doctor.is_empty() {
            let bytes = std::fs::read(&image).map_err(|error| format!("{}: {error}", image.display()))?;
            let rows = unknown_parameters_are_unknown(&bytes).map_err(|why| format!("{release}: {why}"))?;
            println!("{release}: none of {rows} parameters that the doctor calls unknown is in the image");
        }
        let mut different = 0;
        let mut operations = 0;
        for &setup in &options.setups {
            let share = options.operations.div_ceil(options.setups.len());
            let task = task(options, kernel, setup, share)?;
            let Some(task) = task else { continue };
            let circle = options.circle.iter().any(|name| name == setup.name);
            let doctor = options.doctor.iter().find(|(name, _)| name == setup.name);
            let launch = options.launch.iter().any(|name| name == setup.name);
            let own_task = options.own_task.iter().any(|name| name == setup.name);
            let doctor = doctor.map_or(Doctor::No, |(_, booted)| *booted);
            let plan = Plan { setup, kernel, task, circle, doctor, launch, own_task };
            let begun = Instant::now();
            let mut booted = Duration::ZERO;
            let lines = boot(machinery, &image, &plan, SECONDS, |line| {
                if line == READY {
                    booted = begun.elapsed();
                }
                if let Some(said) = line.strip_prefix("doctor ") {
                    println!("{release} {}: doctor, {said}", setup.name);
                }
                if let Some(said) = line.strip_prefix("own-task ") {
                    println!("{release} {}: own task, {said}", setup.name);
                }
                if let Some(said) = line.strip_prefix("launch ") {
                    println!("{release} {}: launch times, {said}", setup.name);
                }
                if let Some(said) = line.strip_prefix("circle ") {
                    println!("{release} {}: {said}; {:.0} s", setup.name, (begun.elapsed() - booted).as_secs_f64());
                }
            })?;
            let equal = report(&lines, &format!("{release} {}", setup.name), booted, begun.elapsed() - booted);
            operations += equal.unwrap_or(0);
            different += usize::from(equal.is_none());
            if let Some(path) = &options.record {
                write_record(
                    path,
                    &lines,
                    &format!("# setup {}\n# kernel {}\n", setup.name, kernel.generation_name()),
                )?;
            }
        }
        println!("{release}: {operations} operations equal");
        // The mirror may have moved on to a kernel that nobody has compared with yet.
        if different > 0 && !release.starts_with(kernel.generation_name()) {
            println!("{release} is not {}, so its differences are shown but do not count", kernel.name());
            different = 0;
        }
        differences += different;
    }
    if differences > 0 { Err(format!("{differences} setups differ")) } else { Ok(()) }
}

fn task(options: &Options, kernel: KernelImage, setup: Setup, operations: usize) -> Result<Option<Task>, String> {
    if options.record.is_some() {
        return Ok(Some(Task::Record { seed: options.seed, operations }));
    }
    if options.replay.is_empty() {
        let kept = sequences(&provide::kept_sequences()?, kernel, setup)?;
        return Ok(Some(Task::Compare { seed: options.seed, operations, kept }));
    }
    let sequences = sequences(&options.replay, kernel, setup)?;
    Ok((!sequences.is_empty()).then_some(Task::Replay(sequences)))
}

/// The sequences of some files that are for a kernel and a setup.
fn sequences(files: &[PathBuf], kernel: KernelImage, setup: Setup) -> Result<Vec<Vec<Step>>, String> {
    let mut sequences = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let about = |what: &str, name: &str| {
            let named = text.lines().find_map(|line| line.strip_prefix(what));
            named.is_none_or(|names| names.split_whitespace().any(|other| other == name))
        };
        if about("# setup", setup.name) && about("# kernel", kernel.generation_name()) {
            sequences.extend(read_sequences(text.lines()).map_err(|why| format!("{}: {why}", path.display()))?);
        }
    }
    Ok(sequences)
}

/// Prints what a guest found; returns the number of operations if there was no difference.
fn report(lines: &Lines, what: &str, booting: Duration, comparing: Duration) -> Option<usize> {
    let equal = lines.iter().find_map(|line| line.strip_prefix("equal "));
    let failed = lines.iter().any(|line| line.starts_with("failed") || line.starts_with("kernel:"));
    for line in lines.iter().filter(|line| !line.starts_with("progress") && !line.starts_with("record")) {
        if line != "end"
            && line != READY
            && !line.starts_with("equal")
            && !line.starts_with("circle")
            && !line.starts_with("doctor")
            && !line.starts_with("launch")
            && !line.starts_with("own-task")
        {
            println!("{what}: {line}");
        }
    }
    let numbers: Vec<usize> = equal?.split(' ').filter_map(|word| word.parse().ok()).collect();
    let &[operations, looks] = &numbers[..] else { return None };
    let (booting, comparing) = (booting.as_secs_f64(), comparing.as_secs_f64());
    println!(
        "{what}: {operations} operations and {looks} looks equal; {booting:.0} s to boot, {comparing:.0} s to compare"
    );
    (!failed).then_some(operations)
}

fn write_record(path: &PathBuf, lines: &Lines, head: &str) -> Result<(), String> {
    let recorded = lines.iter().filter_map(|line| line.strip_prefix("record "));
    let text: String = head.to_owned() + &recorded.map(|line| format!("{line}\n")).collect::<String>();
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
