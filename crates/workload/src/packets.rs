//! Packet in, compute, packet out: a control loop between a sensor and an actuator. Packets come from Linux, so only the host
//! runs it.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::duration::Nanoseconds;
use crate::pattern::{Order, Pattern};
use crate::quantity::CacheShapes;
use crate::workload::{Workload, WorkloadError, refused};

/// The shortest period, nanoseconds: a packet takes some microseconds.
pub const SHORTEST_PACKET_PERIOD_NS: f64 = 10e3;

/// Instructions of one step of the chase, on x86-64 and AArch64: load, count, branch. A test counts them.
pub const INSTRUCTIONS_PER_LOAD: u64 = 3;

/// Bytes from one place of the chase to the next.
const LINE: u64 = 64;

/// A way for packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Rings that are shared with the driver, or with the kernel in front of its network stack.
    #[default]
    AfXdp,
    /// A ring that the kernel's network stack fills.
    AfPacket,
}

/// How a thread learns of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketWait {
    /// It looks at the ring again and again.
    #[default]
    BusyPoll,
    /// It sleeps, and the kernel wakes it.
    Interrupt,
}

/// Where packets come from, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketLink {
    /// The interface's name.
    pub interface: String,
    /// The path of its packets.
    pub path: PathKind,
    /// The receive queue of AF_XDP.
    pub queue: Option<u32>,
    /// How the thread learns of a packet.
    pub wait: PacketWait,
    /// Bytes of a packet after its Ethernet header.
    pub payload: u16,
}

/// Sensor packets that another program sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SensorPackets {
    /// Nanoseconds from one to the next.
    pub period_ns: f64,
    /// An answer later than this is late, nanoseconds.
    pub deadline_ns: f64,
    /// The command that runs `waykeeper rtcp generate --if IF` where the sensor is; none where the user runs it.
    pub generator: Vec<String>,
}

/// Answer each sensor packet with an actuator packet, after a computation. One sample is the time from the first sight of the
/// sensor packet to the return of the system call that sends the actuator packet. Host only.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Packets {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// The network interface.
    pub interface: String,
    /// The path of its packets: `af_xdp` or `af_packet`.
    #[serde(default)]
    pub path: PathKind,
    /// The receive queue of AF_XDP, where the interface has several.
    pub queue: Option<u32>,
    /// How the thread learns of a packet: `busy_poll` or `interrupt`.
    #[serde(default)]
    pub wait: PacketWait,
    /// Bytes of a packet after its Ethernet header, 64 to 1500; 64 where absent.
    pub payload: Option<u16>,
    /// Time from one sensor packet to the next.
    pub period: Nanoseconds,
    /// An answer that the generator gets later than this is late; one period where absent.
    pub deadline: Option<Nanoseconds>,
    /// Instructions in a buffer, as Intel's guide has them: `264KiBx12k`. Nothing is computed where this and `body` are absent.
    pub instructions: Option<String>,
    /// A workload of which one pass is computed instead: a `walk`, `stream`, `chase`, `random`, `tick` or program.
    pub body: Option<Box<Workload>>,
    /// The command that runs `waykeeper rtcp generate --if IF` where the sensor is, such as `["ssh", "board", "waykeeper", "rtcp",
    /// "generate", "--if", "eth1"]`: period, length and address are added to it. Where absent, somebody else runs it meanwhile, and
    /// lost and late packets are not known here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generator: Vec<String>,
}

/// The least and the largest payload of a packet, bytes.
const PAYLOADS: std::ops::RangeInclusive<u16> = 64..=1500;

impl Packets {
    pub(crate) fn resolve(&self, caches: &CacheShapes) -> Result<Pattern, WorkloadError> {
        if self.interface.is_empty() {
            return Err(refused("interface", "it names no interface; `eth1` would do"));
        }
        if self.period.0 < SHORTEST_PACKET_PERIOD_NS {
            let why = format!("a period of {} is shorter than a packet takes; 10 us or more would do", self.period);
            return Err(refused("period", &why));
        }
        let payload = self.payload.unwrap_or(*PAYLOADS.start());
        if !PAYLOADS.contains(&payload) {
            return Err(refused("payload", &format!("found {payload} bytes; expected 64 to 1500")));
        }
        if self.generator.first().is_some_and(String::is_empty) {
            return Err(refused(
                "generator",
                "it names no program; `[\"ssh\", \"board\", \"waykeeper\", ...]` would do",
            ));
        }
        let (body, instructions) = self.computation(caches)?;
        let (path, queue, wait) = (self.path, self.queue, self.wait);
        let period_ns = self.period.0.round();
        let deadline_ns = self.deadline.map_or(period_ns, |deadline| deadline.0.round());
        Ok(Pattern::Packets {
            link: PacketLink { interface: self.interface.clone(), path, queue, wait, payload },
            sensor: SensorPackets { period_ns, deadline_ns, generator: self.generator.clone() },
            body: body.map(Box::new),
            instructions,
        })
    }

