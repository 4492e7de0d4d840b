//! The row of Intel's guide that stands beside a measurement: this processor's, or the nearest, with what differs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_platform::catalogue::{GuideResult, MeasuredMachine, Test, catalogue};
use waykeeper_run::Run;
use waykeeper_workload::InstructionCount;

use crate::record::BootRecord;
use crate::settings::Measurand;

/// A row of the guide.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuideRow {
    /// The processor.
    pub processor: String,
    /// The section.
    pub section: String,
    /// What was measured, in words.
    pub measured: String,
    /// Mean in microseconds.
    pub average_us: Option<f64>,
    /// Maximum in microseconds.
    pub maximum_us: Option<f64>,
    /// Maximum minus minimum in microseconds.
    pub jitter_us: Option<f64>,
    /// Millions of cycles that these are of.
    pub million_cycles: Option<u32>,
    /// What is not as here.
    pub differs: Vec<String>,
}

/// The guide's row for a measurement; none where it has no such test.
pub fn nearest(measurand: &Measurand<'_>, boot: &BootRecord, run: &Run, wakeup_period_ns: f64) -> Option<GuideRow> {
    let here = Here::new(measurand, boot, run, wakeup_period_ns);
    let rows = catalogue().measurements.iter().flat_map(|it| it.results.iter().map(move |result| (it, result)));
    let same_test = rows.filter(|(_, result)| result.test == here.test && is_kernels(result));
    let with_figures = same_test.filter(|(_, result)| result.maximum_us.is_some());
    // The processor first, then the firmware's mode, then what is computed how often.
    let (measurement, result) = with_figures.min_by_key(|(measurement, result)| {
        (here.processor_apart(measurement), here.mode_apart(result), here.work_apart(result), here.period_apart(result))
    })?;
    Some(GuideRow {
        processor: measurement.sku.clone(),
        section: measurement.section.clone(),
        measured: words(result),
        average_us: result.average_us,
        maximum_us: result.maximum_us,
        jitter_us: result.jitter_us,
        million_cycles: result.million_cycles,
        differs: here.differs(measurement, result),
    })
}

/// DPDK's driver runs in user space: its figures stand beside none of a kernel's path.
fn is_kernels(result: &GuideResult) -> bool {
    result.driver.as_deref() != Some("DPDK")
}

fn words(result: &GuideResult) -> String {
    let test = match result.test {
        Test::Cyclictest => "cyclictest".to_owned(),
        Test::Rtcp => {
            let parts = [result.driver.clone(), result.ethernet.clone().map(|ethernet| format!("{ethernet} Ethernet"))];
            let work = result.thousand_instructions.map(|thousand| format!("{thousand}k instructions"));
            let parts: Vec<_> = parts.into_iter().flatten().chain(work).collect();
            format!("RTCP, {}", parts.join(", "))
        }
    };
    let mode = if result.tcc_mode { "on" } else { "off" };
    format!("{test}, every {} us, TCC Mode {mode}", result.period_us)
}

/// What a row is compared with.
struct Here<'r> {
    test: Test,
    period_us: f64,
    thousand_instructions: Option<u64>,
    /// What the user says of the firmware.
    tcc_mode: Option<bool>,
    path: Option<String>,
    /// Waykeeper's own thread wakes up, not cyclictest's.
    is_ours: bool,
    run: &'r Run,
}

