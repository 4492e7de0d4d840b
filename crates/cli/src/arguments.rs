//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_remote::Destination;
use waykeeper_run::Shard;

/// Measures, reduces and verifies cache and memory interference on real-time multicore machines.
#[derive(Debug, Parser)]
#[command(name = "waykeeper", version, about, arg_required_else_help = true, max_term_width = 110)]
#[command(after_help = "\
Examples:
  waykeeper run this-machine                        measure this machine, no root needed
  waykeeper run this-machine -- ./my-program        measure a program of yours, by markers in its source
  waykeeper run agilex5-cluster-latency             simulate a platform beside its published figures
  waykeeper list                                    experiments, policies, platforms and workloads
  waykeeper show waykeeper-runs/this-machine-...    print a run again
  waykeeper tune apollo-lake-cat --budget 'misses==0'  the smallest share that holds a budget
  waykeeper hunt this-machine --target chase_llc@1  the workload that slows this target most
  waykeeper compare RUN RUN                         two runs side by side
  waykeeper report RUN --out page.html              one page with pictures
  waykeeper tail RUN --over 24h                     what a longer run would show, if its tail allows
  waykeeper plan tcc-halves --for i7-13800hre       who would get which ways, and how to write it
  waykeeper doctor --rt-cores 2-3                   what keeps this machine from answering in time
  waykeeper channels                                by which channels cores and devices delay each other here
  waykeeper rtcp respond --if eth1 --core 3         packet in, compute, packet out
  waykeeper run this-machine --remote root@board    run it on a board, over ssh, and fetch the run
  waykeeper --remote root@board --attach            follow and fetch a run whose connection was lost
  waykeeper --remote root@board --remote-clean      remove what Waykeeper left there: its program

Exit status: 0 done, and no budget was seen broken; 1 a budget was broken; 2 bad input;
3 this machine cannot do it; 4 too little data to judge a budget; 130 interrupted.
docs/exit-status.md lists the statuses of every command.")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Where to do it.
    #[command(flatten)]
    pub elsewhere: Elsewhere,
}

/// A command on a board.
#[derive(Debug, Args)]
#[command(next_help_heading = "On a board elsewhere")]
pub struct Elsewhere {
    /// Run the command on this board, over `ssh`, and fetch what it leaves; its files are sent along (docs/remote.md).
    #[arg(long, global = true, value_name = "[USER@]BOARD[:PORT]")]
    pub remote: Option<Destination>,
    /// Follow and fetch the run on the board whose connection was lost, without a command; RUN where there are several.
    #[arg(long, global = true, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "", hide_short_help = true)]
    pub attach: Option<String>,
    /// Remove all that Waykeeper left on the board, without a command.
    #[arg(long, global = true, conflicts_with = "attach", hide_short_help = true)]
    pub remote_clean: bool,
    /// The program for the board [default: this one if it fits, else waykeeper-ARCH in WAYKEEPER_BINARIES or beside it].
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub remote_binary: Option<PathBuf>,
    /// The folder on the board for the program and files of runs [default: ~/.cache].
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true)]
    pub remote_cache: Option<OsString>,
    /// Send this file or folder along too, such as one that a program reads. May be repeated.
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub remote_send: Vec<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment: measure this machine, or simulate a platform.
    Run(Run),
    /// Make one run of the shards that several processes measured (`run --shard`).
    Merge(Merge),
    /// List experiments, policies, platforms and workloads, one line each.
    List(List),
    /// Print a run that was kept.
    Show(Show),
    /// Search for the smallest measure that holds a budget: cache ways, locks, bandwidth, priority.
    Tune(Tune),
    /// Search for the workload that slows a target most.
    Hunt(Hunt),
    /// Compare two runs, case by case.
    Compare(Compare),
    /// Write runs as one HTML page with pictures, which needs no network.
    Report(Report),
    /// Pack runs with their inputs, hashes, pages and a script that makes them again, as one archive.
    Bundle(Bundle),
    /// Read the histograms of cyclictest, oslat, jitterdebugger or rtla as a run.
    Import(Import),
    /// Write a run for other programs: CSV, OpenMetrics, JUnit, Perfetto.
    Export(Export),
    /// Extrapolate the highest peaks of a kept run to a longer one, or say why that is impossible.
    Tail(Tail),
    /// Resolve a policy for a machine: who gets what, what that leaves open, and the exact writes. Changes nothing.
    Plan(Plan),
    /// Explain the value of a register, field by field.
    Decode(Decode),
    /// Apply a policy to this machine, with a journal of every old value.
    Apply(Apply),
    /// Show what is applied, and whether the machine still reads as it was written.
    Status(Status),
    /// Check that what is applied is in force: read it back, and measure what it does.
    Verify(Verify),
    /// Put tasks that come into the cgroups of an applied policy into their groups, until it is restored or Ctrl-C.
    Follow(Follow),
    /// Put back what was there before a policy was applied, also after a crash.
    Restore(Restore),
    /// Run a command in a room: a simulated platform's resctrl, registers and processors, in the places of this machine's.
    Enter(Enter),
    /// Mount a simulated platform's resctrl at a folder, until Ctrl-C.
    Mount(Mount),
    /// Live view of cache ways, occupancy and bandwidth per group, and of a target's latency.
    Watch(Watch),
    /// Run workloads as neighbours until Ctrl-C.
    Load(Load),
    /// Find what keeps this machine from answering in time, and what helps against it. Changes nothing.
    Doctor(Doctor),
    /// Show the interference channels of this machine or a platform: which are there, and what reduces each.
    Channels(Channels),
    /// Packet in, compute, packet out: send sensor packets, or answer them, and measure the time.
    Rtcp(Rtcp),
    /// Accept a machine: wake-ups and packets beside best-effort load, under each policy and firmware setting, for a day.
    Kpi(Kpi),
    /// Show what a machine is: cores, caches, clocks, and every control with how it was found.
    Machine(Machine),
    /// Look up a processor in the tables of Intel's guide to Time Coordinated Compute.
    Catalogue(Catalogue),
    /// Print the file that marks passes in a program of yours, so that `run -- PROGRAM` can measure them.
    Markers(Markers),
    /// Record the loads and stores of a program, or show what a recording holds.
    Trace(Trace),
    /// Print what a maintainer needs to know of this machine and a run, without names, addresses and serial numbers.
    Bugreport(Bugreport),
    /// Print the JSON Schema of a kind of file, for editors and checkers.
    Schema(Schema),
    /// Print the completions of a shell.
    Completions(Completions),
    /// Write a man page for the program and each command, for packages.
    #[command(hide = true)]
    ManPages(ManPages),
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper completions bash > ~/.local/share/bash-completion/completions/waykeeper
  waykeeper completions zsh > ~/.zfunc/_waykeeper              with ~/.zfunc in fpath
  waykeeper completions fish > ~/.config/fish/completions/waykeeper.fish")]
pub struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: CompletionShell,
}

/// A shell that completions are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompletionShell {
    /// GNU Bash.
    Bash,
    /// Z shell.
    Zsh,
    /// fish.
    Fish,
}

/// Arguments of `man-pages`.
#[derive(Debug, Args)]
pub struct ManPages {
    /// The folder to write to.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Where cases run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// This Linux machine.
    Host,
    /// The simulator.
    Sim,
}

impl On {
    /// What runs cases there.
    pub fn kind(self) -> ExecutorKind {
        match self {
            Self::Host => ExecutorKind::Host,
            Self::Sim => ExecutorKind::Sim,
        }
    }
}

