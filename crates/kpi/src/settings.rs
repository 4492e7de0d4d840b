//! What is measured, under which settings, for how long.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_workload::{
    InstructionCount, PacketWait, PathKind, SHORTEST_PACKET_PERIOD_NS, format_ns, parse_duration_ns,
};

/// What a session measures. It is the same for all its boots.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KpiSettings {
    /// How long each measurement takes under each setting, seconds.
    pub duration_s: f64,
    /// Length of a block, seconds: after each, the setting changes.
    pub block_s: f64,
    /// The cores that are to answer in time.
    pub rt_cores: Vec<u32>,
    /// Whether wake-ups are measured on all of these at the same time; one after the other in sessions that began before this was so.
    #[serde(default)]
    pub simultaneous: bool,
    /// The cores of the best-effort load.
    pub load_cores: Vec<u32>,
    /// Time from one wake-up to the next, nanoseconds.
    pub wakeup_period_ns: f64,
    /// Whether cyclictest measures wake-ups too.
    #[serde(default)]
    pub cyclictest: bool,
    /// Packets, where they are measured.
    pub packets: Option<PacketSettings>,
    /// Policies under test, beside none: bundled names or files.
    pub policies: Vec<String>,
    /// The load: an experiment's `neighbours` and `workloads`, as TOML.
    pub load: String,
    /// Where the load comes from, for people.
    pub load_name: String,
    /// Budgets of wake-ups.
    pub budgets: Vec<String>,
    /// Budgets of packets.
    pub packet_budgets: Vec<String>,
}

/// How packets are measured.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketSettings {
    /// The interface of the control loop.
    pub interface: String,
    /// The path of its packets.
    pub path: PathKind,
    /// How the loop learns of a packet.
    pub wait: PacketWait,
    /// The receive queue of AF_XDP.
    pub queue: Option<u32>,
    /// The core of the control loop.
    pub core: u32,
    /// The command that runs `waykeeper rtcp generate --if IF` where the sensor is; empty where the user runs it.
    pub generator: Vec<String>,
    /// The cycles, one after the other.
    pub cycles: Vec<Cycle>,
}

/// A period, and what is computed in it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cycle {
    /// Time from one sensor packet to the next, nanoseconds.
    pub period_ns: f64,
    /// Instructions in a buffer, such as `264KiBx12k`; nothing is computed where absent.
    pub compute: Option<String>,
}

/// A text that is no cycle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; expected PERIOD or PERIOD:SIZExINSTRUCTIONS, such as `1ms:1296KiBx60k` or `125us:264KiBx12k`")]
pub struct BadCycle(String);

impl FromStr for Cycle {
    type Err = BadCycle;

    fn from_str(text: &str) -> Result<Self, BadCycle> {
        let (period, compute) = text.split_once(':').map_or((text, None), |(period, compute)| (period, Some(compute)));
        let period_ns = parse_duration_ns(period).map_err(|error| BadCycle(error.to_string()))?;
        if period_ns < SHORTEST_PACKET_PERIOD_NS {
            return Err(BadCycle(format!("a period of {} is shorter than a packet takes", format_ns(period_ns))));
        }
        if let Some(compute) = compute {
            compute.parse::<InstructionCount>().map_err(|error| BadCycle(error.to_string()))?;
        }
        Ok(Self { period_ns, compute: compute.map(|compute| compute.trim().to_owned()) })
    }
}

/// What one run of a session measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measurand<'s> {
    /// Wake-ups of a sleeping thread on each real-time core.
    Wakeups,
    /// The same by cyclictest, with the guide's options.
    Cyclictest,
    /// The control loop between packets.
    Packets(&'s PacketSettings, &'s Cycle),
}

impl Measurand<'_> {
    /// Its name in a folder's name and in an experiment.
    pub fn name(&self) -> String {
        match self {
            Self::Wakeups => "wakeup".into(),
            Self::Cyclictest => "cyclictest".into(),
            Self::Packets(_, cycle) => {
                let compute = cycle.compute.as_ref().map(|compute| format!("-{compute}")).unwrap_or_default();
                format!("packets-{}{compute}", format_ns(cycle.period_ns)).replace(' ', "")
            }
        }
    }

    /// How a reader knows it.
    pub fn title(&self, settings: &KpiSettings) -> String {
        match self {
            Self::Wakeups => format!("wake-up every {}", format_ns(settings.wakeup_period_ns)),
            Self::Cyclictest => format!("cyclictest every {}", format_ns(settings.wakeup_period_ns)),
            Self::Packets(_, cycle) => {
                let compute = cycle.compute.as_ref().map(|compute| format!(", {compute}")).unwrap_or_default();
                format!("packet to packet every {}{compute}", format_ns(cycle.period_ns))
            }
        }
    }
}