impl<'r> Here<'r> {
    fn new(measurand: &Measurand<'_>, boot: &BootRecord, run: &'r Run, wakeup_period_ns: f64) -> Self {
        let (test, period_ns, instructions) = match measurand {
            Measurand::Wakeups | Measurand::Cyclictest => (Test::Cyclictest, wakeup_period_ns, None),
            Measurand::Packets(_, cycle) => {
                let count = cycle.compute.as_ref().and_then(|text| text.parse::<InstructionCount>().ok());
                (Test::Rtcp, cycle.period_ns, count.map(|count| count.instructions / 1000))
            }
        };
        let tcc_mode = boot.labels.iter().find(|(key, _)| key.eq_ignore_ascii_case("tcc-mode"));
        let tcc_mode = tcc_mode.and_then(|(_, value)| match value.to_ascii_lowercase().as_str() {
            "on" | "enabled" | "true" | "1" => Some(true),
            "off" | "disabled" | "false" | "0" => Some(false),
            _ => None,
        });
        let packets = run.cases.iter().flat_map(|case| &case.repeats).find_map(|repeat| repeat.packets.as_ref());
        let path = packets.map(|packets| packets.path.clone());
        let is_ours = *measurand == Measurand::Wakeups;
        Self { test, period_us: period_ns / 1e3, thousand_instructions: instructions, tcc_mode, path, is_ours, run }
    }

    /// 0 for this processor, else how many cores more or fewer another one has, and one.
    fn processor_apart(&self, measurement: &MeasuredMachine) -> u32 {
        match self.is_processor(measurement) {
            true => 0,
            false => 1 + measurement.cores.abs_diff(self.run.machine.cores),
        }
    }

    fn is_processor(&self, measurement: &MeasuredMachine) -> bool {
        let brand = self.run.machine.processor.as_deref().unwrap_or_default();
        catalogue().of_brand(brand).is_some_and(|entry| entry.sku == measurement.sku)
    }

    /// Where nothing is said, the guide's usual one: on.
    fn mode_apart(&self, result: &GuideResult) -> bool {
        result.tcc_mode != self.tcc_mode.unwrap_or(true)
    }

    fn work_apart(&self, result: &GuideResult) -> u64 {
        let there = u64::from(result.thousand_instructions.unwrap_or(0));
        there.abs_diff(self.thousand_instructions.unwrap_or(0))
    }

    fn period_apart(&self, result: &GuideResult) -> u64 {
        (f64::from(result.period_us) - self.period_us).abs() as u64
    }

    fn differs(&self, measurement: &MeasuredMachine, result: &GuideResult) -> Vec<String> {
        let mut list = Vec::new();
        let machine = &self.run.machine;
        if !self.is_processor(measurement) {
            let processor = machine.processor.as_deref().unwrap_or("of unknown name");
            let cores = measurement.cores;
            list.push(format!(
                "processor: {} ({cores} cores) there, {processor} here, and the guide has no row of it",
                measurement.sku
            ));
        }
        let kernel = machine.kernel.as_deref().and_then(|kernel| kernel.split_whitespace().next()).unwrap_or("unknown");
        if kernel != measurement.kernel {
            list.push(format!("kernel: {} there, {kernel} here", measurement.kernel));
        }
        if let Some(hypervisor) = &machine.hypervisor {
            list.push(format!("a virtual machine here ({hypervisor}), and none there"));
        }
        let mode = |on: bool| if on { "on" } else { "off" };
        match self.tcc_mode {
            Some(here) if here == result.tcc_mode => {}
            Some(here) => list.push(format!("TCC Mode: {} there, {} here", mode(result.tcc_mode), mode(here))),
            None => {
                list.push(format!("TCC Mode: {} there, not known here (--label tcc-mode=on)", mode(result.tcc_mode)))
            }
        }
        if self.period_apart(result) > 0 {
            list.push(format!("period: {} us there, {} us here", result.period_us, self.period_us));
        }
        match self.test {
            Test::Cyclictest if self.is_ours => list.push("cyclictest there, a thread of this program here".into()),
            Test::Cyclictest => {}
            Test::Rtcp => {
                if self.work_apart(result) > 0 {
                    let there = result.thousand_instructions.unwrap_or(0);
                    list.push(format!(
                        "instructions: {there}k there, {}k here",
                        self.thousand_instructions.unwrap_or(0)
                    ));
                }
                let (there, path) =
                    (result.driver.as_deref().unwrap_or("unknown"), self.path.as_deref().unwrap_or("unknown"));
                list.push(format!("path: {there} there, {path} here"));
                list.push("the guide does not say where its time stamps are taken".into());
            }
        }
        list
    }
}