/// What times samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClockOption {
    /// The processor's counter: TSC, CNTVCT.
    Counter,
    /// AArch64's cycle counter between the ticks of CNTVCT; the kernel must let programs read it (kernel.perf_user_access).
    Pmccntr,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper run this-machine --dry-run
  waykeeper run this-machine --duration 10s --repeats 8 --budget 'max<=50us'
  waykeeper run agilex5-cluster-latency --duration 2s --json > run.json
  waykeeper run agilex5-cluster-latency --set targets.0.core=3 --set neighbours.0.cores=1,2
  waykeeper run agilex5-cluster-latency --set neighbours.0.workload=set_crawler --set mitigations=nl3a,nl3a+cp
  waykeeper run agilex5-cluster-latency --set mitigations=nl3a --explain 1
  waykeeper run agilex5-cluster-latency --fast --set simulated_duration=1s
  waykeeper run my-experiment.toml --on host --out results/first
  waykeeper run this-machine --clock pmccntr
  waykeeper run --core 3 -- ./rta --config x
  waykeeper run --resume results/first
  waykeeper run my-experiment.toml --shard 2/8 --out results/shard-2

A budget is [MITIGATION:]METRIC<=LIMIT[@RATE][ over TIME], METRIC one of max, jitter, mean, min, p50, p99, p99.9, p99.99,
misses, slowdown:
  max<=10us           for every case; judged against one sample in 1000
  nl3a+cp: max<=7us   for the cases under that mitigation only
  max<=50us@1e-6      fewer than one sample in a million may exceed it
  max<=50us over 1h   none in an hour of measuring, which the run must have
  misses==0           no line read from memory within samples, where misses are counted
  slowdown<=1.05      the mean beside neighbours over the mean alone

Exit status: 0 done, and no budget was seen broken; 1 a budget was broken; 2 bad input;
3 this machine cannot do it; 4 too little data to judge a budget; 130 interrupted.")]
pub struct Run {
    /// A bundled experiment (see `waykeeper list`) or a file [default with a program: this-machine].
    #[arg(required_unless_present_any = ["resume", "command"])]
    pub experiment: Option<String>,
    /// Go on with the run in this folder, which was interrupted or killed: repeats that are complete are not measured again.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "experiment", "against", "on", "clock", "duration", "repeats", "seed", "out", "sets", "budgets", "explain", "fast", "shard",
    ])]
    pub resume: Option<PathBuf>,
    /// Neighbours of a file in the place of the experiment's: a workload for all their cores, or what `waykeeper hunt --out` wrote.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Where to run it: by default on the host if its platform is `host`, else in the simulator.
    #[arg(long, value_enum)]
    pub on: Option<On>,
    /// What times the samples of loops on a machine: AArch64's cycle counter is finer than its counter of time.
    #[arg(long, value_enum)]
    pub clock: Option<ClockOption>,
    /// Length of each case and repeat, such as `5s`: wall time on the host, simulated time in the simulator.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// How often each case is run, with fresh memory each time; a verdict needs 5 or more.
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: Option<i64>,
    /// Decides placement and phases in the simulator, and random orders everywhere.
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub seed: Option<i64>,
    /// Folder for the run, new or empty [default: waykeeper-runs/EXPERIMENT-TIME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Measure part I of N of the run only, so that several processes or machines share it; `waykeeper merge` makes the run.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Set any field of the experiment; the value is TOML, a bare word or a list with commas. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// A budget to judge the run by. May be repeated.
    #[arg(long = "budget", value_name = "BUDGET")]
    pub budgets: Vec<String>,
    /// Explain the N longest samples of each case: what the core waited for, part by part (simulator only) [N: 3].
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub explain: Option<u16>,
    /// Skip simulated accesses that cannot affect the target: many times faster, rates of long
    /// samples within some percent of those in full (simulator only; cases that cannot skip are simulated in full).
    #[arg(long)]
    pub fast: bool,
    /// Print run.json instead of the table; of a shard, what its repeats say so far.
    #[arg(long)]
    pub json: bool,
    /// Print the cases, where each would run and for how long, and what would be refused; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// A program of yours and its arguments, after `--`: the only target, in the place of those of the experiment.
    #[command(flatten)]
    pub program: TargetProgram,
}

