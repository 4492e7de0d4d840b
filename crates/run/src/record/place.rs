//! What made a run, and where: the program, the clock, the machine or the parameters of the simulated one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_workload::format_ns;

/// The program that wrote a run.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `waykeeper`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that it was built from, where it was built with one (packages are).
    pub commit: Option<String>,
    /// SHA-256 of the program's file, where it can be read.
    pub sha256: Option<String>,
}

/// The tool that took the samples of a run that `import` read.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRecord {
    /// Its name.
    pub tool: String,
    /// Its version, where its file says it.
    pub version: Option<String>,
    /// What it has a histogram of, which is a case here: `thread` or `column`.
    pub histograms_of: String,
}

/// SHA-256 of what a run was made from.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Of the experiment as run: `experiment.toml` beside this record.
    pub experiment: String,
    /// Of the platform's file (simulator only).
    pub platform: Option<String>,
    /// Of the files of bundled workloads and of recordings, by the workload's name. A workload that the experiment defines
    /// itself is in its hash; a program of the user's is not read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workloads: BTreeMap<String, String>,
    /// Of policy files, by the name in the experiment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policies: BTreeMap<String, String>,
}

/// The clock that timed the samples.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Clock")]
pub struct ClockRecord {
    /// `TSC`, `CNTVCT`, what stands in for it on ARMv7, `PMCCNTR` (in units of its own), or the simulated counter.
    pub name: String,
    /// Ticks in a second.
    pub frequency_hz: f64,
    /// Length of a tick.
    pub tick_ns: f64,
    /// The smallest step that was seen between two readings.
    pub resolution_ns: Option<f64>,
    /// Median time of one reading; it is part of every sample and is not subtracted.
    pub read_overhead_ns: Option<f64>,
    /// Spread of repeated measurements of the frequency against the system's clock, parts in a million.
    pub stability_ppm: Option<f64>,
    /// Whether the processor says that the counter runs at one rate in all power states.
    pub invariant: Option<bool>,
}

impl ClockRecord {
    /// The name of the cycle counter as a clock. Its ticks are no cycles but units that a sample's cycles are turned into.
    pub const PMCCNTR: &'static str = "PMCCNTR";

    /// How fast it runs, for people.
    pub fn rate(&self) -> String {
        if self.name == Self::PMCCNTR {
            return format!("in units of {}", format_ns(self.tick_ns));
        }
        format!("{:.3} GHz", self.frequency_hz / 1e9)
    }

    /// The smallest difference between two samples that can be seen.
    pub fn step_ns(&self) -> f64 {
        self.resolution_ns.unwrap_or(self.tick_ns)
    }

    /// What a reader must know of a counter that moves in long steps; nothing for others.
    pub fn coarseness(&self) -> Option<String> {
        // About an access to the third level: what one access more costs is not seen in a single sample. Counters of servers
        // stay below it, also those that move at 100 MHz.
        const COARSE_NS: f64 = 15.0;
        (self.step_ns() >= COARSE_NS).then(|| {
            let finer = if self.name == "CNTVCT" && cfg!(target_arch = "aarch64") {
                " `--clock pmccntr` times samples to a cycle of the core, where the kernel lets programs read its counter."
            } else {
                ""
            };
            format!(
                "The counter ({}) moves in steps of {}: single samples are right to one step, and shorter times are not \
                 distinguished. The mean of many samples is finer.{finer}",
                self.name,
                format_ns(self.step_ns())
            )
        })
    }
}

/// The machine that a run ran on.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename = "Machine")]
pub struct MachineRecord {
    /// Processor model as the system names it.
    pub processor: Option<String>,
    /// Instruction set.
    pub architecture: String,
    /// Number of cores that could be used.
    pub cores: u32,
    /// Caches of the target's core, such as `L1d 48 KiB 12-way`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
    /// Kernel release and version.
    pub kernel: Option<String>,
    /// Kernel command line.
    pub kernel_command_line: Option<String>,
    /// Preemption model, where the kernel reports it.
    pub preemption: Option<String>,
    /// The clock source of the kernel.
    pub clocksource: Option<String>,
    /// Frequency governor of the target's core.
    pub governor: Option<String>,
    /// Whether SMT is on, as the kernel says it.
    pub smt: Option<String>,
    /// Cores that the kernel isolates.
    pub isolated: Option<String>,
    /// Cores without a scheduling tick.
    pub nohz_full: Option<String>,
    /// The hypervisor, where there is one.
    pub hypervisor: Option<String>,
    /// Transparent huge pages setting.
    pub transparent_hugepages: Option<String>,
    /// Share of time that real-time tasks may take, as `runtime_us/period_us`.
    pub realtime_throttling: Option<String>,
    /// The policy that `waykeeper apply` had put in force before the run began, and since when; every case was measured under it.
    pub applied_before: Option<String>,
    /// Control groups that resctrl had before the run began, with their shares, and what its root group had less than all of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resctrl_groups_before: Vec<String>,
}

/// Something asked of the system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Privilege {
    /// What was asked for, such as `SCHED_FIFO`.
    pub what: String,
    /// Whether it was given.
    pub granted: bool,
    /// What was got, or why it was refused.
    pub detail: String,
}

/// What the figures of a simulated platform rest on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// How many parameters are documented, measured, assumed, fitted and imposed.
    pub counts: BTreeMap<String, u32>,
    /// Every parameter.
    pub list: Vec<ParameterRecord>,
}

/// One parameter of a simulated platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Parameter")]
pub struct ParameterRecord {
    /// Path of its key in the platform file.
    pub key: String,
    /// Its value as TOML.
    pub value: String,
    /// `documented`, `measured`, `assumed`, `fitted` or `imposed`.
    pub is: String,
    /// Source, range and reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_boards_are_coarse_and_those_of_servers_are_not() {
        let clock = |hz: f64, ticks: f64| ClockRecord {
            name: "CNTVCT".into(),
            frequency_hz: hz,
            tick_ns: 1e9 / hz,
            resolution_ns: Some(ticks * 1e9 / hz),
            read_overhead_ns: None,
            stability_ppm: None,
            invariant: None,
        };
        let of = |hz, ticks| clock(hz, ticks).coarseness().unwrap_or_default();
        assert!(of(24e6, 1.0).contains("in steps of 41.7 ns"), "{}", of(24e6, 1.0));
        assert!(of(62.5e6, 1.0).contains("in steps of 16 ns"));
        // A time-stamp counter of 2.6 GHz that moves 26 ticks at a time.
        assert_eq!(of(2.6e9, 26.0), "");
        // 1 GHz, as Armv8.6 has it; one that counts at 1 GHz and moves 40 ticks at a time, as some parts of that do.
        assert_eq!(of(1e9, 1.0), "");
        assert!(of(1e9, 40.0).contains("in steps of 40 ns"));
    }
}