    /// What is computed, and its instructions where they are counted.
    fn computation(&self, caches: &CacheShapes) -> Result<(Option<Pattern>, u64), WorkloadError> {
        match (&self.instructions, &self.body) {
            (Some(_), Some(_)) => {
                Err(refused("body", "`instructions` already says what is computed; one of the two would do"))
            }
            (Some(text), None) => {
                let count: InstructionCount =
                    text.parse().map_err(|bad: BadInstructionCount| refused("instructions", &bad.to_string()))?;
                Ok((Some(count.pattern()), count.instructions))
            }
            (None, Some(body)) => crate::wakeup::resolve_body(body, caches).map(|body| (Some(body), 0)),
            (None, None) => Ok((None, 0)),
        }
    }
}

/// So many instructions in so many bytes, as Intel's guide to Time Coordinated Compute has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionCount {
    /// Instructions of a cycle, to within a dozen.
    pub instructions: u64,
    /// Bytes that they work in.
    pub bytes: u64,
}

/// A text that is no such number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not SIZExINSTRUCTIONS; expected 1 to 1048576 KiB and 3 to 1000000000 instructions, such as `264KiBx12k` or `1296KiBx60000`"
)]
pub struct BadInstructionCount(String);

impl FromStr for InstructionCount {
    type Err = BadInstructionCount;

    fn from_str(text: &str) -> Result<Self, BadInstructionCount> {
        let parse = || {
            let (size, instructions) = text.split_once('x')?;
            let size = size.trim();
            let kib: u64 = size.strip_suffix("KiB").unwrap_or(size).trim().parse().ok()?;
            let instructions = instructions.trim();
            let (number, scale) = instructions.strip_suffix('k').map_or((instructions, 1), |number| (number, 1000));
            let instructions = number.parse::<u64>().ok()?.checked_mul(scale)?;
            let fits = (1..=1 << 20).contains(&kib) && (3..=1_000_000_000).contains(&instructions);
            fits.then_some(Self { instructions, bytes: kib * 1024 })
        };
        parse().ok_or_else(|| BadInstructionCount(text.into()))
    }
}

impl InstructionCount {
    /// Dependent loads over all lines of the buffer in one random cycle. A cycle of the loop takes so many of them as the
    /// instructions make, and the next one goes on where it ended.
    pub fn pattern(self) -> Pattern {
        Pattern::Chase {
            elements: (self.bytes / LINE).max(2),
            stride: LINE,
            order: Order::Random,
            batch: (self.instructions / INSTRUCTIONS_PER_LOAD).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(keys: &str) -> Result<Pattern, WorkloadError> {
        let text = format!("kind = 'packets'\n{keys}\n");
        toml::from_str::<Workload>(&text).unwrap().resolve(&CacheShapes::default())
    }

    #[test]
    fn the_guides_pairs_are_read() {
        let pair = |instructions, kib: u64| Ok(InstructionCount { instructions, bytes: kib * 1024 });
        assert_eq!("264KiBx12k".parse(), pair(12_000, 264));
        assert_eq!("1296x60000".parse(), pair(60_000, 1296));
        assert_eq!("1080 KiB x 50k".parse(), pair(50_000, 1080));
        for bad in ["", "264KiB", "x12k", "0x12k", "264KiBx2", "264KiBx12M", "99999999x3", "264KiBx9999999999k"] {
            assert!(bad.parse::<InstructionCount>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_cycle_of_twelve_thousand_instructions_is_four_thousand_loads() {
        let pattern = "264KiBx12k".parse::<InstructionCount>().unwrap().pattern();
        assert_eq!(pattern, Pattern::Chase { elements: 4224, stride: 64, order: Order::Random, batch: 4000 });
    }

    #[test]
    fn what_is_not_said_is_the_usual() {
        let Ok(Pattern::Packets { link, sensor, body, instructions }) = pattern("interface = 'eth1'\nperiod = '1 ms'")
        else {
            panic!("a packet loop")
        };
        assert_eq!((link.path, link.wait, link.payload), (PathKind::AfXdp, PacketWait::BusyPoll, 64));
        assert_eq!((sensor.period_ns, sensor.deadline_ns, sensor.generator.len()), (1e6, 1e6, 0));
        assert_eq!((body, instructions), (None, 0));
    }

    #[test]
    fn mistakes_name_their_key() {
        for (keys, key) in [
            ("interface = ''\nperiod = '1 ms'", "interface"),
            ("interface = 'a'\nperiod = '9 us'", "period"),
            ("interface = 'a'\nperiod = '1 ms'\npayload = 63", "payload"),
            ("interface = 'a'\nperiod = '1 ms'\ninstructions = '12k'", "instructions"),
            ("interface = 'a'\nperiod = '1 ms'\ninstructions = '1x3'\nbody = { kind = 'tick' }", "body"),
            ("interface = 'a'\nperiod = '1 ms'\nbody = { kind = 'wakeup', period = '1 ms' }", "body.kind"),
            ("interface = 'a'\nperiod = '1 ms'\ngenerator = ['']", "generator"),
        ] {
            assert_eq!(pattern(keys).unwrap_err().key, key, "{keys}");
        }
    }
}