/// What a search measures, and where: options of `tune` and `hunt`.
#[derive(Debug, Args)]
pub struct Searched {
    /// The target, where the experiment has several, or another one: a workload and its core.
    #[arg(long, value_name = "WORKLOAD@CORE")]
    pub target: Option<String>,
    /// The platform to search on, in the place of the experiment's.
    #[arg(long = "for", value_name = "PLATFORM")]
    pub platform: Option<String>,
    /// Where to run it: by default on the host if its platform is `host`, else in the simulator.
    #[arg(long, value_enum)]
    pub on: Option<On>,
    /// Length of each repeat, such as `5s`: wall time on the host, simulated time in the simulator.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
    /// Fresh repeats of what is confirmed, 5 or more; budgets with a rate or a time may need more.
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub repeats: Option<i64>,
    /// Decides placement and phases in the simulator, random orders everywhere, and what a hunt tries.
    #[arg(long, value_name = "N", value_parser = whole_number, allow_negative_numbers = true)]
    pub seed: Option<i64>,
    /// Set any field of the experiment, as for `run`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

/// Arguments of `tune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper tune apollo-lake-cat --budget 'misses==0'
  waykeeper tune apollo-lake-cat --budget 'misses==0' --over ways --out policy.toml
  waykeeper tune agilex5-cluster-latency --budget 'max<=5us' --repeats 8
  waykeeper tune tcc-cache-partition --set 'sweep.size.only=1296 KiB' --budget 'slowdown<=1.05'
  waykeeper tune my-experiment.toml --budget 'max<=50us over 10min' --time-limit 4h --keep search
  waykeeper tune apollo-lake-cat --budget 'misses==0' --dry-run

Candidates are policies. Each is measured beside the neighbours of the experiment; one that is seen broken stops at once, and the
smallest that was not is confirmed in fresh repeats. On this machine each policy is applied before its repeats and taken back after
them. `--keep DIR` of an interrupted search goes on with it.

Exit status: 0 an answer was found, or no measure is needed; 1 nothing on offer holds; 2 bad input;
3 this machine cannot do it; 4 no candidate could be confirmed; 130 interrupted.")]
pub struct Tune {
    /// A bundled experiment (see `waykeeper list`) or a file: its target, neighbours and lengths; its mitigations do not count.
    pub experiment: String,
    /// What is to hold. May be repeated [default: the budgets of the experiment].
    #[arg(long = "budget", value_name = "BUDGET")]
    pub budgets: Vec<String>,
    /// Neighbours of a file in the place of the experiment's: a workload for all their cores, or what `waykeeper hunt --out` wrote.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Search the measure and the worst neighbour by turns, each beside what the other one found, until neither improves: on simulated
    /// platforms and in rooms.
    #[arg(long, conflicts_with_all = ["against", "dry_run"])]
    pub hunt: bool,
    /// At most so many candidates in each hunt of `--hunt`.
    #[arg(long, value_name = "N", default_value_t = 200, requires = "hunt", conflicts_with_all = ["against", "dry_run"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub candidates: u32,
    /// What may be varied: ways, lock, bandwidth, colours, priority, clock, allocation [default: all that is on offer].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub over: Vec<String>,
    /// How long the search may take.
    #[arg(long, value_name = "TIME", default_value = "20min", allow_hyphen_values = true)]
    pub time_limit: String,
    /// What is measured, and where.
    #[command(flatten)]
    pub measured: Searched,
    /// Skip simulated accesses that cannot affect the target (simulator only).
    #[arg(long)]
    pub fast: bool,
    /// Write the policy of the answer to this file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Folder for the search: new or empty, or that of an interrupted search, which goes on [default: waykeeper-runs/tune-EXPERIMENT-TIME].
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Print every candidate that was tried.
    #[arg(long)]
    pub all: bool,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Print the candidates; measure and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `hunt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper hunt this-machine --target chase_llc@1 --duration 100ms --time-limit 10min
  waykeeper hunt this-machine --target chase_llc@1 --duration 200ms --beside stress-ng
  waykeeper hunt agilex5-cluster-latency --objective max --duration 2ms --repeats 8 --out worst.toml
  waykeeper hunt apollo-lake-cat --cores 2 --candidates 100 --set simulated_samples=2
  waykeeper hunt agilex5-cluster-latency --duration 1ms --members 8
  waykeeper hunt agilex5-cluster-latency --duration 1ms --also shared-lines
  waykeeper hunt this-machine --target chase_llc@1 --dry-run
  waykeeper run agilex5-cluster-latency --against worst.toml
  waykeeper tune agilex5-cluster-latency --budget 'max<=5us' --against worst.toml

Candidates are patterns of accesses: loops with any strides, dependent loads, random reads, changes and calls, bursts; one on all given
cores or several on different ones. The worst, bundled or not, are changed step by step and mixed; those found and every bundled one are
then measured in fresh repeats.

Exit status: 0 done, also where no worse neighbour was found; 2 bad input; 3 this machine cannot do it;
130 interrupted before anything was confirmed.")]
#[command(mut_arg("repeats", |repeats| {
    repeats.help("Fresh repeats of what is shown, where --turns is not given; fewer than 5 count as 5")
}))]
pub struct Hunt {
    /// A bundled experiment (see `waykeeper list`) or a file: its target and lengths; its neighbours only say on which cores.
    pub experiment: String,
    /// The neighbours' cores [default: those of the experiment's neighbours].
    #[arg(long, value_name = "LIST")]
    pub cores: Option<String>,
    /// What of the target counts.
    #[arg(long, value_enum, default_value = "mean")]
    pub objective: HuntFor,
    /// Neighbours that are tried only where asked for. Unfair ones can stall all cores, and are refused where others may be on the machine, in
    /// CI, and on simulated platforms. `shared-lines`: half of the candidates access the target's buffer (simulated platforms only).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub also: Vec<AskedFor>,
    /// Also measure stress-ng's installed stressors of the cache, memory and vm classes (on this machine): once each, and the worst
    /// three in the fresh repeats, of which there are then 20 or more.
    #[arg(long, value_enum)]
    pub beside: Option<Stressing>,
    /// Fresh repeats of what is shown, 2 or more [default: those of the experiment or `--repeats`; 5 or more, 20 or more with `--beside`].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub turns: Option<u32>,
    /// Also compare the worst one found with the bundled ones in N sets of the platform's assumed parameters, drawn from their ranges
    /// (simulated platforms only; after the time limit).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub members: Option<u32>,
    /// How long it may take, from the first repeat to the last: three tenths of it are for fresh repeats, of which there are fewer where
    /// the time ends before. A repeat that runs is not cut, and --members comes after. A limit too short for a first round and two fresh
    /// repeats is refused.
    #[arg(long, value_name = "TIME", default_value = "10min", allow_hyphen_values = true)]
    pub time_limit: String,
    /// At most so many candidates.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub candidates: u32,
    /// What is measured, and where.
    #[command(flatten)]
    pub measured: Searched,
    /// Write the worst one found to this file, which `run` and `tune --against` take.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Print what would be tried, on which cores and in how many repeats; measure and write nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// A program whose loads are measured beside the neighbours of a hunt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stressing {
    /// stress-ng.
    StressNg,
}

/// Neighbours that a hunt does not try by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AskedFor {
    /// Atomic adds across the boundary of two lines (x86-64).
    #[value(name = "split_lock")]
    SplitLock,
    /// Stores, each flushed from all caches (x86-64, AArch64).
    Clflush,
    /// Accesses to the target's own lines, which a neighbour that shares no data with it cannot make (simulated platforms).
    SharedLines,
}

/// What of a target a hunt is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HuntFor {
    /// The mean of its samples.
    Mean,
    /// Their 99.99th percentile.
    #[value(name = "p99.99")]
    P99_99,
    /// The largest sample.
    Max,
}

/// A program as target.
#[derive(Debug, Args)]
#[command(next_help_heading = "Your own program")]
pub struct TargetProgram {
    /// Its core [default: an isolated one, else the last]; without a program, the core of all targets of the experiment.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub core: Option<u32>,
    /// What marks where a pass of it begins and ends: markers in its source, functions, its activations, or its start and end.
    #[arg(long, value_enum, value_name = "SOURCE", requires = "command")]
    pub passes: Option<PassesFrom>,
    /// The phase that is measured, by number or name, where the program marks several.
    #[arg(long, value_name = "PHASE", requires = "command")]
    pub phase: Option<String>,
    /// The function at whose entry a pass begins: of the program, or of a shared library (`libcontrol.so:step`); of C++ and Rust as
    /// in the source (`control::Loop::step`), where overloads differ with its parameters.
    #[arg(long, value_name = "FUNCTION", requires = "command")]
    pub begin: Option<String>,
    /// The function at whose return a pass ends [default: that of --begin].
    #[arg(long, value_name = "FUNCTION", requires = "command")]
    pub end: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "resume")]
    pub command: Vec<OsString>,
}

/// What marks where passes of a program begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PassesFrom {
    /// Markers in its source (`waykeeper markers`).
    Markers,
    /// Functions, by uprobes.
    Functions,
    /// From each switch to its first thread after a sleep to that thread's next sleep.
    Period,
    /// From the program's start to its end, again and again.
    Process,
}

/// Arguments of `markers`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper markers c > waykeeper.h
  waykeeper markers python > waykeeper.py

Mark a pass with wk_begin(0) and wk_end(0), then: waykeeper run this-machine -- ./program
docs/your-program.md has the whole way.")]
pub struct Markers {
    /// The language of the program.
    #[arg(value_enum)]
    pub language: MarkerLanguage,
}

/// A language that markers exist for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MarkerLanguage {
    /// C and C++: waykeeper.h.
    #[value(alias = "c++", alias = "cpp")]
    C,
    /// Rust: waykeeper.rs.
    Rust,
    /// Python: waykeeper.py.
    Python,
}

fn whole_number(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "expected a whole number of at most 2^63 - 1".into())
}

/// Arguments of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  waykeeper list --json")]
pub struct List {
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  waykeeper show waykeeper-runs/this-machine-20261121-201500")]
pub struct Show {
    /// The folder of a run, or its run.json.
    pub run: PathBuf,
    /// Print run.json instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Print the parameters of the simulated platform, with what each rests on.
    #[arg(long, conflicts_with = "json")]
    pub parameters: bool,
    /// Print every case, also of an experiment that sweeps.
    #[arg(long, conflicts_with_all = ["json", "parameters"])]
    pub cases: bool,
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper run my-experiment.toml --shard 1/2 --out shard-1
  waykeeper run my-experiment.toml --shard 2/2 --out shard-2
  waykeeper merge shard-1 shard-2 --out results/whole

The merged run is the one that one process would have left. Simulated runs are equal byte for byte: see docs/shards.md.
Runs of a machine are merged only with those of the same machine.

Exit status: as of `waykeeper run`.")]
pub struct Merge {
    /// The folders of all shards, in any order. They stay as they are.
    #[arg(required = true, value_name = "DIR")]
    pub shards: Vec<PathBuf>,
    /// Folder for the run, new or empty [default: waykeeper-runs/EXPERIMENT-TIME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print run.json instead of the table.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper report waykeeper-runs/this-machine-20261121-201500
  waykeeper report results/before results/after --out compared.html
  waykeeper report results/before --svg figures
  waykeeper report lab                                  the acceptance record of a session of `kpi`
  waykeeper report --serve waykeeper-runs/this-machine-20261121-201500     while it goes on, for a browser of this machine

The page is one file: verdicts, pictures, sortable tables, machine and command line. It fetches nothing. Several runs stand on
one page, each compared with the first. A run that has not ended is shown as far as it is complete.

--serve writes no file: it prints an address of this machine (127.0.0.1), and the page there loads itself again whenever a repeat
has ended. Programs and users of this machine can read it; nothing outside can. When the run has ended, its whole page stays there.
Ctrl-C ends it.

Exit status: 0 done, also after Ctrl-C; 2 what is no run; 3 the page cannot be written, or the port is not free.")]
pub struct Report {
    /// The folders of runs, or their run.json.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The file to write; one that is there is replaced [default: the experiment's name with .html, here].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Draw the pictures as SVG files in this folder, without a browser; the page too if --out names it.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Serve the page on 127.0.0.1, to this machine alone, until Ctrl-C; it follows a run that goes on.
    #[arg(long, conflicts_with_all = ["out", "svg"])]
    pub serve: bool,
    /// The port for --serve [default: a free one].
    #[arg(long, value_name = "N", requires = "serve", conflicts_with_all = ["out", "svg"], value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
}

/// Arguments of `bundle`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper bundle waykeeper-runs/this-machine-20261121-201500
  waykeeper bundle results/before results/after --out paper.tar.zst
  waykeeper bundle lab                                  a session of `kpi`, with its acceptance record
  waykeeper channels --run results/after --json > channels.json && waykeeper bundle results/after --channels channels.json

In the archive: the runs with all samples, the platforms, workloads, policies and recordings that they have a hash of, report and
pictures, MANIFEST.sha256 for `sha256sum -c`, and reproduce.sh, which verifies the hashes, runs the experiments again and draws
the pictures again. Equal runs give equal archives.

Exit status: 0 done; 2 a run that has not ended, a folder that is none, no table of channels, an archive that exists; 3 the
archive cannot be written.")]
pub struct Bundle {
    /// The folders of runs that have ended, or of sessions of `kpi`.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// A table of interference channels that `channels --json` printed; may be given several times.
    #[arg(long = "channels", value_name = "FILE")]
    pub channels: Vec<PathBuf>,
    /// The archive to write, a new file, .tar.gz or .tar.zst [default: EXPERIMENT-bundle.tar.gz, here].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cyclictest -a2-3 -t2 -m -p99 -i250 -h1000 -q -D 24h --json=day.json
  waykeeper import day.json --budget 'max<=50us over 24h' --out day
  waykeeper import results.json --duration 24h             of jitterdebugger, which does not say how long it ran
  rtla timerlat hist -c 2-3 -d 1h > timerlat.txt; waykeeper import timerlat.txt
  waykeeper compare before day; waykeeper report day

Each thread or column is a case. A histogram has no order in time: the run has no excursions and no tail.

Exit status: 0 done, no budget broken; 1 a budget was broken; 2 bad input; 3 the run cannot be kept; 4 too little data for a budget.")]
pub struct Import {
    /// The file: JSON of cyclictest or oslat, results.json of jitterdebugger, or what rtla's `hist` prints.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How long it was measured, where the file does not say it; another length than the file's is refused.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// A budget to judge each case by, such as 'max<=50us over 24h'; may be given several times.
    #[arg(long = "budget", value_name = "BUDGET")]
    pub budgets: Vec<String>,
    /// Folder for the run, new or empty [default: a new one below waykeeper-runs].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the run as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper export results/before --format csv --out cases.csv
  waykeeper export results/before --format csv --table histograms --out histograms.csv
  waykeeper export results/before --format openmetrics --out /var/lib/prometheus/node-exporter/waykeeper.prom
  waykeeper export results/before --format junit --out report.xml
  waykeeper export results/before --format perfetto --out trace.json

csv: RFC 4180, numbers in full, units as in run.json. openmetrics: for the textfile collector of node_exporter.
junit: a test for each budget and each expectation; a budget with too little data is an error, never a pass.
perfetto: explained samples (`run --explain N`) and cache occupancy, for ui.perfetto.dev.")]
pub struct Export {
    /// The folder of a run, or its run.json.
    pub run: PathBuf,
    /// The format.
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// Which table, with --format csv alone [default: cases].
    #[arg(long, value_enum)]
    pub table: Option<ExportTable>,
    /// The file to write, at once; one that is there is replaced [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A format of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Comma-separated values, a table at a time.
    Csv,
    /// Metrics for Prometheus.
    Openmetrics,
    /// Test results for continuous integration.
    Junit,
    /// Trace JSON.
    Perfetto,
}

/// A table of CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportTable {
    /// Figures of all cases.
    Cases,
    /// Figures of all repeats.
    Repeats,
    /// How many samples of each repeat were how long.
    Histograms,
    /// The largest samples over time.
    Timelines,
}

/// Arguments of `tail`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waykeeper tail waykeeper-runs/this-machine-20261121-201500
  waykeeper tail results/none --over 24h --json

By peaks over a threshold: a generalised Pareto distribution is fitted to the maxima of the highest excursions, if one fits
and higher thresholds agree. It bounds nothing.")]
pub struct Tail {
    /// The folder of a run, or its run.json.
    pub run: PathBuf,
    /// The length of the longer run: `10min`, `1h`, `24h` [default: that of the published figures, or an hour].
    #[arg(long, value_name = "DURATION")]
    pub over: Option<String>,
    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper compare results/before results/after
  waykeeper compare results/accepted results/new --fail-on worse

Exit status: 0 done; 2 bad input; 3 this machine cannot do it. With --fail-on worse also: 1 a case is worse;
4 none is, but the runs cannot tell for every case of the first one.")]
pub struct Compare {
    /// The first run (A): its folder, or its run.json.
    pub a: PathBuf,
    /// The second run (B).
    pub b: PathBuf,
    /// End with status 1 if excursions of a case are more frequent in B or its maxima higher, by the exact tests.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub fail_on: Option<FailOn>,
    /// Print JSON instead of the tables.
    #[arg(long)]
    pub json: bool,
}

/// What a comparison fails on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A case of the second run that is worse than in the first.
    Worse,
}

/// How a plan is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanForm {
    /// Writes to the kernel's resctrl.
    Resctrl,
    /// Commands of pqos (intel-cmt-cat).
    Pqos,
    /// Model-specific registers, with wrmsr.
    Msr,
    /// Performance levels of cores and the ring's clock, with wrmsr (Intel Speed Shift).
    Hwp,
    /// System registers of an Arm DSU, as a list.
    Dsu,
    /// The same as C for TF-A.
    Tfa,
    /// The same as a U-Boot script.
    Uboot,
    /// Registers of an Arm MPAM component, as C.
    Mpam,
    /// Lockdown of an Arm PL310 and of the Cortex-A9's TLB, as C.
    Pl310,
    /// Page colours for Xen.
    Xen,
    /// Page colours for Bao.
    Bao,
    /// Page colours or cache regions for Jailhouse.
    Jailhouse,
    /// Kernel parameters for the cores of the classes.
    Cmdline,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper plan tcc-halves --for i7-13800hre
  waykeeper plan tcc-halves --for i7-1185gre --as pqos
  waykeeper plan apollo-lake-half --for apollo-lake-e3950 --script > half.sh
  waykeeper plan agilex5-isolate-core1 --for agilex5 --as tfa --script > waykeeper.c
  waykeeper plan my-policy.toml                     for this machine, by its resctrl
  waykeeper plan tcc-halves --cores real-time=2,3   with other cores than the policy's

Nothing is written. Exit status: 0 done; 2 bad input, or a policy that does not fit the machine;
3 the machine lacks what the policy needs.")]
pub struct Plan {
    /// A bundled policy (see `waykeeper list`) or a file.
    pub policy: String,
    /// The machine: a bundled platform or a platform file [default: this machine, by its resctrl].
    #[arg(long = "for", value_name = "PLATFORM")]
    pub platform: Option<String>,
    /// How it is written [default: resctrl, or what writes all of it where that cannot].
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub form: Option<PlanForm>,
    /// Other cores for a class, such as `real-time=2,3`. May be repeated.
    #[arg(long = "cores", value_name = "CLASS=LIST")]
    pub cores: Vec<String>,
    /// Plan for the machine whose /sys and /proc were recorded in this folder or archive (`waykeeper machine --record`).
    #[arg(long, value_name = "PATH", conflicts_with = "platform")]
    pub root: Option<PathBuf>,
    /// Print the script alone, or the C or configuration that the form is.
    #[arg(long)]
    pub script: bool,
    /// Print the assignment and its steps as JSON.
    #[arg(long, conflicts_with = "script")]
    pub json: bool,
}

/// Arguments of `decode`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper decode                                  the registers that are described
  waykeeper decode IA32_PQR_ASSOC                   its fields
  waykeeper decode 0xC8F 0x100000000
  waykeeper decode CLUSTERPARTCR_EL1 0x1e --for agilex5
  waykeeper decode pl310+0x900 0x7f --for zynq7000

A register is named in any case: by its name, with a number where there are several (IA32_L3_QOS_MASK_1), by the number
of an MSR, by the encoding of a system register (S3_0_C15_C4_3), or by a place in a block (pl310+0x900, mpam+0x500).

Exit status: 0 done; 2 no such register, or no such value.")]
pub struct Decode {
    /// The register.
    pub register: Option<String>,
    /// Its value: hexadecimal with 0x, decimal without.
    #[arg(requires = "register")]
    pub value: Option<String>,
    /// Show sizes and clocks of this platform: a bundled one or a file.
    #[arg(long = "for", value_name = "PLATFORM")]
    pub platform: Option<String>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What a plan is applied through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApplyForm {
    /// The kernel's resctrl.
    Resctrl,
    /// Model-specific registers, by /dev/cpu/N/msr.
    Msr,
    /// Performance levels and the ring's clock, by /dev/cpu/N/msr (Intel Speed Shift).
    Hwp,
}

/// Arguments of `apply`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["policy", "steps"]))]
#[command(after_help = "\
Examples:
  waykeeper apply my-policy.toml --dry-run          every write, and what is there now
  waykeeper apply my-policy.toml
  waykeeper apply tcc-halves --for i7-13800hre --as msr
  waykeeper plan my-policy.toml --json > plan.json && waykeeper apply --steps plan.json

Before the first change every old value is on disk, in /run/waykeeper (or WAYKEEPER_STATE). Whatever fails midway, and
Ctrl-C, puts everything back; after a crash or a kill, `waykeeper restore` does.

Exit status: 0 applied; 2 bad input, or a plan that does not fit the machine; 3 this machine cannot do it, or it was undone;
130 interrupted, and undone.")]
pub struct Apply {
    /// A bundled policy (see `waykeeper list`) or a file.
    pub policy: Option<String>,
    /// A plan instead: its steps as JSON, as `waykeeper plan --json` prints them.
    #[arg(long, value_name = "FILE")]
    pub steps: Option<PathBuf>,
    /// What this machine is: a bundled platform or a platform file [default: by its resctrl].
    #[arg(long = "for", value_name = "PLATFORM", conflicts_with = "steps")]
    pub platform: Option<String>,
    /// How it is applied [default: resctrl, or msr where the kernel does not see the cache's masks].
    #[arg(long = "as", value_enum, value_name = "FORM", conflicts_with = "steps")]
    pub form: Option<ApplyForm>,
    /// Other cores for a class, such as `real-time=2,3`. May be repeated.
    #[arg(long = "cores", value_name = "CLASS=LIST", conflicts_with = "steps")]
    pub cores: Vec<String>,
    /// Check what can be checked without writing, and print each write with the value that is there now.
    #[arg(long)]
    pub dry_run: bool,
    /// Act on the files below this folder in the place of the running machine's.
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub root: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper status --json
  waykeeper status --openmetrics /var/lib/prometheus/node-exporter/waykeeper-status.prom

Exit status: 0 nothing is applied, or it is applied and holds; 1 something differs, or was cut off; 3 not seen.")]
pub struct Status {
    /// Look at the files below this folder in the place of the running machine's.
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub root: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write metrics for node_exporter to this file, at once, and print nothing; a file that is there is replaced.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub openmetrics: Option<PathBuf>,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper restore
  waykeeper restore --force                         also what others have changed since
  waykeeper restore --keep                          accept what others have changed since

What others have changed since stays as it is, and is reported (`waykeeper status` shows it beforehand); the journal then keeps what was
there before, until --force puts that back too or --keep accepts the change. After a reboot nothing is written: the settings went
with the boot.

Exit status: 0 everything is back, or nothing was applied; 1 what others have changed was left; 3 something could not be put back.")]
pub struct Restore {
    /// Put back what others have changed since, too, and forget what cannot be put back.
    #[arg(long)]
    pub force: bool,
    /// Accept what others have changed since, as it is, and forget what was there before it.
    #[arg(long, conflicts_with = "force")]
    pub keep: bool,
    /// Act on the files below this folder in the place of the running machine's.
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub root: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `follow`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper follow                                  once a second, until `waykeeper restore` or Ctrl-C
  waykeeper follow --interval 100ms
  waykeeper follow --count 1                        one look, for a hook that starts a container

Classes can name cgroups. `waykeeper apply` moves the tasks that are there then; children of those are born in the class. A
task that comes into the cgroup from elsewhere runs with what its old group has, until the next look moves it.

Exit status: 0 nothing is applied any more, the count is reached, or Ctrl-C; 2 bad input; 3 there is nothing to follow,
a task cannot be moved, or where it came from cannot be written down.")]
pub struct Follow {
    /// Time between two looks.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// End after this many looks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Act on the files below this folder in the place of the running machine's.
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub root: Option<PathBuf>,
    /// Print each look as one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bugreport`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper bugreport > report.md                   read it before you send it
  waykeeper bugreport --run waykeeper-runs/this-machine-...

The report shows versions, what is applied, what the doctor found, the machine, and what a run was refused. Host names, network
addresses, serial numbers, names of disks and the user's home folder are left out. Nothing is sent or changed.

Exit status: 0 printed; 2 the run cannot be read.")]
pub struct Bugreport {
    /// The folder of a run that the report is about.
    #[arg(long, value_name = "RUN")]
    pub run: Option<PathBuf>,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper doctor
  waykeeper doctor --rt-cores 2,3 --json
  waykeeper doctor --if eth0                        and the interface that real-time packets pass through
  waykeeper doctor --cmdline --rt-cores 4-5         the kernel parameters to add, each with its reason

What cannot be seen (no file, no permission, a virtual machine) is reported, and is never taken for fine; root sees more.

Exit status: 0 nothing serious; 1 something serious was found; 2 bad input.")]
pub struct Doctor {
    /// The cores that are to answer in time, such as `2,3` [default: those that the kernel isolates, else the last one].
    #[arg(long, value_name = "LIST")]
    pub rt_cores: Option<String>,
    /// Examine this network interface, too: its link, interrupts, queues, coalescing, EEE, pause frames, time stamps, PTM.
    #[arg(long = "if", value_name = "IF", conflicts_with = "cmdline")]
    pub interface: Option<String>,
    /// Print the kernel parameters to add instead: one line ready to paste, then each with its reason.
    #[arg(long)]
    pub cmdline: bool,
    /// Count system-management interrupts for so long, where they can be counted.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub seconds: u16,
    /// Examine a recorded tree instead: a folder, or an archive.
    #[arg(long, value_name = "TREE")]
    pub root: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `channels`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper channels                                this machine, and the policy that is applied to it
  waykeeper channels agilex5 --policy agilex5-isolate-core1
  waykeeper channels --run waykeeper-runs/this-machine-...   with the neighbours of a run and their slowdowns
  waykeeper channels agilex5 --measure              and a run that is made for the table
  waykeeper channels --root box.tar.zst --json      a recorded machine

Each answer is yes, no or not seen; what cannot be seen is never `no`. Nothing is written, but that --measure with --policy applies
the policy for its repeats as `run` does, and restores. The table supports an argument for
freedom from interference; Waykeeper is not a qualified tool, and no figure is a worst-case execution time (docs/channels.md).

Exit status: 0 printed, whatever the answers are; 2 bad input, or a policy that does not fit; 3 this machine cannot be read or
measured, or lacks what the policy needs; 130 interrupted while it measured.")]
pub struct Channels {
    /// `this-machine`, a bundled platform or a platform file.
    #[arg(value_name = "PLACE", default_value = THIS_MACHINE)]
    pub place: String,
    /// Plan this policy, bundled or a file, for the place [default: what the journal says is applied].
    #[arg(long, value_name = "POLICY")]
    pub policy: Option<String>,
    /// Other cores for a class of the policy, such as `real-time=2,3`. May be repeated.
    #[arg(long = "cores", value_name = "CLASS=LIST", requires = "policy")]
    pub cores: Vec<String>,
    /// The cores that are to answer in time, such as `2,3` [default: those that the kernel isolates, else the last one].
    #[arg(long, value_name = "LIST")]
    pub rt_cores: Option<String>,
    /// Look at the recorded tree in this folder or archive instead (`waykeeper machine --record`).
    #[arg(long, value_name = "PATH", conflicts_with = "measure")]
    pub root: Option<PathBuf>,
    /// A run of this place: which channels its neighbours exercised, with their slowdowns. May be repeated.
    #[arg(long = "run", value_name = "DIR")]
    pub runs: Vec<PathBuf>,
    /// Measure a target alone, and beside a neighbour for each channel that a workload can exercise here; with --policy
    /// without and with it.
    #[arg(long)]
    pub measure: bool,
    /// The target of --measure: a workload and its core [default: chase_llc on the first core of the policy, or the last core].
    #[arg(long, value_name = "WORKLOAD@CORE", requires = "measure")]
    pub target: Option<String>,
    /// End --measure after this time, with what there is.
    #[arg(long, value_name = "TIME", default_value = "10min", requires = "measure")]
    pub time_limit: String,
    /// Set any field of the experiment of --measure, as for `run`. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "measure")]
    pub sets: Vec<String>,
    /// Folder for the run of --measure, new or empty [default: waykeeper-runs/channels-TIME].
    #[arg(long, value_name = "DIR", requires = "measure")]
    pub out: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The place of `channels` that is no platform.
pub const THIS_MACHINE: &str = "this-machine";

/// Arguments of `kpi`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper kpi --dry-run --duration 24h --rt-cores 2,3                  what the doctor says, and how long it takes
  waykeeper kpi --session lab --duration 24h --rt-cores 2,3 --policy tcc-halves --budget 'max<=50us over 24h' --label tcc-mode=off
  waykeeper kpi --session lab                                            goes on, after Ctrl-C, a kill or a power cut
  waykeeper kpi --session lab --label tcc-mode=on                        after a reboot with another setting of the firmware
  waykeeper kpi --rt-cores 3 --if eth1 --generator 'ssh peer waykeeper rtcp generate --if eth1 --core 3' --cycle 1ms:1296KiBx60k
  waykeeper report lab                                                   the acceptance record as a page

The load runs on the other cores. Settings are interleaved in blocks; --duration is for each setting and each measurement. A row is no
uninterrupted run. The figures of AF_XDP and AF_PACKET are none of DPDK. docs/kpi.md has the definitions.

Exit status: 0 done; 1 a budget was broken; 2 bad input; 3 this machine cannot do it; 4 too little data for a budget; 130
interrupted, and `kpi --session DIR` goes on.")]
pub struct Kpi {
    /// The folder of the session: a new one, or one that goes on [default: a new folder below waykeeper-runs].
    #[arg(long, value_name = "DIR")]
    pub session: Option<PathBuf>,
    /// What is set in firmware or boot loader at this boot, such as tcc-mode=on; may be given several times.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,
    /// What is measured.
    #[command(flatten)]
    pub measured: KpiMeasured,
    /// Show what the doctor finds and what would be measured, and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What a session of `kpi` measures: given when it begins.
#[derive(Debug, Args)]
pub struct KpiMeasured {
    /// How long each measurement takes under each setting [default: 10min].
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// How long a setting is measured before the next one has its turn [default: a tenth of the duration, at most 10min].
    #[arg(long, value_name = "TIME")]
    pub block: Option<String>,
    /// The cores that are to answer in time [default: those that the kernel isolates, else the last one].
    #[arg(long, value_name = "LIST")]
    pub rt_cores: Option<String>,
    /// A policy under test, beside none: a bundled name or a file; may be given several times.
    #[arg(long = "policy", value_name = "POLICY")]
    pub policies: Vec<String>,
    /// The best-effort load: a file with [[neighbours]] and [workloads.NAME] as in an experiment [default: stream_modify].
    #[arg(long, value_name = "FILE")]
    pub load: Option<PathBuf>,
    /// A budget of wake-ups, such as 'max<=50us over 24h'; may be given several times.
    #[arg(long = "budget", value_name = "BUDGET")]
    pub budgets: Vec<String>,
    /// Time from one wake-up to the next [default: 250us].
    #[arg(long, value_name = "TIME")]
    pub wakeup_period: Option<String>,
    /// Leave out cyclictest, which measures wake-ups beside our own where it is installed and a block has a second.
    #[arg(long)]
    pub no_cyclictest: bool,
    /// Measure packets too, on this network interface.
    #[arg(long = "if", value_name = "IF")]
    pub interface: Option<String>,
    /// The command that runs `waykeeper rtcp generate --if IF` where the sensor is [default: you run it yourself].
    #[arg(long, value_name = "COMMAND", requires = "interface")]
    pub generator: Option<String>,
    /// A cycle of packets, such as 125us:264KiBx12k; may be given several times [default: 1ms:1296KiBx60k and 125us:264KiBx12k].
    #[arg(long = "cycle", value_name = "PERIOD[:SIZExINSTRUCTIONS]", requires = "interface")]
    pub cycles: Vec<String>,
    /// How packets come from the interface [default: xdp].
    #[arg(long, value_enum, requires = "interface")]
    pub path: Option<RtcpPath>,
    /// The receive queue of AF_XDP [default: the only one].
    #[arg(long, value_name = "N", requires = "interface")]
    pub queue: Option<u32>,
    /// Sleep until the kernel announces a packet, instead of looking for it again and again.
    #[arg(long, requires = "interface")]
    pub interrupt: bool,
    /// A budget of packets, from receive to transmit; may be given several times.
    #[arg(long = "packet-budget", value_name = "BUDGET", requires = "interface")]
    pub packet_budgets: Vec<String>,
}

impl KpiMeasured {
    /// The first option that was given, where one was.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--duration", self.duration.is_some()),
            ("--block", self.block.is_some()),
            ("--rt-cores", self.rt_cores.is_some()),
            ("--policy", !self.policies.is_empty()),
            ("--load", self.load.is_some()),
            ("--budget", !self.budgets.is_empty()),
            ("--wakeup-period", self.wakeup_period.is_some()),
            ("--no-cyclictest", self.no_cyclictest),
            ("--if", self.interface.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// Arguments of `rtcp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper rtcp respond --if eth1 --core 3 --fifo 80 --compute 264KiBx12k     on the machine under test
  waykeeper rtcp generate --if eth1 --core 3 --period 125us --duration 1min    on another one
  waykeeper rtcp generate --if eth1 --peer 02:00:00:00:00:01 --path packet --count 1000 --json

AF_XDP takes zero copy where the driver has it, and copies elsewhere; the result states which. It is no DPDK figure. Time stamps are
made in software; those of network hardware are not used.

Exit status: 0 done; 2 bad input; 3 this machine cannot do it, or no responder answered; 130 interrupted before the end that was asked
for.")]
pub struct Rtcp {
    /// The role.
    #[command(subcommand)]
    pub role: RtcpRole,
}

/// A role of `rtcp`.
#[derive(Debug, Subcommand)]
pub enum RtcpRole {
    /// Send a sensor packet every period, and measure the round trip to its actuator packet.
    Generate(RtcpGenerate),
    /// Answer sensor packets after a computation, and measure from receive to transmit.
    Respond(RtcpRespond),
}

/// What both roles take.
#[derive(Debug, Args)]
pub struct RtcpOptions {
    /// The network interface.
    #[arg(long = "if", value_name = "IF")]
    pub interface: String,
    /// The core of the thread that sends and receives [default: any].
    #[arg(long, value_name = "N")]
    pub core: Option<u32>,
    /// Run that thread under SCHED_FIFO with this priority [default: ordinary scheduling].
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub fifo: Option<u8>,
    /// How packets come from the interface: AF_XDP, or AF_PACKET, which any interface has.
    #[arg(long, value_enum, default_value_t = RtcpPath::Xdp)]
    pub path: RtcpPath,
    /// The receive queue of AF_XDP, to which EtherType 0x88b5 is steered [default: the only one].
    #[arg(long, value_name = "N")]
    pub queue: Option<u32>,
    /// Look for packets again and again [default].
    #[arg(long, conflicts_with = "interrupt")]
    pub busy_poll: bool,
    /// Sleep until the kernel announces a packet; the time of that wake-up is part of the round trip only.
    #[arg(long)]
    pub interrupt: bool,
    /// Bytes of a packet after its Ethernet header.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u16).range(64..=1500))]
    pub size: u16,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the JSON to FILE as well.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// A path of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtcpPath {
    /// AF_XDP.
    Xdp,
    /// AF_PACKET.
    Packet,
}

/// Arguments of `rtcp generate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper rtcp generate --if eth1 --period 1ms --duration 24h --core 3 --fifo 80 --out rtcp.json
  waykeeper rtcp generate --if eth1 --period 125us --count 8000 --vlan 100:6
  waykeeper rtcp generate --if eth1 --path packet --launch-time 500us --duration 1min

Lost, late, doubled and reordered cycles are counted exactly, over at most 65536 cycles in flight. docs/rtcp.md has the definitions.")]
#[command(group = ArgGroup::new("end").required(true).args(["count", "duration"]))]
pub struct RtcpGenerate {
    /// What both roles take.
    #[command(flatten)]
    pub common: RtcpOptions,
    /// The responder's address [default: found by a broadcast].
    #[arg(long, value_name = "MAC")]
    pub peer: Option<String>,
    /// Time between two sensor packets, from 10us.
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub period: String,
    /// Send so many.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Send for so long.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// An answer after this time is late [default: the period].
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Tag the packets: VLAN 0 to 4094, priority 0 to 7.
    #[arg(long, value_name = "ID:PRIORITY")]
    pub vlan: Option<String>,
    /// Hand each packet to the kernel so long before its launch time (SO_TXTIME), which `etf` on the interface keeps; with --path
    /// packet. Untested on hardware.
    #[arg(long, value_name = "TIME")]
    pub launch_time: Option<String>,
}

/// Arguments of `rtcp respond`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper rtcp respond --if eth1 --core 3 --fifo 80 --compute 264KiBx12k
  waykeeper rtcp respond --if eth1 --core 3 --compute 1296KiBx60k --path packet --interrupt --out respond.json
  waykeeper rtcp respond --if eth1 --core 3 --compute stream_read --count 8000

Without --count and --duration it answers until Ctrl-C, prints its result, and ends with 0.")]
pub struct RtcpRespond {
    /// What both roles take.
    #[command(flatten)]
    pub common: RtcpOptions,
    /// What to compute in each cycle: instructions in a buffer (264KiBx12k), or one pass of a workload, bundled or a file
    /// [default: nothing].
    #[arg(long, value_name = "WORK")]
    pub compute: Option<String>,
    /// End after so many sensor packets.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// End after so long.
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper verify
  waykeeper verify --no-probe                       read back only
  waykeeper verify --try                            without a setting: does the probe work here?
  waykeeper verify --colours                        do page colours divide this machine's L2?

Exit status: 0 it reads as written, and every mask that was set is in force; 1 something does not read as written, or a mask
does nothing; 3 nothing is applied, or it was not seen; 4 a probe was inconclusive or not possible; 130 interrupted.")]
pub struct Verify {
    /// Read back only.
    #[arg(long)]
    pub no_probe: bool,
    /// Run the probe although nothing is set: what it says is then `inert`, or `inconclusive`.
    #[arg(long = "try", conflicts_with = "no_probe")]
    pub try_probe: bool,
    /// Probe instead whether page colours keep two workloads that take turns on one core apart in its L2.
    #[arg(long, conflicts_with_all = ["no_probe", "try_probe", "root"])]
    pub colours: bool,
    /// How often each arrangement of the probe is measured.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(9..=1000))]
    pub repeats: u16,
    /// Look at the files below this folder in the place of the running machine's.
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub root: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper watch                                   groups of resctrl, once a second, until q
  waykeeper watch --target latency_loop@1           and how long a loop on core 1 takes
  waykeeper watch --count 1 --json                  one look, for programs
  waykeeper watch --count 1 --openmetrics waykeeper-groups.prom   one look, for node_exporter

In a room (`waykeeper enter`) it shows the simulated machine, and times are simulated ones.
Rates are between two looks; what the machine does not report stays empty. A maximum is the longest that was seen.")]
pub struct Watch {
    /// Run this workload on this core and show its latency.
    #[arg(long, value_name = "WORKLOAD@CORE")]
    pub target: Option<String>,
    /// The target's buffer lies in this pseudo-locked region: the name of its group.
    #[arg(long, value_name = "GROUP", requires = "target")]
    pub region: Option<String>,
    /// Time between two looks.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: String,
    /// End after this many looks.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print lines; this is what happens where the output is no terminal.
    #[arg(long)]
    pub plain: bool,
    /// Print each look as one line of JSON.
    #[arg(long, conflicts_with = "plain")]
    pub json: bool,
    /// Write the groups of each look as metrics for node_exporter to this file, at once, and print nothing; a file that is there is
    /// replaced.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "plain", "target"])]
    pub openmetrics: Option<PathBuf>,
    /// Look at the files below this folder in the place of the running machine's.
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub root: Option<PathBuf>,
}

/// Arguments of `load`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper load cache_stressor@2-3                 interfere from cores 2 and 3 until Ctrl-C
  waykeeper load cache_stressor@2 stream_write@3    two workloads

In a room (`waykeeper enter`) the workloads run on the simulated cores; their groups are those of this command's task.")]
pub struct Load {
    /// Workloads, bundled or files, and their cores.
    #[arg(required = true, value_name = "WORKLOAD@CORES")]
    pub loads: Vec<String>,
}

/// Arguments of `machine`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper machine                                 this machine at a glance
  waykeeper machine --record box.tar.zst            take what it says along; as root it says more
  waykeeper machine --root box.tar.zst              and look at it elsewhere
  waykeeper machine --measure --platform > box.toml this machine as a platform, with its latencies measured
  waykeeper plan tcc-halves --for box.toml          plan for it, or simulate it: --set platform=box.toml

A recording has no serial numbers, addresses, host names, users' processes or disks; its manifest.toml says so.

Exit status: 0 done; 2 bad input; 3 this machine cannot be read, probed or measured.")]
pub struct Machine {
    /// Look at the recorded tree in this folder or archive, or at the files below a folder.
    #[arg(long, value_name = "PATH")]
    pub root: Option<PathBuf>,
    /// Record this machine into FILE (.tar.zst, .tar.gz, .tar) or into a new folder.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "platform", "measure", "probe_msr"])]
    pub record: Option<PathBuf>,
    /// Find capacity masks by writing to the registers of a class that nobody is in, and reading back; everything is put
    /// back. Intel only, as root, without resctrl mounted.
    #[arg(long, conflicts_with = "root")]
    pub probe_msr: bool,
    /// Measure the latency of every level on one core of each kind; takes some seconds for each.
    #[arg(long, conflicts_with = "root")]
    pub measure: bool,
    /// Print it as a platform file.
    #[arg(long, visible_alias = "toml", conflicts_with = "json")]
    pub platform: bool,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `catalogue`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper catalogue                               all processors, a line each
  waykeeper catalogue 13800HRE                      masks, measurements, firmware settings, pins of one
  waykeeper catalogue 13800HRE --json

Exit status: 0 found; 2 no such processor, or several.")]
pub struct Catalogue {
    /// A processor's number, spelled in any way.
    pub sku: Option<String>,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["command", "workload", "info"]))]
#[command(override_usage = "waykeeper trace [OPTIONS] <-- CMD...|--workload <NAME>|--info <FILE>>")]
#[command(after_help = "\
Examples:
  waykeeper trace -- sort words.txt                 record sort into sort.wkt
  waykeeper trace --limit 10000000 --out f.wkt -- ./filter in.pgm
  waykeeper trace --most-passes 100 -- ./rta        100 passes of a program with markers
  waykeeper trace --begin step --most-passes 100 -- ./rta
  waykeeper trace --workload mser_cif               record a program of Waykeeper's own
  waykeeper trace --info sort.wkt                   what a recording holds; also of lackey, Dinero, ChampSim

Recording needs valgrind and takes some hundred times as long as the program; programs that it starts are not recorded.
Where the program marks its passes (`waykeeper markers`), the recording holds them; `--begin` takes those of a function.
A workload with `kind = \"trace\"` and `file = \"sort.wkt\"` runs the recording in the simulator.")]
pub struct Trace {
    /// The program and its arguments.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    /// Record one pass of a bundled program, such as `disparity_cif`, from inside; needs no valgrind.
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Show what a recording holds, and check all of it.
    #[arg(long, value_name = "FILE")]
    pub info: Option<PathBuf>,
    /// The new file [default: NAME.wkt].
    #[arg(long, value_name = "FILE", conflicts_with = "info")]
    pub out: Option<PathBuf>,
    /// End after this many loads and stores.
    #[arg(long, value_name = "N", conflicts_with = "info", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Leave out what lies before the first pass, and end with this many passes.
    #[arg(long, value_name = "N", requires = "command", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub most_passes: Option<u64>,
    /// The phase whose passes are counted, by number or name, where the program marks several.
    #[arg(long, value_name = "PHASE", requires = "most_passes", conflicts_with = "begin")]
    pub phase: Option<String>,
    /// The function at whose entry a pass begins: of the program, or of a shared library (`libcontrol.so:step`); of C++ and Rust as
    /// in the source (`control::Loop::step`), where overloads differ with its parameters.
    #[arg(long, value_name = "FUNCTION", requires = "command")]
    pub begin: Option<String>,
    /// The function at whose return a pass ends [default: that of --begin].
    #[arg(long, value_name = "FUNCTION", requires = "begin")]
    pub end: Option<String>,
    /// Record instruction fetches too: one for each 32 bytes of code entered.
    #[arg(long, conflicts_with_all = ["info", "workload"])]
    pub instructions: bool,
    /// Print what the recording holds as JSON; what the program prints goes to the standard error.
    #[arg(long)]
    pub json: bool,
}

/// Kinds of files that have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Experiment files.
    Experiment,
    /// Platform files.
    Platform,
    /// Workload files.
    Workload,
    /// Policy files.
    Policy,
    /// run.json.
    Run,
    /// What `tune --json` prints.
    Tuned,
    /// What `tune --hunt --json` prints.
    TunedByTurns,
    /// What `hunt --json` prints.
    Hunted,
    /// What `kpi --json` prints.
    Kpi,
    /// What `doctor --json` prints.
    Doctor,
    /// What `machine --json` prints.
    Machine,
    /// What `channels --json` prints.
    Channels,
    /// What `catalogue --json` prints.
    Catalogue,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  waykeeper schema experiment > experiment.schema.json\n\nThen begin an experiment file with `#:schema ./experiment.schema.json`: editors with a TOML language\nserver (Taplo, Even Better TOML) complete and check it."
)]
pub struct Schema {
    /// Which kind of file.
    pub of: SchemaOf,
}

/// What a room is made of.
#[derive(Debug, Args)]
pub struct RoomOptions {
    /// The platform: a bundled one or a file.
    pub platform: String,
    /// The kernel whose rules and formats hold: 6.1, 6.12, 6.18, 7.3 or newest.
    #[arg(long, value_name = "KERNEL", default_value = "6.12")]
    pub kernel: String,
    /// Run a workload on cores, each under a sleeping process that can be moved between groups; `target:` before the one
    /// whose latency counts.
    #[arg(long, value_name = "[target:]WORKLOAD@CORES")]
    pub load: Vec<String>,
}

/// Arguments of `enter`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper enter xeon-d-2752ter -- pqos --iface=os -s
  waykeeper enter apollo-lake-e3950 --kernel 6.1 --load target:rta_128k@2 --load cache_stressor@3

A room is no sandbox: the command has your rights, your files, your network and your other devices.

The exit status is the command's; 3 if the room cannot be made.")]
pub struct Enter {
    /// The room.
    #[command(flatten)]
    pub room: RoomOptions,
    /// The command; a shell if there is none.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Arguments of `mount`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  waykeeper mount xeon-d-2752ter /tmp/resctrl
  waykeeper mount xeon-d-2752ter /tmp/resctrl --kernel 6.1 --load cache_stressor@1-3

A room is no sandbox: whoever can reach the folder or the socket acts on the simulated machine, with their own rights elsewhere.")]
pub struct Mount {
    /// The room.
    #[command(flatten)]
    pub room: RoomOptions,
    /// Where: an empty folder.
    pub folder: PathBuf,
    /// Listen for clients of the simulation at this path too.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// A folder that is there: a name with a slip in it would read as a machine with nothing on it.
fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() { Ok(path) } else { Err("it is no folder".into()) }
}