impl KpiSettings {
    /// What is measured, in the order of its runs.
    pub fn measurands(&self) -> Vec<Measurand<'_>> {
        let packets = self
            .packets
            .iter()
            .flat_map(|packets| packets.cycles.iter().map(move |cycle| Measurand::Packets(packets, cycle)));
        let cyclictest = self.cyclictest.then_some(Measurand::Cyclictest);
        std::iter::once(Measurand::Wakeups).chain(cyclictest).chain(packets).collect()
    }

    /// Blocks of each measurement under each setting.
    pub fn blocks(&self) -> u32 {
        (self.duration_s / self.block_s - 1e-6).ceil().clamp(1.0, 1e6) as u32
    }

    /// Whether a measurement is of several cores at the same time.
    pub fn is_simultaneous(&self, measurand: &Measurand<'_>) -> bool {
        self.simultaneous && self.rt_cores.len() > 1 && !matches!(measurand, Measurand::Packets(..))
    }

    /// Targets of a measurement that are measured one after the other.
    pub fn targets(&self, measurand: &Measurand<'_>) -> usize {
        match measurand {
            _ if self.is_simultaneous(measurand) => 1,
            Measurand::Wakeups | Measurand::Cyclictest => self.rt_cores.len(),
            Measurand::Packets(..) => 1,
        }
    }

    /// How long one boot takes, seconds, without the starts of blocks.
    pub fn length_of_boot_s(&self) -> f64 {
        let targets: usize = self.measurands().iter().map(|measurand| self.targets(measurand)).sum();
        targets as f64 * (self.policies.len() + 1) as f64 * self.blocks() as f64 * self.block_s
    }

    /// The length of a block for so long a measurement, seconds: at least ten blocks, and none longer than ten minutes.
    pub fn usual_block_s(duration_s: f64) -> f64 {
        (duration_s / 10.0).clamp(1.0_f64.min(duration_s), 600.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_read_as_the_guide_has_them() {
        let cycle: Cycle = "125us:264KiBx12k".parse().unwrap();
        assert_eq!((cycle.period_ns, cycle.compute.as_deref()), (125e3, Some("264KiBx12k")));
        assert_eq!("1 ms".parse::<Cycle>().unwrap(), Cycle { period_ns: 1e6, compute: None });
        for bad in ["", "x", "1ms:", "1ms:12k", "0us", "9us", ":264KiBx12k"] {
            assert!(bad.parse::<Cycle>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_day_is_made_of_blocks_of_ten_minutes_and_half_a_minute_of_three_seconds() {
        let blocks = |duration_s: f64| {
            let block_s = KpiSettings::usual_block_s(duration_s);
            let settings = KpiSettings { duration_s, block_s, ..settings() };
            (block_s, settings.blocks())
        };
        assert_eq!(blocks(86_400.0), (600.0, 144));
        assert_eq!(blocks(600.0), (60.0, 10));
        assert_eq!(blocks(30.0), (3.0, 10));
        assert_eq!(blocks(5.0), (1.0, 5));
        assert_eq!(blocks(0.5), (0.5, 1));
    }

    #[test]
    fn a_boot_takes_each_measurement_under_each_setting() {
        // Two wake-ups and two cycles, under none and two policies: 4 x 3 x 60 s.
        assert_eq!(settings().length_of_boot_s(), 720.0);
        // The wake-ups of both cores at the same time: 3 x 3 x 60 s.
        assert_eq!(KpiSettings { simultaneous: true, ..settings() }.length_of_boot_s(), 540.0);
    }

    fn settings() -> KpiSettings {
        let cycles = vec!["1ms:1296KiBx60k".parse().unwrap(), "125us".parse().unwrap()];
        KpiSettings {
            duration_s: 60.0,
            block_s: 6.0,
            rt_cores: vec![2, 3],
            simultaneous: false,
            load_cores: vec![0, 1],
            wakeup_period_ns: 250e3,
            cyclictest: false,
            packets: Some(PacketSettings {
                interface: "eth1".into(),
                path: PathKind::AfXdp,
                wait: PacketWait::BusyPoll,
                queue: None,
                core: 3,
                generator: Vec::new(),
                cycles,
            }),
            policies: vec!["tcc-halves".into(), "other.toml".into()],
            load: String::new(),
            load_name: "stream_modify".into(),
            budgets: Vec::new(),
            packet_budgets: Vec::new(),
        }
    }
}
